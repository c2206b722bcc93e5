//! `NativeUnits`: the examples of a run that an engine hands out to other processes, and what they
//! are told.
//!
//! The engine itself is in Python (`context_bench.distributed`). It never sees a store or a plan:
//! it carries bytes between processes.

use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use context_bench::planner::Units;
use context_bench::{Example, Failure, FailureKind, Stop};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};
use serde_json::json;

use crate::error::{bad_value, bug};

/// What an engine is to ask about.
#[pyclass(frozen, name = "NativeUnits", module = "context_bench._native")]
pub(crate) struct NativeUnits {
    units: Mutex<Option<Units>>,
    stop: Stop,
    /// What all processes of the run have in common.
    #[pyo3(get)]
    salt: String,
    /// When the time of the run is over.
    until: Option<Instant>,
}

impl NativeUnits {
    pub(crate) fn new(units: Units, stop: Stop, salt: String) -> Self {
        let seconds = units.job().plan.limits.max_time;
        let until = seconds
            .and_then(|seconds| Instant::now().checked_add(Duration::from_secs_f64(seconds)));
        Self {
            units: Mutex::new(Some(units)),
            stop,
            salt,
            until,
        }
    }

    /// The units back from the engine.
    pub(crate) fn take(&self) -> PyResult<Units> {
        self.guard().take().ok_or_else(ended)
    }

    fn guard(&self) -> MutexGuard<'_, Option<Units>> {
        self.units.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn with<T>(&self, read: impl FnOnce(&mut Units) -> PyResult<T>) -> PyResult<T> {
        read(self.guard().as_mut().ok_or_else(ended)?)
    }
}

fn ended() -> PyErr {
    bug("the run that units are of is over")
}

/// The dict that an example was made from: it travels as it is, since JSON may change it.
fn original(example: &Example) -> Option<&Py<PyDict>> {
    example.source()?.downcast_ref()
}

#[pymethods]
impl NativeUnits {
    fn __len__(&self) -> PyResult<usize> {
        self.with(|units| Ok(units.len()))
    }

    /// What all units share, as JSON.
    #[getter]
    fn job(&self) -> PyResult<String> {
        self.with(|units| {
            serde_json::to_string(units.job()).map_err(|error| bug(&error.to_string()))
        })
    }

    /// The names of the systems.
    #[getter]
    fn systems(&self) -> PyResult<Vec<String>> {
        self.with(|units| Ok(units.systems().map(str::to_owned).collect()))
    }

    /// What must be the same in every process, with a key each.
    #[getter]
    fn identities(&self) -> PyResult<Vec<(String, String)>> {
        self.with(|units| Ok(units.identities().to_vec()))
    }

    /// The variables with keys of endpoints.
    #[getter]
    fn key_variables(&self) -> PyResult<Vec<String>> {
        self.with(|units| Ok(units.key_variables().to_vec()))
    }

    /// The most requests per second, over all processes.
    #[getter]
    fn rps(&self) -> PyResult<Option<f64>> {
        self.with(|units| Ok(units.job().plan.limits.rps))
    }

    /// Whether nothing more is to be asked: somebody stopped the run, or its time is over.
    fn is_stopped(&self) -> bool {
        if self.until.is_some_and(|until| Instant::now() >= until) {
            self.stop.time_is_over();
        }
        self.stop.is_stopped()
    }

    /// Those of these positions (by default of all) that lack the answer of a system.
    #[pyo3(signature = (positions=None))]
    fn missing(&self, py: Python<'_>, positions: Option<Vec<usize>>) -> PyResult<Vec<usize>> {
        py.detach(|| {
            self.with(|units| {
                let positions = positions.unwrap_or_else(|| (0..units.len()).collect());
                units.missing(&positions).map_err(|error| bad_value(&error))
            })
        })
    }

    /// The bytes of an example.
    fn n_bytes(&self, position: usize) -> PyResult<usize> {
        self.with(|units| Ok(units.n_bytes(position)))
    }

    /// The examples at these positions as they travel: bytes, and the dicts that travel as they
    /// are.
    fn unit<'py>(
        &self,
        py: Python<'py>,
        positions: Vec<usize>,
    ) -> PyResult<(Bound<'py, PyBytes>, Bound<'py, PyList>)> {
        self.with(|units| {
            let data = units.unit(&positions, |example| original(example).is_some());
            let dicts = PyList::empty(py);
            for example in positions.iter().filter_map(|at| units.example(*at)) {
                dicts.append(original(example).map(|dict| dict.clone_ref(py)))?;
            }
            Ok((PyBytes::new(py, &data), dicts))
        })
    }

    /// Takes the answers of a worker's store over.
    fn keep(&self, py: Python<'_>, file: PathBuf) -> PyResult<u64> {
        py.detach(|| self.with(|units| units.keep(&file).map_err(|error| bad_value(&error))))
    }

    /// Notes that a system failed at an example.
    fn failed(
        &self,
        system: &str,
        position: usize,
        kind: &str,
        message: String,
        seconds: f64,
    ) -> PyResult<()> {
        let kind = serde_json::from_value(json!(kind)).unwrap_or(FailureKind::Other);
        self.with(|units| {
            units.failed(system, position, Failure::new(kind, message), seconds);
            Ok(())
        })
    }
}
