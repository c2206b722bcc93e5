//! Runs the functions and classes of tasks in this interpreter.

use std::sync::Arc;

use context_bench_tasks::python::{Interpreter, LocalHost, Session, program};
use pyo3::prelude::*;

/// A host of task functions inside this process.
pub(crate) type InProcessHost = LocalHost<CurrentInterpreter>;

/// This interpreter, with the host program loaded: a `context_bench._task_host.Host`.
pub(crate) struct CurrentInterpreter(Arc<Py<PyAny>>);

/// Makes a host. Its program is loaded now, so that a broken installation fails early.
pub(crate) fn host(py: Python<'_>) -> PyResult<InProcessHost> {
    let module = py.import("context_bench._task_host")?;
    let host = module.call_method1("Host", (program().to_vec(),))?;
    Ok(LocalHost::new(CurrentInterpreter(Arc::new(host.unbind()))))
}

impl Interpreter for CurrentInterpreter {
    fn open(&self) -> Result<Box<dyn Session>, String> {
        Python::attach(|py| match self.0.call_method0(py, "open") {
            Ok(session) => Ok(Box::new(HostSession(session)) as _),
            Err(error) => Err(error.to_string()),
        })
    }
}

/// A session of `context_bench._task_host`.
#[derive(Debug)]
struct HostSession(Py<PyAny>);

impl Session for HostSession {
    fn ask(&mut self, request: &str) -> Result<Vec<String>, String> {
        Python::attach(|py| {
            let replies = self.0.call_method1(py, "ask", (request,));
            let replies = replies.and_then(|replies| replies.extract(py));
            replies.map_err(|error| error.to_string())
        })
    }
}
