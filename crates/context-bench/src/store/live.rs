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

/// Sends what Ctrl-C sends to the process that holds the lease of a run; its id.
///
/// The system says who holds the lock. A process id may be used again the moment its process is
/// gone, and a lock on a file of another machine has an id of that machine: so the process must
/// have the very file open, and hold the lock still once it can no longer be mistaken.
#[cfg(target_os = "linux")]
pub(super) fn interrupt(store: &Path, run: &RunId) -> Result<u32, String> {
    use rustix::process::{PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

    let file = std::fs::File::open(path(store, run))
        .map_err(|_| "no process works on it any more".to_owned())?;
    let gone = || "no process works on it any more".to_owned();
    let holder = holder(&file)?.ok_or_else(gone)?;
    let process = pidfd_open(holder, PidfdFlags::empty()).map_err(|_| gone())?;
    if !has_open(holder, &file) || self::holder(&file)? != Some(holder) {
        return Err("it cannot be told which process works on it".to_owned());
    }
    pidfd_send_signal(process, Signal::INT).map_err(|error| {
        format!(
            "its process {} cannot be asked: {error}",
            holder.as_raw_pid()
        )
    })?;
    u32::try_from(holder.as_raw_pid()).map_err(|_| gone())
}

#[cfg(not(target_os = "linux"))]
pub(super) fn interrupt(_: &Path, _: &RunId) -> Result<u32, String> {
    Err("this system does not say which process works on it".to_owned())
}

/// Which process has a lock on the part of the file that SQLite locks.
#[cfg(target_os = "linux")]
fn holder(file: &std::fs::File) -> Result<Option<rustix::process::Pid>, String> {
    use rustix::process::{Flock, FlockType, fcntl_getlk};

    /// `PENDING_BYTE` of SQLite; the bytes that it locks begin there.
    const LOCKED: u64 = 0x4000_0000;
    let wanted = Flock {
        start: LOCKED,
        length: 512,
        ..FlockType::ReadLock.into()
    };
    let found = fcntl_getlk(file, &wanted)
        .map_err(|error| format!("its lock cannot be looked at: {error}"))?;
    Ok(found.and_then(|lock| lock.pid))
}

/// Whether a process has this very file open.
#[cfg(target_os = "linux")]
fn has_open(process: rustix::process::Pid, file: &std::fs::File) -> bool {
    use std::os::unix::fs::MetadataExt as _;

    let Ok(wanted) = file.metadata() else {
        return false;
    };
    let folder = format!("/proc/{}/fd", process.as_raw_pid());
    let open = std::fs::read_dir(folder).into_iter().flatten().flatten();
    open.filter_map(|one| std::fs::metadata(one.path()).ok())
        .any(|one| (one.dev(), one.ino()) == (wanted.dev(), wanted.ino()))
}

fn path(store: &Path, run: &RunId) -> PathBuf {
    with_suffix(store, &format!(".live-{run}"))
}
