//! `SharedFiles`: one file for several tasks. Each must find its own records in it, unless the
//! tasks are about the same data anyway.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use context_bench_tasks::{Error, Result, Task};
use serde_json::{Map, Value, json};

/// This many records are enough to see whether two tasks got the same ones.
const COMPARED: usize = 64;

/// What was read so far from files that the user gave.
#[derive(Debug, Default)]
pub(super) struct SharedFiles(Mutex<Vec<ServedRecords>>);

#[derive(Debug, PartialEq, Eq)]
struct ServedRecords {
    file: PathBuf,
    task: String,
    /// The data that the task is about.
    about: String,
    digest: String,
}

impl SharedFiles {
    /// Notes which records of a file a task got.
    pub(super) fn note<'a>(
        &self,
        file: &Path,
        task: &str,
        about: String,
        records: impl Iterator<Item = &'a Map<String, Value>>,
    ) -> Result<()> {
        let mut text = Vec::new();
        for record in records.take(COMPARED) {
            // Writing JSON values to memory cannot fail.
            let _ = serde_json::to_writer(&mut text, record);
        }
        if text.is_empty() {
            return Ok(());
        }
        let new = ServedRecords {
            file: file.to_owned(),
            task: task.to_owned(),
            about,
            digest: crate::digest::hex(&text),
        };
        let mut served = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_same = |old: &&ServedRecords| {
            old.file == new.file && old.digest == new.digest && old.about != new.about
        };
        if let Some(old) = served.iter().find(is_same) {
            return Err(Error::new(format!(
                "`{}` would give the same records to `{}` and to `{}`, which ask about different \
                 data",
                file.display(),
                old.task,
                new.task
            ))
            .with_hint(
                "name one task, or pass a copy that tells them apart as `--data-from NAME=PATH`: a \
                 folder with a file for each, or records with the column that the dataset has",
            ));
        }
        served.push(new);
        Ok(())
    }
}

/// The data that a task is about.
pub(super) fn about(task: &Task) -> String {
    let keys = ["dataset", "dataset_path", "dataset_name", "dataset_kwargs"];
    let value = |key: &str| task.config.get(key).cloned().unwrap_or(Value::Null);
    json!(keys.map(value)).to_string()
}
