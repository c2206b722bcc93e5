//! Specs as files (YAML as everywhere here, or JSON) and over each other.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use context_bench_template::place::Place;
use context_bench_template::yaml::{self, Node};
use serde_json::{Map, Value};

use super::spec::{RunSpec, SPEC_VERSION};
use crate::dataset::{DatasetRef, DatasetTarget};
use crate::error::Hint;
use crate::mask::Mask;
use crate::text::suggest;

/// Why a run file cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what}\n  at {place}")]
pub struct SpecError {
    what: String,
    place: String,
    hint: Option<String>,
}

impl Hint for SpecError {
    fn hint(&self) -> Option<String> {
        self.hint.clone()
    }
}

impl RunSpec {
    /// Reads a run file. Paths in it start at the current folder or, where nothing is
    /// there, at the folder of the file.
    ///
    /// # Errors
    ///
    /// When the file cannot be read, or a key or value in it is wrong.
    pub fn read(path: &Path) -> Result<Self, SpecError> {
        let name = path.display().to_string();
        let bytes = std::fs::read(path).map_err(|error| SpecError {
            what: format!("cannot read the run file: {error}"),
            place: name.clone(),
            hint: Some(
                "`context-bench run FILE.yaml`, or flags: `context-bench run --help`".into(),
            ),
        })?;
        let mut spec = Self::parse(&bytes, &name)?;
        if let Some(folder) = path.parent() {
            spec.start_paths_at(folder);
        }
        Ok(spec)
    }

    /// Reads the text of a run file; `name` is what errors call it.
    ///
    /// # Errors
    ///
    /// When a key or value is wrong.
    pub fn parse(bytes: &[u8], name: &str) -> Result<Self, SpecError> {
        let at = |place: &Place| place.to_string();
        let wrong = |error: yaml::Error| SpecError {
            what: error.message().to_owned(),
            place: at(error.place()),
            hint: error.hint(),
        };
        let document = yaml::parse(bytes, name).map_err(wrong)?;
        if let Some(twice) = document.duplicates.first() {
            return Err(SpecError {
                what: format!("the key `{}` is there twice", twice.key),
                place: at(&Place::new(name, twice.again)),
                hint: Some("keep one of them".into()),
            });
        }
        let value = yaml::to_json(&document.root, name).map_err(wrong)?;
        let value = match value {
            Value::Null => Value::Object(Map::new()),
            value => value,
        };
        let spec: Self = serde_path_to_error::deserialize(value).map_err(|error| {
            let path = error.path().clone();
            let what = error.into_inner().to_string();
            SpecError::at_path(&what, &path, &document.root, name)
        })?;
        if spec.version != SPEC_VERSION {
            let node = document.root.get("version");
            let place =
                node.map_or_else(|| Place::new(name, None), |n| Place::new(name, n.position));
            return Err(SpecError {
                what: format!("a run file of format {} cannot be read", spec.version),
                place: at(&place),
                hint: Some(format!("this version reads format {SPEC_VERSION}")),
            });
        }
        Ok(spec)
    }

    /// The spec as YAML, without secrets.
    pub fn to_yaml(&self) -> String {
        let value = serde_json::to_value(self.without_secrets()).unwrap_or_default();
        yaml::emit(&yaml::from_json(&value))
    }

    /// This spec with another on top: lists are replaced, all else is merged key by key.
    #[must_use]
    pub fn with(self, over: &Self) -> Self {
        let value = |spec: &Self| serde_json::to_value(spec).unwrap_or_default();
        let mut merged = value(&self);
        merge(&mut merged, value(over));
        // Both were specs, so what they make together is one.
        serde_json::from_value(merged).unwrap_or(self)
    }

    /// The spec without keys and passwords, as it is shown and stored.
    #[must_use]
    pub fn without_secrets(&self) -> Self {
        let value = serde_json::to_value(self).unwrap_or_default();
        let masked = match value {
            Value::Object(map) => Value::Object(Mask::Dots.map(&map)),
            other => other,
        };
        serde_json::from_value(shown(masked)).unwrap_or_default()
    }

    fn start_paths_at(&mut self, folder: &Path) {
        let moved = |path: &Path| -> Option<PathBuf> {
            let beside = folder.join(path);
            (path.is_relative() && !path.exists() && beside.exists()).then_some(beside)
        };
        let paths = self.data.include_path.iter_mut();
        let paths = paths.chain(self.data.files.values_mut());
        for path in paths.chain(self.data.copies.values_mut()) {
            if let Some(beside) = moved(path) {
                *path = beside;
            }
        }
        for benchmark in &mut self.benchmarks {
            if let Some(dataset) = &mut benchmark.dataset
                && let Ok(reference) = DatasetRef::parse(dataset)
            {
                match reference.target() {
                    DatasetTarget::Local(path) => {
                        if let Some(beside) = moved(path) {
                            *dataset = beside.display().to_string();
                        }
                    }
                    DatasetTarget::Named(named) => {
                        if let Some((name, path)) = dataset.split_once('=')
                            && named.path.is_some()
                            && let Some(beside) = moved(Path::new(path))
                        {
                            *dataset = format!("{name}={}", beside.display());
                        }
                    }
                }
            }
            if let Some(task) = &mut benchmark.task
                && let Some(beside) = moved(Path::new(&*task))
            {
                *task = beside.display().to_string();
            }
        }
    }
}

/// Puts `over` on top of a value.
fn merge(value: &mut Value, over: Value) {
    match (value, over) {
        (Value::Object(map), Value::Object(over)) => {
            for (key, over) in over {
                match map.get_mut(&key) {
                    Some(value) => merge(value, over),
                    None => drop(map.insert(key, over)),
                }
            }
        }
        (value, over) => *value = over,
    }
}

/// URLs without user, password and query, commands without keys.
fn shown(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(crate::mask::without_credentials(&text)),
        Value::Array(items) => items.into_iter().map(shown).collect(),
        Value::Object(map) => Value::Object(
            map.into_iter()
                .map(|(key, value)| (key, shown(value)))
                .collect(),
        ),
        other => other,
    }
}

impl SpecError {
    /// An error of serde, at the place of the value it is about.
    fn at_path(what: &str, path: &serde_path_to_error::Path, root: &Arc<Node>, name: &str) -> Self {
        use serde_path_to_error::Segment;
        let mut node = Arc::clone(root);
        let mut keys = Vec::new();
        for segment in path.iter() {
            let next = match segment {
                Segment::Seq { index } => {
                    keys.push(format!("[{index}]"));
                    node.as_list().and_then(|list| list.get(*index)).cloned()
                }
                Segment::Map { key } => {
                    keys.push(key.clone());
                    node.get(key).cloned()
                }
                Segment::Enum { .. } | Segment::Unknown => None,
            };
            match next {
                Some(next) => node = next,
                None => break,
            }
        }
        let shown = keys.join(".").replace(".[", "[");
        // "unknown field `x`, expected one of `a`, `b`"
        let (what, expected) = match what.split_once(", expected ") {
            Some((first, expected)) if first.starts_with("unknown field") => {
                (first, Some(expected))
            }
            _ => (what, None),
        };
        let unknown = what
            .strip_prefix("unknown field `")
            .and_then(|rest| rest.strip_suffix('`'));
        let mut position = node.position;
        let hint = match (unknown, expected) {
            (Some(unknown), Some(expected)) => {
                let known: Vec<&str> = expected.split('`').skip(1).step_by(2).collect();
                if let Some(entry) = node.as_map().and_then(|map| map.entry(unknown)) {
                    position = entry.key.position;
                }
                let near = suggest::did_you_mean(unknown, known.iter().copied());
                near.or_else(|| {
                    Some(format!(
                        "the keys are {}",
                        suggest::quoted_list(&known, "and")
                    ))
                })
            }
            _ => Some("`context-bench schema` describes every key".to_owned()),
        };
        let what = match (unknown, shown.is_empty()) {
            (Some(unknown), true) => format!("unknown key `{unknown}` in the run file"),
            (Some(unknown), false) => {
                let parent = shown.strip_suffix(&format!(".{unknown}")).unwrap_or(&shown);
                format!("unknown key `{unknown}` in `{parent}`")
            }
            (None, true) => what.to_owned(),
            (None, false) => format!("`{shown}`: {what}"),
        };
        Self {
            what,
            place: Place::new(name, position).to_string(),
            hint,
        }
    }
}
