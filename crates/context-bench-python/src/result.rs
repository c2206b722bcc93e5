//! The result of a run, in parts for Python.

use std::sync::Arc;

use context_bench::benchmark::TaskReport;
use context_bench::dataset::UsedDataset;
use context_bench::{
    Counts, EvalResult, EvalRow, Failure, Measurement, StoreSummary, Summary, Unfinished,
};
use indexmap::IndexMap;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::convert;
use crate::error::bug;
use crate::metric::number;
use crate::row::NativeRow;

/// The parts of a result that are only needed to render it again: counts, units, provenance.
/// It holds no rows.
#[pyclass(frozen, name = "NativeResult", module = "context_bench._native")]
pub(crate) struct NativeResult(pub(crate) Arc<EvalResult>);

#[pymethods]
impl NativeResult {
    fn __reduce__(&self, py: Python<'_>) -> PyResult<(Py<PyAny>, (String,))> {
        let pickled = serde_json::to_string(&PickledResult::of(&self.0));
        let pickled = pickled.map_err(|error| bug(&error.to_string()))?;
        let restore = py
            .import("context_bench._native")?
            .getattr("restore_result")?;
        Ok((restore.unbind(), (pickled,)))
    }
}

/// Restores a pickled result.
#[pyfunction]
pub(crate) fn restore_result(pickled: &str) -> PyResult<NativeResult> {
    let pickled: PickledResult = serde_json::from_str(pickled)
        .map_err(|error| PyValueError::new_err(format!("not a pickled result: {error}")))?;
    Ok(NativeResult(Arc::new(pickled.into())))
}

/// The pickled parts of a result that Python does not hold itself.
#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
struct PickledResult {
    summary: IndexMap<String, IndexMap<String, Measurement>>,
    counts: IndexMap<String, Counts>,
    datasets: Vec<UsedDataset>,
    tasks: IndexMap<String, TaskReport>,
    provenance: Map<String, Value>,
    gave_up: IndexMap<String, Failure>,
    store: Option<StoreSummary>,
    interrupted: bool,
    unfinished: Option<Unfinished>,
}

impl PickledResult {
    fn of(result: &EvalResult) -> Self {
        let numbers = |summary: &Summary| {
            let numbers = summary.iter();
            numbers
                .map(|(key, number)| (key.to_owned(), *number))
                .collect()
        };
        Self {
            summary: result
                .summary
                .iter()
                .map(|(system, summary)| (system.clone(), numbers(summary)))
                .collect(),
            counts: result.counts.clone(),
            datasets: result.datasets.clone(),
            tasks: result.tasks.clone(),
            provenance: result.provenance.clone(),
            gave_up: result.gave_up.clone(),
            store: result.store.clone(),
            interrupted: result.interrupted,
            unfinished: result.unfinished.clone(),
        }
    }
}

impl From<PickledResult> for EvalResult {
    fn from(pickled: PickledResult) -> Self {
        let mut result = Self::default();
        result.summary = pickled
            .summary
            .into_iter()
            .map(|(system, numbers)| (system, numbers.into_iter().collect::<Summary>()))
            .collect();
        result.counts = pickled.counts;
        result.datasets = pickled.datasets;
        result.tasks = pickled.tasks;
        result.provenance = pickled.provenance;
        result.gave_up = pickled.gave_up;
        result.store = pickled.store;
        result.interrupted = pickled.interrupted;
        result.unfinished = pickled.unfinished;
        result
    }
}

/// Rows as Python objects, grouped by system.
pub(crate) fn rows(
    py: Python<'_>,
    rows: Vec<EvalRow>,
    systems: impl Iterator<Item = String>,
) -> PyResult<IndexMap<String, Vec<Py<NativeRow>>>> {
    let mut grouped: IndexMap<String, Vec<Py<NativeRow>>> =
        systems.map(|system| (system, Vec::new())).collect();
    let rows = Arc::new(rows);
    for (index, row) in rows.iter().enumerate() {
        let handle = Py::new(py, NativeRow::of(Arc::clone(&rows), index))?;
        match grouped.get_mut(&*row.system) {
            Some(group) => group.push(handle),
            None => drop(grouped.insert(row.system.to_string(), vec![handle])),
        }
    }
    Ok(grouped)
}

/// The parts of a result as a dict; `rows` are inserted unchanged.
pub(crate) fn parts<'py>(
    py: Python<'py>,
    result: EvalResult,
    rows: &IndexMap<String, Vec<Py<NativeRow>>>,
) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    let handles = rows.values().flatten().map(|row| row.clone_ref(py));
    dict.set_item("rows", PyList::new(py, handles.collect::<Vec<_>>())?)?;
    let summary = PyDict::new(py);
    let statistics = PyDict::new(py);
    for (system, numbers) in &result.summary {
        let values = PyDict::new(py);
        let details = PyDict::new(py);
        for (key, measurement) in numbers.iter() {
            values.set_item(key, number(measurement))?;
            if let Some(detail) = statistic(measurement) {
                details.set_item(key, convert::to_python(py, &detail)?)?;
            }
        }
        summary.set_item(system, values)?;
        statistics.set_item(system, details)?;
    }
    dict.set_item("summary", summary)?;
    dict.set_item("statistics", statistics)?;
    let timing = PyDict::new(py);
    for (system, seconds) in &result.timing {
        timing.set_item(system, seconds)?;
    }
    dict.set_item("timing", timing)?;
    dict.set_item("config", convert::dict(py, &result.config)?)?;
    let value = |value: Value| convert::to_python(py, &value);
    let counts: IndexMap<_, _> = result
        .counts
        .iter()
        .map(|(k, c)| (k, c.to_json()))
        .collect();
    dict.set_item("counts", value(json!(counts))?)?;
    dict.set_item("datasets", value(json!(result.datasets))?)?;
    dict.set_item("rules", convert::dict(py, &result.rules())?)?;
    dict.set_item("provenance", convert::dict(py, &result.provenance)?)?;
    dict.set_item("gave_up", value(json!(result.gave_up))?)?;
    dict.set_item("store", value(json!(result.store))?)?;
    dict.set_item("interrupted", result.interrupted)?;
    dict.set_item("part_of", result.part_of())?;
    dict.set_item("_native", Bound::new(py, NativeResult(Arc::new(result)))?)?;
    Ok(dict)
}

fn statistic(measurement: &Measurement) -> Option<Value> {
    let n = measurement.n?;
    let interval = measurement.interval.map(|ends| [ends.low, ends.high]);
    let mut map = serde_json::Map::new();
    map.insert("n".into(), json!(n));
    if let Some(examples) = measurement.examples {
        map.insert("examples".into(), json!(examples));
    }
    if let Some(stderr) = measurement.stderr {
        map.insert("stderr".into(), json!(stderr));
    }
    if let Some(interval) = interval {
        map.insert("ci95".into(), json!(interval));
    }
    Some(Value::Object(map))
}
