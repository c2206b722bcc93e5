//! Builders: ways to read files that are named one by one, such as `json`.

use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};

use context_bench_records::{Format, Syntax, TableHeader};
use context_bench_tasks::{Error, Result};
use serde_json::Map;

use super::files::typed_if_table;
use super::index::told;
use crate::dataset::BadRecords;
use crate::dataset::catalog::{self, Files, HubAccess, RawRecords};

/// A way to read files that are named one by one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Builder {
    Records(Syntax),
    /// One record per line, with `text`.
    Text,
}

/// Files that follow each other.
pub(super) enum Part<'a> {
    Local(Vec<PathBuf>),
    /// One by its address.
    Url(&'a str, &'a HubAccess),
}

impl Builder {
    /// The builder that a `dataset_path` names, if it names one.
    pub(super) fn named(name: &str) -> Result<Option<Self>> {
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

    /// The first `most` records of files, or all.
    pub(super) fn read(
        self,
        parts: Vec<Part<'_>>,
        most: Option<usize>,
        header: &TableHeader,
        bad: &BadRecords,
    ) -> Result<RawRecords> {
        let mut all = RawRecords {
            records: Vec::new(),
            n_original: Some(0),
        };
        for part in parts {
            let left = most.map(|most| most.saturating_sub(all.records.len()));
            if left == Some(0) {
                // What is not opened is not counted.
                all.n_original = None;
                break;
            }
            let found = self.part(part, left, header, bad)?;
            let counts = all.n_original.zip(found.n_original);
            all.n_original = counts.map(|(before, more)| before + more);
            all.records.extend(found.records);
        }
        Ok(all)
    }

    fn part(
        self,
        part: Part<'_>,
        most: Option<usize>,
        header: &TableHeader,
        bad: &BadRecords,
    ) -> Result<RawRecords> {
        let files = match part {
            Part::Local(files) => files,
            Part::Url(url, hub) => {
                // Of a table more is looked at than is read: what its columns are.
                let is_table = matches!(self, Self::Records(Syntax::Table { .. }));
                if let (Self::Records(_), Some(most), false) = (self, most, is_table) {
                    let found = catalog::read_url(url, most, hub, bad);
                    if let Some(found) = found.map_err(|error| told(&error))? {
                        return Ok(found);
                    }
                }
                vec![hub.fetch_url(url).map_err(|error| told(&error))?]
            }
        };
        match self {
            Self::Records(syntax) => {
                // If the name shows the format, it is believed.
                let tells = files.iter().all(|file| Format::of(file).is_some());
                let files = Files::Local(files, (!tells).then_some(syntax));
                let found = typed_if_table(&files, most, header, bad);
                found.map_err(|error| told(&error))
            }
            Self::Text => lines(&files, most),
        }
    }
}

/// One record for each line of files.
fn lines(files: &[PathBuf], most: Option<usize>) -> Result<RawRecords> {
    let mut records = Vec::new();
    for file in files {
        let unreadable = |error: std::io::Error| unreadable(file, &error);
        for line in BufReader::new(File::open(file).map_err(unreadable)?).lines() {
            if most.is_some_and(|most| records.len() >= most) {
                return Ok(RawRecords {
                    records,
                    n_original: None,
                });
            }
            let text = line.map_err(unreadable)?.into();
            records.push(Map::from_iter([("text".to_owned(), text)]));
        }
    }
    Ok(RawRecords {
        n_original: Some(records.len()),
        records,
    })
}

fn unreadable(file: &Path, error: &std::io::Error) -> Error {
    Error::new(format!("cannot read `{}`: {error}", file.display()))
}
