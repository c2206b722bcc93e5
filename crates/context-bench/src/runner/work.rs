//! The order of calls: systems take turns, which makes the latencies of their rows paired.
//!
//! Every example goes to every system before the next (A, B, A, B …), so an endpoint that
//! becomes slower or faster affects all of them alike.

use std::sync::{Arc, Mutex, MutexGuard};

use super::breaker::Breaker;
use super::decisions::Decisions;
use super::feed::Fed;
use super::prepared::Prepared;
use super::queue::{Queue, Taken};
use super::reuse::StoreLookup;
use crate::dataset::DatasetError;
use crate::system::{Announcement, System};

/// One of the systems that are compared.
pub(super) struct Arm {
    pub(super) name: Arc<str>,
    pub(super) system: Arc<dyn System>,
    pub(super) breaker: Breaker,
}

/// One example for one system.
pub(super) struct Job {
    /// Index of the system.
    pub(super) system: usize,
    pub(super) prepared: Arc<Prepared>,
    /// Kept until the call is over, where there is to be one.
    pub(super) announced: Option<Announcement>,
}

/// Hands out the jobs of a run. Any number of workers may take at the same time.
pub(super) struct Work {
    arms: Arc<[Arm]>,
    queue: Arc<Queue<Fed>>,
    /// Whether a store may hold answers of systems that are not called any more.
    has_store: bool,
    /// Who knows which systems need not be asked any more.
    decisions: Option<Arc<Decisions>>,
    cursor: Mutex<Cursor>,
}

#[derive(Default)]
struct Cursor {
    /// The example whose systems are not all served yet, and the next of them.
    current: Option<(Arc<Prepared>, usize)>,
    n_examples: usize,
    error: Option<DatasetError>,
    over: bool,
}

impl Work {
    pub(super) fn new(
        arms: Arc<[Arm]>,
        queue: Arc<Queue<Fed>>,
        has_store: bool,
        decisions: Option<Arc<Decisions>>,
    ) -> Self {
        Self {
            arms,
            queue,
            has_store,
            decisions,
            cursor: Mutex::default(),
        }
    }

    /// The next job, if there is one right now.
    pub(super) fn take(&self) -> Taken<Job> {
        let mut cursor = self.cursor();
        loop {
            let decisions = self.decisions.as_ref();
            cursor.over |= decisions.is_some_and(|decisions| decisions.is_over());
            if cursor.over {
                return Taken::CallEnd;
            }
            if let Some((prepared, first)) = cursor.current.take() {
                let next = (first..self.arms.len()).find(|system| {
                    let wanted = self.wants(*system, &prepared);
                    if let Some(decisions) = decisions.filter(|_| !wanted) {
                        decisions.skipped(*system, prepared.turn);
                    }
                    wanted
                });
                if let Some(system) = next {
                    cursor.n_examples += usize::from(first == 0);
                    let job = Job {
                        system,
                        prepared: Arc::clone(&prepared),
                        announced: self.announce(system, &prepared),
                    };
                    cursor.current = Some((prepared, system + 1));
                    return Taken::Item(job);
                }
                cursor.n_examples += usize::from(self.arms.is_empty());
            }
            match self.queue.take() {
                Taken::Item(Ok(prepared)) => cursor.current = Some((prepared, 0)),
                Taken::Item(Err(error)) => {
                    cursor.error = Some(error);
                    cursor.over = true;
                }
                Taken::Empty => return Taken::Empty,
                Taken::CallEnd => cursor.over = true,
            }
            if !self.has_store
                && !self.arms.is_empty()
                && self.arms.iter().all(|arm| arm.breaker.is_open())
            {
                cursor.over = true;
            }
        }
    }

    /// Waits for the next job; `None` when there is none left. For one waiter.
    pub(super) async fn next(&self) -> Option<Job> {
        loop {
            match self.take() {
                Taken::Item(job) => return Some(job),
                Taken::Empty => self.queue.filled().await,
                Taken::CallEnd => return None,
            }
        }
    }

    /// Hands out nothing more. Returns how many examples at least one system was
    /// asked about, and what ended the dataset early.
    pub(super) fn end(&self) -> (usize, Option<DatasetError>) {
        self.queue.abandon();
        let mut cursor = self.cursor();
        cursor.over = true;
        cursor.current = None;
        (cursor.n_examples, cursor.error.take())
    }

    /// A system that the runner gave up on still gets what is stored for it.
    fn wants(&self, system: usize, prepared: &Prepared) -> bool {
        let decisions = self.decisions.as_ref();
        if decisions.is_some_and(|decisions| decisions.is_decided(system)) {
            return false;
        }
        match prepared.lookups.get(system) {
            Some(StoreLookup::Answer(_) | StoreLookup::Failure(_) | StoreLookup::Unread(_)) => true,
            Some(StoreLookup::NoRow) => false,
            Some(StoreLookup::Nothing) | None => !self.arms[system].breaker.is_open(),
        }
    }

    /// Tells a system of a call that it will get. Jobs are taken in order; calls may begin in
    /// any.
    fn announce(&self, system: usize, prepared: &Prepared) -> Option<Announcement> {
        let is_called = match prepared.lookups.get(system) {
            Some(StoreLookup::Nothing) | None => prepared.problem.is_none(),
            Some(_) => false,
        };
        let arm = &self.arms[system];
        is_called.then(|| arm.system.announce(&prepared.example))?
    }

    fn cursor(&self) -> MutexGuard<'_, Cursor> {
        // Held for moving the cursor only; a poisoned lock changes nothing.
        self.cursor.lock().unwrap_or_else(|e| e.into_inner())
    }
}
