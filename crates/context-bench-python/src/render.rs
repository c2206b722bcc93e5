//! Renders results as text, including what Python code changed in them.

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};

use context_bench::registry::Registry;
use context_bench::report::{HtmlTable, TableReport};
use context_bench::{EvalResult, Measurement, Summary, Unit};
use indexmap::IndexMap;
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyInt};

use crate::convert;
use crate::error::bad_value;
use crate::result::NativeResult;
use crate::row::read_rows;

/// Renders a result: `json`, `jsonl`, `csv`, `markdown`, `table`, `html_table`, or
/// `overview`, which is no more than a screen. With a path it is written to that file, also as
/// `parquet`, and nothing is returned.
#[pyfunction]
#[pyo3(signature = (format, rows, summary, timing, config, native=None, path=None))]
#[expect(clippy::too_many_arguments, reason = "the parts of a result")]
pub(crate) fn render(
    py: Python<'_>,
    format: &str,
    rows: &Bound<'_, PyAny>,
    summary: IndexMap<String, IndexMap<String, Bound<'_, PyAny>>>,
    timing: IndexMap<String, f64>,
    config: &Bound<'_, PyDict>,
    native: Option<&Bound<'_, NativeResult>>,
    path: Option<PathBuf>,
) -> PyResult<String> {
    let mut result = match native {
        Some(native) => EvalResult::clone(&native.get().0),
        None => EvalResult::default(),
    };
    result.rows = read_rows(rows)?;
    result.summary = summary
        .into_iter()
        .map(|(system, numbers)| {
            let known = result.summary.get(&system);
            let mut measured = Summary::default();
            for (key, value) in numbers {
                let known = known.and_then(|known| known.get(&key));
                measured.set(key, measurement(known, &value)?);
            }
            Ok((system, measured))
        })
        .collect::<PyResult<_>>()?;
    let kept: Vec<String> = result.summary.keys().cloned().collect();
    result.counts.retain(|system, _| kept.contains(system));
    if let Some(comparison) = &mut result.comparison {
        comparison
            .systems
            .retain(|one| kept.contains(&one.system) && kept.contains(&one.baseline));
    }
    result.timing = timing;
    result.config = convert::to_fields(config)?;
    if let Some(path) = path {
        py.detach(move || write_file(format, &result, &path))?;
        return Ok(String::new());
    }
    let bytes = py.detach(move || write(format, &result))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// A measurement; its details are kept only if its value was not changed.
fn measurement(known: Option<&Measurement>, given: &Bound<'_, PyAny>) -> PyResult<Measurement> {
    let value = given
        .extract::<Option<f64>>()?
        .filter(|value| !value.is_nan());
    Ok(match known {
        Some(known) if known.value == value => *known,
        Some(known) => Measurement {
            value,
            unit: known.unit,
            ..Measurement::default()
        },
        None => Measurement {
            value,
            // An integer is a count.
            unit: match given.is_instance_of::<PyInt>() {
                true => Unit::Count,
                false => Unit::default(),
            },
            ..Measurement::default()
        },
    })
}

/// Writes a file, which appears whole or not at all.
fn write_file(format: &str, result: &EvalResult, path: &Path) -> PyResult<()> {
    let registry = Registry::builtin();
    let reporter = registry.reporters.get(format);
    let reporter = reporter.map_err(|error| bad_value(&error))?;
    let mut partial = path.as_os_str().to_owned();
    partial.push(format!(".{}.partial", std::process::id()));
    let written = File::create(&partial).and_then(|file| {
        let mut out = BufWriter::new(file);
        reporter.write(result, &mut out)?;
        out.flush()?;
        std::fs::rename(&partial, path)
    });
    written.map_err(|error| {
        let _ = std::fs::remove_file(&partial);
        let reason = format!("cannot write `{}`: {error}", path.display());
        PyOSError::new_err(reason)
    })
}

fn write(format: &str, result: &EvalResult) -> PyResult<Vec<u8>> {
    match format {
        "table" => return Ok(TableReport { width: 100 }.render(result).into_bytes()),
        "html_table" => return Ok(HtmlTable.render(result).into_bytes()),
        "overview" => return Ok(TableReport::default().overview(result).into_bytes()),
        _ => {}
    }
    let registry = Registry::builtin();
    let reporter = registry.reporters.get(format);
    let reporter = reporter.map_err(|error| bad_value(&error))?;
    let mut bytes = Vec::new();
    let written = reporter
        .write(result, &mut bytes)
        .and_then(|()| bytes.flush());
    written.map_err(|error| PyOSError::new_err(error.to_string()))?;
    Ok(bytes)
}
