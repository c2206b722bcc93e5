//! Pickled rows.

use std::sync::Arc;

use context_bench::{EvalRow, Failure, FailureKind, RowText, Score};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use serde_json::{Map, Value};

use super::NativeRow;

/// The function that restores a row, and its arguments.
pub(super) fn reduce<'py>(
    row: &Bound<'py, NativeRow>,
) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
    let py = row.py();
    let handle = row.get();
    let restore = py.import("context_bench._native")?.getattr("restore_row")?;
    let row = handle.row();
    let fields = (
        handle.system(py),
        handle.example_id(py)?,
        handle.scores(py)?,
        row.input_tokens,
        row.output_tokens,
        handle.metadata(py)?,
        row.latency,
        handle.dataset(py),
    );
    let failure = row.failure.as_deref().map(|failure| {
        let trace = failure.traceback.as_deref().map(str::to_owned);
        (failure.kind.as_str(), failure.message.clone(), trace)
    });
    let reply = serde_json::to_string(&row.reply).unwrap_or_default();
    let text = match row.text.as_deref() {
        Some(text) => {
            let texts = [&text.question, &text.answer, &text.response];
            let texts = texts.map(|text| text.clone().unwrap_or_default());
            serde_json::to_string(&(texts, &text.reasoning)).unwrap_or_default()
        }
        None => String::new(),
    };
    let wire = serde_json::to_string(&row.wire).unwrap_or_default();
    let rest = (failure, handle.unscored(py)?, row.cached, reply, text, wire);
    Ok((restore, (fields, rest).into_pyobject(py)?))
}

/// A failure as it is pickled: kind, message, traceback.
type PickledFailure = (String, String, Option<String>);

/// Restores a pickled row.
#[pyfunction]
pub(crate) fn restore_row<'py>(
    fields: &Bound<'py, PyTuple>,
    rest: (
        Option<PickledFailure>,
        Bound<'py, PyDict>,
        bool,
        String,
        String,
        String,
    ),
) -> PyResult<Bound<'py, NativeRow>> {
    let py = fields.py();
    let handle = py.get_type::<NativeRow>().call1(fields.clone())?;
    let handle = handle.cast_into::<NativeRow>()?;
    let (failure, unscored, cached, reply, text, wire) = rest;
    let mut row = handle.get().current(py)?;
    row.failure = failure.map(|(kind, message, traceback)| {
        let mut failure = Failure::new(failure_kind(&kind), message);
        failure.traceback = traceback.map(Into::into);
        Box::new(failure)
    });
    for (name, reason) in unscored.iter() {
        let (name, reason): (String, String) = (name.extract()?, reason.extract()?);
        row.scores.set(name, Score::unscored(reason));
    }
    row.cached = cached;
    row.reply = serde_json::from_str(&reply).unwrap_or_default();
    row.wire = serde_json::from_str(&wire).unwrap_or_default();
    if row.added.as_deref() == Some(&own_metadata(&row)) {
        row.added = None;
    }
    let texts = serde_json::from_str::<([Value; 3], Option<String>)>(&text);
    row.text = texts.ok().map(|(texts, reasoning)| {
        let [question, answer, response] =
            texts.map(|text| Some(text).filter(|text| !text.is_null()));
        Box::new(RowText {
            question,
            answer,
            response,
            reasoning,
            contexts: None,
        })
    });
    Bound::new(py, NativeRow::of(Arc::new(vec![row]), 0))
}

/// The metadata of a row without what users added to it.
fn own_metadata(row: &EvalRow) -> Map<String, Value> {
    let mut bare = row.clone();
    bare.added = None;
    bare.metadata()
}

fn failure_kind(name: &str) -> FailureKind {
    let kind = serde_json::from_value(name.into());
    kind.unwrap_or(FailureKind::Other)
}
