//! The extension module `context_bench._native`.
//!
//! Nothing is computed here: values cross the border, calls go to the library
//! and back. What users see is the pure-Python face in `python/context_bench`;
//! `docs/adr/0012-python-binding.md` tells why it has this shape.
#![allow(
    clippy::needless_pass_by_value,
    reason = "PyO3 hands extracted arguments over by value"
)]

mod blocking;
mod call;
mod catalogue;
mod cli;
mod convert;
mod error;
mod evaluate;
mod evaluator;
mod examples;
mod host;
mod lane;
mod metric;
mod progress;
mod prompt;
mod proxy;
mod render;
mod result;
mod row;
mod store;
mod surroundings;
mod system;
mod task_run;
mod tasks;
mod text;
mod tokens;

use pyo3::exceptions::PyImportError;
use pyo3::prelude::*;

/// The name of the distribution; another project has `context-bench`.
const DISTRIBUTION: &str = "context-bench-rs";

/// Fails in a package whose face is not ours: another project installs the same folder.
fn whole(py: Python<'_>) -> PyResult<()> {
    let face = py.import("context_bench")?;
    let name = face.getattr("__distribution__").ok();
    if name.is_some_and(|name| name.eq(DISTRIBUTION).unwrap_or(false)) {
        return Ok(());
    }
    Err(PyImportError::new_err(format!(
        "`context_bench/__init__.py` is not that of {DISTRIBUTION}: another distribution has \
         put its files over ours, or taken them away\n\
         hint: pip uninstall context-bench {DISTRIBUTION}, then install the wheel of \
         {DISTRIBUTION} again; `make python` in a clone builds it"
    )))
}

/// The native half of the package.
#[pymodule(gil_used = true)]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    // The launcher of the sandbox loads this half alone.
    if module.name()? == "context_bench._native" {
        whole(module.py())?;
    }
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("DEFAULT_MODEL", context_bench::chat::DEFAULT_MODEL)?;
    module.add_class::<row::PyRow>()?;
    module.add_class::<row::RowError>()?;
    module.add_class::<result::NativeResult>()?;
    module.add_class::<proxy::PyProxy>()?;
    module.add_class::<system::NativeSystem>()?;
    module.add_class::<evaluator::NativeEvaluator>()?;
    module.add_class::<metric::NativeMetric>()?;
    module.add_class::<store::NativeStore>()?;
    module.add_class::<prompt::NativePrompt>()?;
    module.add_class::<tasks::NativeTasks>()?;
    module.add_class::<tasks::NativeTask>()?;
    module.add_class::<tasks::NativeRequests>()?;
    module.add_function(wrap_pyfunction!(lane::work, module)?)?;
    module.add_function(wrap_pyfunction!(evaluate::evaluate, module)?)?;
    module.add_function(wrap_pyfunction!(render::render, module)?)?;
    module.add_function(wrap_pyfunction!(row::restore_row, module)?)?;
    module.add_function(wrap_pyfunction!(result::restore_result, module)?)?;
    module.add_function(wrap_pyfunction!(cli::main, module)?)?;
    module.add_function(wrap_pyfunction!(cli::sandbox, module)?)?;
    module.add_function(wrap_pyfunction!(catalogue::load_dataset, module)?)?;
    module.add_function(wrap_pyfunction!(catalogue::dataset_names, module)?)?;
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
