//! What `cache_dir` holds: the runs, and each as a result again.

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
use crate::evaluate::{said, warn};
use crate::{convert, result, surroundings, task_run};

/// The methods of the face stand between the user and us.
const FRAMES: u8 = 2;

/// A store of earlier runs. Opened for every question, so that nothing is held.
#[pyclass(frozen, name = "NativeStore", module = "context_bench._native")]
pub(crate) struct NativeStore {
    dir: PathBuf,
}

#[pymethods]
impl NativeStore {
    #[new]
    fn new(dir: PathBuf) -> PyResult<Self> {
        if !Store::exists(&dir) {
            let what = format!("there is no store in `{}`", dir.display());
            let hint = "hint: a run with this `cache_dir` makes it";
            return Err(PyFileNotFoundError::new_err(format!("{what}\n{hint}")));
        }
        Ok(Self { dir })
    }

    /// How many answers there are.
    fn n_responses(&self, py: Python<'_>) -> PyResult<usize> {
        self.ask(py, |store| Ok(store.n_responses()?))
    }

    /// All runs, the oldest first.
    fn runs<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let runs = self.ask(py, |store| Ok(store.runs()?))?;
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

    /// A run as the parts of a result: its rows, its tasks, and the metrics of its plan.
    fn load<'py>(&self, py: Python<'py>, run: &str) -> PyResult<Bound<'py, PyDict>> {
        let around = surroundings::of(py, None)?;
        let mut loaded: EvalResult = self.ask(py, |store| {
            let reopened = ReopenedPlan::open(store, run)?;
            Ok(reopened.result(&around, true)?)
        })?;
        if let Some(notice) = planner::unfinished(&loaded) {
            warn(py, &said(&notice), FRAMES)?;
        }
        let tasks = task_run::shown(&loaded);
        let systems = loaded.summary.keys().cloned().collect::<Vec<_>>();
        let rows = std::mem::take(&mut loaded.rows);
        let rows = result::rows(py, rows, systems.into_iter())?;
        let parts = result::parts(py, loaded, &rows)?;
        task_run::put(&parts, &tasks)?;
        Ok(parts)
    }

    /// What a query in SQL finds: a dict per row.
    fn sql<'py>(&self, py: Python<'py>, query: &str) -> PyResult<Bound<'py, PyList>> {
        let found = self.ask(py, |store| Ok(store.sql(query)?))?;
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

    /// What was asked for in a run and what was decided.
    fn record<'py>(&self, py: Python<'py>, run: &str) -> PyResult<Bound<'py, PyAny>> {
        let record = self.ask(py, |store| Ok(ReopenedPlan::open(store, run)?.manifest))?;
        let record = serde_json::to_value(&record).map_err(|error| bug(&error.to_string()))?;
        convert::to_python(py, &record)
    }
}

/// An exception, made without the interpreter.
struct Problem(PyErr);

impl From<context_bench::store::StoreError> for Problem {
    fn from(error: context_bench::store::StoreError) -> Self {
        Self(bad_value(&error))
    }
}

impl From<context_bench::planner::PlanError> for Problem {
    fn from(error: context_bench::planner::PlanError) -> Self {
        Self(bad_value(&error))
    }
}

impl NativeStore {
    /// Asks the store something, and warns of what opening it showed.
    fn ask<T: Send>(
        &self,
        py: Python<'_>,
        question: impl FnOnce(&Store) -> Result<T, Problem> + Send,
    ) -> PyResult<T> {
        let asked = py.detach(|| {
            let opened = Store::open(&self.dir)?;
            Ok((question(&opened.store), opened.notes))
        });
        let (answer, notes) = asked.map_err(|error: Problem| error.0)?;
        for note in notes {
            warn(py, &note, FRAMES)?;
        }
        answer.map_err(|error| error.0)
    }
}
