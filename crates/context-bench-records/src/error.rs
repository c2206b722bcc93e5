//! What can be wrong with a file of records, and where.
//!
//! An error about one record leaves the records after it readable; an error
//! about a whole file ends it, because what follows cannot be trusted.

use std::io;
use std::path::{Path, PathBuf};

use context_bench_error::suggest::quoted_list;
use context_bench_error::{Hint, Place};

/// Why records cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordError {
    /// A file does not exist.
    #[error("no file `{}`", path.display())]
    Missing {
        /// The file as the user named it.
        path: PathBuf,
    },
    /// A file is expected, but the path is a folder.
    #[error("`{}` is a folder, not a file", path.display())]
    Folder {
        /// The folder as the user named it.
        path: PathBuf,
    },
    /// A folder or a pattern stands for no file of records.
    #[error("`{}` holds no file of records", path.display())]
    NoFiles {
        /// The folder, pattern or archive as the user named it.
        path: PathBuf,
        /// Names that are there, of which none fits.
        found: Vec<String>,
    },
    /// An archive holds several files of records and the user named none.
    #[error("`{}` holds several files of records", path.display())]
    SeveralMembers {
        /// The archive as the user named it.
        path: PathBuf,
        /// The names of some of its members.
        members: Vec<String>,
    },
    /// A pattern is not valid.
    #[error("`{pattern}` is not a valid pattern: {problem}")]
    BadPattern {
        /// The pattern as the user typed it.
        pattern: String,
        /// What is wrong with it.
        problem: String,
    },
    /// Neither the name nor the first bytes show the format of a file.
    #[error("cannot tell the format of file `{}`", path.display())]
    UnknownFormat {
        /// The file as the user named it.
        path: PathBuf,
    },
    /// A column was asked for that the file does not have.
    #[error("no column `{column}` in `{}`", path.display())]
    NoColumn {
        /// The file as the user named it.
        path: PathBuf,
        /// The column that was asked for.
        column: String,
        /// The columns that are there.
        columns: Vec<String>,
    },
    /// A file cannot be opened, read or decompressed.
    #[error("cannot read file `{}`: {source}", path.display())]
    Unreadable {
        /// The file as the user named it.
        path: PathBuf,
        /// What the system or the decompressor said.
        source: io::Error,
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
    /// A valid value is found where a record, which is a map, must be.
    #[error("a record must be a JSON object, found {found}\n  at {at}")]
    NotAMap {
        /// What kind of value it is.
        found: &'static str,
        /// Where.
        at: Place,
    },
}

impl RecordError {
    /// Whether the error is about one record, so that the next can be read.
    pub fn is_about_one_record(&self) -> bool {
        matches!(self, Self::BadRecord { .. } | Self::NotAMap { .. })
    }
}

impl Hint for RecordError {
    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Missing { .. } => {
                "check the path; it is taken relative to the current folder".into()
            }
            Self::Folder { .. } => {
                "name a file in it, or a pattern such as `folder/*.jsonl`".into()
            }
            Self::NoFiles { found, .. } if found.is_empty() => {
                "there is nothing in it; check the path".into()
            }
            Self::NoFiles { found, .. } => format!(
                "{ENDINGS}; found {}",
                quoted_list(&found[..found.len().min(SHOWN)], "and")
            ),
            Self::SeveralMembers { path, members } => format!(
                "name one as `{}#{}`, or several with a pattern; there are {}",
                path.display(),
                members.first().map_or("member", String::as_str),
                quoted_list(&members[..members.len().min(SHOWN)], "and")
            ),
            Self::BadPattern { .. } => {
                "`*` stands for any part of a name, `**` for any folders, `{a,b}` for either".into()
            }
            Self::UnknownFormat { .. } => ENDINGS.into(),
            Self::NoColumn { columns, .. } => format!(
                "the file has {}",
                quoted_list(&columns[..columns.len().min(4 * SHOWN)], "and")
            ),
            Self::Unreadable { source, .. } if source.kind() == io::ErrorKind::PermissionDenied => {
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
            Self::BadRecord { .. } | Self::NotAMap { .. } => "fix the record".into(),
        })
    }
}

/// How many names a hint shows.
const SHOWN: usize = 5;

const ENDINGS: &str = "use files ending in .jsonl, .json, .csv, .tsv (each also with .gz, .zst or .bz2), .parquet or .zip";

/// The error of a file that was opened but cannot be read.
pub(crate) fn unreadable(path: &Path, source: io::Error) -> RecordError {
    RecordError::Unreadable {
        path: path.into(),
        source,
    }
}
