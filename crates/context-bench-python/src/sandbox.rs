//! The sandbox for generated code, with this interpreter as its launcher.

use std::ffi::OsString;

use context_bench::sandbox::{Launcher, run_if_launcher};
use pyo3::prelude::*;

/// The launcher of the sandbox: restricts this process and becomes Python. Returns only when that
/// fails.
#[pyfunction]
pub(crate) fn sandbox(args: Vec<OsString>) -> bool {
    run_if_launcher(args).is_some()
}

/// This interpreter as the launcher of the sandbox.
pub(crate) fn launcher() -> Option<Launcher> {
    let made = Python::attach(|py| -> PyResult<Launcher> {
        let program: String = py.import("sys")?.getattr("executable")?.extract()?;
        let launcher = py.import("context_bench._sandbox")?;
        let file: String = launcher.getattr("__file__")?.extract()?;
        let mut made = Launcher::new(program);
        let before = ["-I", "-S", &file].map(OsString::from);
        made.arguments = before.into_iter().chain(made.arguments).collect();
        Ok(made)
    });
    made.ok()
}
