//! Threads that run Python code of a run beside the calling thread.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::executor;
use crate::job_queue::{JobQueue, NextJob};

/// A queue with the threads that serve it.
pub(crate) struct WorkerThreads {
    pub(crate) queue: Arc<JobQueue>,
    threads: Vec<Py<PyAny>>,
}

/// A queue as an object that Python can pass to a thread.
#[pyclass(frozen)]
pub(crate) struct QueueHandle(Arc<JobQueue>);

/// Serves a queue until it is closed. The body of each worker thread.
#[pyfunction]
pub(crate) fn work(py: Python<'_>, handle: &Bound<'_, QueueHandle>) {
    let queue = Arc::clone(&handle.get().0);
    loop {
        // The interpreter is only released when there is nothing to do.
        let job = match queue.take() {
            Some(job) => job,
            None => match py.detach(|| queue.wait(None)) {
                NextJob::Job(job) => job,
                NextJob::TimedOut => continue,
                NextJob::Closed => return,
            },
        };
        executor::run(py, job);
    }
}

impl WorkerThreads {
    /// Starts threads. Python itself starts them, so that its debuggers, tracers and
    /// thread-local values know them.
    pub(crate) fn start(py: Python<'_>, n: usize) -> PyResult<Self> {
        let queue = Arc::new(JobQueue::default());
        let mut workers = Self {
            queue: Arc::clone(&queue),
            threads: Vec::with_capacity(n),
        };
        let threading = py.import("threading")?;
        let target = py.import("context_bench._native")?.getattr("work")?;
        for i in 1..=n {
            let settings = PyDict::new(py);
            settings.set_item("target", &target)?;
            settings.set_item("args", (Bound::new(py, QueueHandle(Arc::clone(&queue)))?,))?;
            settings.set_item("name", format!("context-bench-{i}"))?;
            let thread = threading.call_method("Thread", (), Some(&settings))?;
            if let Err(error) = thread.call_method0("start") {
                workers.queue.close();
                return Err(error);
            }
            workers.threads.push(thread.unbind());
        }
        Ok(workers)
    }

    /// Ends the threads and waits for them.
    pub(crate) fn join(&self, py: Python<'_>) -> PyResult<()> {
        self.queue.close();
        for thread in &self.threads {
            thread.call_method0(py, "join")?;
        }
        Ok(())
    }
}

impl Drop for WorkerThreads {
    fn drop(&mut self) {
        self.queue.close();
    }
}
