//! `ReadOnly`: a store that can be read although it cannot be written.
//!
//! Its folder, its file or the file system may be protected. A store in WAL mode wants
//! its log and shared memory beside it; where these cannot be made, the file is read
//! without locks, which is sound as long as nobody else has it open: whoever has it
//! open has made a log. A log that a killed process left behind, and that cannot be
//! taken up in place, is taken up in a copy.

use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags};

use super::error::{Cause, StoreError, describe};
use super::open::{harden, reader, with_suffix};
use super::schema::{self, StoreFormat};
use super::upgrade;

/// A store that can only be read.
pub(super) struct ReadOnly {
    /// Why it cannot be written.
    pub(super) reason: String,
    path: PathBuf,
    /// Holds a copy with its log, where the log cannot be taken up in place.
    copy: Option<tempfile::TempDir>,
}

impl ReadOnly {
    /// Opens what cannot be written for that reason.
    pub(super) fn open(path: &Path, reason: String) -> Result<Self, StoreError> {
        let mut store = Self {
            reason,
            path: path.to_owned(),
            copy: None,
        };
        let found = store.look().or_else(|error| match has_log(path) {
            true => {
                store.copy = Some(copied(path).map_err(|_| error)?);
                store.look()
            }
            false => Err(error),
        });
        let unusable = |problem: String, cause: Cause| StoreError::Unusable {
            path: path.to_owned(),
            problem,
            cause,
        };
        match found.map_err(|error| unusable(describe(&error), Cause::of(&error)))? {
            StoreFormat::Ours => Ok(store),
            // Read as what it becomes, in a copy.
            StoreFormat::First => {
                let folder = copied(path).map_err(|error| {
                    unusable(format!("it is of format 1: {error}"), Cause::of_io(&error))
                })?;
                let copy = folder.path().join("store.sqlite");
                upgrade::upgrade_file(&copy)
                    .map_err(|error| unusable(describe(&error), Cause::of(&error)))?;
                store.copy = Some(folder);
                Ok(store)
            }
            StoreFormat::Newer(found) => Err(StoreError::Newer {
                path: path.to_owned(),
                found,
            }),
            StoreFormat::Foreign | StoreFormat::Empty => Err(unusable(
                "its tables are not those of a store, and it cannot be written".into(),
                Cause::ReadOnly,
            )),
        }
    }

    fn look(&self) -> rusqlite::Result<StoreFormat> {
        schema::inspect(&self.reader()?.0)
    }

    /// A connection, and whether it relies on nobody else having the file open.
    pub(super) fn reader(&self) -> rusqlite::Result<(Connection, bool)> {
        if let Some(copy) = &self.copy {
            return Ok((reader(&copy.path().join("store.sqlite"))?, false));
        }
        let usual = reader(&self.path).and_then(|connection| {
            // Only trying shows whether log and shared memory are available.
            connection.query_row("SELECT count(*) FROM sqlite_master", (), |_| Ok(()))?;
            Ok(connection)
        });
        match usual {
            Err(error)
                if matches!(
                    Cause::of(&error),
                    Cause::ReadOnly | Cause::Forbidden | Cause::DiskFull | Cause::Io
                ) && !has_log(&self.path) =>
            {
                Ok((unlocked(&self.path)?, true))
            }
            other => other.map(|connection| (connection, false)),
        }
    }

    /// Whether somebody has opened the file for writing meanwhile.
    pub(super) fn is_in_use(&self) -> bool {
        self.copy.is_none() && has_log(&self.path)
    }
}

/// Whether there is a log with something in it.
fn has_log(path: &Path) -> bool {
    let log = std::fs::metadata(with_suffix(path, "-wal"));
    log.is_ok_and(|log| log.len() > 0)
}

/// A connection that takes no locks and looks for no log.
fn unlocked(path: &Path) -> rusqlite::Result<Connection> {
    let name = url::Url::from_file_path(path)
        .map_err(|()| rusqlite::Error::InvalidPath(path.to_owned()))?;
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_URI;
    let connection = Connection::open_with_flags(format!("{name}?immutable=1"), flags)?;
    harden(&connection)?;
    connection.pragma_update(None, "cache_size", -32 * 1024)?;
    Ok(connection)
}

/// A copy of a store and its log in a folder of its own.
fn copied(path: &Path) -> std::io::Result<tempfile::TempDir> {
    let folder = tempfile::tempdir()?;
    let copy = folder.path().join("store.sqlite");
    std::fs::copy(path, &copy)?;
    if has_log(path) {
        std::fs::copy(with_suffix(path, "-wal"), with_suffix(&copy, "-wal"))?;
    }
    Ok(folder)
}
