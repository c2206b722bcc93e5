//! Runs the program `context-bench` from Python.

use std::ffi::OsString;
use std::sync::Arc;

use context_bench::evaluator::CodeExecutionSettings;
use context_bench::registry::{
    BuildError, DatasetFactory, DatasetRequest, Registry, code_execution,
};
use context_bench::{Dataset, Example};
use indexmap::IndexMap;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::engine::Ray;
use crate::example_dict::read_example;
use crate::sandbox::launcher;

/// Runs the program with these arguments, the first of which is its name, and returns its exit
/// code. The program knows the datasets that Python code registered.
#[pyfunction]
#[pyo3(signature = (args, datasets=None))]
pub(crate) fn main(
    py: Python<'_>,
    args: Vec<OsString>,
    datasets: Option<IndexMap<String, Py<PyAny>>>,
) -> u8 {
    let mut registry = Registry::builtin();
    for (name, loader) in datasets.into_iter().flatten() {
        let about = "registered in Python";
        registry.datasets.register(name, about, factory(loader));
    }
    let mut settings = CodeExecutionSettings::default();
    settings.sandbox.launcher = launcher();
    registry.evaluators.register(
        "code_execution",
        "runs the code against its tests in a sandbox: timeout=10, python=python3, memory_mb=1024",
        code_execution(settings),
    );
    py.detach(|| context_bench_cli::run_with(args, &registry, Some(&Ray)).code())
}

/// A dataset that calls a loader of the user: `loader(n=…)`, with `config` and `split` if given.
fn factory(loader: Py<PyAny>) -> DatasetFactory {
    Arc::new(move |request: &DatasetRequest| {
        let loaded = Python::attach(|py| -> PyResult<Vec<Example>> {
            let settings = PyDict::new(py);
            settings.set_item("n", request.max_examples)?;
            for (key, value) in [("config", &request.config), ("split", &request.split)] {
                if let Some(value) = value {
                    settings.set_item(key, value)?;
                }
            }
            let examples = loader.call(py, (), Some(&settings))?;
            let examples = examples.bind(py).try_iter()?;
            examples.map(|example| read_example(&example?)).collect()
        });
        loaded
            .map(Dataset::from)
            .map_err(|error| BuildError::Other {
                what: format!("the loader raised {error}"),
                hint: Some("a loader takes `n` and returns a list of dicts".into()),
            })
    })
}
