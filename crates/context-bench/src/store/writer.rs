//! The writer: one thread that owns the only connection that writes.
//!
//! It commits entries in batches. When the disk is full or the file breaks, it
//! says so once, keeps what was committed, and from then on drops what comes:
//! the run goes on in memory.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use rusqlite::{Connection, Transaction, TransactionBehavior};

use super::error::{Cause, describe, is_busy, is_damage, is_too_long};
use super::insert::{Ids, InsertOutcome};
use super::new_entry::NewEntry;
use super::open;
use super::queue::{Queue, Urgency};

/// How long the lock of another process is waited for before the store is given up.
const PATIENCE: Duration = Duration::from_secs(30);
/// Pause between transactions, in which another process can take the lock.
const GAP: Duration = Duration::from_millis(1);

/// Something for the writer to do.
pub(super) enum Job {
    /// Store an entry, together with its neighbours.
    Entry(NewEntry),
    /// Anything else; runs alone, after everything before it.
    Task(Task),
}

/// Work on the writing connection.
pub(super) type Task = Box<dyn FnOnce(&mut Writer) + Send>;

/// What the writer shares with everyone else.
pub(super) struct Shared {
    pub(super) queue: Queue<Job>,
    pub(super) failure: OnceLock<(String, Cause)>,
    /// Records that were not stored.
    pub(super) dropped: AtomicU64,
    /// Where the store is; for the mark that makes the next opening look closer.
    pub(super) path: std::path::PathBuf,
}

impl Shared {
    /// Ends writing for good; the first reason stays.
    fn fail(&self, error: &rusqlite::Error) {
        if is_damage(error) {
            open::mark_suspect(&self.path);
        }
        let _ = self.failure.set((describe(error), Cause::of(error)));
    }
}

/// The thread's own state.
pub(super) struct Writer {
    connection: Connection,
    ids: Ids,
    version: i64,
    /// Whether a commit waits for the disk.
    waits_for_disk: bool,
    /// Whether the file stays whole when commits do not wait: only with a log.
    has_log: bool,
    shared: Arc<Shared>,
}

/// Starts the thread.
pub(super) fn start(
    connection: Connection,
    shared: Arc<Shared>,
) -> std::io::Result<thread::JoinHandle<()>> {
    let has_log = connection
        .pragma_query_value(None, "journal_mode", |row| row.get(0))
        .is_ok_and(|mode: String| mode == "wal");
    let mut writer = Writer {
        version: data_version(&connection).unwrap_or(0),
        connection,
        ids: Ids::default(),
        waits_for_disk: true,
        has_log,
        shared,
    };
    thread::Builder::new()
        .name("store".into())
        .spawn(move || writer.run())
}

impl Writer {
    fn run(&mut self) {
        let shared = Arc::clone(&self.shared);
        // Whoever waits for the writer must not wait for ever, whatever happens here.
        let _guard = Abandon(&shared);
        // Kept from batch to batch: memory of this size is not cheap to come by.
        let mut entries = Vec::new();
        while let Some(mut batch) = shared.queue.take() {
            for job in batch.jobs.drain(..) {
                match job {
                    Job::Entry(entry) => entries.push(entry),
                    Job::Task(task) => {
                        self.store(&mut entries);
                        self.wait_for_disk(true);
                        // The caller of a dropped task notices by its closed channel.
                        if shared.failure.get().is_none() {
                            task(self);
                        }
                    }
                }
            }
            self.store(&mut entries);
            shared.queue.settle(batch);
            thread::sleep(GAP);
        }
    }

    /// Commits the entries, or drops them.
    fn store(&mut self, entries: &mut Vec<NewEntry>) {
        if entries.is_empty() {
            return;
        }
        let n = entries.len() as u64;
        // A killed process loses no commit either way. What a power cut may lose
        // of the others is had again for nothing, and the end of the run, which
        // does wait, brings them to the disk with it.
        self.wait_for_disk(entries.iter().any(|entry| entry.urgency() == Urgency::Soon));
        let dropped = if self.shared.failure.get().is_some() {
            n
        } else {
            self.transaction(|tx, ids| {
                let mut dangling = 0;
                for entry in &*entries {
                    match ids.insert(tx, entry) {
                        Ok(InsertOutcome::Yes) => {}
                        Ok(InsertOutcome::Dangling) => dangling += 1,
                        // Too long for SQLite: its own problem, not that of the store.
                        Err(error) if is_too_long(&error) => dangling += 1,
                        Err(error) => return Err(error),
                    }
                }
                Ok(dangling)
            })
            .unwrap_or(n)
        };
        self.shared.dropped.fetch_add(dropped, Ordering::Relaxed);
        entries.clear();
    }

    /// Lets the following commits wait for the disk, or not.
    fn wait_for_disk(&mut self, wait: bool) {
        let wait = wait || !self.has_log;
        let level = if wait { "FULL" } else { "NORMAL" };
        if wait != self.waits_for_disk
            && self
                .connection
                .pragma_update(None, "synchronous", level)
                .is_ok()
        {
            self.waits_for_disk = wait;
        }
    }

    /// Runs `work` in a transaction of its own. Waits when another process
    /// writes; any other error ends the writing for good.
    pub(super) fn transaction<T>(
        &mut self,
        mut work: impl FnMut(&Transaction<'_>, &mut Ids) -> rusqlite::Result<T>,
    ) -> rusqlite::Result<T> {
        let started = Instant::now();
        loop {
            let result = self.attempt(&mut work);
            if let Err(error) = &result {
                self.ids.forget();
                if is_busy(error) && started.elapsed() < PATIENCE {
                    continue;
                }
                self.shared.fail(error);
            }
            return result;
        }
    }

    fn attempt<T>(
        &mut self,
        work: &mut impl FnMut(&Transaction<'_>, &mut Ids) -> rusqlite::Result<T>,
    ) -> rusqlite::Result<T> {
        // Dropping the transaction on the way out of an error rolls it back.
        let tx = self
            .connection
            .transaction_with_behavior(TransactionBehavior::Immediate)?;
        // Another process may have removed what we remember.
        let version = data_version(&tx)?;
        if version != self.version {
            self.ids.doubt();
            self.version = version;
        }
        let value = work(&tx, &mut self.ids)?;
        tx.commit()?;
        Ok(value)
    }

    /// The connection, for work that is no transaction.
    pub(super) fn connection(&mut self) -> &mut Connection {
        &mut self.connection
    }

    /// Rewrites the file without its unused pages; by how many bytes it shrank.
    /// A failure changes nothing.
    pub(super) fn compact(&mut self) -> rusqlite::Result<u64> {
        let before = self.number("page_count")?;
        self.connection.execute_batch("VACUUM")?;
        let after = self.number("page_count")?;
        // Only this makes the file itself shorter.
        self.fold();
        let bytes = (before - after) * self.number("page_size")?;
        Ok(u64::try_from(bytes).unwrap_or_default())
    }

    /// Folds the log into the file and empties it. Others who read or write may
    /// prevent that; then whoever closes last does it.
    pub(super) fn fold(&mut self) {
        open::fold(&mut self.connection);
    }

    /// Bytes inside the file that wait to be used again.
    pub(super) fn reusable(&self) -> rusqlite::Result<u64> {
        let bytes = self.number("freelist_count")? * self.number("page_size")?;
        Ok(u64::try_from(bytes).unwrap_or_default())
    }

    fn number(&self, pragma: &str) -> rusqlite::Result<i64> {
        self.connection
            .pragma_query_value(None, pragma, |row| row.get(0))
    }
}

/// Another number whenever another connection has written.
fn data_version(connection: &Connection) -> rusqlite::Result<i64> {
    connection.pragma_query_value(None, "data_version", |row| row.get(0))
}

/// Frees everyone who waits when the thread ends, be it by a panic.
struct Abandon<'a>(&'a Shared);

impl Drop for Abandon<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            let failure = ("the writer panicked".to_owned(), Cause::Other);
            let _ = self.0.failure.set(failure);
        }
        self.0.queue.abandon();
    }
}
