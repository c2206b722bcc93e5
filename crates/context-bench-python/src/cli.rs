//! The program `context-bench`, entered from Python.

use std::ffi::OsString;

use context_bench::evaluator::CodeExecutionSettings;
use context_bench::registry::{Registry, code_execution};
use context_bench::sandbox::{Launcher, run_if_launcher};
use pyo3::prelude::*;

/// Runs the program with these arguments, the first of which is its name, and
/// gives its exit code.
#[pyfunction]
pub(crate) fn main(py: Python<'_>, args: Vec<OsString>) -> u8 {
    let mut registry = Registry::builtin();
    let mut settings = CodeExecutionSettings::default();
    settings.sandbox.launcher = launcher();
    registry.evaluators.register(
        "code_execution",
        "runs the code against its tests in a sandbox: timeout=10, python=python3, memory_mb=1024",
        code_execution(settings),
    );
    py.detach(|| context_bench_cli::run(args, &registry).code())
}

/// The launcher of the sandbox: restricts this process and becomes Python. Comes
/// back only when that fails.
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
