//! What can be wrong with a dataset.

use std::path::PathBuf;

use crate::error::{Hint, Location};
use crate::model::ExampleError;

/// Why a dataset cannot be read, or a record of it not used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DatasetError {
    /// A file cannot be opened or read.
    #[error("cannot read dataset file `{}`: {source}", path.display())]
    Unreadable {
        /// The file as the user named it.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A record is not valid in its format.
    #[error("{problem}\n  at {at}")]
    BadRecord {
        /// What is wrong.
        problem: String,
        /// Where.
        at: Location,
    },
    /// A record is valid but cannot be an example.
    #[error("{source}\n  at {at}")]
    BadExample {
        /// What is wrong.
        source: ExampleError,
        /// Where.
        at: Location,
    },
    /// The format cannot be told from the file name.
    #[error("cannot tell the format of dataset file `{}`", path.display())]
    UnknownFormat {
        /// The file as the user named it.
        path: PathBuf,
    },
    /// A failure of user code that yields examples.
    #[error("the dataset failed: {0}")]
    Custom(String),
}

impl Hint for DatasetError {
    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Unreadable { source, .. } if source.kind() == std::io::ErrorKind::NotFound => {
                "check the path; it is taken relative to the current folder".into()
            }
            Self::Unreadable { .. } => "check the permissions of the file".into(),
            Self::BadRecord { .. } | Self::BadExample { .. } => {
                "mend the record, or pass `--skip-bad-lines` to leave bad ones out and count them"
                    .into()
            }
            Self::UnknownFormat { .. } => {
                "use a file ending in .jsonl, .json or .csv, each also with .gz or .zst".into()
            }
            Self::Custom(_) => return None,
        })
    }
}
