//! Calls of Python code from a run: where they happen, and what came of them.

use std::any::Any;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use context_bench::stopwatch::Stopwatch;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use tokio::sync::oneshot;

use crate::error::{Raised, ends_program};
use crate::lane::{Job, Lane};

/// An object of user code. Clones are made without the interpreter.
pub(crate) type Object = Arc<Py<PyAny>>;

/// Where the Python code of a run is called.
pub(crate) struct Desk {
    /// The calling thread: iterates the dataset and, when nothing else runs
    /// beside it, does everything, as a plain loop would.
    pub(crate) home: Arc<Lane>,
    /// Worker threads, when several calls may be in flight.
    pub(crate) crew: Option<Arc<Lane>>,
    /// The thread of `async` code: a `context_bench._aio.Loop`.
    pub(crate) aio: Py<PyAny>,
    fatal: Mutex<Option<PyErr>>,
    /// What ended the dataset early.
    ended: Mutex<Option<PyErr>>,
    /// Where the answers of calls were awaited that the end of the run cut off.
    cut_off: Mutex<Vec<Box<dyn Any + Send>>>,
}

/// What a call gave.
pub(crate) struct Called<T> {
    pub(crate) result: Result<T, Trouble>,
    /// The time inside user code, without waiting for a thread.
    pub(crate) took: Duration,
}

/// Why a call gave nothing.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// User code raised an exception.
    Raised(Raised),
    /// It returned something that cannot be used.
    Wrong(String),
    /// The run is over.
    Gone,
}

impl Trouble {
    /// In one line.
    pub(crate) fn message(&self) -> String {
        match self {
            Self::Raised(raised) => raised.message.clone(),
            Self::Wrong(what) => what.clone(),
            Self::Gone => "the run ended before the call was done".into(),
        }
    }
}

type Finish = Box<dyn for<'py> FnOnce(Python<'py>, PyResult<Bound<'py, PyAny>>) + Send>;

impl Desk {
    pub(crate) fn new(home: Arc<Lane>, crew: Option<Arc<Lane>>, aio: Py<PyAny>) -> Self {
        Self {
            home,
            crew,
            aio,
            fatal: Mutex::new(None),
            ended: Mutex::new(None),
            cut_off: Mutex::new(Vec::new()),
        }
    }

    /// Calls a method on a thread that holds the interpreter. A coroutine is
    /// awaited on the thread of `async` code.
    pub(crate) async fn call<T: Send + 'static>(
        self: &Arc<Self>,
        object: &Object,
        method: &'static str,
        arguments: impl for<'py> FnOnce(Python<'py>) -> PyResult<Bound<'py, PyTuple>> + Send + 'static,
        read: impl for<'py> FnOnce(&Bound<'py, PyAny>) -> Result<T, Trouble> + Send + 'static,
    ) -> Called<T> {
        let (sender, receiver) = oneshot::channel();
        let (desk, object) = (Arc::clone(self), Arc::clone(object));
        // Waiting for a thread is not the time of user code.
        let queued = Stopwatch::current().map(|watch| watch.pause());
        let job = move |py: Python<'_>| {
            if queued.is_some_and(|queued| !queued.end()) {
                return;
            }
            let ready = arguments(py)
                .and_then(|arguments| Ok((object.bind(py).getattr(method)?, arguments)));
            let started = Instant::now();
            let returned = ready.and_then(|(method, arguments)| method.call1(arguments));
            let teller = Arc::clone(&desk);
            let finish: Finish = Box::new(move |py, returned| {
                let took = started.elapsed();
                let result = match returned {
                    Ok(returned) => read(&returned),
                    Err(error) if ends_program(py, &error) => {
                        // The call was cut off and is no failure of the system. Nobody is
                        // told, or a row might be made of it before the run is stopped.
                        teller.cut_off(sender);
                        teller.fail(error);
                        return;
                    }
                    Err(error) => Err(teller.raised(py, error)),
                };
                // A run that was given up waits for nothing.
                let _ = sender.send(Called { result, took });
            });
            match returned {
                Ok(returned) if is_awaitable(&returned) => desk.hand_over(py, returned, finish),
                returned => finish(py, returned),
            }
        };
        self.lane().submit(Box::new(job));
        receiver.await.unwrap_or(Called {
            result: Err(Trouble::Gone),
            took: Duration::ZERO,
        })
    }

    fn lane(&self) -> &Lane {
        self.crew.as_ref().unwrap_or(&self.home)
    }

    /// Lets the thread of `async` code await something.
    fn hand_over(&self, py: Python<'_>, awaitable: Bound<'_, PyAny>, finish: Finish) {
        let slot = Arc::new(Mutex::new(Some(finish)));
        let settle = Bound::new(py, Settle(Arc::clone(&slot)));
        let submitted =
            settle.and_then(|settle| self.aio.call_method1(py, "submit", (awaitable, settle)));
        if let Err(error) = submitted {
            settle_with(py, &slot, Err(error));
        }
    }

    /// Takes an exception of user code. One that is meant to end the program
    /// ends the run.
    pub(crate) fn raised(&self, py: Python<'_>, error: PyErr) -> Trouble {
        let raised = Raised::new(py, &error);
        if ends_program(py, &error) {
            self.fail(error);
        }
        Trouble::Raised(raised)
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
            self.home.submit(Box::new(|_| {}));
        }
    }

    /// Keeps those waiting who wait for an answer, until the run is stopped.
    fn cut_off(&self, sender: impl Any + Send) {
        let mut cut_off = self.cut_off.lock().unwrap_or_else(|e| e.into_inner());
        cut_off.push(Box::new(sender));
    }

    /// Remembers the exception that ended the dataset, to be raised when what was
    /// begun is done.
    pub(crate) fn end_dataset(&self, error: PyErr) {
        let mut ended = self.ended.lock().unwrap_or_else(|e| e.into_inner());
        ended.get_or_insert(error);
    }

    /// The exception that ended the dataset, if there is one.
    pub(crate) fn take_ended(&self) -> Option<PyErr> {
        self.ended.lock().unwrap_or_else(|e| e.into_inner()).take()
    }

    /// The exception that ends the run, if there is one.
    pub(crate) fn take_fatal(&self) -> Option<PyErr> {
        let mut fatal = self.fatal.lock().unwrap_or_else(|e| e.into_inner());
        fatal.take()
    }
}

/// Runs a job. A panic is a bug of ours, which whoever waits for the job is told
/// by not getting an answer.
pub(crate) fn run(py: Python<'_>, job: Job) {
    let _ = std::panic::catch_unwind(AssertUnwindSafe(|| job(py)));
}

fn is_awaitable(object: &Bound<'_, PyAny>) -> bool {
    !object.is_instance_of::<PyDict>()
        && object
            .hasattr(intern!(object.py(), "__await__"))
            .unwrap_or(false)
}

/// What the thread of `async` code calls when something was awaited.
#[pyclass(frozen)]
pub(crate) struct Settle(Arc<Mutex<Option<Finish>>>);

#[pymethods]
impl Settle {
    fn __call__(&self, py: Python<'_>, value: Bound<'_, PyAny>, error: Option<Bound<'_, PyAny>>) {
        let outcome = match error {
            Some(error) => Err(PyErr::from_value(error)),
            None => Ok(value),
        };
        settle_with(py, &self.0, outcome);
    }
}

fn settle_with(py: Python<'_>, slot: &Mutex<Option<Finish>>, outcome: PyResult<Bound<'_, PyAny>>) {
    // Taken out first: no lock is held while Python runs.
    let finish = slot.lock().unwrap_or_else(|e| e.into_inner()).take();
    if let Some(finish) = finish {
        finish(py, outcome);
    }
}
