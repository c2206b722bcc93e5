//! A run and the store: stored runs reopened and rescored, and this run stored.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::Evaluate;
use super::planned::Planned;
use super::summary::{fill, summarize};
use crate::dataset::Dataset;
use crate::reopened_run::ReopenedRun;
use crate::result::{EvalResult, StoreSummary};
use crate::runner::{Reuse, ReuseSettings};
use crate::store::{Origin, RunStatus, SourceRun, StoreError};

impl Evaluate {
    /// Rescores a stored run, as a run of its own: its systems, its examples and its
    /// failures. What it did not get to is left out, and no system is called.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    pub fn rescore(mut self, reopened: &ReopenedRun) -> Result<Self, StoreError> {
        let (dataset, unanswered) = reopened.examples()?;
        self.unanswered = Some(unanswered);
        self.origin = Some(reopened.as_origin());
        Ok(self
            .systems(reopened.systems())
            .dataset(dataset)
            .store(reopened.store().clone()))
    }

    /// Reopens a stored run and sums it up as it was: its own rows, with the latency,
    /// the failures and the marks of reuse that they had. The evaluators must be
    /// [those of the run](ReopenedRun::evaluators). Blocks while it reads.
    ///
    /// # Errors
    ///
    /// When the store cannot be read. Damaged rows are not an error: they are
    /// missing among those that were planned.
    pub fn reopen(self, reopened: &ReopenedRun) -> Result<EvalResult, StoreError> {
        let run = &reopened.run;
        let unfinished = reopened.unfinished();
        let planned = run.origin().planned.or_else(|| {
            // What an earlier version planned shows only in what is missing.
            unfinished.as_ref().and_then(|_| self.planned.rows())
        });
        let (outcome, used) = reopened.read_rows(&self.wiring, planned)?;
        let names: Vec<String> = run.systems.iter().map(|s| s.name.clone()).collect();
        let mut config = run.config.clone();
        Planned::take(&mut config);
        Origin::take(&mut config);
        let provenance = match config.shift_remove("provenance") {
            Some(Value::Object(provenance)) => provenance,
            _ => Map::new(),
        };
        let mut result = EvalResult {
            config,
            provenance,
            interrupted: unfinished.is_some(),
            unfinished,
            ..EvalResult::default()
        };
        let (answers, _) = fill(&mut result, &names, outcome);
        result.datasets = used.list();
        summarize(&mut result, &self.metrics, &self.comparisons, false);
        let elapsed = run
            .finished_at
            .and_then(|end| end.duration_since(run.created_at).ok())
            .unwrap_or_default();
        let planned = &self.planned;
        planned.sum_up(&mut result, &answers, run.created_at, elapsed);
        result.store = Some(StoreSummary {
            run: Some(run.run.id().to_string()),
            path: reopened.store().path().to_owned(),
            damaged: reopened.store().damaged(),
            ..StoreSummary::default()
        });
        Ok(result)
    }

    /// Begins the run in the store. One that cannot be written does not end the
    /// run: it goes on in memory, and the result says so.
    pub(super) fn begin_in_store(
        &self,
        config: &Map<String, Value>,
        provenance: &Map<String, Value>,
        origin: Origin,
    ) -> (Option<Arc<Reuse>>, Option<StoreSummary>) {
        let Some(store) = self.store.clone() else {
            return (None, None);
        };
        let mut summary = StoreSummary {
            path: store.path().to_owned(),
            read_only: store.read_only().map(str::to_owned),
            ..StoreSummary::default()
        };
        let mut config = config.clone();
        config.insert("provenance".into(), Value::Object(provenance.clone()));
        self.planned.put(&mut config);
        let begun = Reuse::begin(ReuseSettings {
            store,
            systems: &self.systems,
            evaluators: &self.wiring.evaluators,
            counter: &*self.counter,
            text_fields: &self.text_fields,
            command: self.command.clone(),
            config,
            origin,
            unanswered: self.unanswered.clone(),
        });
        match begun {
            Ok(reuse) => {
                summary.run = reuse.run().map(|run| run.id().to_string());
                (Some(Arc::new(reuse)), Some(summary))
            }
            Err(error) => {
                summary.failed(&error);
                (None, Some(summary))
            }
        }
    }

    /// How much is planned, and which run this one rescores, if any.
    pub(super) fn origin(&self) -> Origin {
        let dataset = self.dataset.as_ref();
        let read = dataset.and_then(Dataset::known_len);
        let read = read.map(|len| len.min(self.max_examples.unwrap_or(len)));
        match &self.origin {
            // The dataset is whatever the other run has, complete or not.
            Some(origin) => Origin {
                planned: origin.planned.or_else(|| match &origin.source {
                    Some(SourceRun {
                        unfinished: Some(_),
                        ..
                    }) => self.planned.rows(),
                    _ => read,
                }),
                ..origin.clone()
            },
            None => Origin {
                planned: read,
                source: None,
            },
        }
    }
}

/// Waits until everything is on disk and notes what the store reports.
pub(super) async fn end_in_store(
    reuse: &Arc<Reuse>,
    status: RunStatus,
    summary: &mut StoreSummary,
) {
    let flushed = reuse.store().flush().await;
    let finishing = Arc::clone(reuse);
    let finished = tokio::task::spawn_blocking(move || match finishing.run() {
        Some(run) => finishing.store().finish_run(run, status),
        None => Ok(()),
    });
    if let (Err(error), _) | (Ok(()), Ok(Err(error))) = (flushed, finished.await) {
        summary.failed(&error);
    }
    summary.damaged = reuse.store().damaged();
    (summary.unread, summary.unread_reason) = reuse.unread();
    summary.dropped = reuse.store().dropped();
}
