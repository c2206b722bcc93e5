//! Calls Python code from a run: on which thread, and what came of it.

use std::any::Any;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use context_bench::Identity;
use context_bench::chat::Pace;
use context_bench::stopwatch::Stopwatch;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use serde_json::json;
use tokio::sync::oneshot;

use crate::error::{PythonException, ends_program};
use crate::job_queue::{Job, JobQueue};

/// How often waiting threads look for signals, such as Ctrl-C.
pub(crate) const SIGNAL_INTERVAL: Duration = Duration::from_millis(50);

/// An object of user code. It can be cloned without holding the interpreter.
pub(crate) type Object = Arc<Py<PyAny>>;

/// Calls the Python code of one run.
pub(crate) struct PythonExecutor {
    /// The queue of the calling thread, which iterates the dataset and, without worker threads,
    /// makes all other calls too, as a plain loop would.
    pub(crate) calling_thread: Arc<JobQueue>,
    /// The queue of the worker threads, when several calls may be in flight.
    workers: Option<Arc<JobQueue>>,
    /// The thread of `async` code: a `context_bench._event_loop.EventLoop`.
    event_loop: Py<PyAny>,
    /// The exception that ends the run.
    fatal: Mutex<Option<PyErr>>,
    /// The exception that ended the dataset early.
    dataset_error: Mutex<Option<PyErr>>,
    /// Senders of calls that the end of the run cut off.
    cut_off: Mutex<Vec<Box<dyn Any + Send>>>,
    /// Makes objects without a `cache_key` the same in all processes of a run, and in no other
    /// run.
    salt: Option<String>,
    /// How fast the endpoints of the run may be asked, when others decide that.
    pub(crate) pace: Option<Arc<Pace>>,
}

/// What a call returned, and how long it took.
pub(crate) struct CallOutcome<T> {
    pub(crate) result: Result<T, CallError>,
    /// The time inside user code, without waiting for a thread.
    pub(crate) took: Duration,
}

/// Why a call returned nothing useful.
#[derive(Debug)]
pub(crate) enum CallError {
    /// User code raised an exception.
    Raised(PythonException),
    /// User code returned something that cannot be used.
    Invalid(String),
    /// The run ended first.
    RunEnded,
}

impl CallError {
    /// In one line.
    pub(crate) fn message(&self) -> String {
        match self {
            Self::Raised(exception) => exception.message.clone(),
            Self::Invalid(what) => what.clone(),
            Self::RunEnded => "the run ended before the call was done".into(),
        }
    }
}

/// Takes what a call returned, after awaiting it where necessary.
type OnReturn = Box<dyn for<'py> FnOnce(Python<'py>, PyResult<Bound<'py, PyAny>>) + Send>;

impl PythonExecutor {
    pub(crate) fn new(
        calling_thread: Arc<JobQueue>,
        workers: Option<Arc<JobQueue>>,
        event_loop: Py<PyAny>,
    ) -> Self {
        Self {
            calling_thread,
            workers,
            event_loop,
            fatal: Mutex::new(None),
            dataset_error: Mutex::new(None),
            cut_off: Mutex::new(Vec::new()),
            salt: None,
            pace: None,
        }
    }

    /// Makes the run a part of one that several processes share.
    pub(crate) fn shared(mut self, salt: Option<String>, pace: Option<Arc<Pace>>) -> Self {
        self.salt = salt;
        self.pace = pace;
        self
    }

    /// What all processes of the run have in common, if it has several.
    pub(crate) fn salt(&self) -> Option<&str> {
        self.salt.as_deref()
    }

    /// What stands for an object that nothing else identifies, if the run has several processes.
    pub(crate) fn identity_in_run(&self, kind: &str, name: &str) -> Option<Identity> {
        let salt = self.salt.as_ref()?;
        let settings = json!({"run": salt, "kind": kind, "name": name});
        Some(Identity::new("in_run", 1, settings))
    }

    /// Calls a method on a thread that holds the interpreter. A coroutine is awaited on the
    /// thread of `async` code.
    pub(crate) async fn call<T: Send + 'static>(
        self: &Arc<Self>,
        object: &Object,
        method: &'static str,
        arguments: impl for<'py> FnOnce(Python<'py>) -> PyResult<Bound<'py, PyTuple>> + Send + 'static,
        read: impl for<'py> FnOnce(&Bound<'py, PyAny>) -> Result<T, CallError> + Send + 'static,
    ) -> CallOutcome<T> {
        let (sender, receiver) = oneshot::channel();
        let (executor, object) = (Arc::clone(self), Arc::clone(object));
        // Waiting for a thread does not count as time of user code.
        let queued = Stopwatch::current().map(|watch| watch.pause());
        let job = move |py: Python<'_>| {
            if queued.is_some_and(|queued| !queued.end()) {
                return;
            }
            let ready = arguments(py)
                .and_then(|arguments| Ok((object.bind(py).getattr(method)?, arguments)));
            let started = Instant::now();
            let returned = ready.and_then(|(method, arguments)| method.call1(arguments));
            let this = Arc::clone(&executor);
            let on_return: OnReturn = Box::new(move |py, returned| {
                let took = started.elapsed();
                let result = match returned {
                    Ok(returned) => read(&returned),
                    Err(error) if ends_program(py, &error) => {
                        // The call was cut off, which is not a failure of the system. The
                        // caller gets no answer, or it might make a row of it before the run
                        // is stopped.
                        this.keep_waiting(sender);
                        this.fail(error);
                        return;
                    }
                    Err(error) => Err(this.exception(py, error)),
                };
                // Nobody receives this after the run was given up.
                let _ = sender.send(CallOutcome { result, took });
            });
            match returned {
                Ok(returned) if is_awaitable(&returned) => {
                    executor.await_result(py, returned, on_return);
                }
                returned => on_return(py, returned),
            }
        };
        let queue = self.workers.as_ref().unwrap_or(&self.calling_thread);
        queue.submit(Box::new(job));
        receiver.await.unwrap_or(CallOutcome {
            result: Err(CallError::RunEnded),
            took: Duration::ZERO,
        })
    }

    /// Lets the thread of `async` code await something.
    fn await_result(&self, py: Python<'_>, awaitable: Bound<'_, PyAny>, on_return: OnReturn) {
        let slot = Arc::new(Mutex::new(Some(on_return)));
        let callback = Bound::new(py, AwaitCallback(Arc::clone(&slot)));
        let submitted = callback.and_then(|callback| {
            self.event_loop
                .call_method1(py, "submit", (awaitable, callback))
        });
        if let Err(error) = submitted {
            settle(py, &slot, Err(error));
        }
    }

    /// Reads an exception of user code. One that is meant to end the program ends the run.
    pub(crate) fn exception(&self, py: Python<'_>, error: PyErr) -> CallError {
        let exception = PythonException::new(py, &error);
        if ends_program(py, &error) {
            self.fail(error);
        }
        CallError::Raised(exception)
    }

    /// Ends the run with this exception; the first one counts.
    pub(crate) fn fail(&self, error: PyErr) {
        let mut fatal = self.fatal.lock().unwrap_or_else(|e| e.into_inner());
        let first = fatal.is_none();
        if first {
            *fatal = Some(error);
        }
        drop(fatal);
        if first {
            // Wakes the calling thread.
            self.calling_thread.submit(Box::new(|_| {}));
        }
    }

    /// Keeps the receiver of a cut-off call waiting until the run is stopped.
    fn keep_waiting(&self, sender: impl Any + Send) {
        let mut cut_off = self.cut_off.lock().unwrap_or_else(|e| e.into_inner());
        cut_off.push(Box::new(sender));
    }

    /// Stores the exception that ended the dataset, to be raised when everything in flight is
    /// done.
    pub(crate) fn end_dataset(&self, error: PyErr) {
        let mut slot = self.dataset_error.lock().unwrap_or_else(|e| e.into_inner());
        slot.get_or_insert(error);
    }

    /// The exception that ended the dataset, if there is one.
    pub(crate) fn take_dataset_error(&self) -> Option<PyErr> {
        let mut slot = self.dataset_error.lock().unwrap_or_else(|e| e.into_inner());
        slot.take()
    }

    /// The exception that ends the run, if there is one.
    pub(crate) fn take_fatal(&self) -> Option<PyErr> {
        let mut fatal = self.fatal.lock().unwrap_or_else(|e| e.into_inner());
        fatal.take()
    }
}

/// Runs a job. A panic is a bug of this package; whoever waits for the job then gets no answer.
pub(crate) fn run(py: Python<'_>, job: Job) {
    let _ = std::panic::catch_unwind(AssertUnwindSafe(|| job(py)));
}

fn is_awaitable(object: &Bound<'_, PyAny>) -> bool {
    !object.is_instance_of::<PyDict>()
        && object
            .hasattr(intern!(object.py(), "__await__"))
            .unwrap_or(false)
}

/// What the thread of `async` code calls when an awaitable is done.
#[pyclass(frozen)]
pub(crate) struct AwaitCallback(Arc<Mutex<Option<OnReturn>>>);

#[pymethods]
impl AwaitCallback {
    fn __call__(&self, py: Python<'_>, value: Bound<'_, PyAny>, error: Option<Bound<'_, PyAny>>) {
        let outcome = match error {
            Some(error) => Err(PyErr::from_value(error)),
            None => Ok(value),
        };
        settle(py, &self.0, outcome);
    }
}

fn settle(py: Python<'_>, slot: &Mutex<Option<OnReturn>>, outcome: PyResult<Bound<'_, PyAny>>) {
    // Taken out first, because no lock may be held while Python runs.
    let on_return = slot.lock().unwrap_or_else(|e| e.into_inner()).take();
    if let Some(on_return) = on_return {
        on_return(py, outcome);
    }
}
