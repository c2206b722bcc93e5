//! What `dataset_path` names: a repository of the hub, a folder, or a builder such as
//! `json` with its `data_files`.

use std::path::{Path, PathBuf};

use context_bench_records::{Format, Syntax};
use context_bench_tasks::suggest::quoted_list;
use context_bench_tasks::{Error, Result, Task};
use serde_json::{Map, Value};

use super::catalog::told;
use crate::dataset::catalogue::{self, HubAccess};
use crate::dataset::{BadRecords, DatasetError};

type Record = Map<String, Value>;

/// The split of files that belong to none.
const ONLY_SPLIT: &str = "train";
/// Loader settings that change nothing about the records.
const HARMLESS: &[&str] = &[
    "trust_remote_code",
    "streaming",
    "download_mode",
    "verification_mode",
    "ignore_verifications",
    "keep_in_memory",
    "num_proc",
    "save_infos",
    "token",
    "use_auth_token",
];
const KNOWN: &[&str] = &["data_files", "data_dir", "revision"];

/// The records of a file, a folder or a pattern of files.
pub(super) fn read(
    path: &Path,
    bad: &BadRecords,
) -> std::result::Result<Vec<Record>, DatasetError> {
    let files = catalogue::data_files(path)?;
    catalogue::read_files(files, None, bad)
}

/// A file serves the evaluated split, and others only when its name says so: a test set
/// must never give the examples of its own prompts.
pub(super) fn check_split(file: &Path, split: &str, evaluated: &str) -> Result<()> {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    if split == evaluated || catalogue::is_part(&name, split) {
        return Ok(());
    }
    Err(Error::new(format!(
        "`{}` is one file, used for split `{evaluated}`",
        file.display()
    )))
}

/// The settings of `dataset_kwargs` that are understood.
#[derive(Debug, Default)]
pub(super) struct Kwargs {
    /// Files by split; those without one are in `train`.
    data_files: Option<Vec<(String, Vec<String>)>>,
    data_dir: Option<String>,
    revision: Option<String>,
}

impl Kwargs {
    /// Reads and checks them.
    pub(super) fn read(task: &Task) -> Result<Self> {
        let wrong = |error: Error| {
            let error = error.prefixed("`dataset_kwargs`");
            match task.config.place("dataset_kwargs") {
                Some(place) => error.at(place),
                None => error,
            }
        };
        let map = match task.config.get("dataset_kwargs") {
            None => return Ok(Self::default()),
            Some(Value::Object(map)) => map,
            Some(other) => {
                let message = format!("a mapping was expected, found `{other}`");
                return Err(wrong(Error::new(message)));
            }
        };
        let known =
            |key: &&String| KNOWN.contains(&key.as_str()) || HARMLESS.contains(&key.as_str());
        if let Some(unknown) = map.keys().find(|key| !known(key)) {
            let hint = format!("understood are {}", quoted_list(KNOWN, "and"));
            let message = format!("`{unknown}` is not known here");
            return Err(wrong(Error::new(message).with_hint(hint)));
        }
        let text = |key: &str| map.get(key).and_then(Value::as_str).map(str::to_owned);
        Ok(Self {
            data_files: map
                .get("data_files")
                .map(data_files)
                .transpose()
                .map_err(wrong)?,
            data_dir: text("data_dir"),
            revision: text("revision"),
        })
    }

    /// The patterns of a split; nothing when `data_files` is not set.
    fn patterns(&self, split: &str) -> Result<Option<Vec<&str>>> {
        let Some(files) = &self.data_files else {
            return Ok(None);
        };
        let found = files.iter().find(|(name, _)| name == split);
        let Some((_, patterns)) = found else {
            let names: Vec<&str> = files.iter().map(|(name, _)| name.as_str()).collect();
            return Err(Error::new(format!("`data_files` has no split `{split}`"))
                .with_hint(format!("it has {}", quoted_list(&names, "and"))));
        };
        Ok(Some(patterns.iter().map(String::as_str).collect()))
    }
}

fn data_files(value: &Value) -> Result<Vec<(String, Vec<String>)>> {
    let wrong = || Error::new("`data_files` must be a path, a list of paths, or either by split");
    let paths = |value: &Value| -> Result<Vec<String>> {
        match value {
            Value::String(path) => Ok(vec![path.clone()]),
            Value::Array(paths) => {
                let paths = paths.iter().map(|path| path.as_str().map(str::to_owned));
                paths.collect::<Option<_>>().ok_or_else(wrong)
            }
            _ => Err(wrong()),
        }
    };
    match value {
        Value::Object(splits) => splits
            .iter()
            .map(|(split, value)| Ok((split.clone(), paths(value)?)))
            .collect(),
        other => Ok(vec![(ONLY_SPLIT.to_owned(), paths(other)?)]),
    }
}

/// Where the records of a task are.
pub(super) struct Origin<'t> {
    /// `dataset_path`.
    pub(super) path: &'t str,
    /// A local copy of it.
    pub(super) copy: Option<PathBuf>,
    /// `dataset_name`.
    pub(super) name: Option<&'t str>,
    pub(super) kwargs: Kwargs,
    /// The folder of the task file.
    pub(super) folder: Option<&'t Path>,
    pub(super) hub: Option<&'t HubAccess>,
    pub(super) bad: &'t BadRecords,
}

impl Origin<'_> {
    /// The records of a split.
    pub(super) fn records(&self, split: &str) -> Result<Vec<Record>> {
        if self.copy.is_none()
            && let Some(builder) = Builder::named(self.path)?
        {
            return self.built(builder, split);
        }
        if let Some(local) = self.copy.clone().or_else(|| self.local(self.path)) {
            return self.of_local(&local, split);
        }
        if self.path.starts_with(['.', '/', '~', '\\']) {
            return Err(Error::new(format!("there is no folder `{}`", self.path))
                .with_hint("paths start at the current folder, or at the file they stand in"));
        }
        let hub = self.hub.ok_or_else(|| {
            Error::new(format!(
                "`{}` is on the hub, which is not at hand",
                self.path
            ))
        })?;
        let revision = self.kwargs.revision.as_deref();
        let files = match self.kwargs.patterns(split)? {
            Some(patterns) => {
                let folder = self.kwargs.data_dir.as_deref();
                let inside = |pattern: &&str| match folder {
                    Some(folder) => format!("{}/{pattern}", folder.trim_end_matches('/')),
                    None => (*pattern).to_owned(),
                };
                let patterns: Vec<String> = patterns.iter().map(inside).collect();
                hub.fetch_files(self.path, revision, &patterns)
            }
            None => hub.fetch_split(self.path, revision, self.name, split),
        };
        let files = files.map_err(|error| told(&error))?;
        read_all(files, None, self.bad)
    }

    /// A path that is there: from the working folder, else from the task file's.
    fn local(&self, path: &str) -> Option<PathBuf> {
        let here = PathBuf::from(path);
        if here.exists() {
            return Some(here);
        }
        let beside = self.folder?.join(path);
        beside.exists().then_some(beside)
    }

    fn of_local(&self, path: &Path, split: &str) -> Result<Vec<Record>> {
        if !path.is_dir() {
            let shown = path.display();
            return Err(Error::new(format!("`{shown}` is no folder")).with_hint(
                "for single files write `dataset_path: json` with `data_files` by split",
            ));
        }
        let mut folder = path.to_owned();
        if let Some(inside) = &self.kwargs.data_dir {
            folder.push(inside);
        }
        let files = match self.kwargs.patterns(split)? {
            Some(patterns) => {
                let mut files = Vec::new();
                for pattern in patterns {
                    let found = catalogue::data_files(&folder.join(pattern));
                    files.extend(found.map_err(|error| told(&error))?);
                }
                files
            }
            None => catalogue::split_files(&folder, self.name, split).map_err(|found| {
                let config = self.name.map(|name| format!("config `{name}`, "));
                let message = format!(
                    "no file for {}split `{split}` in `{}`",
                    config.unwrap_or_default(),
                    folder.display()
                );
                let hint = match found.is_empty() {
                    true => "there are no files of records in it".to_owned(),
                    false => format!("it has {}", quoted_list(&found, "and")),
                };
                Error::new(message).with_hint(hint)
            })?,
        };
        read_all(files, None, self.bad)
    }

    /// Files named one by one.
    fn built(&self, builder: Builder, split: &str) -> Result<Vec<Record>> {
        let patterns = match (self.kwargs.patterns(split)?, &self.kwargs.data_dir) {
            (Some(patterns), _) => patterns,
            (None, Some(folder)) => {
                let local = self.local(folder).ok_or_else(|| missing(folder))?;
                return self.of_folder(&local, split, builder);
            }
            (None, None) => {
                return Err(
                    Error::new(format!("`dataset_path: {}` needs files", self.path))
                        .with_hint("write `dataset_kwargs: {data_files: {test: docs.jsonl}}`"),
                );
            }
        };
        let mut files = Vec::new();
        for pattern in patterns {
            if pattern.starts_with("https://") || pattern.starts_with("http://") {
                let hub = self.hub.ok_or_else(|| {
                    Error::new(format!(
                        "`{pattern}` cannot be fetched: there is no network access"
                    ))
                })?;
                files.push(hub.fetch_url(pattern).map_err(|error| told(&error))?);
                continue;
            }
            let pattern = match &self.kwargs.data_dir {
                Some(folder) => format!("{}/{pattern}", folder.trim_end_matches('/')),
                None => pattern.to_owned(),
            };
            files.extend(self.expanded(&pattern)?);
        }
        builder.read(files, self.bad)
    }

    fn of_folder(&self, folder: &Path, split: &str, builder: Builder) -> Result<Vec<Record>> {
        let files = catalogue::split_files(folder, None, split).map_err(|found| {
            Error::new(format!(
                "no file for split `{split}` in `{}`",
                folder.display()
            ))
            .with_hint(format!("it has {}", quoted_list(&found, "and")))
        })?;
        builder.read(files, self.bad)
    }

    /// The files of a path or pattern, from the working folder or the task file's.
    fn expanded(&self, pattern: &str) -> Result<Vec<PathBuf>> {
        let here = catalogue::data_files(Path::new(pattern));
        if let Ok(files) = &here
            && files.iter().all(|file| file.exists())
        {
            return Ok(files.clone());
        }
        if let Some(folder) = self.folder
            && let Ok(files) = catalogue::data_files(&folder.join(pattern))
            && files.iter().all(|file| file.exists())
        {
            return Ok(files);
        }
        Err(missing(pattern))
    }
}

fn missing(path: &str) -> Error {
    Error::new(format!("there is no file `{path}`"))
        .with_hint("paths start at the current folder, or at the file they stand in")
}

fn read_all(files: Vec<PathBuf>, format: Option<Syntax>, bad: &BadRecords) -> Result<Vec<Record>> {
    catalogue::read_files(files, format, bad).map_err(|error| told(&error))
}

/// A way to read files that are named one by one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Builder {
    Records(Syntax),
    /// One record per line, with `text`.
    Text,
}

impl Builder {
    fn named(name: &str) -> Result<Option<Self>> {
        Ok(Some(match name {
            "json" => Self::Records(Syntax::JsonLines),
            "csv" => Self::Records(Syntax::Table { delimiter: b',' }),
            "parquet" => Self::Records(Syntax::Parquet),
            "text" => Self::Text,
            "arrow" | "xml" | "webdataset" | "imagefolder" | "audiofolder" => {
                return Err(Error::new(format!("files of `{name}` cannot be read"))
                    .with_hint("use `json`, `csv`, `parquet` or `text`"));
            }
            _ => return Ok(None),
        }))
    }

    fn read(self, files: Vec<PathBuf>, bad: &BadRecords) -> Result<Vec<Record>> {
        match self {
            Self::Records(syntax) => {
                // A name that tells its format is believed.
                let tells = files.iter().all(|file| Format::of(file).is_some());
                read_all(files, (!tells).then_some(syntax), bad)
            }
            Self::Text => {
                let mut records = Vec::new();
                for file in files {
                    let text = std::fs::read_to_string(&file).map_err(|error| {
                        Error::new(format!("cannot read `{}`: {error}", file.display()))
                    })?;
                    let record = |line: &str| Record::from_iter([("text".to_owned(), line.into())]);
                    records.extend(text.lines().map(record));
                }
                Ok(records)
            }
        }
    }
}
