//! `EvalRow`: one example through one system, as Python sees it.
//!
//! A run may have a million rows, so a row is a small handle on the library's
//! own; its dicts are made when somebody looks. A dict that was changed counts
//! when the row goes back: metrics and exports see what the user sees.

use std::sync::Arc;

use context_bench::{EvalRow, ExampleId, Failure, FailureKind, RowText, Score, Scores, TokenUse};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyString, PyTuple};
use serde_json::Value;

use crate::convert;
use crate::system::returned_as;

/// One example through one system.
#[pyclass(frozen, subclass, name = "EvalRow", module = "context_bench.results")]
pub(crate) struct PyRow {
    rows: Arc<Vec<EvalRow>>,
    index: usize,
    scores: PyOnceLock<Py<PyDict>>,
    metadata: PyOnceLock<Py<PyDict>>,
}

/// Why a row has no output.
#[pyclass(frozen, get_all, name = "RowError", module = "context_bench.results")]
pub(crate) struct RowError {
    /// The sort of failure, such as `timeout`.
    kind: String,
    /// What happened.
    message: String,
    /// Where, when Python code raised it.
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
impl PyRow {
    #[new]
    #[pyo3(signature = (system, example_id, scores, input_tokens, output_tokens,
        metadata=None, latency=0.0, dataset=""))]
    #[allow(clippy::too_many_arguments, reason = "the fields that users know")]
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
        let made = Self::of(Arc::new(vec![row]), 0);
        // Kept as they were given: whole numbers stay whole.
        let _ = made.scores.set(py, scores.copy()?.unbind());
        if let Some(metadata) = metadata {
            let _ = made.metadata.set(py, metadata.copy()?.unbind());
        }
        Ok(made)
    }

    #[classattr]
    fn __match_args__() -> (&'static str, &'static str, &'static str) {
        ("system", "example_id", "scores")
    }

    /// Name of the system.
    #[getter]
    fn system<'py>(&self, py: Python<'py>) -> Bound<'py, PyString> {
        PyString::intern(py, &self.row().system)
    }

    /// Id of the example as it was given, or its position.
    #[getter]
    fn example_id<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(match &self.row().example_id {
            ExampleId::Int(number) => number.into_pyobject(py)?.into_any(),
            ExampleId::Text(text) => PyString::new(py, text).into_any(),
        })
    }

    /// Score name to value; what has no value is under `unscored`.
    #[getter]
    fn scores<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let made = self.scores.get_or_try_init(py, || -> PyResult<_> {
            let dict = PyDict::new(py);
            for (name, score) in self.row().scores.iter() {
                if let Some(value) = score.get() {
                    dict.set_item(PyString::intern(py, name.as_str()), value)?;
                }
            }
            Ok(dict.unbind())
        })?;
        Ok(made.bind(py).clone())
    }

    /// Tokens of the example.
    #[getter]
    fn input_tokens(&self) -> u64 {
        self.row().input_tokens
    }

    /// Tokens of what the system made of it.
    #[getter]
    fn output_tokens(&self) -> u64 {
        self.row().output_tokens
    }

    /// Usage as the endpoint reported it.
    #[getter]
    fn metadata<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let made = self.metadata.get_or_try_init(py, || -> PyResult<_> {
            Ok(convert::dict(py, &self.row().metadata())?.unbind())
        })?;
        Ok(made.bind(py).clone())
    }

    /// Seconds inside the system.
    #[getter]
    fn latency(&self) -> f64 {
        self.row().latency
    }

    /// Dataset tag; empty when the example had none.
    #[getter]
    fn dataset<'py>(&self, py: Python<'py>) -> Bound<'py, PyString> {
        PyString::intern(py, &self.row().dataset)
    }

    /// Why there is no output, or `None`.
    #[getter]
    fn error(&self) -> Option<RowError> {
        let failure = self.row().failure.as_deref()?;
        Some(RowError {
            kind: failure.kind.to_string(),
            message: failure.message.clone(),
            traceback: failure.traceback.as_deref().map(str::to_owned),
        })
    }

    /// Scores without a value, with the reasons.
    #[getter]
    fn unscored<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        for (name, reason) in self.row().scores.unscored() {
            dict.set_item(name.as_str(), reason)?;
        }
        Ok(dict)
    }

    /// What was asked, where the run keeps text.
    #[getter]
    fn question<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.text(py, |text| text.question.as_ref())
    }

    /// What would be right, as the example has it.
    #[getter]
    fn answer<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.text(py, |text| text.answer.as_ref())
    }

    /// What came back, without reasoning.
    #[getter]
    fn response<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.text(py, |text| text.response.as_ref())
    }

    /// What the model thought before it answered; it is not scored.
    #[getter]
    fn reasoning(&self) -> Option<&str> {
        self.row().text.as_deref()?.reasoning.as_deref()
    }

    /// Why the answer ended, in the words of the server.
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

    /// Tokens of what the system was given.
    #[getter]
    fn given_tokens(&self) -> Option<u64> {
        self.tokens()?.given
    }

    /// Tokens that went to the model: reported, or counted where there is no endpoint.
    #[getter]
    fn prompt_tokens(&self) -> Option<u64> {
        self.tokens()?.prompt
    }

    /// How many of them the model had in its cache.
    #[getter]
    fn cached_tokens(&self) -> Option<u64> {
        self.tokens()?.cached
    }

    /// Tokens that came back.
    #[getter]
    fn completion_tokens(&self) -> Option<u64> {
        self.tokens()?.completion
    }

    /// Whether the output comes from an earlier run.
    #[getter]
    fn cached(&self) -> bool {
        self.row().cached
    }

    fn __eq__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<bool> {
        match other.cast::<Self>() {
            Ok(other) => Ok(self.taken_back(py)? == other.get().taken_back(py)?),
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

    /// For `pickle` and `copy`: nothing of a row is lost.
    fn __reduce__<'py>(
        slf: &Bound<'py, Self>,
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let py = slf.py();
        let this = slf.get();
        let restore = py.import("context_bench._native")?.getattr("restore_row")?;
        let row = this.row();
        let fields = (
            this.system(py),
            this.example_id(py)?,
            this.scores(py)?,
            row.input_tokens,
            row.output_tokens,
            this.metadata(py)?,
            row.latency,
            this.dataset(py),
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
        let rest = (failure, this.unscored(py)?, row.cached, reply, text);
        Ok((restore, (fields, rest).into_pyobject(py)?))
    }

    fn __copy__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let (restore, parts) = Self::__reduce__(slf)?;
        restore.call1(parts)
    }
}

impl PyRow {
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

    /// The row with what the user changed in its dicts.
    pub(crate) fn taken_back(&self, py: Python<'_>) -> PyResult<EvalRow> {
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

/// Rows for a native metric or report.
pub(crate) fn rows_of(rows: &Bound<'_, PyAny>) -> PyResult<Vec<EvalRow>> {
    let py = rows.py();
    let mut list = Vec::with_capacity(rows.len().unwrap_or_default());
    for row in rows.try_iter()? {
        let row = row?;
        match row.cast::<PyRow>() {
            Ok(row) => list.push(row.get().taken_back(py)?),
            Err(_) => list.push(like_a_row(&row)?),
        }
    }
    Ok(list)
}

/// Anything with the members of a row counts as one.
fn like_a_row(object: &Bound<'_, PyAny>) -> PyResult<EvalRow> {
    let missing = |_| {
        let found = returned_as(object);
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

fn read_id(object: &Bound<'_, PyAny>) -> PyResult<ExampleId> {
    if let Ok(text) = object.cast::<PyString>() {
        return Ok(ExampleId::from(&*text.to_string_lossy()));
    }
    match object.extract::<i64>() {
        Ok(number) => Ok(ExampleId::Int(number)),
        Err(_) => {
            let found = returned_as(object);
            Err(PyTypeError::new_err(format!(
                "`example_id` must be a str or an int, found {found}"
            )))
        }
    }
}

/// Scores of a dict; `None` is unscored.
fn read_scores(dict: &Bound<'_, PyDict>) -> PyResult<Scores> {
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

/// A failure as it is pickled: kind, message, traceback.
type Told = (String, String, Option<String>);

/// Makes a pickled row again.
#[pyfunction]
pub(crate) fn restore_row<'py>(
    fields: &Bound<'py, PyTuple>,
    rest: (Option<Told>, Bound<'py, PyDict>, bool, String, String),
) -> PyResult<Bound<'py, PyRow>> {
    let py = fields.py();
    let made = py.get_type::<PyRow>().call1(fields.clone())?;
    let made = made.cast_into::<PyRow>()?;
    let (failure, unscored, cached, reply, text) = rest;
    let mut row = made.get().taken_back(py)?;
    row.failure = failure.map(|(kind, message, traceback)| {
        let mut failure = Failure::new(kind_named(&kind), message);
        failure.traceback = traceback.map(Into::into);
        Box::new(failure)
    });
    for (name, reason) in unscored.iter() {
        let (name, reason): (String, String) = (name.extract()?, reason.extract()?);
        row.scores.set(name, Score::unscored(reason));
    }
    row.cached = cached;
    row.reply = serde_json::from_str(&reply).unwrap_or_default();
    if row.added.as_deref() == Some(&row_metadata(&row)) {
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
        })
    });
    Bound::new(py, PyRow::of(Arc::new(vec![row]), 0))
}

/// The metadata that a row has by itself.
fn row_metadata(row: &EvalRow) -> serde_json::Map<String, Value> {
    let mut alone = row.clone();
    alone.added = None;
    alone.metadata()
}

fn kind_named(name: &str) -> FailureKind {
    let kind = serde_json::from_value(name.into());
    kind.unwrap_or(FailureKind::Other)
}
