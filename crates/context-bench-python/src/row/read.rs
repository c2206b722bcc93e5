//! Reads rows, ids and scores that Python code passes.

use context_bench::{EvalRow, ExampleId, Score, Scores};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};

use super::NativeRow;
use crate::convert;
use crate::python_object::describe_type;

/// Reads rows for a native metric or report.
pub(crate) fn read_rows(rows: &Bound<'_, PyAny>) -> PyResult<Vec<EvalRow>> {
    let py = rows.py();
    let mut list = Vec::with_capacity(rows.len().unwrap_or_default());
    for row in rows.try_iter()? {
        let row = row?;
        match row.cast::<NativeRow>() {
            Ok(row) => list.push(row.get().current(py)?),
            Err(_) => list.push(read_similar(&row)?),
        }
    }
    Ok(list)
}

/// Reads any object with the members of a row.
fn read_similar(object: &Bound<'_, PyAny>) -> PyResult<EvalRow> {
    let missing = |_| {
        let found = describe_type(object);
        PyTypeError::new_err(format!("rows must be EvalRow objects, found {found}"))
    };
    let system: String = object.getattr("system").map_err(missing)?.extract()?;
    let id = read_id(&object.getattr("example_id").map_err(missing)?)?;
    let scores = object.getattr("scores").map_err(missing)?;
    let scores = scores.cast_into::<PyDict>()?;
    let count = |name: &str| -> PyResult<u64> { object.getattr(name).map_err(missing)?.extract() };
    let (input, output) = (count("input_tokens")?, count("output_tokens")?);
    let mut row = EvalRow::new(system, id, read_scores(&scores)?, input, output);
    if let Ok(latency) = object.getattr("latency") {
        row.latency = latency.extract()?;
    }
    if let Ok(dataset) = object.getattr("dataset") {
        row.dataset = dataset.extract::<String>()?.into();
    }
    Ok(row)
}

pub(super) fn read_id(object: &Bound<'_, PyAny>) -> PyResult<ExampleId> {
    if let Ok(text) = object.cast::<PyString>() {
        return Ok(ExampleId::from(&*text.to_string_lossy()));
    }
    match object.extract::<i64>() {
        Ok(number) => Ok(ExampleId::Int(number)),
        Err(_) => {
            let found = describe_type(object);
            Err(PyTypeError::new_err(format!(
                "`example_id` must be a str or an int, found {found}"
            )))
        }
    }
}

/// Reads the scores of a dict; `None` means unscored.
pub(super) fn read_scores(dict: &Bound<'_, PyDict>) -> PyResult<Scores> {
    let mut scores = Scores::new();
    for (name, value) in dict.iter() {
        let name: String = name.extract()?;
        let score = match value.is_none() {
            true => Score::unscored("no value"),
            false => Score::value(convert::number(&value)?),
        };
        scores.set(name, score);
    }
    Ok(scores)
}
