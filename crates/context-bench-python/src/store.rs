//! `NativeStore`: the runs in a `cache_dir`, each of which can be loaded as a result.

use std::path::PathBuf;
use std::time::UNIX_EPOCH;

use context_bench::EvalResult;
use context_bench::planner::{self, ReopenedPlan};
use context_bench::store::Store;
use pyo3::exceptions::PyFileNotFoundError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use serde_json::json;

use crate::error::{bad_value, bug};
use crate::notices::{notice_text, warn};
use crate::{convert, result, surroundings, task_results};

/// How many frames of the package are between a warning and the line of the user.
const FRAMES: u8 = 2;

/// A store of earlier runs. It is opened for each query, so that no file stays open.
#[pyclass(frozen, name = "NativeStore", module = "context_bench._native")]
pub(crate) struct NativeStore {
    dir: PathBuf,
}

#[pymethods]
impl NativeStore {
    #[new]
    fn new(dir: PathBuf) -> PyResult<Self> {
        if !Store::exists(&dir) {
            let what = format!("there is no run store in `{}`", dir.display());
            let hint = "hint: the first run with this `cache_dir` creates it";
            return Err(PyFileNotFoundError::new_err(format!("{what}\n{hint}")));
        }
        Ok(Self { dir })
    }

    /// The number of stored answers.
    fn n_responses(&self, py: Python<'_>) -> PyResult<usize> {
        self.query(py, |store| Ok(store.n_responses()?))
    }

    /// All runs, the oldest first.
    fn runs<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let runs = self.query(py, |store| Ok(store.runs()?))?;
        let list = PyList::empty(py);
        for run in runs {
            let since = run
                .created_at
                .duration_since(UNIX_EPOCH)
                .unwrap_or_default();
            let systems: Vec<&str> = run.systems.iter().map(|s| s.name.as_str()).collect();
            let entry = json!({
                "id": run.run.id().as_str(),
                "created_at": since.as_secs_f64(),
                "status": run.status.as_str(),
                "systems": systems,
                "rows": run.n_rows,
                "command": run.command,
            });
            list.append(convert::to_python(py, &entry)?)?;
        }
        Ok(list)
    }

    /// A run as the parts of a result: its rows, tasks and metrics.
    #[pyo3(signature = (run, prices=Vec::new()))]
    fn load<'py>(
        &self,
        py: Python<'py>,
        run: &str,
        prices: Vec<PathBuf>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let around = surroundings::of(py, None)?;
        let mut loaded: EvalResult = self.query(py, |store| {
            let reopened = ReopenedPlan::open(store, run)?.priced(&prices)?;
            Ok(reopened.result(&around, true)?)
        })?;
        if let Some(notice) = planner::unfinished(&loaded) {
            warn(py, &notice_text(&notice), FRAMES)?;
        }
        let tasks = task_results::reports(&loaded);
        let rows = result::take_rows(py, &mut loaded)?;
        let parts = result::parts(py, loaded, &rows)?;
        task_results::insert(&parts, &tasks)?;
        Ok(parts)
    }

    /// The rows that an SQL query finds, each as a dict.
    fn sql<'py>(&self, py: Python<'py>, query: &str) -> PyResult<Bound<'py, PyList>> {
        let found = self.query(py, |store| Ok(store.sql(query)?))?;
        let list = PyList::empty(py);
        for row in found.rows {
            let dict = PyDict::new(py);
            for (column, value) in found.columns.iter().zip(&row) {
                dict.set_item(column, convert::to_python(py, value)?)?;
            }
            list.append(dict)?;
        }
        Ok(list)
    }

    /// What was asked for in a run (spec) and what was decided (plan).
    fn record<'py>(&self, py: Python<'py>, run: &str) -> PyResult<Bound<'py, PyAny>> {
        let record = self.query(py, |store| Ok(ReopenedPlan::open(store, run)?.manifest))?;
        let record = serde_json::to_value(&record).map_err(|error| bug(&error.to_string()))?;
        convert::to_python(py, &record)
    }
}

/// Writes the store of a folder into a file of its own, also while a run writes to the store.
#[pyfunction]
pub(crate) fn snapshot(py: Python<'_>, dir: PathBuf, to: PathBuf) -> PyResult<()> {
    let written = py.detach(|| Store::snapshot(&dir, &to));
    written.map_err(|error| bad_value(&error))
}

/// An exception that is made without holding the interpreter.
struct QueryError(PyErr);

impl From<context_bench::store::StoreError> for QueryError {
    fn from(error: context_bench::store::StoreError) -> Self {
        Self(bad_value(&error))
    }
}

impl From<context_bench::planner::PlanError> for QueryError {
    fn from(error: context_bench::planner::PlanError) -> Self {
        Self(bad_value(&error))
    }
}

impl NativeStore {
    /// Opens the store, runs a query, and shows warnings about the store.
    fn query<T: Send>(
        &self,
        py: Python<'_>,
        query: impl FnOnce(&Store) -> Result<T, QueryError> + Send,
    ) -> PyResult<T> {
        let found = py.detach(|| {
            let opened = Store::open(&self.dir)?;
            Ok((query(&opened.store), opened.notes))
        });
        let (found, notes) = found.map_err(|error: QueryError| error.0)?;
        for note in notes {
            warn(py, &note, FRAMES)?;
        }
        found.map_err(|error| error.0)
    }
}
