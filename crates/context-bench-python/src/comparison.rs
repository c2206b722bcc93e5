//! Systems of a result beside their baseline, for Python.

use context_bench::comparison::ComparisonSettings;
use context_bench::report::ComparisonReport;
use context_bench::{EvalResult, Summary};
use context_bench_error::suggest;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde_json::Value;

use crate::convert;
use crate::error::{bug, printable};
use crate::result::NativeResult;
use crate::row::read_rows;

/// How wide the table is, as that of results.
const WIDTH: u16 = 100;

/// Compares the systems of rows with a baseline: the data, and how terminals and Markdown show it.
#[pyfunction]
#[pyo3(signature = (rows, systems, baseline=None, margin=None, score=None, resamples=None, seed=0,
    flips=20, native=None))]
#[allow(
    clippy::too_many_arguments,
    reason = "the arguments of the Python function"
)]
pub(crate) fn compare(
    py: Python<'_>,
    rows: &Bound<'_, PyAny>,
    systems: Vec<String>,
    baseline: Option<String>,
    margin: Option<f64>,
    score: Option<String>,
    resamples: Option<usize>,
    seed: u64,
    flips: usize,
    native: Option<&Bound<'_, NativeResult>>,
) -> PyResult<(Py<PyAny>, String, String)> {
    let mut result = EvalResult::default();
    result.rows = read_rows(rows)?;
    for system in &systems {
        result.summary.insert(system.clone(), Summary::default());
    }
    let mut settings = match native {
        Some(native) => native.get().0.compared.clone(),
        None => ComparisonSettings::default(),
    };
    if systems.len() < 2 {
        return Err(PyValueError::new_err(
            "there is one system, and a comparison takes two\nhint: run several systems, or              concatenate their rows",
        ));
    }
    let names: Vec<&str> = systems.iter().map(String::as_str).collect();
    settings.baseline = match baseline {
        Some(name) => Some(known("system", &name, &names)?),
        // A result that was filtered may have lost the one it had.
        None => settings.baseline.filter(|name| systems.contains(name)),
    };
    let scores = result.score_names();
    let scores: Vec<&str> = scores.iter().map(|name| &**name).collect();
    settings.score = match score {
        Some(name) => Some(known("score", &name, &scores)?),
        None => settings
            .score
            .filter(|name| scores.contains(&name.as_str())),
    };
    if let Some(margin) = margin {
        if !(margin.is_finite() && margin >= 0.0) {
            return Err(PyValueError::new_err(format!(
                "the margin must be a number of 0 or more, not {margin}"
            )));
        }
        settings.margin = Some(margin);
    }
    settings.resamples = resamples.or(settings.resamples);
    (settings.seed, settings.flips) = (seed, flips);
    let found = py.detach(|| result.compare(&settings));
    let found = found.ok_or_else(|| {
        PyValueError::new_err("the rows of each system must stand together to be compared")
    })?;
    let data = serde_json::to_value(&found).map_err(|error| bug(&error.to_string()))?;
    let report = ComparisonReport {
        width: WIDTH,
        flips: 0,
    };
    let data: Value = data;
    Ok((
        convert::to_python(py, &data)?.into(),
        report.table(&found, &[]),
        report.markdown(&found, &[]),
    ))
}

/// A name that is there, or an error with the nearest one.
fn known(what: &str, name: &str, names: &[&str]) -> PyResult<String> {
    if names.contains(&name) {
        return Ok(name.to_owned());
    }
    let hint = suggest::did_you_mean(name, names.iter().copied())
        .unwrap_or_else(|| format!("use {}", suggest::quoted_list(names, "or")));
    let text = format!("there is no {what} `{name}`\nhint: {hint}");
    Err(PyValueError::new_err(printable(&text)))
}
