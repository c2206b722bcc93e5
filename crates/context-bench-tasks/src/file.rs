//! Task and group files: YAML with `include` and `!function`.

use std::borrow::Cow;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use context_bench_error::Place;
use context_bench_template::yaml::{self, Node};

use crate::config::{Config, Origin};
use crate::error::{Error, Result, Warning};
use crate::function::Function;
use crate::memory_files::MemoryFiles;

/// Includes below includes; deeper chains are mistakes.
const MAX_DEPTH: usize = 50;

/// What a file defines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A task in YAML.
    Task,
    /// A task that is a Python class.
    Python,
    /// A group.
    Group,
}

/// A file with everything it includes.
#[derive(Debug, Clone)]
pub struct File {
    /// Its settings, those of its includes below its own.
    pub config: Config,
    /// What was noticed while reading.
    pub warnings: Vec<Warning>,
}

impl File {
    /// What the file defines; nothing for a template.
    pub fn kind(&self) -> Option<Kind> {
        kind(&self.config)
    }
}

/// What a configuration defines.
pub fn kind(config: &Config) -> Option<Kind> {
    if config.get("class").is_some() {
        Some(Kind::Python)
    } else if config.get("group").is_some() {
        Some(Kind::Group)
    } else {
        config.get("task").map(|_| Kind::Task)
    }
}

/// Reads files and remembers those that are included by many.
#[derive(Debug, Default)]
pub struct Loader {
    /// What `~` at the start of a path stands for.
    pub home: Option<PathBuf>,
    /// Files that are not on disk.
    pub memory: MemoryFiles,
    included: Mutex<HashMap<PathBuf, Arc<File>>>,
}

impl Loader {
    /// A loader that knows what `~` means.
    pub fn new(home: Option<PathBuf>) -> Self {
        Self {
            home,
            ..Self::default()
        }
    }

    /// Reads a file and what it includes.
    pub fn load(&self, path: &Path) -> Result<File> {
        self.read(path, &mut Vec::new())
    }

    /// Reads settings that stand inside another file or came from elsewhere: an
    /// `include` in them is relative to `directory`.
    pub fn complete(&self, config: Config, directory: &Path) -> Result<File> {
        self.with_includes(config, directory, &mut Vec::new(), Vec::new())
    }

    fn read(&self, path: &Path, stack: &mut Vec<PathBuf>) -> Result<File> {
        let name: Arc<str> = path.to_string_lossy().into();
        let bytes: Cow<'_, [u8]> = match self.memory.get(path) {
            Some(text) => text.as_bytes().into(),
            None => std::fs::read(path)
                .map_err(|error| Error::new(format!("cannot read `{name}`: {error}")))?
                .into(),
        };
        let document = yaml::parse(&bytes, &name)?;
        let warnings = document
            .duplicates
            .iter()
            .map(|duplicate| {
                Warning::at(
                    format!(
                        "key `{}` is given twice; the last one counts",
                        duplicate.key
                    ),
                    Place::new(name.clone(), duplicate.again),
                )
            })
            .collect();
        let directory = path.parent().unwrap_or(Path::new(""));
        let config = settings(&document.root, &name, directory)?;
        self.with_includes(config, directory, stack, warnings)
    }

    /// A group's `include` means defaults for its tasks, not a file to inherit from.
    fn with_includes(
        &self,
        mut own: Config,
        directory: &Path,
        stack: &mut Vec<PathBuf>,
        mut warnings: Vec<Warning>,
    ) -> Result<File> {
        let is_group = own.get("group").is_some() && own.get("class").is_none();
        if is_group || own.get("include").is_none() {
            return Ok(File {
                config: own,
                warnings,
            });
        }
        let Some(include) = own.remove("include") else {
            return Ok(File {
                config: own,
                warnings,
            });
        };
        let place = &include.origin.place;
        let mut merged = Config::new();
        for path in include_paths(&include.value).map_err(|error| error.at(place))? {
            let path = self.resolve(path, directory);
            let file = self
                .included(&path, stack)
                .map_err(|error| error.at(place))?;
            warnings.extend(file.warnings.iter().cloned());
            let mut config = file.config.clone();
            config.remove("task_list");
            merged.extend(&config.via("include"));
        }
        merged.extend(&own);
        Ok(File {
            config: merged,
            warnings,
        })
    }

    fn included(&self, path: &Path, stack: &mut Vec<PathBuf>) -> Result<Arc<File>> {
        if let Some(at) = stack.iter().position(|open| open == path) {
            let mut cycle: Vec<String> = stack[at..]
                .iter()
                .map(|p| p.display().to_string())
                .collect();
            cycle.push(path.display().to_string());
            return Err(
                Error::new(format!("files include each other: {}", cycle.join(" -> ")))
                    .with_hint("take `include` out of one of them"),
            );
        }
        if stack.len() >= MAX_DEPTH {
            return Err(Error::new(format!(
                "more than {MAX_DEPTH} includes below each other"
            )));
        }
        let known = self
            .included
            .lock()
            .ok()
            .and_then(|known| known.get(path).cloned());
        if let Some(file) = known {
            return Ok(file);
        }
        if self.memory.get(path).is_none() && !path.is_file() {
            let shown = path.display();
            return Err(
                Error::new(format!("included file `{shown}` does not exist"))
                    .with_hint("paths in `include` start at the file they stand in"),
            );
        }
        stack.push(path.to_owned());
        let file = self.read(path, stack);
        stack.pop();
        let file = Arc::new(file?);
        if let Ok(mut known) = self.included.lock() {
            known.insert(path.to_owned(), file.clone());
        }
        Ok(file)
    }

    /// A path as written in a file of a folder.
    pub fn resolve(&self, path: &str, directory: &Path) -> PathBuf {
        let path = match (path.strip_prefix("~/"), &self.home) {
            (Some(rest), Some(home)) => home.join(rest),
            _ => PathBuf::from(path),
        };
        normal(&directory.join(path))
    }
}

/// The path without `.` and `..`, so that a file has one name.
pub fn normal(path: &Path) -> PathBuf {
    use std::path::Component;
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir
                if matches!(out.components().next_back(), Some(Component::Normal(_))) =>
            {
                out.pop();
            }
            other => out.push(other),
        }
    }
    out
}

/// The paths of an `include`.
pub fn include_paths(value: &serde_json::Value) -> Result<Vec<&str>> {
    let wrong = || Error::new("`include` must be a path or a list of paths");
    match value {
        serde_json::Value::String(path) => Ok(vec![path]),
        serde_json::Value::Array(paths) => paths
            .iter()
            .map(|path| path.as_str().ok_or_else(wrong))
            .collect(),
        _ => Err(wrong()),
    }
}

/// The settings of a document, whose root must be a mapping.
fn settings(root: &Node, file: &Arc<str>, directory: &Path) -> Result<Config> {
    let Some(map) = root.as_map() else {
        // Nothing has no place in its file.
        let position = Some(root.position).filter(|at| at.line > 0);
        let place = Place::new(file.clone(), position);
        let kind = root.value.kind();
        return Err(
            Error::new(format!("a task file is a mapping, this is {kind}"))
                .at(&place)
                .with_hint("begin with `task: name` or `group: name`"),
        );
    };
    let mut config = Config::new();
    for entry in &map.entries {
        let Some(key) = entry.key.as_str() else {
            let place = Place::new(file.clone(), entry.key.position);
            return Err(Error::new("keys of a task file are text")
                .at(&place)
                .with_hint("put quotes around the key"));
        };
        let value = yaml::to_json_with(&entry.value, file, &mut |node, tag| {
            function(node, tag, file, directory)
        })?;
        config.set(key, value, Origin::file(file, entry.key.position));
    }
    Ok(config)
}

/// The whole path of a folder; of a file that is named without one, the working folder.
fn whole(directory: &Path) -> PathBuf {
    let shown = match directory.as_os_str().is_empty() {
        true => Path::new("."),
        false => directory,
    };
    std::path::absolute(shown).unwrap_or_else(|_| directory.to_owned())
}

fn function(
    node: &Node,
    tag: &str,
    file: &Arc<str>,
    directory: &Path,
) -> std::result::Result<serde_json::Value, yaml::Error> {
    match node.as_tagged("!function") {
        // A whole path: a stored run is opened from other folders too.
        Some(name) if name.contains('.') => Ok(Function {
            directory: whole(directory),
            name: name.to_owned(),
        }
        .to_json()),
        Some(name) => Err(yaml::Error::custom(
            format!("`!function {name}` names no module"),
            Place::new(file.clone(), node.position),
            "write `!function module.name`; modules lie in the folder of the file",
        )),
        None => Err(yaml::Error::custom(
            format!("unknown tag `{tag}`"),
            Place::new(file.clone(), node.position),
            "the one tag of task files is `!function module.name`",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_have_whole_paths() {
        for (directory, ends) in [("", ""), (".", ""), ("a/b", "a/b")] {
            let whole = whole(Path::new(directory));
            assert!(whole.is_absolute() && whole.ends_with(ends), "{whole:?}");
        }
    }
}
