//! A run and the store: stored runs reopened and rescored, and this run stored.

use std::sync::Arc;

use indexmap::IndexMap;
use serde::Deserialize as _;
use serde_json::{Map, Value};

use super::Evaluate;
use super::planned::Planned;
use super::summary::{fill, note_prices, summarize, take_wire};
use crate::dataset::Dataset;
use crate::model::{ArmRole, ArmWire, Summary, TextsKept, WIRE};
use crate::reopened_run::{FirstPass, ReopenedRun, StoredRows};
use crate::result::{EvalResult, KeptRows, StoreSummary};
use crate::runner::{Reuse, ReuseSettings, Wiring};
use crate::stopping::Stopping;
use crate::store::{Origin, RunStatus, ShardOrigin, SourceRun, StoreError};
use crate::tap::RunWire;

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
        self.earlier_wire = stored_wire(&reopened.run.config);
        self.source_stopping = reopened.stopping();
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
    pub fn reopen(mut self, reopened: &ReopenedRun) -> Result<EvalResult, StoreError> {
        self.planned.is_part = reopened.run.origin().shard.is_some();
        let planned = self.planned_rows(reopened);
        let (outcome, used) = reopened.read_rows(&self.wiring, planned)?;
        let run = &reopened.run;
        let names: Vec<String> = run.systems.iter().map(|s| s.name.clone()).collect();
        let (mut result, wire) = self.as_stored(reopened);
        let (answers, _) = fill(&mut result, &names, outcome);
        take_wire(
            &mut result,
            RunWire {
                arms: wire,
                ..RunWire::default()
            },
            false,
        );
        result.leave_out_what_was_saved();
        result.datasets = used.list();
        summarize(&mut result, false);
        self.put_comparison(&mut result);
        let elapsed = run
            .finished_at
            .and_then(|end| end.duration_since(run.created_at).ok())
            .unwrap_or_default();
        let planned = &self.planned;
        planned.sum_up(&mut result, &answers, run.created_at, elapsed);
        planned.judge(&mut result, self.baseline_run.as_deref(), Some(reopened));
        result.store = Some(stored_summary(reopened));
        Ok(result)
    }

    /// The same result, whose rows in memory have no texts: rows are read from the store again when
    /// they are written.
    ///
    /// # Errors
    ///
    /// As for [`reopen`](Self::reopen).
    pub(crate) fn reopen_without_texts(
        mut self,
        reopened: &ReopenedRun,
    ) -> Result<EvalResult, StoreError> {
        let with_texts = self.wiring.clone();
        self.wiring.keep_text(TextsKept::None);
        let mut result = self.reopen(reopened)?;
        let withheld = withheld(&result.wire);
        let mut shape = result.shape().into_owned();
        shape.has_text = with_texts.keeps_text();
        result.kept = Some(KeptRows {
            source: Arc::new(StoredRows::new(reopened, &with_texts, withheld)),
            shape: Arc::new(shape),
        });
        Ok(result)
    }

    /// The rows of a stored run and how many there are: rows are read from the store whenever they
    /// are written, and never all in memory.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    pub(crate) fn stream(self, reopened: &ReopenedRun) -> Result<EvalResult, StoreError> {
        self.read_once(reopened, false)
    }

    /// The same with figures, summed up while rows are read. Without those that must see the rows of
    /// several systems, or all answers, at once: paired comparisons, and what benchmarks and groups
    /// make of their rows.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    pub(crate) fn sum_up(self, reopened: &ReopenedRun) -> Result<EvalResult, StoreError> {
        // A metric that must see all rows at once leaves no choice.
        let is_streamed = self.measures().system_sum().is_some();
        match is_streamed {
            true => self.read_once(reopened, true),
            false => self.reopen_without_texts(reopened),
        }
    }

    fn read_once(
        self,
        reopened: &ReopenedRun,
        with_figures: bool,
    ) -> Result<EvalResult, StoreError> {
        let planned = self.planned_rows(reopened);
        let (mut result, wire) = self.as_stored(reopened);
        let rows = StoredRows::new(reopened, &self.wiring, withheld(&wire));
        result.wire = wire;
        // Totals that would be counted by row are figures too.
        result.wire.retain(|_, arm| !arm.partial);
        let FirstPass {
            shape,
            counts,
            n_examples,
            summaries,
            used,
        } = rows.first_pass(planned, with_figures.then_some(&*result.measures))?;
        let n_examples = Value::from(n_examples);
        result.config.insert("num_examples".into(), n_examples);
        for (system, counts) in reopened.run.systems.iter().zip(counts) {
            result.counts.insert(system.name.clone(), counts);
            // The store keeps when a run began and ended, not its systems: no time is said.
            result.summary.insert(system.name.clone(), Summary::new());
        }
        result.leave_out_what_was_saved();
        if with_figures {
            let names = reopened.run.systems.iter().map(|one| one.name.clone());
            let is_missing = |name: &str| {
                let counts = result.counts.get(name);
                counts
                    .is_some_and(|counts| counts.planned > 0 && counts.planned == counts.not_run())
            };
            let summaries = names.zip(summaries).collect();
            result.summary = result.measures.summed(summaries, is_missing);
            result.datasets = used.list();
        }
        result.store = Some(stored_summary(reopened));
        result.kept = Some(KeptRows {
            source: Arc::new(rows),
            shape: Arc::new(shape),
        });
        note_prices(&mut result);
        Ok(result)
    }

    /// How many rows each system of a stored run should have, where that is known.
    fn planned_rows(&self, reopened: &ReopenedRun) -> Option<usize> {
        reopened.run.origin().planned.or_else(|| {
            // What an earlier version planned shows only in what is missing.
            reopened.unfinished().and_then(|_| self.planned.rows())
        })
    }

    /// What is known of a stored run before its rows are read, and what a tap saw of its systems.
    fn as_stored(&self, reopened: &ReopenedRun) -> (EvalResult, IndexMap<String, ArmWire>) {
        let mut config = reopened.run.config.clone();
        Planned::take(&mut config);
        Origin::take(&mut config);
        let wire = stored_wire(&config);
        config.shift_remove(WIRE);
        let provenance = match config.shift_remove("provenance") {
            Some(Value::Object(provenance)) => provenance,
            _ => Map::new(),
        };
        config.shift_remove(Stopping::MEMBER);
        let unfinished = reopened.unfinished();
        let result = EvalResult {
            config,
            provenance,
            interrupted: unfinished.is_some(),
            unfinished,
            stopping: reopened.stopping(),
            measures: Arc::new(self.measures()),
            ..EvalResult::default()
        };
        (result, wire)
    }

    /// How stored rows are read: by which evaluators, and what is kept of them.
    pub(crate) fn into_wiring(self) -> Wiring {
        self.wiring
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
            elsewhere: self.elsewhere.clone(),
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
                planned: self.cut_short().or(read),
                shard: self.shard.as_ref().map(|(shard, _)| shard.clone()),
                ..Origin::default()
            },
        }
    }

    /// The examples of a run whose systems were asked elsewhere, when that ended early.
    pub(super) fn cut_short(&self) -> Option<usize> {
        self.elsewhere.as_ref().and_then(|one| one.planned())
    }

    /// What a shard learnt of the data of the whole run, to be stored at its end.
    pub(super) fn shard_note(&self, origin: &Origin) -> Option<(&'static str, Value)> {
        let (shard, facts) = self.shard.as_ref()?;
        let shard = ShardOrigin {
            data: Some(facts.whole()?),
            ..shard.clone()
        };
        let origin = Origin {
            shard: Some(shard),
            ..origin.clone()
        };
        origin.note()
    }
}

/// Systems whose rows say nothing about the wire.
fn withheld(wire: &IndexMap<String, ArmWire>) -> Vec<String> {
    let withheld = wire.iter().filter(|(_, arm)| arm.withheld);
    withheld.map(|(name, _)| name.clone()).collect()
}

/// Where a stored run is.
fn stored_summary(reopened: &ReopenedRun) -> StoreSummary {
    StoreSummary {
        run: Some(reopened.run.run.id().to_string()),
        path: reopened.store().path().to_owned(),
        damaged: reopened.store().damaged(),
        ..StoreSummary::default()
    }
}

/// What a tap saw of the systems of a stored run. One that was killed has no totals: only its
/// arms are known, and their calls are counted by row.
fn stored_wire(config: &Map<String, Value>) -> IndexMap<String, ArmWire> {
    let stored = config.get(WIRE);
    if let Some(stored) = stored.and_then(|stored| IndexMap::deserialize(stored).ok()) {
        return stored;
    }
    let provenance = config.get("provenance");
    let roles = provenance.and_then(|provenance| provenance.get("tap")?.get("arms"));
    let roles: IndexMap<String, ArmRole> = roles
        .and_then(|roles| IndexMap::deserialize(roles).ok())
        .unwrap_or_default();
    let unknown = roles.into_iter().map(|(name, role)| {
        let arm = ArmWire {
            partial: true,
            ..ArmWire::new(role)
        };
        (name, arm)
    });
    unknown.collect()
}

/// Figures of rows that an earlier run had to withhold are withheld here as well: answers bring
/// their facts along, and too many calls of that run were nobody's.
pub(super) fn withhold_again(wire: &mut RunWire, result: &EvalResult, reuse: &Reuse) {
    let is_reused = |name: &str| {
        let mut rows = result.rows_of(name).iter();
        rows.any(|row| row.cached && row.wire.is_some())
    };
    if !wire.arms.keys().any(|name| is_reused(name)) {
        return;
    }
    for (name, arm) in &mut wire.arms {
        let had = |stored: &Map<String, Value>, name: &str| {
            let arm = stored_wire(stored).shift_remove(name);
            arm.is_some_and(|arm| arm.withheld)
        };
        arm.withheld |= is_reused(name) && reuse.any_earlier_run(name, had);
    }
}

/// What a tap saw of a run that is over, as it is stored with it.
pub(super) fn wire_note(result: &EvalResult) -> Option<(&'static str, Value)> {
    let wire = Some(&result.wire).filter(|wire| !wire.is_empty())?;
    Some((WIRE, serde_json::to_value(wire).ok()?))
}

/// This run as it is stored, to be matched with a run that is stored too; `None` where it is not.
pub(super) async fn own_run(reuse: Option<&Arc<Reuse>>) -> Option<ReopenedRun> {
    let reuse = Arc::clone(reuse?);
    // What cannot be written is reported when the run ends.
    let _ = reuse.store().flush().await;
    let read = tokio::task::spawn_blocking(move || {
        let run = reuse.run()?;
        ReopenedRun::open(reuse.store(), run.id().as_str()).ok()
    });
    read.await.ok().flatten()
}

/// Waits until everything is on disk and notes what the store reports.
pub(super) async fn end_in_store(
    reuse: &Arc<Reuse>,
    status: RunStatus,
    notes: Vec<(&'static str, Value)>,
    summary: &mut StoreSummary,
) {
    let flushed = reuse.store().flush().await;
    let finishing = Arc::clone(reuse);
    let finished = tokio::task::spawn_blocking(move || match finishing.run() {
        Some(run) => finishing.store().finish_run_with(run, status, notes),
        None => Ok(()),
    });
    if let (Err(error), _) | (Ok(()), Ok(Err(error))) = (flushed, finished.await) {
        summary.failed(&error);
    }
    summary.damaged = reuse.store().damaged();
    (summary.unread, summary.unread_reason) = reuse.unread();
    summary.dropped = reuse.store().dropped();
}
