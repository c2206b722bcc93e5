//! `dataset_kwargs`: what of the loader's settings is understood.

use context_bench_error::suggest::quoted_list;
use context_bench_records::TableHeader;
use context_bench_tasks::{Error, Result, Task};
use serde_json::{Map, Value};

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
const KNOWN: &[&str] = &[
    "data_files",
    "data_dir",
    "revision",
    "column_names",
    "header",
];

/// The settings of `dataset_kwargs` that are understood.
#[derive(Debug, Default)]
pub(super) struct Kwargs {
    /// Files by split; those without one are in `train`.
    data_files: Option<Vec<(String, Vec<String>)>>,
    pub(super) data_dir: Option<String>,
    pub(super) revision: Option<String>,
    /// `column_names` and `header` of CSV files.
    pub(super) header: TableHeader,
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
            header: header(map).map_err(wrong)?,
        })
    }

    /// The patterns of a split; nothing when `data_files` is not set.
    pub(super) fn patterns(&self, split: &str) -> Result<Option<Vec<&str>>> {
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

/// Where a CSV file has the names of its columns from: names that are given are for a file
/// without a header row, unless the row is named.
fn header(map: &Map<String, Value>) -> Result<TableHeader> {
    let names = match map.get("column_names") {
        None | Some(Value::Null) => None,
        Some(Value::Array(names)) => {
            let names = names.iter().map(|name| name.as_str().map(str::to_owned));
            let names: Option<Vec<String>> = names.collect();
            Some(names.ok_or_else(|| Error::new("`column_names` must be texts"))?)
        }
        Some(other) => {
            let message = format!("`column_names` must be a list, found `{other}`");
            return Err(Error::new(message));
        }
    };
    let without_row = match map.get("header") {
        None => names.is_some(),
        Some(Value::Null) => true,
        Some(Value::String(word)) if word == "infer" => names.is_some(),
        Some(row) if row.as_u64() == Some(0) => false,
        Some(other) => {
            return Err(Error::new(format!("`header` is `{other}`"))
                .with_hint("0 is the first row; null says that there is none"));
        }
    };
    match (names, without_row) {
        (Some(names), true) => Ok(TableHeader::Given(names)),
        (Some(names), false) => Ok(TableHeader::InPlaceOfRow(names)),
        (None, false) => Ok(TableHeader::Row),
        (None, true) => Err(
            Error::new("columns of a file without a header row need names")
                .with_hint("write `column_names: [question, answer]`"),
        ),
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
