//! Errors of the library as exceptions with their hints, and exceptions of user code as text.

use context_bench::error::Hint;
use context_bench::mask::Mask;
use context_bench_scoring::text::visible::visible;
use pyo3::exceptions::{PyKeyboardInterrupt, PyRuntimeError, PySystemExit, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;

/// An error of the library as a `ValueError`.
pub(crate) fn bad_value(error: &(impl std::fmt::Display + Hint)) -> PyErr {
    PyValueError::new_err(with_hint(error))
}

/// The message of an error, with its hint.
pub(crate) fn with_hint(error: &(impl std::fmt::Display + Hint)) -> String {
    printable(&match error.hint() {
        Some(hint) => format!("{error}\nhint: {}", in_python_terms(&hint)),
        None => error.to_string(),
    })
}

/// A message as it may be printed: without secrets and control characters.
pub(crate) fn printable(text: &str) -> String {
    visible(&Mask::Dots.text(text)).into_owned()
}

/// A hint with flags of the program as Python arguments: `--max-workers` becomes `max_workers`.
pub(crate) fn in_python_terms(hint: &str) -> String {
    let mut parts = hint.split("`--");
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part
            .find(|c: char| !(c.is_ascii_alphanumeric() || c == '-'))
            .unwrap_or(part.len());
        let (flag, rest) = part.split_at(end);
        text.push('`');
        text.push_str(&flag.replace('-', "_"));
        text.push_str(rest);
    }
    text
}

/// A bug of this package.
pub(crate) fn bug(what: &str) -> PyErr {
    PyRuntimeError::new_err(format!("{what}; this is a bug in context-bench"))
}

/// An exception of user code, as text.
#[derive(Debug, Clone)]
pub(crate) struct PythonException {
    /// Its type and message.
    pub(crate) message: String,
    /// Where it came from, as Python prints it.
    pub(crate) traceback: Option<String>,
}

impl PythonException {
    /// Reads an exception.
    pub(crate) fn new(py: Python<'_>, error: &PyErr) -> Self {
        let kind = error.get_type(py).name();
        let kind = kind.map(|name| name.to_string_lossy().into_owned());
        let kind = kind.unwrap_or_else(|_| "Exception".into());
        let text = error.value(py).str();
        let text = text.map(|text| text.to_string_lossy().into_owned());
        let message = match text {
            Ok(text) if !text.is_empty() => format!("{kind}: {text}"),
            _ => kind,
        };
        Self {
            message,
            traceback: traceback(py, error).ok(),
        }
    }
}

fn traceback(py: Python<'_>, error: &PyErr) -> PyResult<String> {
    let module = py.import(intern!(py, "traceback"))?;
    let parts = (error.get_type(py), error.value(py), error.traceback(py));
    let lines = module.call_method1(intern!(py, "format_exception"), parts)?;
    let lines: Vec<String> = lines.extract()?;
    Ok(lines.concat())
}

/// Whether an exception is meant to end the program, not just a call.
pub(crate) fn ends_program(py: Python<'_>, error: &PyErr) -> bool {
    error.is_instance_of::<PyKeyboardInterrupt>(py) || error.is_instance_of::<PySystemExit>(py)
}

/// Panics, so that tests can check that a panic becomes an exception.
#[pyfunction]
#[allow(clippy::panic, reason = "a panic is what the test needs")]
pub(crate) fn _panic() {
    panic!("a test of faults");
}
