//! The way to the writer: a queue bounded in entries and bytes.
//!
//! Many threads and tasks push, one thread takes. It hands out whole batches: a
//! batch is due when it is large enough, old enough, or someone waits for it.

use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

/// A batch is due with this many entries …
const BATCH: usize = 4096;
/// … or when its first entry is this old. What is younger is lost with a
/// killed process, so this is kept near the cost of a commit …
const DELAY: Duration = Duration::from_millis(5);
/// … unless losing it costs nothing, as for a row that is made of what is stored.
const LONG_DELAY: Duration = Duration::from_millis(100);
/// Entries that may wait, those being written included.
const MAX_RECORDS: usize = 16_384;
/// Bytes that may wait, those being written included. One entry always fits.
const MAX_BYTES: usize = 64 << 20;

/// A bounded queue with one taker.
pub(super) struct Queue<T> {
    state: Mutex<State<T>>,
    work: Condvar,
    settled: Condvar,
    settled_async: Notify,
}

struct State<T> {
    jobs: Vec<T>,
    /// Room for the next jobs, from a batch that is done with.
    spare: Vec<T>,
    /// When the jobs shall be handed out; `None` when there are none.
    due: Option<Instant>,
    waiting: usize,
    bytes: usize,
    pushed: u64,
    settled: u64,
    /// Everything up to this number is asked for now.
    wanted: u64,
    closed: bool,
}

/// How soon a job must be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Urgency {
    /// Losing it would cost something.
    Soon,
    /// It can be made again for nothing.
    Sometime,
}

impl Urgency {
    fn delay(self) -> Duration {
        match self {
            Self::Soon => DELAY,
            Self::Sometime => LONG_DELAY,
        }
    }
}

/// Jobs taken together. Must be given back with [`Queue::settle`].
pub(super) struct Batch<T> {
    pub(super) jobs: Vec<T>,
    number: usize,
    bytes: usize,
}

impl<T> Queue<T> {
    pub(super) fn new() -> Self {
        Self {
            state: Mutex::new(State {
                jobs: Vec::new(),
                spare: Vec::new(),
                due: None,
                waiting: 0,
                bytes: 0,
                pushed: 0,
                settled: 0,
                wanted: 0,
                closed: false,
            }),
            work: Condvar::new(),
            settled: Condvar::new(),
            settled_async: Notify::new(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State<T>> {
        // Nothing in here panics half-way; a poisoned lock changes nothing.
        self.state.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Pushes without waiting; gives the job back when there is no room.
    fn try_push(&self, job: T, weight: usize, urgency: Urgency) -> Result<(), T> {
        let mut state = self.lock();
        let full = state.waiting >= MAX_RECORDS || state.bytes + weight > MAX_BYTES;
        if full && state.waiting > 0 && !state.closed {
            return Err(job);
        }
        self.accept(&mut state, job, weight, urgency);
        Ok(())
    }

    fn accept(&self, state: &mut State<T>, job: T, weight: usize, urgency: Urgency) {
        if state.closed {
            return;
        }
        state.waiting += 1;
        state.bytes += weight;
        state.pushed += 1;
        state.jobs.push(job);
        let due = Instant::now() + urgency.delay();
        let sooner = state.due.is_none_or(|known| due < known);
        if sooner {
            state.due = Some(due);
        }
        if sooner || state.jobs.len() == BATCH {
            self.work.notify_one();
        }
    }

    /// Waits for room and pushes.
    pub(super) async fn push(&self, mut job: T, weight: usize, urgency: Urgency) {
        loop {
            let room = self.settled_async.notified();
            tokio::pin!(room);
            // Registered before the look at the state, so no wake-up is missed.
            room.as_mut().enable();
            match self.try_push(job, weight, urgency) {
                Ok(()) => return,
                Err(back) => job = back,
            }
            room.await;
        }
    }

    /// Waits for room and pushes, blocking the thread.
    #[cfg(test)]
    pub(super) fn push_blocking(&self, mut job: T, weight: usize, urgency: Urgency) {
        loop {
            match self.try_push(job, weight, urgency) {
                Ok(()) => return,
                Err(back) => job = back,
            }
            let state = self.lock();
            if state.waiting >= MAX_RECORDS || state.bytes + weight > MAX_BYTES {
                drop(self.settled.wait(state));
            }
        }
    }

    /// Pushes ahead of all bounds and asks for it to be done now.
    pub(super) fn push_urgent(&self, job: T) {
        let mut state = self.lock();
        self.accept(&mut state, job, 0, Urgency::Soon);
        state.wanted = state.pushed;
        self.work.notify_one();
    }

    /// Asks for everything pushed so far; the number to wait for.
    fn want(&self) -> u64 {
        let mut state = self.lock();
        state.wanted = state.pushed;
        self.work.notify_one();
        state.pushed
    }

    /// Waits until everything pushed so far is settled.
    pub(super) async fn flush(&self) {
        let target = self.want();
        loop {
            let settled = self.settled_async.notified();
            tokio::pin!(settled);
            settled.as_mut().enable();
            if self.lock().settled >= target {
                return;
            }
            settled.await;
        }
    }

    /// Waits until everything pushed so far is settled, blocking the thread.
    #[cfg(test)]
    pub(super) fn flush_blocking(&self) {
        let target = self.want();
        let state = self.lock();
        drop(
            self.settled
                .wait_while(state, |state| state.settled < target),
        );
    }

    /// The next batch when it is due; `None` when the queue is closed and empty.
    pub(super) fn take(&self) -> Option<Batch<T>> {
        let mut state = self.lock();
        loop {
            let Some(due) = state.due else {
                if state.closed {
                    return None;
                }
                state = self.work.wait(state).unwrap_or_else(|e| e.into_inner());
                continue;
            };
            let now = state.closed || state.wanted > state.settled || state.jobs.len() >= BATCH;
            let left = due.saturating_duration_since(Instant::now());
            if now || left.is_zero() {
                state.due = None;
                let spare = std::mem::take(&mut state.spare);
                let jobs = std::mem::replace(&mut state.jobs, spare);
                return Some(Batch {
                    number: jobs.len(),
                    jobs,
                    bytes: state.bytes,
                });
            }
            let waited = self.work.wait_timeout(state, left);
            state = waited.unwrap_or_else(|e| e.into_inner()).0;
        }
    }

    /// Says that the jobs of a batch are done with.
    pub(super) fn settle(&self, mut batch: Batch<T>) {
        // What is left of them goes before anybody waits for the lock.
        batch.jobs.clear();
        let mut state = self.lock();
        state.waiting -= batch.number;
        state.bytes -= batch.bytes;
        state.settled += batch.number as u64;
        state.spare = batch.jobs;
        drop(state);
        self.settled.notify_all();
        self.settled_async.notify_waiters();
    }

    /// Drops everything, for a taker that is gone.
    pub(super) fn abandon(&self) {
        let mut state = self.lock();
        state.closed = true;
        state.jobs.clear();
        state.due = None;
        state.waiting = 0;
        state.bytes = 0;
        state.settled = state.pushed;
        drop(state);
        self.settled.notify_all();
        self.settled_async.notify_waiters();
    }

    /// Takes nothing new; what is there is still handed out.
    pub(super) fn close(&self) {
        self.lock().closed = true;
        self.work.notify_one();
    }
}
