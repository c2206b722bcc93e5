//! What users are told beside the result, as Python warnings.

use context_bench::planner::{self, Notice, Systems};
use context_bench::store::Store;
use pyo3::prelude::*;

use crate::blocking;
use crate::error::{in_python_terms, printable};
use crate::evaluate::FRAMES;

/// A notice as the text of a warning.
pub(crate) fn notice_text(notice: &Notice) -> String {
    printable(&match &notice.hint {
        Some(hint) => format!("{}\nhint: {}", notice.what, in_python_terms(hint)),
        None => notice.what.clone(),
    })
}

/// Warns about a line of the user, so many frames up, as the Python half of the package does.
pub(crate) fn warn(py: Python<'_>, text: &str, frames: u8) -> PyResult<()> {
    let kind = py
        .import("context_bench.runner")?
        .getattr("EvaluationWarning")?;
    py.import("warnings")?
        .call_method1("warn", (text, kind, frames))?;
    Ok(())
}

/// Warns of models that an endpoint does not list, before anything is asked. Warnings collected
/// until then are shown first.
pub(crate) fn warn_of_unlisted_models(
    py: Python<'_>,
    systems: &Systems,
    store: Option<&Store>,
    warnings: &mut Vec<String>,
) -> PyResult<()> {
    let unlisted = blocking::wait(py, systems.unlisted_models(store))?;
    if !unlisted.is_empty() {
        let earlier = std::mem::take(warnings);
        for text in earlier.into_iter().chain(unlisted.iter().map(notice_text)) {
            warn(py, &text, FRAMES)?;
        }
    }
    Ok(())
}

/// What opening a store has to say.
pub(crate) fn store_warnings(store: &Store, unidentified: &[String]) -> Vec<String> {
    let read_only = planner::nothing_kept(store);
    read_only
        .iter()
        .map(notice_text)
        .chain(not_reused(unidentified))
        .collect()
}

/// The warning about systems without a `cache_key`.
fn not_reused(systems: &[String]) -> Option<String> {
    if systems.is_empty() {
        return None;
    }
    let names = context_bench_error::suggest::quoted_list(systems, "and");
    Some(format!(
        "answers of {names} are stored but not reused: give the object an attribute `cache_key` \
         with everything that decides its answers, such as a version and its settings"
    ))
}
