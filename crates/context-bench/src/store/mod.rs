//! The run store: responses, scores and runs in one SQLite file.
//!
//! Responses are expensive and scores are cheap, so they are kept apart. Both are
//! found by content: a change of anything that can change a response or a score
//! never meets an old row, and a change of nothing always does. One thread
//! writes, any number of threads and processes read. Nothing here decides what
//! is worth storing; the runner does. `docs/reference/store.md` has the tables.

mod absorb;
mod body;
mod checksum;
mod columns;
mod delta;
mod error;
mod failed_wire;
mod insert;
mod key;
mod live;
mod merge;
mod merge_runs;
mod merge_tokens;
mod neighbours;
mod new_entry;
mod open;
mod origin;
mod queue;
mod read_only;
mod reader;
mod row_texts;
mod rows;
mod run;
mod run_table;
mod runs;
mod salvage;
mod schema;
mod score_json;
mod segment;
mod snapshot;
mod sql;
mod tally;
#[cfg(test)]
mod tests;
mod upgrade;
mod wal;
mod writer;

use std::collections::HashMap;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread::JoinHandle;

use rusqlite::Connection;

pub(crate) use delta::OutputDelta;
pub use error::{Cause, StoreError};
pub(crate) use key::{KEPT_APART, Key, ResponseKey};
pub(crate) use merge::Wanted;
pub use merge::{Conflict, MergeSource, Merged};
pub use merge_runs::MergedPlan;
pub(crate) use new_entry::{
    NewEntry, NewOutcome, NewResponse, NewScores, ResponseRef, RunRow, StoredResponseId,
};
pub use origin::{MergeOrigin, Origin, ShardOrigin, SourceRun, WholeData};
pub(crate) use reader::{FoundResponse, ResponseQuery};
pub(crate) use row_texts::RawTexts;
pub(crate) use rows::ExampleAt;
pub use rows::{RunRows, StoredOutcome, StoredRow};
pub use run::{EvaluatorEntry, Removed, Run, RunId, RunStatus, StoredRun, SystemEntry};

pub(crate) use run::RunStart;
pub(crate) use score_json::ScoreTexts;
pub(crate) use segment::SegmentRows;
pub use sql::SqlTable;
pub use tally::Tally;

use crate::model::{Example, Output, Scores};
use live::Lease;
use open::Access;
use queue::Queue;
use read_only::ReadOnly;
use reader::{Damage, Reader};
use writer::{Job, Shared, Writer};

/// Idle reading connections that are kept for the next look-up.
const IDLE_READERS: usize = 4;
/// This many responses are worth a thread of their own when they are looked up.
const MANY: usize = 512;

/// An open store. Cheap to clone; the last clone to go commits what is left.
#[derive(Clone)]
pub struct Store(Arc<Inner>);

/// A store that was just opened, and notices about it.
#[non_exhaustive]
pub struct Opened {
    /// The store.
    pub store: Store,
    /// Sentences for the user: a damaged file was moved aside, for example.
    pub notes: Vec<String>,
}

struct Inner {
    path: PathBuf,
    shared: Arc<Shared>,
    writer: Option<JoinHandle<()>>,
    /// How it is read when it cannot be written.
    read_only: Option<ReadOnly>,
    readers: Mutex<Vec<Reader>>,
    damaged: AtomicU64,
    /// Distinguishes the file from another one in its place.
    identity: Option<(u64, u64)>,
    /// Whether readers do with little memory, see [`Store::read_sparingly`].
    is_sparing: AtomicBool,
    /// Of the runs that go on in here, by their number.
    leases: Mutex<HashMap<i64, Lease>>,
}

impl Store {
    /// Opens the store of a folder: `store.sqlite` inside it. Both are made when
    /// missing. What can be read of a damaged file is saved into a fresh one; the damaged
    /// one is kept beside it. A file that cannot be written is
    /// [opened for reading](Self::read_only).
    ///
    /// # Errors
    ///
    /// When the file can neither be written nor read, or the store was made by a
    /// later version. A run can go on without a store.
    pub fn open(dir: impl AsRef<Path>) -> Result<Opened, StoreError> {
        Self::open_with(dir.as_ref(), |_| Ok(()))
    }

    /// Whether a folder has a store.
    pub fn is_in(dir: impl AsRef<Path>) -> bool {
        open::file(dir.as_ref()).exists()
    }

    /// Whether there is a store in a folder, for commands that only read one.
    pub fn exists(dir: impl AsRef<Path>) -> bool {
        let file = open::file(dir.as_ref());
        file.is_file() || salvage::saved(&file).is_file()
    }

    /// Opens with further settings of the writing connection, for tests.
    fn open_with(
        dir: &Path,
        settings: impl FnOnce(&Connection) -> rusqlite::Result<()>,
    ) -> Result<Opened, StoreError> {
        let opening = open::open(dir)?;
        let shared = Arc::new(Shared {
            queue: Queue::new(),
            failure: Default::default(),
            dropped: AtomicU64::new(0),
            path: opening.path.clone(),
        });
        let (writer, read_only) = match opening.access {
            Access::Read(read_only) => {
                // Nobody takes anything out of it.
                shared.queue.close();
                (None, Some(read_only))
            }
            Access::Write(connection) => {
                settings(&connection)?;
                let writer = writer::start(connection, Arc::clone(&shared));
                let writer = writer.map_err(|error| StoreError::Unusable {
                    path: opening.path.clone(),
                    problem: error.to_string(),
                    cause: Cause::of_io(&error),
                })?;
                (Some(writer), None)
            }
        };
        let store = Self(Arc::new(Inner {
            identity: open::identity(&opening.path),
            path: opening.path,
            shared,
            writer,
            read_only,
            readers: Mutex::default(),
            damaged: AtomicU64::new(0),
            is_sparing: AtomicBool::new(false),
            leases: Mutex::default(),
        }));
        Ok(Opened {
            store,
            notes: opening.notes,
        })
    }

    /// Why the store can only be read, if that is so. Entries put into such a store are
    /// discarded; answers among them are counted in [`dropped`](Self::dropped).
    pub fn read_only(&self) -> Option<&str> {
        let read_only = self.0.read_only.as_ref();
        read_only.map(|read_only| read_only.reason.as_str())
    }

    /// Lets those who read from now on keep 4 MB of the file each, in place of 32: for programs that
    /// stay, and read in order or here and there.
    pub fn read_sparingly(&self) {
        self.0.is_sparing.store(true, Ordering::Relaxed);
    }

    /// The file of the store.
    pub fn path(&self) -> &Path {
        &self.0.path
    }

    /// Puts an entry. Waits only while too much is waiting already; never fails.
    /// An entry that cannot be stored is counted in [`dropped`](Self::dropped).
    pub(crate) async fn put(&self, entry: impl Into<NewEntry>) {
        let entry = entry.into();
        if self.cannot_keep(&entry) {
            return;
        }
        let (weight, urgency) = (entry.weight(), entry.urgency());
        let queue = &self.0.shared.queue;
        queue.push(Job::Entry(entry), weight, urgency).await;
    }

    /// Like [`put`](Self::put), blocking the thread instead of waiting.
    #[cfg(test)]
    pub(crate) fn put_blocking(&self, entry: impl Into<NewEntry>) {
        let entry = entry.into();
        if self.cannot_keep(&entry) {
            return;
        }
        let (weight, urgency) = (entry.weight(), entry.urgency());
        let queue = &self.0.shared.queue;
        queue.push_blocking(Job::Entry(entry), weight, urgency);
    }

    /// Whether an entry is discarded, because the store can only be read.
    fn cannot_keep(&self, entry: &NewEntry) -> bool {
        let cannot = self.0.read_only.is_some();
        if cannot && matches!(entry, NewEntry::Response(_)) {
            self.0.shared.dropped.fetch_add(1, Ordering::Relaxed);
        }
        cannot
    }

    /// Waits until everything put so far is on disk.
    ///
    /// # Errors
    ///
    /// When the store has failed; what was put since then is lost.
    pub(crate) async fn flush(&self) -> Result<(), StoreError> {
        self.0.shared.queue.flush().await;
        self.check()
    }

    /// Like [`flush`](Self::flush), blocking the thread instead of waiting.
    ///
    /// # Errors
    ///
    /// As for `flush`.
    #[cfg(test)]
    pub(crate) fn flush_blocking(&self) -> Result<(), StoreError> {
        self.0.shared.queue.flush_blocking();
        self.check()
    }

    fn check(&self) -> Result<(), StoreError> {
        match self.0.shared.failure.get().cloned() {
            Some((reason, cause)) => Err(StoreError::Failed { reason, cause }),
            None => Ok(()),
        }
    }

    /// Why the store takes no more entries, once it has failed. Reading goes on.
    #[cfg(test)]
    pub(crate) fn failure(&self) -> Option<String> {
        let failure = self.0.shared.failure.get();
        failure.map(|(reason, _)| reason.clone())
    }

    /// Entries that could not be stored.
    pub fn dropped(&self) -> u64 {
        self.0.shared.dropped.load(Ordering::Relaxed)
    }

    /// Entries that were read and are not what was written. They count as absent.
    pub fn damaged(&self) -> u64 {
        self.0.damaged.load(Ordering::Relaxed)
    }

    /// Makes systems and evaluators known, so that responses and scores can refer
    /// to them. [`begin_run`](Self::begin_run) does it for those of the run.
    ///
    /// # Errors
    ///
    /// When the store has failed.
    #[cfg(test)]
    pub(crate) fn register(
        &self,
        systems: &[SystemEntry],
        scorers: &[EvaluatorEntry],
    ) -> Result<(), StoreError> {
        let (systems, scorers) = (systems.to_vec(), scorers.to_vec());
        self.write(move |writer| {
            writer.transaction(|tx, ids| {
                for entry in &systems {
                    ids.add_system(tx, entry)?;
                }
                for entry in &scorers {
                    ids.add_scorer(tx, entry)?;
                }
                Ok(())
            })
        })
    }

    /// Looks up responses with their scores, in the order asked for. Batches of
    /// hundreds to thousands cost least per response. Blocks the thread for a moment.
    ///
    /// # Errors
    ///
    /// When the store cannot be read. Damage is not an error: what is damaged counts as absent.
    pub(crate) fn find(
        &self,
        wanted: &[ResponseQuery<'_>],
    ) -> Result<Vec<Option<FoundResponse>>, StoreError> {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let parts = (wanted.len() / MANY).clamp(1, threads.min(IDLE_READERS));
        let mut parts = wanted.chunks(wanted.len().div_ceil(parts).max(1));
        let first = parts.next().unwrap_or_default();
        std::thread::scope(|scope| {
            let beside: Vec<_> = parts
                .map(|part| {
                    let thread = std::thread::Builder::new().name("look-up".into());
                    thread
                        .spawn_scoped(scope, || self.find_part(part))
                        .map_err(|_| part)
                })
                .collect();
            let mut found = self.find_part(first)?;
            for part in beside {
                found.extend(match part {
                    Ok(thread) => thread.join().unwrap_or_else(|panic| resume_unwind(panic))?,
                    // No thread can be started: one after the other, then.
                    Err(part) => self.find_part(part)?,
                });
            }
            Ok(found)
        })
    }

    fn find_part(
        &self,
        wanted: &[ResponseQuery<'_>],
    ) -> Result<Vec<Option<FoundResponse>>, StoreError> {
        self.read(|reader, damage| reader.find(wanted, damage))
    }

    /// Whether there is any response of a system.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    pub fn has_responses(&self, system: &SystemEntry) -> Result<bool, StoreError> {
        let key = system.key();
        self.read(|reader, _| {
            reader
                .connection
                .prepare_cached(
                    "SELECT EXISTS (SELECT 1 FROM responses
                     WHERE system = (SELECT id FROM systems WHERE key = ?1))",
                )?
                .query_row([key], |row| row.get(0))
        })
    }

    /// The output of a stored response, as the system made it of this example.
    /// `None` when it is damaged or no longer there.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    pub(crate) fn output(
        &self,
        at: &StoredResponseId,
        example: &Example,
    ) -> Result<Option<Output>, StoreError> {
        self.read(|reader, damage| reader.output(*at, example, damage))
    }

    /// What all evaluators of this name said about a stored response, the earliest first. What is
    /// damaged is left out.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    pub(crate) fn scores_by(
        &self,
        evaluator: &str,
        at: &StoredResponseId,
    ) -> Result<Vec<Scores>, StoreError> {
        self.read(|reader, damage| reader.scores_by(evaluator, *at, damage))
    }

    /// The example of a stored row; `None` when it is damaged or no longer there.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    pub(crate) fn example(&self, row: &StoredRow) -> Result<Option<Example>, StoreError> {
        self.example_of(&row.example_at())
    }

    /// The same, by where it is.
    pub(crate) fn example_of(&self, at: &ExampleAt) -> Result<Option<Example>, StoreError> {
        let found = self.read(|reader, damage| reader.example(at.example, at.key, damage))?;
        Ok(found.map(|example| {
            let example = match &*at.dataset {
                "" => example,
                tag => example.labelled(tag),
            };
            example.repeated(at.repeat)
        }))
    }

    /// How many answers there are.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    pub fn n_responses(&self) -> Result<usize, StoreError> {
        self.read(|reader, _| {
            let count = "SELECT COUNT(*) FROM responses";
            let count = reader.connection.query_row(count, [], |row| row.get(0));
            count.map(|n: i64| usize::try_from(n).unwrap_or_default())
        })
    }

    /// Answers a query in SQL, which may only read. The view `answers` has every text,
    /// also the compressed ones; `body_text(encoding, body)` gives them one by one.
    ///
    /// # Errors
    ///
    /// When the query is wrong, or would change something.
    pub fn sql(&self, query: &str) -> Result<SqlTable, StoreError> {
        sql::query(&self.reader()?.connection, query)
    }

    /// Rewrites the file without the space that removed runs left; by how many
    /// bytes it shrank. Needs as much free disk as the store has content, and
    /// keeps other writers waiting meanwhile. Worth it when much was removed.
    ///
    /// # Errors
    ///
    /// When the store has failed or cannot be rewritten; it is then as before.
    pub fn compact(&self) -> Result<u64, StoreError> {
        self.write(Writer::compact)
    }

    /// Runs `work` on the writer's thread and waits for it.
    fn write<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Writer) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        if let Some(reason) = self.read_only() {
            return Err(StoreError::ReadOnly {
                path: self.0.path.clone(),
                reason: reason.to_owned(),
            });
        }
        let (sender, receiver) = mpsc::sync_channel(1);
        self.0
            .shared
            .queue
            .push_urgent(Job::Task(Box::new(move |writer| {
                // The caller waits; if it is gone, the answer is not needed.
                let _ = sender.send(work(writer));
            })));
        match receiver.recv() {
            Ok(Ok(value)) => Ok(value),
            Ok(Err(error)) => Err(match self.check() {
                Err(failed) => failed,
                Ok(()) => error.into(),
            }),
            Err(_) => Err(match self.check() {
                Err(failed) => failed,
                Ok(()) => StoreError::Failed {
                    reason: "it is closed".to_owned(),
                    cause: Cause::Other,
                },
            }),
        }
    }

    /// Runs `work` on a reading connection that nobody else uses.
    fn read<T>(
        &self,
        work: impl FnOnce(&mut Reader, &mut Damage) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        let mut reader = match self.idle_reader() {
            Some(reader) => reader,
            None => self.reader()?,
        };
        let mut damage = Damage::default();
        let result = work(&mut reader, &mut damage);
        self.0.damaged.fetch_add(damage.entries, Ordering::Relaxed);
        if damage.file || result.as_ref().is_err_and(error::is_damage) {
            open::mark_suspect(&self.0.path);
        }
        let value = result?;
        let mut readers = self.readers();
        if readers.len() < IDLE_READERS {
            readers.push(reader);
        }
        Ok(value)
    }

    fn reader(&self) -> rusqlite::Result<Reader> {
        let (connection, is_unlocked) = match &self.0.read_only {
            Some(read_only) => read_only.reader()?,
            None => (open::reader(&self.0.path)?, false),
        };
        if self.0.is_sparing.load(Ordering::Relaxed) {
            connection.pragma_update(None, "cache_size", -4 * 1024)?;
        }
        Ok(Reader::new(connection, is_unlocked))
    }

    /// A reader that nobody uses, and that may still be used.
    fn idle_reader(&self) -> Option<Reader> {
        let read_only = self.0.read_only.as_ref();
        let is_in_use = read_only.is_some_and(ReadOnly::is_in_use);
        let reader = self.readers().pop()?;
        (!(reader.is_unlocked && is_in_use)).then_some(reader)
    }

    fn leases(&self) -> std::sync::MutexGuard<'_, HashMap<i64, Lease>> {
        self.0.leases.lock().unwrap_or_else(|e| e.into_inner())
    }

    fn readers(&self) -> std::sync::MutexGuard<'_, Vec<Reader>> {
        self.0.readers.lock().unwrap_or_else(|e| e.into_inner())
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        // The writer closes last: it alone can fold the log into the file.
        self.readers
            .get_mut()
            .unwrap_or_else(|e| e.into_inner())
            .clear();
        self.shared.queue.close();
        if let Some(writer) = self.writer.take() {
            // A panic of the writer has been noted as its failure.
            let _ = writer.join();
        }
    }
}
