//! `Lease`: shows that the process of a run lives.
//!
//! A killed run stays `running` in the store, so its status does not show it. An empty
//! database beside the store serves as the lock, as the store's own lock does: the
//! system frees it when the process dies, whatever it dies of.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

use super::error::is_busy;
use super::open::with_suffix;
use super::run::RunId;

/// Held as long as a run goes on.
pub(super) struct Lease {
    /// Closed first, which frees the lock.
    connection: Option<Connection>,
    path: PathBuf,
}

impl Lease {
    /// Takes the lease of a run that no other process knows yet. Where there can be no lock
    /// the run does without: it then looks like one that was killed.
    pub(super) fn take(store: &Path, run: &RunId) -> Option<Self> {
        let path = path(store, run);
        let connection = Connection::open(&path).ok()?;
        // Nothing is ever written, so no file of it should be left behind.
        let lock = "PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE";
        let connection = connection.execute_batch(lock).is_ok().then_some(connection);
        Some(Self { connection, path })
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        drop(self.connection.take());
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Whether somebody holds the lease of a run that is in the store.
pub(super) fn is_held(store: &Path, run: &RunId) -> bool {
    let path = path(store, run);
    if !path.exists() {
        return false;
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let look = || -> rusqlite::Result<()> {
        let connection = Connection::open_with_flags(&path, flags)?;
        connection.busy_timeout(Duration::ZERO)?;
        connection.query_row("SELECT count(*) FROM sqlite_master", (), |_| Ok(()))
    };
    let held = look().is_err_and(|error| is_busy(&error));
    if !held {
        // Of a process that was killed. Nobody takes the lease of a known run.
        let _ = std::fs::remove_file(&path);
    }
    held
}

fn path(store: &Path, run: &RunId) -> PathBuf {
    with_suffix(store, &format!(".live-{run}"))
}
