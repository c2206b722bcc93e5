//! The list of runs. It is there at once; what became of their rows is counted in the background,
//! newest first, and kept for runs that are over.

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use context_bench::planner::{Overview, overview};
use context_bench::store::{RunStatus, Store, StoreError, StoredRun};
use serde_json::{Value, json};

use crate::watched_run::{lock, unix};

/// What became of the rows of a run, and what its status was then.
type Count = (RunStatus, Result<Overview, String>);

/// What became of the runs, as far as it was counted.
#[derive(Default)]
pub(crate) struct RunList {
    counted: Mutex<HashMap<String, Count>>,
    is_counting: AtomicBool,
    is_over: AtomicBool,
}

impl RunList {
    /// The runs, newest first.
    pub(crate) fn list(&self, store: &Store) -> Result<Value, StoreError> {
        let mut runs = store.runs_uncounted()?;
        runs.reverse();
        let counted = lock(&self.counted);
        let shown = runs.iter().map(|run| line(run, &counted));
        Ok(json!({
            "store": store.path().display().to_string(),
            "version": env!("CARGO_PKG_VERSION"),
            "read_only": store.read_only(),
            "runs": shown.collect::<Vec<_>>(),
        }))
    }

    /// Counts what has not been counted, and runs that are going again. One thread does.
    pub(crate) fn count(&self, store: &Store) {
        if self.is_counting.swap(true, Ordering::Relaxed) {
            return;
        }
        let runs = store.runs_uncounted().unwrap_or_default();
        for run in runs.iter().rev() {
            let id = run.run.id().as_str();
            if self.is_over.load(Ordering::Relaxed) {
                break;
            }
            let before = lock(&self.counted).get(id).map(|(status, _)| *status);
            if run.status == RunStatus::Running || before != Some(run.status) {
                let found = overview(store, run).map_err(|error| error.to_string());
                lock(&self.counted).insert(id.to_owned(), (run.status, found));
            }
        }
        self.is_counting.store(false, Ordering::Relaxed);
    }

    pub(crate) fn end(&self) {
        self.is_over.store(true, Ordering::Relaxed);
    }
}

fn line(run: &StoredRun, counted: &HashMap<String, Count>) -> Value {
    let id = run.run.id().as_str();
    let names: Vec<&str> = run.systems.iter().map(|one| one.name.as_str()).collect();
    let mut line = json!({
        "id": id,
        "status": run.status.as_str(),
        "created_at": unix(run.created_at),
        "finished_at": run.finished_at.map(unix),
        "systems": names,
        "command": run.command,
    });
    match counted.get(id).map(|(_, found)| found) {
        None => {}
        Some(Err(problem)) => line["problem"] = json!(problem),
        Some(Ok(found)) => {
            line["benchmarks"] = json!(found.benchmarks);
            line["score"] = json!(found.score_field);
            let per_system = found.systems.iter().map(|one| {
                json!({"name": one.name, "model": one.model, "planned": one.planned,
                    "rows": one.rows, "scored": one.scored, "failed": one.failed,
                    "mean": one.mean})
            });
            line["per_system"] = per_system.collect();
        }
    }
    line
}
