//! Lanes: queues of work for threads that hold the interpreter.
//!
//! Attaching a thread to Python costs more than a small call, so threads attach
//! once and let go only while they wait. The calling thread serves the lane
//! *home*; worker threads, which Python itself starts, serve another.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use pyo3::prelude::*;
use pyo3::types::PyDict;

/// How often signals are looked for.
pub(crate) const TICK: Duration = Duration::from_millis(50);

/// Something to do while holding the interpreter.
pub(crate) type Job = Box<dyn for<'py> FnOnce(Python<'py>) + Send>;

/// A queue of jobs.
#[derive(Default)]
pub(crate) struct Lane {
    state: Mutex<State>,
    filled: Condvar,
}

#[derive(Default)]
struct State {
    jobs: VecDeque<Job>,
    closed: bool,
}

/// What waiting for a job gave.
pub(crate) enum Taken {
    /// Something to do.
    Job(Job),
    /// Nothing within the time.
    Nothing,
    /// Nothing, and nothing will come.
    Closed,
}

impl Lane {
    /// Adds a job. A closed lane drops it, which tells whoever waits for it.
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
    pub(crate) fn wait(&self, limit: Option<Duration>) -> Taken {
        let deadline = limit.map(|limit| Instant::now() + limit);
        let mut state = self.lock();
        loop {
            if let Some(job) = state.jobs.pop_front() {
                return Taken::Job(job);
            }
            if state.closed {
                return Taken::Closed;
            }
            state = match deadline {
                None => self.filled.wait(state).unwrap_or_else(|e| e.into_inner()),
                Some(deadline) => {
                    let left = deadline.saturating_duration_since(Instant::now());
                    if left.is_zero() {
                        return Taken::Nothing;
                    }
                    let woken = self.filled.wait_timeout(state, left);
                    woken.unwrap_or_else(|e| e.into_inner()).0
                }
            };
        }
    }

    /// Lets all threads go; what is still queued is dropped.
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
        // Held for pushing and popping only; jobs run and are dropped outside.
        self.state.lock().unwrap_or_else(|e| e.into_inner())
    }
}

/// A lane with threads of Python that serve it.
pub(crate) struct Crew {
    /// The work of the crew.
    pub(crate) lane: Arc<Lane>,
    threads: Vec<Py<PyAny>>,
}

/// What a thread of a crew serves, as an object that Python passes on.
#[pyclass(frozen)]
pub(crate) struct Post(Arc<Lane>);

/// Serves a lane until it is closed. The body of worker threads.
#[pyfunction]
pub(crate) fn work(py: Python<'_>, post: &Bound<'_, Post>) {
    let lane = Arc::clone(&post.get().0);
    loop {
        // Without letting go of the interpreter when there is more to do.
        let job = match lane.take() {
            Some(job) => job,
            None => match py.detach(|| lane.wait(None)) {
                Taken::Job(job) => job,
                Taken::Nothing => continue,
                Taken::Closed => return,
            },
        };
        crate::call::run(py, job);
    }
}

impl Crew {
    /// Starts threads. They are Python's own, so that its debuggers, tracers and
    /// thread-local values know them.
    pub(crate) fn start(py: Python<'_>, n: usize) -> PyResult<Self> {
        let lane = Arc::new(Lane::default());
        let mut crew = Self {
            lane: Arc::clone(&lane),
            threads: Vec::with_capacity(n),
        };
        let threading = py.import("threading")?;
        let target = py.import("context_bench._native")?.getattr("work")?;
        for i in 1..=n {
            let settings = PyDict::new(py);
            settings.set_item("target", &target)?;
            settings.set_item("args", (Bound::new(py, Post(Arc::clone(&lane)))?,))?;
            settings.set_item("name", format!("context-bench-{i}"))?;
            let thread = threading.call_method("Thread", (), Some(&settings))?;
            if let Err(error) = thread.call_method0("start") {
                crew.lane.close();
                return Err(error);
            }
            crew.threads.push(thread.unbind());
        }
        Ok(crew)
    }

    /// Lets the threads go and waits until they are gone.
    pub(crate) fn end(&self, py: Python<'_>) -> PyResult<()> {
        self.lane.close();
        for thread in &self.threads {
            thread.call_method0(py, "join")?;
        }
        Ok(())
    }
}

impl Drop for Crew {
    fn drop(&mut self) {
        self.lane.close();
    }
}
