//! The metrics of a run, native and in Python, and the order in which they are reported.

use std::sync::{Arc, Mutex, OnceLock};

use context_bench::memory::{PerQATypeMetric, TokenEfficiencyMetric};
use context_bench::metric::{
    CompressionRatio, CostOfPass, Latency, MeanScore, ParetoRank, PassAtK, PassRate,
    PerDatasetBreakdown,
};
use context_bench::{EvalRow, Measurement, Metric, Summary, Unit};
use indexmap::IndexMap;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyInt, PyList, PyTuple};

use crate::convert;
use crate::python_object::{describe_type, is_native_method, name_of, not_initialized};
use crate::row::{NativeRow, read_rows};

/// A metric of the library.
#[pyclass(
    frozen,
    subclass,
    name = "NativeMetric",
    module = "context_bench._native"
)]
#[derive(Default)]
pub(crate) struct NativeMetric(OnceLock<MetricKind>);

struct MetricKind {
    name: String,
    /// `None` for the Pareto rank, which compares systems and sees no rows.
    metric: Option<Arc<dyn Metric>>,
    /// The fields of quality and cost that the Pareto rank compares.
    fields: (String, String),
}

#[pymethods]
impl NativeMetric {
    #[new]
    #[pyo3(signature = (*_args, **_kwargs))]
    fn new(_args: &Bound<'_, PyTuple>, _kwargs: Option<&Bound<'_, PyDict>>) -> Self {
        Self::default()
    }

    #[pyo3(signature = (kind, score_field="score", threshold=0.7, cost_field="cost_of_pass", n=1))]
    fn __init__(
        &self,
        kind: &str,
        score_field: &str,
        threshold: f64,
        cost_field: &str,
        n: u64,
    ) -> PyResult<()> {
        let metric: Option<Arc<dyn Metric>> = match kind {
            "mean_score" => Some(Arc::new(MeanScore::of(score_field))),
            "pass_rate" => Some(Arc::new(PassRate::new(threshold, score_field))),
            "compression_ratio" => Some(Arc::new(CompressionRatio)),
            "cost_of_pass" => Some(Arc::new(CostOfPass::new(threshold, score_field))),
            "latency" => Some(Arc::new(Latency)),
            "per_dataset" => Some(Arc::new(PerDatasetBreakdown::of(score_field))),
            "per_qa_type" => Some(Arc::new(PerQATypeMetric::of(score_field))),
            "token_efficiency" => Some(Arc::new(TokenEfficiencyMetric::of(score_field))),
            "pass_at_k" => Some(Arc::new(PassAtK::of_attempts(n, threshold, score_field))),
            "pareto_rank" => None,
            _ => return Err(PyValueError::new_err(format!("unknown metric `{kind}`"))),
        };
        // Calling `__init__` again changes nothing.
        self.0.get_or_init(|| MetricKind {
            name: kind.to_owned(),
            metric,
            fields: (score_field.to_owned(), cost_field.to_owned()),
        });
        Ok(())
    }

    /// The name that results show.
    #[getter]
    fn name(&self) -> PyResult<&str> {
        Ok(&self.kind()?.name)
    }

    /// Computes the metric over rows.
    fn compute<'py>(
        &self,
        py: Python<'py>,
        rows: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        let kind = self.kind()?;
        let Some(metric) = &kind.metric else {
            // The rows of one system say nothing about its rank.
            dict.set_item(&kind.name, 0.0)?;
            return Ok(dict);
        };
        let rows = read_rows(rows)?;
        let metric = Arc::clone(metric);
        let summary = py.detach(move || metric.compute(&rows));
        for (key, measurement) in summary.iter() {
            dict.set_item(key, number(measurement))?;
        }
        Ok(dict)
    }

    fn __repr__(&self) -> PyResult<String> {
        Ok(format!("<metric {}>", self.name()?))
    }
}

impl NativeMetric {
    fn kind(&self) -> PyResult<&MetricKind> {
        self.0.get().ok_or_else(|| not_initialized("Metric"))
    }
}

/// The value of a measurement; NaN when it is missing.
pub(crate) fn number(measurement: &Measurement) -> f64 {
    measurement.value.unwrap_or(f64::NAN)
}

/// The Pareto ranks of systems by quality and cost.
#[pyfunction]
pub(crate) fn rank_systems(
    summary: IndexMap<String, IndexMap<String, Option<f64>>>,
    quality_field: &str,
    cost_field: &str,
) -> IndexMap<String, usize> {
    let summaries = summary
        .into_iter()
        .map(|(system, numbers)| {
            let given = numbers.into_iter().filter_map(|(key, n)| Some((key, n?)));
            (system, given.collect::<Summary>())
        })
        .collect();
    ParetoRank::new(quality_field, cost_field).rank_systems(&summaries)
}

/// A metric of a run, in the order that the user gave.
pub(crate) enum RunMetric {
    /// Computed by the run.
    Native(Arc<TrackedMetric>),
    /// Computed after the run, on the calling thread.
    Python { name: String, object: Py<PyAny> },
    /// Computed last, from the other metrics.
    ParetoRank { quality: String, cost: String },
}

impl RunMetric {
    /// The metric of an object.
    pub(crate) fn new(object: &Bound<'_, PyAny>, checked: bool) -> PyResult<Self> {
        if let Ok(native) = object.cast::<NativeMetric>()
            && is_native_method::<NativeMetric>(object, "compute")?
            && name_of(object, "metric", "compute")? == native.get().name()?
        {
            let native = native.get().kind()?;
            return Ok(match &native.metric {
                Some(metric) => Self::Native(Arc::new(TrackedMetric {
                    metric: Arc::clone(metric),
                    checked,
                    keys: Mutex::default(),
                })),
                None => Self::ParetoRank {
                    quality: native.fields.0.clone(),
                    cost: native.fields.1.clone(),
                },
            });
        }
        Ok(Self::Python {
            name: name_of(object, "metric", "compute")?,
            object: object.clone().unbind(),
        })
    }

    /// The name that results show.
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Native(tracked) => tracked.metric.name(),
            Self::Python { name, .. } => name,
            Self::ParetoRank { .. } => "pareto_rank",
        }
    }
}

/// A native metric that records which keys it computed for which system, so that the summary
/// follows the order of the user.
pub(crate) struct TrackedMetric {
    metric: Arc<dyn Metric>,
    /// Whether the run may reject the score that this metric reads.
    checked: bool,
    keys: Mutex<Vec<Vec<String>>>,
}

impl TrackedMetric {
    /// The score that this metric reads.
    pub(crate) fn field(&self) -> Option<&str> {
        self.metric.score_field()
    }

    /// The keys of the system at a position.
    fn keys(&self, system: usize) -> Vec<String> {
        let keys = self.keys.lock().unwrap_or_else(|e| e.into_inner());
        keys.get(system).cloned().unwrap_or_default()
    }
}

impl Metric for TrackedMetric {
    fn name(&self) -> &str {
        self.metric.name()
    }

    fn score_field(&self) -> Option<&str> {
        self.metric.score_field().filter(|_| self.checked)
    }

    fn compute(&self, rows: &[EvalRow]) -> Summary {
        let summary = self.metric.compute(rows);
        let computed = summary.iter().map(|(key, _)| key.to_owned()).collect();
        let mut keys = self.keys.lock().unwrap_or_else(|e| e.into_inner());
        keys.push(computed);
        summary
    }
}

/// The summaries of a run with the numbers of all metrics, in the order of the user.
pub(crate) fn complete(
    py: Python<'_>,
    metrics: &[RunMetric],
    computed: &IndexMap<String, Summary>,
    rows: &IndexMap<String, Vec<Py<NativeRow>>>,
) -> PyResult<IndexMap<String, Summary>> {
    let mut summaries = IndexMap::new();
    for (index, (system, known)) in computed.iter().enumerate() {
        let mut summary = Summary::new();
        for metric in metrics {
            match metric {
                RunMetric::Native(tracked) => {
                    for key in tracked.keys(index) {
                        if let Some(measurement) = known.get(&key) {
                            summary.set(key, *measurement);
                        }
                    }
                }
                RunMetric::Python { name, object } => {
                    let rows = rows.get(system).map_or(&[][..], Vec::as_slice);
                    for (key, value) in python_numbers(py, name, object, rows)? {
                        summary.set(key, value);
                    }
                }
                RunMetric::ParetoRank { .. } => {}
            }
        }
        summaries.insert(system.clone(), summary);
    }
    for metric in metrics {
        let RunMetric::ParetoRank { quality, cost } = metric else {
            continue;
        };
        // `score` is the default of the constructor; summaries contain its mean.
        let has_it = |summary: &Summary| summary.get(quality).is_some();
        let quality = match quality == "score" && !summaries.values().any(has_it) {
            true => "mean_score",
            false => quality,
        };
        let ranks = ParetoRank::new(quality, cost.as_str()).rank_systems(&summaries);
        for (system, rank) in ranks {
            if let Some(summary) = summaries.get_mut(&system) {
                summary.set("pareto_rank", Measurement::new(rank as f64, Unit::Rank));
            }
        }
    }
    Ok(summaries)
}

/// The numbers of a metric in Python.
fn python_numbers(
    py: Python<'_>,
    name: &str,
    object: &Py<PyAny>,
    rows: &[Py<NativeRow>],
) -> PyResult<Vec<(String, Measurement)>> {
    let list = PyList::new(py, rows.iter().map(|row| row.clone_ref(py)))?;
    let returned = object.call_method1(py, "compute", (list,))?;
    let returned = returned.bind(py);
    let Some(dict) = convert::as_dict(returned) else {
        let found = describe_type(returned);
        let what = format!(
            "metric `{name}` returned {found} instead of a dict of numbers\n\
             hint: return for example `{{\"{name}\": 0.5}}`"
        );
        return Err(PyTypeError::new_err(what));
    };
    let mut numbers = Vec::new();
    for (key, value) in dict?.iter() {
        // Integers are shown as integers.
        let is_count = value.is_instance_of::<PyInt>() && !value.is_instance_of::<PyBool>();
        let unit = if is_count { Unit::Count } else { Unit::Number };
        let value = convert::number(&value).map_err(|_| {
            let found = describe_type(&value);
            PyTypeError::new_err(format!(
                "metric `{name}` returned {found} for {key} instead of a number"
            ))
        })?;
        let key = key.str()?.to_string_lossy().into_owned();
        numbers.push((key, Measurement::new(value, unit)));
    }
    Ok(numbers)
}
