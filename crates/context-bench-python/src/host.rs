//! Functions and classes of tasks, run by this interpreter.

use std::sync::Arc;

use context_bench_tasks::python::{Interpreter, LocalHost, Session, program};
use pyo3::prelude::*;

/// The host of this interpreter.
pub(crate) type Here = LocalHost<ThisOne>;

/// This interpreter, with the program loaded once.
pub(crate) struct ThisOne(Arc<Py<PyAny>>);

/// Makes a host. The program is loaded now, so that a broken installation shows.
pub(crate) fn host(py: Python<'_>) -> PyResult<Here> {
    let module = py.import("context_bench._host")?;
    let host = module.call_method1("Host", (program().to_vec(),))?;
    Ok(LocalHost::new(ThisOne(Arc::new(host.unbind()))))
}

impl Interpreter for ThisOne {
    fn open(&self) -> Result<Box<dyn Session>, String> {
        Python::attach(|py| match self.0.call_method0(py, "open") {
            Ok(session) => Ok(Box::new(Asked(session)) as _),
            Err(error) => Err(error.to_string()),
        })
    }
}

/// A session of `context_bench._host`.
#[derive(Debug)]
struct Asked(Py<PyAny>);

impl Session for Asked {
    fn ask(&mut self, request: &str) -> Result<Vec<String>, String> {
        Python::attach(|py| {
            let replies = self.0.call_method1(py, "ask", (request,));
            let replies = replies.and_then(|replies| replies.extract(py));
            replies.map_err(|error| error.to_string())
        })
    }
}
