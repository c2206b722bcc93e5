//! Records end to end: bytes on disk or behind `ReadAt` in, records or exact
//! messages out.
#![allow(
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests say what they expect, too"
)]

mod damage;
mod formats;
mod lines;
mod parquet;
mod sets;
mod shared;
mod zip;

use std::fs;
use std::path::{Path, PathBuf};

use context_bench_error::Hint as _;
use context_bench_records::{ReadSettings, Record, RecordError, RecordSet};

/// A folder with files, removed at the end of the test.
struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a folder"))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        fs::write(&path, bytes).expect("written");
        path
    }

    /// An error and its hint, with the folder left out of the paths.
    fn shown(&self, error: &RecordError) -> String {
        let hint = error.hint().map(|hint| format!("\nhint: {hint}"));
        let folder = format!("{}/", self.0.path().display());
        format!("{error}{}", hint.unwrap_or_default()).replace(&folder, "")
    }

    /// The records of a path, or the first error, as text.
    fn outcome(&self, path: &str, settings: ReadSettings) -> Result<Vec<String>, String> {
        RecordSet::open(&self.path(path), settings)
            .and_then(|set| {
                set.map(|found| Ok(serde_json::to_string(&found?.record).expect("JSON")))
                    .collect()
            })
            .map_err(|error| self.shown(&error))
    }
}

/// The records of a path, which must be good.
fn read(path: &Path) -> Vec<Record> {
    RecordSet::open(path, ReadSettings::default())
        .unwrap_or_else(|error| panic!("{error}"))
        .map(|found| found.unwrap_or_else(|error| panic!("{error}")).record)
        .collect()
}

fn first(max_records: usize) -> ReadSettings {
    ReadSettings {
        max_records: Some(max_records),
        ..ReadSettings::default()
    }
}
