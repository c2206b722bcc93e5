//! Specs as files (YAML as everywhere here, or JSON) and over each other.

use std::path::{Path, PathBuf};

use context_bench_error::Place;
use context_bench_template::yaml;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::shape;
use super::spec::{RunSpec, SPEC_VERSION};
use super::spec_error::{FileKind, Places, RUN_FILE, SpecError, Step};
use crate::dataset::{DatasetRef, DatasetTarget};

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
        let (spec, places): (Self, _) = read_keys(bytes, name, RUN_FILE, &super::schema())?;
        if spec.version != SPEC_VERSION {
            let version = spec.version;
            let path = [Step::Key("version".into())];
            let what = format!("a run file of format {version} cannot be read");
            return Err(SpecError {
                hint: Some(format!("this version reads format {SPEC_VERSION}")),
                ..SpecError::at(&path, &what, &places)
            });
        }
        shape::name_one_thing(&spec, &places)?;
        Ok(spec)
    }

    /// The spec as YAML, without secrets.
    pub fn to_yaml(&self) -> String {
        let value = serde_json::to_value(self.without_secrets()).unwrap_or_default();
        yaml::emit(&yaml::from_json(&value))
    }

    /// This spec with another on top: lists are replaced, everything else is merged key by key.
    #[must_use]
    pub fn with(self, over: &Self) -> Self {
        let value = |spec: &Self| serde_json::to_value(spec).unwrap_or_default();
        let mut merged = value(&self);
        merge(&mut merged, value(over));
        // Both were specs, so what they make together is one.
        serde_json::from_value(merged).unwrap_or(self)
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
        // `python3` alone is found by the system, wherever the file is.
        if let Some(interpreter) = &mut self.python.interpreter
            && interpreter.components().count() > 1
            && let Some(beside) = moved(interpreter)
        {
            *interpreter = beside;
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
            if let Some(task) = &mut benchmark.task {
                let parts = task
                    .split(',')
                    .map(|part| match moved(Path::new(part.trim())) {
                        Some(beside) => beside.display().to_string(),
                        None => part.to_owned(),
                    });
                *task = parts.collect::<Vec<_>>().join(",");
            }
        }
    }
}

/// Reads a file of keys, YAML or by its name JSON, that fits this schema; mistakes are told
/// with their place.
pub(crate) fn read_keys<'a, T: DeserializeOwned>(
    bytes: &[u8],
    name: &'a str,
    kind: FileKind,
    schema: &Value,
) -> Result<(T, Places<'a>), SpecError> {
    let is_json = Path::new(name).extension().is_some_and(|end| end == "json");
    let document = yaml::parse(bytes, name);
    // Numbers and escapes of JSON are not those of YAML 1.1: `1e-05` is a text there.
    let mut value: Value = match is_json {
        true => serde_json::from_slice(bytes).map_err(|e| SpecError::of_json(&e, name, kind))?,
        false => {
            let document = document.as_ref().map_err(SpecError::of_yaml)?;
            yaml::to_json(&document.root, name).map_err(|e| SpecError::of_yaml(&e))?
        }
    };
    let document = document.ok();
    if let Some(twice) = document.as_ref().and_then(|all| all.duplicates.first()) {
        return Err(SpecError {
            what: format!("the key `{}` is there twice", twice.key),
            place: Place::new(name, twice.again).to_string(),
            hint: Some("keep one of them".into()),
        });
    }
    let root = document.map(|document| document.root);
    let places = Places { kind, name, root };
    shape::fit(&mut value, schema, &places)?;
    let read = serde_path_to_error::deserialize(value).map_err(|error| {
        let path = error.path().clone();
        SpecError::of_serde(&error.into_inner().to_string(), &path, &places)
    })?;
    Ok((read, places))
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::error::Hint as _;

    fn parsed(text: &str) -> RunSpec {
        RunSpec::parse(text.as_bytes(), "run.yaml").expect(text)
    }

    fn wrong(text: &str) -> SpecError {
        RunSpec::parse(text.as_bytes(), "run.yaml").expect_err(text)
    }

    #[test]
    fn nothing_is_a_spec_that_says_nothing() {
        for text in [
            "",
            "# only words\n",
            "{}",
            "limits:\n",
            "systems:\ndata: {files: }\n",
        ] {
            assert_eq!(parsed(text), RunSpec::default(), "{text:?}");
        }
    }

    #[test]
    fn mistakes_are_told_at_their_place() {
        for (text, what) in [
            (
                "limits:\n  rsp: 1\n",
                "unknown key `rsp` in `limits`\n  at run.yaml:2:3",
            ),
            (
                "limit:\n",
                "unknown key `limit` in the run file\n  at run.yaml:1:1",
            ),
            (
                "systems: [{proxy: a}, {proxy: b, command: c}]",
                "`systems[1]` has both `proxy` and `command`\n  at run.yaml:1:34",
            ),
            (
                "systems:\n  - [a]\n",
                "`systems[0]`: expected a mapping, found a list\n  at run.yaml:2:5",
            ),
            (
                "data: {files: [a]}",
                "`data.files`: expected a mapping, found a list\n  at run.yaml:1:15",
            ),
            (
                "requests: {stream: maybe}",
                "`requests.stream`: expected true or false, found the text `maybe`\n  at \
                 run.yaml:1:20",
            ),
            (
                "seeds: {options: 1}\nseeds: {}",
                "the key `seeds` is there twice\n  at run.yaml:2:1",
            ),
        ] {
            let error = wrong(text);
            assert_eq!(error.to_string(), what, "{text:?}");
            assert!(error.hint().is_some(), "{text:?}");
        }
    }

    #[test]
    fn json_has_its_own_numbers_and_texts() {
        let text = "{\"requests\": {\"timeout\": 1e2, \"system_prompt\": \"\\ud83d\\ude00\"}}";
        let spec = RunSpec::parse(text.as_bytes(), "run.json").expect("JSON");
        assert_eq!(spec.requests.timeout, Some(100.0));
        assert_eq!(spec.requests.system_prompt.as_deref(), Some("😀"));
        let error = RunSpec::parse(b"{\"limits\": {},}", "run.json").expect_err("a comma");
        assert!(error.to_string().ends_with("at run.json:1:15"), "{error}");
    }

    #[test]
    fn what_is_on_top_replaces_lists_and_merges_the_rest() {
        let below = parsed(
            "systems: [{proxy: a}, {proxy: b}]\nlimits: {rps: 1, tpm: 2}\n\
             requests: {extra_body: {a: 1, b: {c: 2}}}",
        );
        let over =
            parsed("systems: [{proxy: c}]\nlimits: {rps: 3}\nrequests: {extra_body: {b: {d: 4}}}");
        let both = below.clone().with(&over);
        assert_eq!(both.systems, over.systems);
        assert_eq!((both.limits.rps, both.limits.tpm), (Some(3.0), Some(2.0)));
        let body = both.requests.extra_body.map(Value::Object);
        assert_eq!(body, Some(json!({"a": 1, "b": {"c": 2, "d": 4}})));
        assert_eq!(below.clone().with(&RunSpec::default()), below);
    }

    #[test]
    fn what_is_written_is_read_again() {
        let spec = parsed(
            "relay: http://h\nrequests:\n  extra_body: {t: 1.0e-05, s: \"1e-05\", n: \"null\", o: '010'}\n  \
             system_prompt: \"a: b\\n- c\\t\"\nlimits: {max_workers: auto}\ndata: {files: {token: k.jsonl}}",
        );
        let text = spec.to_yaml();
        assert_eq!(parsed(&text), spec, "{text}");
        assert_eq!(parsed(&text).to_yaml(), text);
    }
}
