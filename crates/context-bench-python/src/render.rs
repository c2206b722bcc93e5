//! Results as text, rendered by the library from what Python holds now.

use std::io::Write as _;

use context_bench::registry::Registry;
use context_bench::report::{Reporter as _, TableReport};
use context_bench::{EvalResult, Measurement, Summary};
use indexmap::IndexMap;
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::convert;
use crate::error::bad_value;
use crate::result::NativeResult;
use crate::row::rows_of;

/// Renders a result: `json`, `jsonl`, `csv`, `markdown` or `table`.
#[pyfunction]
#[pyo3(signature = (format, rows, summary, timing, config, native=None))]
pub(crate) fn render(
    py: Python<'_>,
    format: &str,
    rows: &Bound<'_, PyAny>,
    summary: IndexMap<String, IndexMap<String, Option<f64>>>,
    timing: IndexMap<String, f64>,
    config: &Bound<'_, PyDict>,
    native: Option<&Bound<'_, NativeResult>>,
) -> PyResult<String> {
    let mut result = match native {
        Some(native) => EvalResult::clone(&native.get().0),
        None => EvalResult::default(),
    };
    result.rows = rows_of(rows)?;
    result.summary = summary
        .into_iter()
        .map(|(system, numbers)| {
            let known = result.summary.get(&system);
            let numbers = numbers
                .into_iter()
                .map(|(key, value)| {
                    let measured = measurement(known.and_then(|known| known.get(&key)), value);
                    (key, measured)
                })
                .collect::<Summary>();
            (system, numbers)
        })
        .collect();
    let kept: Vec<String> = result.summary.keys().cloned().collect();
    result.counts.retain(|system, _| kept.contains(system));
    result.timing = timing;
    result.config = convert::to_fields(config)?;
    let bytes = py.detach(move || write(format, &result))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// What was measured, while the number is still the one that was measured.
fn measurement(known: Option<&Measurement>, value: Option<f64>) -> Measurement {
    let value = value.filter(|value| !value.is_nan());
    match known {
        Some(known) if known.value == value => *known,
        Some(known) => Measurement {
            value,
            unit: known.unit,
            ..Measurement::default()
        },
        None => Measurement {
            value,
            ..Measurement::default()
        },
    }
}

fn write(format: &str, result: &EvalResult) -> PyResult<Vec<u8>> {
    let mut bytes = Vec::new();
    let written = if format == "table" {
        TableReport { width: 100 }.write(result, &mut bytes)
    } else {
        let registry = Registry::builtin();
        let reporter = registry.reporters.get(format);
        let reporter = reporter.map_err(|error| bad_value(&error))?;
        reporter.write(result, &mut bytes)
    };
    let written = written.and_then(|()| bytes.flush());
    written.map_err(|error| PyOSError::new_err(error.to_string()))?;
    Ok(bytes)
}
