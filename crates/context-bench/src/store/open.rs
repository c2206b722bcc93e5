//! OpenedFile: connections with the right settings, and files that are not what
//! they should be.
//!
//! A file that is damaged is moved aside, never deleted, once what can be read of it is
//! in a new one. Whether a file is damaged beyond what one record can hide is decided
//! here and nowhere else.

use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use rusqlite::{Connection, OpenFlags, TransactionBehavior};

use super::error::{Cause, StoreError, describe, is_busy, is_damage};
use super::read_only::ReadOnly;
use super::salvage;
use super::schema::{self, StoreFormat};
use super::sql;
use super::upgrade;
use super::wal;

/// The file inside the folder.
const FILE: &str = "store.sqlite";
/// How long one statement waits for the lock of another process.
const BUSY: Duration = Duration::from_secs(10);
/// How long another process may take to save what can be read of a damaged file.
const SAVING: Duration = Duration::from_secs(600);
/// How long folding the log waits for others who read or write.
const FOLDING: Duration = Duration::from_millis(500);
/// A log that another process is writing looks different after this.
const WRITING: Duration = Duration::from_millis(50);
/// Pause between two looks at a lock. Short, so that a writer that works without
/// pause is met between two of its transactions.
const POLL: Duration = Duration::from_millis(2);

/// The file of a folder's store.
pub(super) fn file(dir: &Path) -> PathBuf {
    dir.join(FILE)
}

/// Whether this is the address of a bucket: no folder is made that is called like one.
pub(crate) fn is_bucket(dir: &Path) -> bool {
    dir.to_str().is_some_and(|text| text.starts_with("s3://"))
}

/// What can be done with an open file.
pub(super) enum Access {
    Write(Connection),
    Read(ReadOnly),
}

/// Distinguishes a file from another one that took its place; nothing where that cannot be
/// told.
pub(super) fn identity(path: &Path) -> Option<(u64, u64)> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        let file = std::fs::metadata(path).ok()?;
        Some((file.dev(), file.ino()))
    }
    #[cfg(not(unix))]
    {
        let _ = path;
        None
    }
}

/// An open file with what there is to say about it.
pub(super) struct OpenedFile {
    pub(super) access: Access,
    pub(super) path: PathBuf,
    pub(super) notes: Vec<String>,
}

/// Why a file cannot be used as it is.
enum OpenProblem {
    /// To be moved aside.
    Damaged(String),
    Error(StoreError),
}

/// Opens the store of a folder for writing; both are made when missing. A file that can
/// be read and not written is opened for reading.
pub(super) fn open(dir: &Path) -> Result<OpenedFile, StoreError> {
    if is_bucket(dir) {
        return Err(StoreError::Bucket {
            path: dir.to_owned(),
        });
    }
    let unusable = |error: std::io::Error| StoreError::Unusable {
        path: dir.to_owned(),
        problem: error.to_string(),
        cause: Cause::of_io(&error),
    };
    std::fs::create_dir_all(dir).map_err(unusable)?;
    // Absolute, so that no name is taken for a URI and no change of folder matters.
    let path = file(&std::path::absolute(dir).map_err(unusable)?);
    let mut notes = Vec::new();
    if !path.exists() && salvage::saved(&path).exists() {
        // Whoever saved it was killed before it was in its place.
        let _lock = Lock::take(dir, &path)?;
        salvage::put_in_place(&path).map_err(unusable)?;
    }
    let lost = keep_broken_log(&path, &mut notes);
    let opened = match connect(&path, &mut notes) {
        Err(OpenProblem::Damaged(_)) => reopen(dir, &path, &mut notes),
        Err(OpenProblem::Error(error)) => Err(error),
        Ok(connection) => Ok(connection),
    };
    let mut connection = match opened {
        Ok(connection) => connection,
        Err(error) => {
            let access = read_at_least(&path, error)?;
            return Ok(OpenedFile {
                access: Access::Read(access),
                path,
                notes,
            });
        }
    };
    if lost {
        // What is left of the log must not be taken for a new loss.
        fold(&mut connection);
    }
    Ok(OpenedFile {
        access: Access::Write(connection),
        path,
        notes,
    })
}

/// What cannot be written is paid for already: it is read, if that can be.
fn read_at_least(path: &Path, error: StoreError) -> Result<ReadOnly, StoreError> {
    match &error {
        StoreError::Unusable { problem, cause, .. }
            if path.is_file()
                && matches!(
                    cause,
                    Cause::ReadOnly | Cause::Forbidden | Cause::DiskFull | Cause::Io
                ) =>
        {
            match ReadOnly::open(path, problem.clone()) {
                Ok(store) => Ok(store),
                Err(newer @ StoreError::Newer { .. }) => Err(newer),
                Err(_) => Err(error),
            }
        }
        _ => Err(error),
    }
}

/// Two processes may find damage at the same time; the second must not move away what
/// the first began. An empty database serves as the lock: the system frees it when we
/// die.
struct Lock(#[expect(dead_code, reason = "held, not used")] Connection);

impl Lock {
    fn take(dir: &Path, path: &Path) -> Result<Self, StoreError> {
        let unusable = |error: rusqlite::Error| StoreError::Unusable {
            path: path.to_owned(),
            problem: describe(&error),
            cause: Cause::of(&error),
        };
        let lock = Connection::open(dir.join("store.lock")).map_err(unusable)?;
        // Saving much from a damaged file takes its time.
        lock.busy_timeout(SAVING).map_err(unusable)?;
        lock.execute_batch("PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE")
            .map_err(unusable)?;
        Ok(Self(lock))
    }
}

/// Saves what can be read of a damaged file into a fresh one, which takes its place.
fn reopen(dir: &Path, path: &Path, notes: &mut Vec<String>) -> Result<Connection, StoreError> {
    let unusable = |problem: String, cause: Cause| StoreError::Unusable {
        path: path.to_owned(),
        problem,
        cause,
    };
    let _lock = Lock::take(dir, path)?;
    let problem = match connect(path, notes) {
        Ok(connection) => return Ok(connection),
        Err(OpenProblem::Error(error)) => return Err(error),
        Err(OpenProblem::Damaged(problem)) => problem,
    };
    // Into a file of another name, so that a process that dies here leaves all as it was.
    let saved = salvage::begin(path).and_then(|fresh| {
        let mut notes = Vec::new();
        let fresh = connect(&fresh, &mut notes).map_err(|trouble| match trouble {
            OpenProblem::Error(error) => error,
            OpenProblem::Damaged(problem) => unusable(problem, Cause::Damaged),
        })?;
        salvage::save(path, fresh)
    });
    let aside = match &saved {
        Ok(_) => move_aside(path),
        // Without room for a second file the damaged one stays where it is.
        Err(error) => {
            let cause = error.cause();
            return Err(unusable(
                format!("it is damaged ({problem}): {error}"),
                cause,
            ));
        }
    };
    let failed = |error: std::io::Error| {
        let cause = Cause::of_io(&error);
        unusable(format!("it is damaged ({problem}): {error}"), cause)
    };
    let aside = aside.map_err(failed)?;
    salvage::put_in_place(path).map_err(failed)?;
    let told = saved.map(|saved| saved.to_string()).unwrap_or_default();
    notes.push(format!(
        "the store `{}` is damaged ({problem}); {told}; the damaged file is kept as `{}`",
        path.display(),
        aside.display()
    ));
    connect(path, notes).map_err(|trouble| match trouble {
        OpenProblem::Error(error) => error,
        OpenProblem::Damaged(problem) => unusable(problem, Cause::Damaged),
    })
}

fn connect(path: &Path, notes: &mut Vec<String>) -> Result<Connection, OpenProblem> {
    let started = Instant::now();
    loop {
        match try_connect(path) {
            // Some steps of opening do not wait for locks by themselves.
            Err(error) if is_busy(&error) && started.elapsed() < BUSY => thread::sleep(POLL),
            Err(error) if is_damage(&error) => return Err(OpenProblem::Damaged(describe(&error))),
            Err(error) => {
                return Err(OpenProblem::Error(StoreError::Unusable {
                    path: path.to_owned(),
                    problem: describe(&error),
                    cause: Cause::of(&error),
                }));
            }
            Ok((connection, StoreFormat::Ours, note)) => {
                notes.extend(note);
                return Ok(connection);
            }
            Ok((_, StoreFormat::Newer(found), _)) => {
                return Err(OpenProblem::Error(StoreError::Newer {
                    path: path.to_owned(),
                    found,
                }));
            }
            Ok((_, StoreFormat::Foreign | StoreFormat::Empty | StoreFormat::First, problem)) => {
                let usual = || "its tables are not those of a store".to_owned();
                return Err(OpenProblem::Damaged(problem.unwrap_or_else(usual)));
            }
        }
    }
}

fn try_connect(path: &Path) -> rusqlite::Result<(Connection, StoreFormat, Option<String>)> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_CREATE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(path, flags)?;
    connection.busy_handler(Some(wait))?;
    harden(&connection)?;
    match schema::inspect(&connection)? {
        StoreFormat::Empty | StoreFormat::Ours | StoreFormat::First => {}
        other => return Ok((connection, other, None)),
    }
    // A protected file is opened for reading without a word.
    if connection.is_readonly("main")? {
        let code = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_READONLY);
        let told = "the file may not be written".to_owned();
        return Err(rusqlite::Error::SqliteFailure(code, Some(told)));
    }
    let note = use_wal(&connection, path)?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "cache_size", -64 * 1024)?;
    connection.pragma_update(None, "wal_autocheckpoint", 4096)?;
    connection.pragma_update(None, "journal_size_limit", 64 << 20)?;
    connection.set_prepared_statement_cache_capacity(64);

    // Taking the lock also shows whether the file can be written at all.
    let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let mut upgraded = None;
    match schema::inspect(&tx)? {
        StoreFormat::Empty => schema::create(&tx)?,
        StoreFormat::First => upgraded = Some(upgrade::upgrade(&tx, path)?),
        _ => {}
    }
    let found = schema::inspect(&tx)?;
    if found == StoreFormat::Ours {
        sql::put_views(&tx)?;
    }
    tx.commit()?;
    if found == StoreFormat::Ours && suspect(path).exists() {
        let verdict: String =
            connection.query_row("PRAGMA integrity_check(1)", (), |row| row.get(0))?;
        if verdict != "ok" {
            // It ends in the number of a page and what is wrong with it.
            let problem = verdict.lines().next_back().map(str::to_owned);
            return Ok((connection, StoreFormat::Foreign, problem));
        }
        let _ = std::fs::remove_file(suspect(path));
    }
    Ok((connection, found, upgraded.or(note)))
}

/// Copies a log of which SQLite will not read all, and says so; whether there is one.
fn keep_broken_log(path: &Path, notes: &mut Vec<String>) -> bool {
    let log = with_suffix(path, "-wal");
    let Some(broken) = wal::broken(&log) else {
        return false;
    };
    thread::sleep(WRITING);
    if wal::broken(&log) != Some(broken) {
        return false;
    }
    let aside = free_name(&log);
    let kept = match std::fs::copy(&log, &aside) {
        Ok(_) => format!("a copy is `{}`", aside.display()),
        Err(error) => format!("it cannot be copied: {error}"),
    };
    notes.push(format!(
        "the log `{}` of the store is damaged ({kept}); the answers and scores behind the damage \
         are lost and count as not there",
        log.display()
    ));
    true
}

/// Folds the log into the file and empties it, unless others are in the way.
pub(super) fn fold(connection: &mut Connection) {
    // The setting replaces the handler; both fail only for a connection that is closed.
    let _ = connection.busy_timeout(FOLDING);
    let _ = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", (), |_| Ok(()));
    let _ = connection.busy_handler(Some(wait));
}

/// A connection for reading only.
pub(super) fn reader(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(path, flags)?;
    connection.busy_handler(Some(wait))?;
    harden(&connection)?;
    connection.pragma_update(None, "cache_size", -32 * 1024)?;
    Ok(connection)
}

/// Settings against damaged files, and against foreign keys: the references are
/// for readers of the schema, checking them would need more indexes.
pub(super) fn harden(connection: &Connection) -> rusqlite::Result<()> {
    connection.pragma_update(None, "foreign_keys", false)?;
    connection.pragma_update(None, "cell_size_check", true)?;
    connection.pragma_update(None, "trusted_schema", false)
}

/// Readers and one writer at the same time, where the file system can do it.
fn use_wal(connection: &Connection, path: &Path) -> rusqlite::Result<Option<String>> {
    let set = |mode: &str| -> rusqlite::Result<String> {
        connection.pragma_update_and_check(None, "journal_mode", mode, |row| row.get(0))
    };
    match set("WAL") {
        Ok(mode) if mode == "wal" => return Ok(None),
        Err(error) if is_busy(&error) || is_damage(&error) => return Err(error),
        Ok(_) | Err(_) => {}
    }
    set("DELETE")?;
    Ok(Some(format!(
        "the file system of `{}` does not allow reading and writing at the same time; \
         the store works, but slower",
        path.display()
    )))
}

/// Called while the lock is taken; whether to look again.
fn wait(n_before: i32) -> bool {
    thread::sleep(POLL);
    u32::try_from(n_before).is_ok_and(|n| POLL * n < BUSY)
}

/// Renames the file and what belongs to it; the new name.
fn move_aside(path: &Path) -> std::io::Result<PathBuf> {
    let aside = free_name(path);
    std::fs::rename(path, &aside)?;
    for part in ["-wal", "-shm"] {
        // They are often not there.
        let _ = std::fs::rename(with_suffix(path, part), with_suffix(&aside, part));
    }
    let _ = std::fs::remove_file(suspect(path));
    Ok(aside)
}

/// A name beside a damaged file that nothing has.
fn free_name(path: &Path) -> PathBuf {
    (1..)
        .map(|n| with_suffix(path, &format!(".damaged-{n}")))
        .find(|aside| !aside.exists())
        .unwrap_or_else(|| with_suffix(path, ".damaged"))
}

/// Leaves a mark that makes the next opening check the whole file.
pub(super) fn mark_suspect(path: &Path) {
    // A mark that cannot be left only means that the damage is met again.
    let _ = std::fs::write(suspect(path), "");
}

fn suspect(path: &Path) -> PathBuf {
    with_suffix(path, ".suspect")
}

pub(super) fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn without_wal_it_says_so_and_works() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join(FILE);
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
        // This way of locking has no shared memory, like network file systems.
        let connection =
            Connection::open_with_flags_and_vfs(&path, flags, "unix-dotfile").expect("opens");
        let note = use_wal(&connection, &path).expect("falls back");
        assert!(note.expect("a note").contains("slower"));
        connection
            .execute_batch("CREATE TABLE t (x)")
            .expect("works");
    }
}
