//! `EvalRow`: one example through one system, as Python sees it.
//!
//! A run may have a million rows, so a row is a small handle on a row of the library; its dicts
//! are made when somebody looks at them. Changes to these dicts count: metrics and exports see
//! what the user sees.

mod pickle;
mod read;

use std::sync::Arc;

use context_bench::{EvalRow, ExampleId, RowText, TokenUse};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyString, PyTuple};
use serde_json::Value;

use crate::convert;
use read::{read_id, read_scores};

pub(crate) use pickle::restore_row;
pub(crate) use read::read_rows;

/// One example through one system.
#[pyclass(frozen, subclass, name = "EvalRow", module = "context_bench.results")]
pub(crate) struct NativeRow {
    rows: Arc<Vec<EvalRow>>,
    index: usize,
    scores: PyOnceLock<Py<PyDict>>,
    metadata: PyOnceLock<Py<PyDict>>,
}

/// Why a row has no output.
#[pyclass(frozen, get_all, name = "RowError", module = "context_bench.results")]
pub(crate) struct RowError {
    /// The kind of failure, such as `timeout`.
    kind: String,
    /// What happened.
    message: String,
    /// The traceback, when Python code raised an exception.
    traceback: Option<String>,
}

#[pymethods]
impl RowError {
    fn __str__(&self) -> &str {
        &self.message
    }

    fn __repr__(&self) -> String {
        format!("RowError(kind={:?}, message={:?})", self.kind, self.message)
    }
}

#[pymethods]
impl NativeRow {
    #[new]
    #[pyo3(signature = (system, example_id, scores, input_tokens, output_tokens,
        metadata=None, latency=0.0, dataset=""))]
    #[allow(clippy::too_many_arguments, reason = "the fields of the Python class")]
    fn new(
        py: Python<'_>,
        system: &str,
        example_id: &Bound<'_, PyAny>,
        scores: &Bound<'_, PyDict>,
        input_tokens: u64,
        output_tokens: u64,
        metadata: Option<&Bound<'_, PyDict>>,
        latency: f64,
        dataset: &str,
    ) -> PyResult<Self> {
        let id = read_id(example_id)?;
        let mut row = EvalRow::new(
            system,
            id,
            read_scores(scores)?,
            input_tokens,
            output_tokens,
        );
        row.latency = latency;
        row.dataset = dataset.into();
        let handle = Self::of(Arc::new(vec![row]), 0);
        // The dicts are kept as given, so that integers stay integers.
        let _ = handle.scores.set(py, scores.copy()?.unbind());
        if let Some(metadata) = metadata {
            let _ = handle.metadata.set(py, metadata.copy()?.unbind());
        }
        Ok(handle)
    }

    #[classattr]
    fn __match_args__() -> (&'static str, &'static str, &'static str) {
        ("system", "example_id", "scores")
    }

    /// The name of the system.
    #[getter]
    fn system<'py>(&self, py: Python<'py>) -> Bound<'py, PyString> {
        PyString::intern(py, &self.row().system)
    }

    /// The id of the example, or its position where it has none.
    #[getter]
    fn example_id<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(match &self.row().example_id {
            ExampleId::Int(number) => number.into_pyobject(py)?.into_any(),
            ExampleId::Text(text) => PyString::new(py, text).into_any(),
        })
    }

    /// Values by score name; scores without a value are in `unscored`.
    #[getter]
    fn scores<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let scores = self.scores.get_or_try_init(py, || -> PyResult<_> {
            let dict = PyDict::new(py);
            for (name, score) in self.row().scores.iter() {
                if let Some(value) = score.get() {
                    dict.set_item(PyString::intern(py, name.as_str()), value)?;
                }
            }
            Ok(dict.unbind())
        })?;
        Ok(scores.bind(py).clone())
    }

    /// The number of tokens in the example.
    #[getter]
    fn input_tokens(&self) -> u64 {
        self.row().input_tokens
    }

    /// The number of tokens in the system's output.
    #[getter]
    fn output_tokens(&self) -> u64 {
        self.row().output_tokens
    }

    /// The usage that the endpoint reported.
    #[getter]
    fn metadata<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let metadata = self.metadata.get_or_try_init(py, || -> PyResult<_> {
            Ok(convert::dict(py, &self.row().metadata())?.unbind())
        })?;
        Ok(metadata.bind(py).clone())
    }

    /// The time inside the system, in seconds.
    #[getter]
    fn latency(&self) -> f64 {
        self.row().latency
    }

    /// The dataset; empty when the example does not name one.
    #[getter]
    fn dataset<'py>(&self, py: Python<'py>) -> Bound<'py, PyString> {
        PyString::intern(py, &self.row().dataset)
    }

    /// Why there is no output; `None` when there is one.
    #[getter]
    fn error(&self) -> Option<RowError> {
        let failure = self.row().failure.as_deref()?;
        Some(RowError {
            kind: failure.kind.to_string(),
            message: failure.message.clone(),
            traceback: failure.traceback.as_deref().map(str::to_owned),
        })
    }

    /// The reasons for scores without a value.
    #[getter]
    fn unscored<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        for (name, reason) in self.row().scores.unscored() {
            dict.set_item(name.as_str(), reason)?;
        }
        Ok(dict)
    }

    /// The question, if the run keeps text.
    #[getter]
    fn question<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.text(py, |text| text.question.as_ref())
    }

    /// The reference answer of the example.
    #[getter]
    fn answer<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.text(py, |text| text.answer.as_ref())
    }

    /// The response, without its reasoning.
    #[getter]
    fn response<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.text(py, |text| text.response.as_ref())
    }

    /// The model's reasoning before its answer; it is not scored.
    #[getter]
    fn reasoning(&self) -> Option<&str> {
        self.row().text.as_deref()?.reasoning.as_deref()
    }

    /// Why the answer ended, as the server put it.
    #[getter]
    fn finish_reason(&self) -> Option<&str> {
        self.row().reply.as_deref()?.finish_reason.as_deref()
    }

    /// How the answer ended: `whole`, `empty`, `cut`, `filtered` or `tool_calls`.
    #[getter]
    fn ending(&self) -> Option<String> {
        let reply = self.row().reply.as_deref()?;
        let ending = serde_json::to_value(reply.ending).ok()?;
        ending.as_str().map(str::to_owned)
    }

    /// The number of tokens that the system was given.
    #[getter]
    fn given_tokens(&self) -> Option<u64> {
        self.tokens()?.given
    }

    /// The number of tokens sent to the model: as reported, or counted where there is no
    /// endpoint.
    #[getter]
    fn prompt_tokens(&self) -> Option<u64> {
        self.tokens()?.prompt
    }

    /// How many of these the model had in its cache.
    #[getter]
    fn cached_tokens(&self) -> Option<u64> {
        self.tokens()?.cached
    }

    /// The number of tokens in the reply.
    #[getter]
    fn completion_tokens(&self) -> Option<u64> {
        self.tokens()?.completion
    }

    /// What a tap saw of it; `None` without a tap.
    #[getter]
    fn wire<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let facts = self.row().wire.as_deref();
        facts
            .map(|facts| convert::to_python(py, &facts.to_json()))
            .transpose()
    }

    /// Whether the output was reused from an earlier run.
    #[getter]
    fn cached(&self) -> bool {
        self.row().cached
    }

    fn __eq__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<bool> {
        match other.cast::<Self>() {
            Ok(other) => Ok(self.current(py)? == other.get().current(py)?),
            Err(_) => Ok(false),
        }
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let row = self.row();
        let mut text = format!(
            "EvalRow(system={}, example_id={}, scores={}, input_tokens={}, output_tokens={}, \
             metadata={}, latency={}, dataset={}",
            self.system(py).repr()?,
            self.example_id(py)?.repr()?,
            self.scores(py)?.repr()?,
            row.input_tokens,
            row.output_tokens,
            self.metadata(py)?.repr()?,
            row.latency,
            self.dataset(py).repr()?,
        );
        if let Some(failure) = &row.failure {
            text.push_str(&format!(", error={:?}", failure.message));
        }
        text.push(')');
        Ok(text)
    }

    /// For `pickle` and `copy`; nothing of a row is lost.
    fn __reduce__<'py>(
        slf: &Bound<'py, Self>,
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        pickle::reduce(slf)
    }

    fn __copy__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let (restore, parts) = Self::__reduce__(slf)?;
        restore.call1(parts)
    }
}

impl NativeRow {
    /// A handle on a row.
    pub(crate) fn of(rows: Arc<Vec<EvalRow>>, index: usize) -> Self {
        Self {
            rows,
            index,
            scores: PyOnceLock::new(),
            metadata: PyOnceLock::new(),
        }
    }

    fn tokens(&self) -> Option<&TokenUse> {
        self.row().reply.as_deref().map(|reply| &reply.tokens)
    }

    fn text<'py>(
        &self,
        py: Python<'py>,
        pick: fn(&RowText) -> Option<&Value>,
    ) -> PyResult<Bound<'py, PyAny>> {
        match self.row().text.as_deref().and_then(pick) {
            Some(value) => convert::to_python(py, value),
            None => Ok(py.None().into_bound(py)),
        }
    }

    fn row(&self) -> &EvalRow {
        &self.rows[self.index]
    }

    /// The row, including what the user changed in its dicts.
    pub(crate) fn current(&self, py: Python<'_>) -> PyResult<EvalRow> {
        let mut row = self.row().clone();
        if let Some(dict) = self.scores.get(py) {
            let unscored: Vec<_> = row
                .scores
                .iter()
                .filter(|(_, score)| score.is_unscored())
                .map(|(name, score)| (name.clone(), score.clone()))
                .collect();
            row.scores = read_scores(dict.bind(py))?;
            for (name, score) in unscored {
                if row.scores.get(name.as_str()).is_none() {
                    row.scores.set(name, score);
                }
            }
        }
        if let Some(dict) = self.metadata.get(py) {
            let metadata = convert::to_fields(dict.bind(py))?;
            if metadata != row.metadata() {
                row.added = Some(Box::new(metadata));
            }
        }
        Ok(row)
    }
}
