//! Queues of jobs for threads that hold the interpreter.
//!
//! Attaching a thread to Python costs more than a small call, so threads attach once and let go
//! only while they wait. The calling thread serves one queue; worker threads serve another.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use pyo3::prelude::*;

/// Something to do while holding the interpreter.
pub(crate) type Job = Box<dyn for<'py> FnOnce(Python<'py>) + Send>;

/// A queue of jobs.
#[derive(Default)]
pub(crate) struct JobQueue {
    state: Mutex<State>,
    filled: Condvar,
}

#[derive(Default)]
struct State {
    jobs: VecDeque<Job>,
    closed: bool,
}

/// What waiting for a job led to.
pub(crate) enum NextJob {
    /// Something to do.
    Job(Job),
    /// No job arrived in time.
    TimedOut,
    /// No job will ever arrive.
    Closed,
}

impl JobQueue {
    /// Adds a job. A closed queue drops it, which whoever waits for the job notices.
    pub(crate) fn submit(&self, job: Job) {
        let mut state = self.lock();
        if !state.closed {
            state.jobs.push_back(job);
            drop(state);
            self.filled.notify_one();
        }
    }

    /// The next job, if there is one right now.
    pub(crate) fn take(&self) -> Option<Job> {
        self.lock().jobs.pop_front()
    }

    /// Waits for a job.
    pub(crate) fn wait(&self, limit: Option<Duration>) -> NextJob {
        let deadline = limit.map(|limit| Instant::now() + limit);
        let mut state = self.lock();
        loop {
            if let Some(job) = state.jobs.pop_front() {
                return NextJob::Job(job);
            }
            if state.closed {
                return NextJob::Closed;
            }
            state = match deadline {
                None => self.filled.wait(state).unwrap_or_else(|e| e.into_inner()),
                Some(deadline) => {
                    let left = deadline.saturating_duration_since(Instant::now());
                    if left.is_zero() {
                        return NextJob::TimedOut;
                    }
                    let woken = self.filled.wait_timeout(state, left);
                    woken.unwrap_or_else(|e| e.into_inner()).0
                }
            };
        }
    }

    /// Releases all waiting threads; queued jobs are dropped.
    pub(crate) fn close(&self) {
        let dropped = {
            let mut state = self.lock();
            state.closed = true;
            std::mem::take(&mut state.jobs)
        };
        self.filled.notify_all();
        drop(dropped);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Only held for pushing and popping; jobs run and are dropped outside.
        self.state.lock().unwrap_or_else(|e| e.into_inner())
    }
}
