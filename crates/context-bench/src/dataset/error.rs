//! What can be wrong with a dataset.
//!
//! An error about one record can be skipped on request; an error about a whole
//! file never is, because what follows it cannot be trusted.

use std::io::ErrorKind;
use std::path::PathBuf;

use context_bench_error::suggest::{near_matches, quoted_list};
use context_bench_records::RecordError;

use super::catalog::DatasetCatalogError;
use super::skipped::SkippedRecord;
use crate::error::{Hint, Place};
use crate::model::ExampleError;

/// Why a dataset cannot be read, or a record of it not used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DatasetError {
    /// A file does not exist.
    #[error("no dataset file `{}`", path.display())]
    Missing {
        /// The file as the user named it.
        path: PathBuf,
        /// The folder of the file, when that does not exist either.
        folder: Option<PathBuf>,
        /// Files of the same folder with a similar name.
        near: Vec<PathBuf>,
    },
    /// A file is expected, but the path is a folder.
    #[error("dataset `{}` is a folder, not a file", path.display())]
    Folder {
        /// The folder as the user named it.
        path: PathBuf,
        /// Some of the dataset files in it.
        files: Vec<PathBuf>,
    },
    /// A file cannot be opened or read.
    #[error("cannot read dataset file `{}`: {source}", path.display())]
    Unreadable {
        /// The file as the user named it.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A file as a whole is not valid in its format; no record can be blamed.
    #[error("{problem}\n  at {at}")]
    BadFile {
        /// What is wrong.
        problem: String,
        /// Where.
        at: Place,
    },
    /// A record is not valid in its format.
    #[error("{problem}\n  at {at}")]
    BadRecord {
        /// What is wrong.
        problem: String,
        /// Where.
        at: Place,
    },
    /// A record is valid but cannot be an example.
    #[error("{source}\n  at {at}")]
    BadExample {
        /// What is wrong.
        source: ExampleError,
        /// Where.
        at: Place,
    },
    /// A record is valid but not laid out as its dataset is.
    #[error(transparent)]
    BadField(Box<BadField>),
    /// A name is mapped to a key that no record has.
    #[error("`{name}={key}`: no record has `{key}`\n  at {file}")]
    NoSuchKey {
        /// The name.
        name: String,
        /// The key that is to mean it.
        key: String,
        /// The file as the user named it.
        file: String,
        /// The keys that there are.
        keys: Vec<String>,
    },
    /// A dataset that is to be put into random order does not fit into memory.
    #[error("the examples are too large to be put into random order: more than {megabytes} MB")]
    TooLargeToShuffle {
        /// How much fits.
        megabytes: usize,
    },
    /// The format cannot be told from the file name.
    #[error("cannot tell the format of dataset file `{}`", path.display())]
    UnknownFormat {
        /// The file as the user named it.
        path: PathBuf,
    },
    /// Records cannot be read, for a reason that only their format knows.
    #[error(transparent)]
    Records(RecordError),
    /// A dataset value is neither a file nor `name` nor `name:config`.
    #[error("`{typed}` does not name a dataset")]
    BadReference {
        /// The value as the user typed it.
        typed: String,
    },
    /// A dataset of the catalog cannot be used.
    #[error(transparent)]
    DatasetCatalog(Box<DatasetCatalogError>),
    /// A failure of user code that yields examples.
    #[error("the dataset failed: {0}")]
    Custom(String),
}

/// A field that cannot be made of a record, because the record is not laid out as its dataset is.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("field `{field}` of dataset `{dataset}`, record {record}: {problem}\n  at {at}")]
pub struct BadField {
    /// The dataset.
    pub dataset: String,
    /// The field whose template does not apply.
    pub field: String,
    /// The number of the record, from 1.
    pub record: usize,
    /// What is wrong.
    pub problem: String,
    /// Where the record stands.
    pub at: Place,
}

impl From<DatasetCatalogError> for DatasetError {
    fn from(error: DatasetCatalogError) -> Self {
        Self::DatasetCatalog(Box::new(error))
    }
}

impl DatasetError {
    /// The error as a skipped record, or itself when it is about more than one record.
    pub(super) fn into_skipped(self) -> Result<SkippedRecord, Self> {
        match self {
            Self::BadRecord { problem, at } => Ok(SkippedRecord { at, problem }),
            Self::BadExample { source, at } => Ok(SkippedRecord {
                at,
                problem: source.to_string(),
            }),
            Self::BadField(field) => Ok(SkippedRecord {
                problem: format!("field `{}`: {}", field.field, field.problem),
                at: field.at,
            }),
            other => Err(other),
        }
    }
}

impl Hint for DatasetError {
    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Missing {
                folder: Some(folder),
                ..
            } => format!("the folder `{}` does not exist", folder.display()),
            Self::Missing { near, .. } if !near.is_empty() => {
                format!("did you mean {}?", quoted_list(&displayed(near), "or"))
            }
            Self::Missing { .. } => {
                "check the path; it is taken relative to the current folder".into()
            }
            Self::Folder { files, .. } if !files.is_empty() => {
                format!(
                    "name a file in it, such as {}",
                    quoted_list(&displayed(files), "or")
                )
            }
            Self::TooLargeToShuffle { .. } => {
                "use fewer examples (`--max-examples`), or leave out `--stop-when-decided`".into()
            }
            Self::Folder { .. } => "name a file; there is no dataset file in this folder".into(),
            Self::Unreadable { source, .. } if source.kind() == ErrorKind::PermissionDenied => {
                "check the permissions of the file".into()
            }
            // What the system did not say, a decompressor did.
            Self::Unreadable { source, .. } if source.raw_os_error().is_none() => {
                "the file is damaged, cut short or not what its name says; get it again".into()
            }
            Self::Unreadable { .. } => return None,
            Self::BadFile { .. } => {
                "fix the file; bad records can be skipped, a broken file cannot".into()
            }
            Self::BadRecord { .. } | Self::BadExample { .. } => {
                "fix the record, or pass `--skip-bad-lines` to leave bad ones out and count them"
                    .into()
            }
            Self::BadField(field) => {
                let name = field.dataset.split(':').next().unwrap_or_default();
                format!(
                    "the file is not laid out as `{name}` is on the hub; `context-bench show \
                     {name}` shows what is read; `--skip-bad-lines` leaves such records out"
                )
            }
            Self::NoSuchKey { key, keys, .. } => {
                let near = near_matches(key, keys.iter().map(String::as_str));
                match near.is_empty() {
                    true => format!("the records have {}", quoted_list(keys, "and")),
                    false => format!("did you mean {}?", quoted_list(&near, "or")),
                }
            }
            Self::UnknownFormat { .. } => {
                "use a file ending in .jsonl, .json, .csv or .tsv, each also with .gz, .zst or .bz2, in .parquet or in .zip"
                    .into()
            }
            Self::Records(error) => return error.hint(),
            Self::BadReference { .. } => {
                "write a file path, a name such as `demo`, `name:config`, or `name=PATH`".into()
            }
            Self::DatasetCatalog(error) => return error.hint(),
            Self::Custom(_) => return None,
        })
    }
}

fn displayed(paths: &[PathBuf]) -> Vec<String> {
    paths
        .iter()
        .map(|path| path.display().to_string())
        .collect()
}
