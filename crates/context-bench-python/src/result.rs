//! The result of a run, in parts for Python.

use std::sync::Arc;

use context_bench::benchmark::TaskReport;
use context_bench::dataset::UsedDataset;
use context_bench::gate::CheckedGate;
use context_bench::noise::ControlReport;
use context_bench::stopping::Stopping;
use context_bench::sweep::SweepReport;
use context_bench::{
    ArmWire, Counts, EvalResult, Failure, Measurement, RunComparison, StoreSummary, Summary,
    Unfinished,
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
    comparison: Option<RunComparison>,
    stopping: Option<Stopping>,
    sweeps: Vec<SweepReport>,
    controls: Vec<ControlReport>,
    gates: Vec<CheckedGate>,
    provenance: Map<String, Value>,
    wire: IndexMap<String, ArmWire>,
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
            comparison: result.comparison.clone(),
            stopping: result.stopping.clone(),
            sweeps: result.sweeps.clone(),
            controls: result.controls.clone(),
            gates: result.gates.clone(),
            provenance: result.provenance.clone(),
            wire: result.wire.clone(),
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
        if let Some(comparison) = &pickled.comparison {
            result.compared.score.clone_from(&comparison.score);
            result.compared.margin = comparison.margin;
            result.compared.threshold = comparison.threshold;
            result.compared.baseline = Some(comparison.baseline.clone());
        }
        result.comparison = pickled.comparison;
        result.stopping = pickled.stopping;
        result.sweeps = pickled.sweeps;
        result.controls = pickled.controls;
        result.gates = pickled.gates;
        result.provenance = pickled.provenance;
        result.wire = pickled.wire;
        result.gave_up = pickled.gave_up;
        result.store = pickled.store;
        result.interrupted = pickled.interrupted;
        result.unfinished = pickled.unfinished;
        result
    }
}

/// The rows of a result as Python objects.
pub(crate) struct TakenRows {
    pub(crate) by_system: IndexMap<String, Vec<Py<NativeRow>>>,
    /// What a tap saw of every arm: what it is judged to be rests on rows.
    wire: Map<String, Value>,
}

/// Takes the rows out of a result.
pub(crate) fn take_rows(py: Python<'_>, result: &mut EvalResult) -> PyResult<TakenRows> {
    let wire = result.wire_json();
    let systems = result.summary.keys().cloned();
    let mut grouped: IndexMap<String, Vec<Py<NativeRow>>> =
        systems.map(|system| (system, Vec::new())).collect();
    let rows = Arc::new(std::mem::take(&mut result.rows));
    for (index, row) in rows.iter().enumerate() {
        let handle = Py::new(py, NativeRow::of(Arc::clone(&rows), index))?;
        match grouped.get_mut(&*row.system) {
            Some(group) => group.push(handle),
            None => drop(grouped.insert(row.system.to_string(), vec![handle])),
        }
    }
    Ok(TakenRows {
        by_system: grouped,
        wire,
    })
}

/// The parts of a result as a dict; `rows` are inserted unchanged.
pub(crate) fn parts<'py>(
    py: Python<'py>,
    result: EvalResult,
    rows: &TakenRows,
) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    let handles = rows
        .by_system
        .values()
        .flatten()
        .map(|row| row.clone_ref(py));
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
    dict.set_item("wire", convert::dict(py, &rows.wire)?)?;
    dict.set_item("gave_up", value(json!(result.gave_up))?)?;
    dict.set_item("store", value(json!(result.store))?)?;
    dict.set_item("gates", value(json!(result.gates))?)?;
    dict.set_item("stopping", value(json!(result.stopping))?)?;
    dict.set_item("sweeps", value(json!(result.sweeps))?)?;
    dict.set_item("controls", value(json!(result.controls))?)?;
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
