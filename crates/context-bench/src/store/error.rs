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
        /// What kind of problem that is.
        cause: Cause,
    },
    /// A bucket was named where a folder is needed.
    #[error("`{}` is a bucket, and a store is a folder of this machine", path.display())]
    Bucket {
        /// What was named.
        path: PathBuf,
    },
    /// The store can be read but not written.
    #[error("the store `{}` can only be read: {reason}", path.display())]
    ReadOnly {
        /// The file.
        path: PathBuf,
        /// Why it cannot be written.
        reason: String,
    },
    /// The store was made by a later version of this program.
    #[error("the store `{}` has format {found}, this version knows up to {VERSION}", path.display())]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its format number.
        found: i64,
    },
    /// The store no longer takes entries.
    #[error("the store can no longer be written to: {reason}")]
    Failed {
        /// What made it stop.
        reason: String,
        /// What kind of problem that is.
        cause: Cause,
    },
    /// A query did not work.
    #[error("a query of the store failed: {problem}")]
    Query {
        /// What the database said.
        problem: String,
        /// What kind of problem that is.
        cause: Cause,
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
    /// The run is still going; removing it would remove what it is storing.
    #[error("run {id} is still in progress")]
    Live {
        /// The run.
        id: String,
    },
    /// The process of a run could not be asked to stop.
    #[error("run {id} was not stopped: {problem}")]
    NotStopped {
        /// The run.
        id: String,
        /// Why not.
        problem: String,
    },
    /// The run was removed while it went on.
    #[error("run {id} was removed from the store while it was in progress")]
    Gone {
        /// The run.
        id: String,
    },
    /// Several runs begin like that.
    #[error("`{id}` matches {} runs", runs.len())]
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
            Self::Unusable { cause, .. } | Self::Failed { cause, .. } => Some(cause.hint().into()),
            Self::Query { cause, .. } => match cause {
                Cause::Other => None,
                cause => Some(cause.hint().into()),
            },
            Self::Bucket { .. } => Some(
                "buckets hold segments: run with `--shard i/n` (`0/1` for all of it); \
                 `context-bench merge s3://… --into DIR` makes a store of them"
                    .into(),
            ),
            Self::ReadOnly { .. } => Some(Cause::ReadOnly.hint().into()),
            Self::Newer { .. } => Some(
                "use the version that made the store, or another folder with `--cache-dir`".into(),
            ),
            Self::Sql { .. } => Some(
                "there are the views `answers` and `run_scores`, for example `SELECT example_id, \
                 response FROM answers`; docs/reference/store.md has all columns"
                    .into(),
            ),
            Self::UnknownRun { .. } => Some("`context-bench runs` lists all runs".into()),
            Self::Live { .. } => Some("wait for its end, or stop it with Ctrl-C first".into()),
            Self::NotStopped { .. } => Some("press Ctrl-C in its terminal".into()),
            Self::Gone { .. } => Some("the same command keeps it again".into()),
            Self::AmbiguousRun { runs, .. } => Some(format!("one of: {}", runs.join(", "))),
        }
    }
}

impl StoreError {
    /// What kind of problem it is.
    pub fn cause(&self) -> Cause {
        match self {
            Self::Unusable { cause, .. }
            | Self::Failed { cause, .. }
            | Self::Query { cause, .. } => *cause,
            Self::ReadOnly { .. } => Cause::ReadOnly,
            _ => Cause::Other,
        }
    }
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Query {
            problem: describe(&error),
            cause: Cause::of(&error),
        }
    }
}

/// What kind of problem a store has; each needs a different remedy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Cause {
    /// There is no room left, or no more may be written.
    DiskFull,
    /// It may be read but not written.
    ReadOnly,
    /// It may not be opened, or is not a file.
    Forbidden,
    /// Another process keeps it locked.
    Locked,
    /// It is not what was written.
    Damaged,
    /// The device does not read or write.
    Io,
    /// It holds something that contradicts what is to be stored.
    Constraint,
    /// Anything else.
    Other,
}

impl Cause {
    /// What an error of the database means.
    pub(super) fn of(error: &rusqlite::Error) -> Self {
        if is_damage(error) {
            return Self::Damaged;
        }
        match error.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => Self::DiskFull,
            Some(ErrorCode::ReadOnly) => Self::ReadOnly,
            Some(ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => Self::Forbidden,
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::Locked,
            Some(ErrorCode::SystemIoFailure) => Self::Io,
            Some(ErrorCode::ConstraintViolation) => Self::Constraint,
            _ => Self::Other,
        }
    }

    /// What an error of the file system means.
    pub(crate) fn of_io(error: &std::io::Error) -> Self {
        use std::io::ErrorKind;
        match error.kind() {
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge => {
                Self::DiskFull
            }
            ErrorKind::ReadOnlyFilesystem => Self::ReadOnly,
            ErrorKind::PermissionDenied
            | ErrorKind::NotFound
            | ErrorKind::NotADirectory
            | ErrorKind::AlreadyExists
            | ErrorKind::IsADirectory => Self::Forbidden,
            _ => Self::Io,
        }
    }

    /// What to do about it.
    pub fn hint(self) -> &'static str {
        match self {
            Self::DiskFull => "free some space, or choose another `--cache-dir`",
            Self::ReadOnly => {
                "give yourself the right to write the folder and the file, or choose another \
                 `--cache-dir`"
            }
            Self::Forbidden => "name a folder with `--cache-dir` that you may write",
            Self::Locked => {
                "another process keeps the store locked: wait for its end, or choose another \
                 `--cache-dir`"
            }
            Self::Damaged => {
                "the file is damaged: the next run with it saves what can be read into a new one \
                 and keeps the damaged one beside it"
            }
            Self::Io => {
                "the disk does not read or write as it should: check the device, or choose another \
                 `--cache-dir`"
            }
            Self::Constraint => {
                "the store holds something that contradicts this run: please report it; another \
                 `--cache-dir` works meanwhile"
            }
            Self::Other => "choose another `--cache-dir`, and report it if that surprises you",
        }
    }
}

/// An entry that is not what was written.
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

#[cfg(test)]
mod tests {
    use super::*;
    use rusqlite::ffi;

    #[test]
    fn every_cause_has_its_own_advice() {
        let cases = [
            (ffi::SQLITE_FULL, Cause::DiskFull, "free some space"),
            (ffi::SQLITE_READONLY, Cause::ReadOnly, "the right to write"),
            (ffi::SQLITE_READONLY_DIRECTORY, Cause::ReadOnly, "the right"),
            (ffi::SQLITE_CANTOPEN, Cause::Forbidden, "that you may write"),
            (ffi::SQLITE_PERM, Cause::Forbidden, "that you may write"),
            (ffi::SQLITE_BUSY, Cause::Locked, "another process"),
            (ffi::SQLITE_LOCKED, Cause::Locked, "another process"),
            (ffi::SQLITE_CORRUPT, Cause::Damaged, "is damaged"),
            (ffi::SQLITE_NOTADB, Cause::Damaged, "is damaged"),
            (ffi::SQLITE_IOERR_SHORT_READ, Cause::Damaged, "is damaged"),
            (ffi::SQLITE_IOERR_WRITE, Cause::Io, "check the device"),
            (
                ffi::SQLITE_CONSTRAINT_UNIQUE,
                Cause::Constraint,
                "please report it",
            ),
            (ffi::SQLITE_ERROR, Cause::Other, "report it"),
        ];
        for (code, cause, advice) in cases {
            let error = rusqlite::Error::SqliteFailure(ffi::Error::new(code), None);
            assert_eq!(Cause::of(&error), cause, "{error}");
            let failed = StoreError::Failed {
                reason: describe(&error),
                cause,
            };
            let hint = failed.hint().unwrap_or_default();
            assert!(hint.contains(advice), "{error}: {hint}");
            // Only a full disk is a matter of space.
            assert_eq!(hint.contains("space"), cause == Cause::DiskFull, "{hint}");
        }
    }
}
