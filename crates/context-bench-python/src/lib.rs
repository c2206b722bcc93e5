//! The extension module `context_bench._native`.
//!
//! It computes nothing itself: it converts values and passes calls on to the library and back.
//! Users see the pure Python half of the package, `python/context_bench`;
//! `docs/adr/0012-python-binding.md` explains why.
//!
//! A class named `Native…` is a Python class implemented here; `Python…` is an object of user
//! code, wrapped for the library.
#![allow(
    clippy::needless_pass_by_value,
    reason = "PyO3 passes extracted arguments by value"
)]

mod blocking;
mod cli;
mod comparison;
mod convert;
mod datasets;
mod engine;
mod error;
mod evaluate;
mod evaluator;
mod example_dict;
mod examples;
mod executor;
mod host;
mod job_queue;
mod leases;
mod memory;
mod metric;
mod native_system;
mod notices;
mod progress;
mod prompt;
mod proxy;
mod python_object;
mod render;
mod result;
mod row;
mod sandbox;
mod store;
mod surroundings;
mod system;
mod task_results;
mod tasks;
mod text;
mod tokens;
mod turns;
mod units;
mod worker_threads;

use pyo3::exceptions::PyImportError;
use pyo3::prelude::*;

/// The name of the distribution; `context-bench` is another project.
const DISTRIBUTION: &str = "context-bench-rs";

/// Fails when the Python half is not ours: another project installs a folder of the same name.
fn check_installation(py: Python<'_>) -> PyResult<()> {
    let package = py.import("context_bench")?;
    let name = package.getattr("__distribution__").ok();
    if name.is_some_and(|name| name.eq(DISTRIBUTION).unwrap_or(false)) {
        return Ok(());
    }
    Err(PyImportError::new_err(format!(
        "`context_bench/__init__.py` does not belong to {DISTRIBUTION}: another distribution \
         has overwritten or removed files of this package\n\
         hint: pip uninstall context-bench {DISTRIBUTION}, then install the wheel of \
         {DISTRIBUTION} again; `make python` in a clone builds it"
    )))
}

/// The native half of the package.
#[pymodule(gil_used = true)]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    // The launcher of the sandbox loads this module without the package.
    if module.name()? == "context_bench._native" {
        check_installation(module.py())?;
    }
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("DEFAULT_MODEL", context_bench::chat::DEFAULT_MODEL)?;
    module.add_class::<row::NativeRow>()?;
    module.add_class::<row::RowError>()?;
    module.add_class::<result::NativeResult>()?;
    module.add_class::<proxy::NativeProxy>()?;
    module.add_class::<native_system::NativeSystem>()?;
    module.add_class::<evaluator::NativeEvaluator>()?;
    module.add_class::<metric::NativeMetric>()?;
    module.add_class::<store::NativeStore>()?;
    module.add_class::<leases::NativeLeases>()?;
    module.add_class::<units::NativeUnits>()?;
    module.add_class::<prompt::NativePrompt>()?;
    module.add_class::<tasks::NativeTasks>()?;
    module.add_class::<tasks::NativeTask>()?;
    module.add_class::<tasks::NativeRequests>()?;
    module.add_function(wrap_pyfunction!(worker_threads::work, module)?)?;
    module.add_function(wrap_pyfunction!(evaluate::evaluate, module)?)?;
    module.add_function(wrap_pyfunction!(evaluate::look, module)?)?;
    module.add_function(wrap_pyfunction!(store::snapshot, module)?)?;
    module.add_function(wrap_pyfunction!(render::render, module)?)?;
    module.add_function(wrap_pyfunction!(comparison::compare, module)?)?;
    module.add_function(wrap_pyfunction!(row::restore_row, module)?)?;
    module.add_function(wrap_pyfunction!(result::restore_result, module)?)?;
    module.add_function(wrap_pyfunction!(cli::main, module)?)?;
    module.add_function(wrap_pyfunction!(sandbox::sandbox, module)?)?;
    module.add_function(wrap_pyfunction!(datasets::load_dataset, module)?)?;
    module.add_function(wrap_pyfunction!(datasets::dataset_names, module)?)?;
    module.add_function(wrap_pyfunction!(metric::rank_systems, module)?)?;
    module.add_function(wrap_pyfunction!(tokens::count_tokens, module)?)?;
    module.add_function(wrap_pyfunction!(tokens::tokenizer_names, module)?)?;
    module.add_function(wrap_pyfunction!(text::normalize_answer, module)?)?;
    module.add_function(wrap_pyfunction!(text::f1_score, module)?)?;
    module.add_function(wrap_pyfunction!(text::exact_match, module)?)?;
    module.add_function(wrap_pyfunction!(text::recall_score, module)?)?;
    module.add_function(wrap_pyfunction!(text::rouge_l, module)?)?;
    module.add_function(wrap_pyfunction!(error::_panic, module)?)?;
    Ok(())
}
