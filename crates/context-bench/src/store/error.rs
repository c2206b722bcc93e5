//! What can be wrong with a store.
//!
//! None of it ends a run: one that cannot write goes on in memory, one that cannot
//! look something up does not ask for it, and either says so once.

use std::path::PathBuf;

use rusqlite::ErrorCode;

use super::schema::VERSION;
use crate::error::Hint;

/// Why a store cannot be opened, read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The folder or the file cannot be used.
    #[error("cannot use the store `{}`: {problem}", path.display())]
    Unusable {
        /// The folder or file.
        path: PathBuf,
        /// What the system said.
        problem: String,
    },
    /// The store was made by a later version of this program.
    #[error("the store `{}` has format {found}, this version knows up to {VERSION}", path.display())]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its format number.
        found: i64,
    },
    /// The store no longer takes records.
    #[error("the store takes no more records: {reason}")]
    Failed {
        /// What made it stop.
        reason: String,
    },
    /// A query did not work.
    #[error("a query of the store failed: {problem}")]
    Query {
        /// What the database said.
        problem: String,
    },
    /// A query of the user cannot be answered.
    #[error("the query cannot be answered: {problem}")]
    Sql {
        /// What is wrong with it.
        problem: String,
    },
    /// No run has that id, nor one that begins like that.
    #[error("no run `{id}` in the store")]
    UnknownRun {
        /// What was asked for.
        id: String,
    },
    /// Several runs begin like that.
    #[error("`{id}` is the beginning of {} runs", runs.len())]
    AmbiguousRun {
        /// What was asked for.
        id: String,
        /// The runs, oldest first.
        runs: Vec<String>,
    },
}

impl Hint for StoreError {
    fn hint(&self) -> Option<String> {
        match self {
            Self::Unusable { .. } => Some("name a writable folder with `--cache-dir`".into()),
            Self::Newer { .. } => Some(
                "use the version that made the store, or another folder with `--cache-dir`".into(),
            ),
            Self::Failed { .. } => Some(
                "what was stored before is kept; check the free space and the rights of the folder"
                    .into(),
            ),
            Self::Query { .. } => None,
            Self::Sql { .. } => Some(
                "there are the views `answers` and `run_scores`, for example `SELECT example_id, \
                 response FROM answers`; docs/reference/store.md has all columns"
                    .into(),
            ),
            Self::UnknownRun { .. } => Some("`context-bench runs` lists all runs".into()),
            Self::AmbiguousRun { runs, .. } => Some(format!("one of: {}", runs.join(", "))),
        }
    }
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Query {
            problem: describe(&error),
        }
    }
}

/// A record that is not what was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Damaged;

/// The database's own words, without our types around them.
pub(super) fn describe(error: &rusqlite::Error) -> String {
    match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => "the disk is full".to_owned(),
        _ => error.to_string(),
    }
}

/// Whether the file itself is broken, as opposed to busy, full or forbidden.
pub(super) fn is_damage(error: &rusqlite::Error) -> bool {
    use rusqlite::ffi::SQLITE_IOERR_SHORT_READ;
    match error.sqlite_error() {
        Some(inner) => {
            matches!(
                inner.code,
                ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase
            ) || inner.extended_code == SQLITE_IOERR_SHORT_READ
        }
        // A column of another type than the one we wrote.
        None => matches!(
            error,
            rusqlite::Error::InvalidColumnType(..)
                | rusqlite::Error::FromSqlConversionFailure(..)
                | rusqlite::Error::IntegralValueOutOfRange(..)
                | rusqlite::Error::Utf8Error(..)
        ),
    }
}

/// Whether another process holds the lock.
pub(super) fn is_busy(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked)
    )
}

/// Whether a single value is longer than a database can hold.
pub(super) fn is_too_long(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(ErrorCode::TooBig)
}
