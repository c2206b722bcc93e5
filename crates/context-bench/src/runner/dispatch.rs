//! The loop: hands every example to every system and gathers the rows.
//!
//! Systems take turns example by example (A, B, A, B …), so that an endpoint
//! that drifts hurts all of them alike. Rows come back grouped by system in
//! dataset order, whatever finished first.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};

use super::attempt::attempt;
use super::breaker::Breaker;
use super::event::{Progress, RunEvent};
use super::feed::{Fed, Feed};
use super::prepared::Prepared;
use super::reuse::Reuse;
use super::scoring::{Scorer, ScoringRuntime, Source};
use super::stop::Stop;
use super::workers::{MaxWorkers, Workers};
use crate::dataset::{Dataset, DatasetError};
use crate::evaluator::Evaluator;
use crate::model::{Counts, EvalRow, Failure, JudgeUsage};
use crate::system::System;
use crate::tokens::{TextFields, TokenCounter};

/// Rows that may wait for scoring beyond those in flight. Bounds memory when
/// scoring is slower than the systems.
const SCORING_BACKLOG: usize = 1024;

/// A run with nothing left open.
pub(crate) struct RunSettings {
    pub(crate) systems: Vec<Arc<dyn System>>,
    pub(crate) dataset: Dataset,
    pub(crate) evaluators: Vec<Arc<dyn Evaluator>>,
    pub(crate) max_examples: Option<usize>,
    pub(crate) max_workers: MaxWorkers,
    pub(crate) example_timeout: Option<Duration>,
    pub(crate) text_fields: TextFields,
    pub(crate) counter: Arc<dyn TokenCounter>,
    pub(crate) progress: Arc<dyn Progress>,
    pub(crate) stop: Stop,
    pub(crate) reuse: Option<Arc<Reuse>>,
}

/// What a run produced.
pub(crate) struct Outcome {
    /// Per system: its rows in dataset order.
    pub(crate) rows: Vec<Vec<EvalRow>>,
    /// Per system: what became of the plan.
    pub(crate) counts: Vec<Counts>,
    /// Per system: from its first call to the end of its last.
    pub(crate) wall: Vec<Duration>,
    /// Per system: the failure that made the runner give up on it.
    pub(crate) gave_up: Vec<Option<Failure>>,
    /// Examples that at least one system was asked about.
    pub(crate) n_examples: usize,
    /// The error that ended the dataset early.
    pub(crate) dataset_error: Option<DatasetError>,
}

/// A row on its way to the collector.
struct Finished {
    system: usize,
    position: usize,
    row: EvalRow,
    judged: JudgeUsage,
    /// When the call began and ended.
    span: Option<(Instant, Instant)>,
}

/// Runs everything and returns when the last row is in, or the run was stopped.
pub(crate) async fn run(settings: RunSettings) -> std::io::Result<Outcome> {
    let names: Vec<Arc<str>> = settings.systems.iter().map(|s| s.name().into()).collect();
    let planned = settings
        .dataset
        .known_len()
        .map(|len| len.min(settings.max_examples.unwrap_or(len)));
    let progress = settings.progress;
    progress.on_event(&RunEvent::Started {
        systems: &names,
        planned,
    });

    let arms: Vec<Arm> = names
        .iter()
        .zip(settings.systems)
        .map(|(name, system)| Arm {
            name: Arc::clone(name),
            system,
            breaker: Arc::default(),
        })
        .collect();
    let feed = Feed {
        dataset: settings.dataset,
        max_examples: settings.max_examples,
        reuse: settings.reuse.clone(),
        evaluators: settings.evaluators.clone(),
    }
    .start()?;
    let counter = Arc::clone(&settings.counter);
    // A counter that panics here will do so in rows, where it is reported.
    let _ = tokio::task::spawn_blocking(move || counter.load()).await;
    let (sender, receiver) = mpsc::unbounded_channel();
    // Kept here until the last row is in: dropping the runtime drops its tasks.
    let scoring = Arc::new(ScoringRuntime::start()?);
    let dispatcher = Dispatcher {
        systems: arms.clone(),
        scorer: Arc::new(Scorer {
            evaluators: settings.evaluators,
            counter: settings.counter,
            text_fields: settings.text_fields,
            reuse: settings.reuse,
        }),
        scoring: Arc::clone(&scoring),
        workers: Arc::new(Workers::new(settings.max_workers)),
        backlog: Arc::new(Semaphore::new(
            settings.max_workers.most() + SCORING_BACKLOG,
        )),
        example_timeout: settings.example_timeout,
        stop: settings.stop,
        sender,
    };
    let collector = Collector::new(names.len());
    let ((n_examples, dataset_error), collector) =
        tokio::join!(dispatcher.run(feed), collector.gather(receiver, &*progress));
    drop(scoring);
    progress.on_event(&RunEvent::Finished);
    let gave_up = arms.iter().map(|arm| arm.breaker.reason()).collect();
    Ok(collector.into_outcome(planned, n_examples, dataset_error, gave_up))
}

/// One of the systems that are compared.
#[derive(Clone)]
struct Arm {
    name: Arc<str>,
    system: Arc<dyn System>,
    breaker: Arc<Breaker>,
}

/// Starts calls; dropped when the dataset is through or the run is stopped.
struct Dispatcher {
    systems: Vec<Arm>,
    scorer: Arc<Scorer>,
    scoring: Arc<ScoringRuntime>,
    workers: Arc<Workers>,
    example_timeout: Option<Duration>,
    backlog: Arc<Semaphore>,
    stop: Stop,
    sender: mpsc::UnboundedSender<Finished>,
}

impl Dispatcher {
    /// Starts one call after the other as workers become free. Returns how many
    /// examples it started and what ended the dataset early.
    async fn run(self, mut feed: mpsc::Receiver<Fed>) -> (usize, Option<DatasetError>) {
        let mut n_examples = 0;
        loop {
            let item = tokio::select! {
                biased;
                () = self.stop.draining() => None,
                item = feed.recv() => item,
            };
            let prepared = match item {
                None => return (n_examples, None),
                Some(Err(error)) => return (n_examples, Some(error)),
                Some(Ok(prepared)) => prepared,
            };
            if self.systems.iter().all(|arm| arm.breaker.is_open()) && !self.systems.is_empty() {
                return (n_examples, None);
            }
            let mut started = self.systems.is_empty();
            for (index, arm) in self.systems.iter().enumerate() {
                if self.reuse_whole(index, arm, &prepared).await {
                    started = true;
                    continue;
                }
                if arm.breaker.is_open() {
                    continue;
                }
                let Some(slot) = self.slot().await else {
                    return (n_examples + usize::from(started), None);
                };
                self.start(index, arm.clone(), Arc::clone(&prepared), slot);
                started = true;
            }
            n_examples += usize::from(started);
        }
    }

    /// Makes the row of an answer that the store holds with all its scores; no
    /// worker and no scoring is needed for it.
    async fn reuse_whole(&self, index: usize, arm: &Arm, prepared: &Prepared) -> bool {
        let stored = prepared.stored.get(index).and_then(Option::as_ref);
        let Some(stored) = stored.filter(|stored| stored.is_complete()) else {
            return false;
        };
        let name = Arc::clone(&arm.name);
        let row = self.scorer.stored_row(index, name, prepared, stored).await;
        let _ = self.sender.send(Finished {
            system: index,
            position: prepared.position,
            row,
            judged: JudgeUsage::default(),
            span: None,
        });
        true
    }

    /// Waits for a free worker; `None` when the run is stopped first.
    async fn slot(&self) -> Option<Slot> {
        let slot = async {
            let backlog = Arc::clone(&self.backlog).acquire_owned().await.ok()?;
            let worker = self.workers.acquire().await?;
            Some(Slot { worker, backlog })
        };
        tokio::select! {
            biased;
            () = self.stop.draining() => None,
            slot = slot => slot,
        }
    }

    fn start(&self, index: usize, arm: Arm, prepared: Arc<Prepared>, slot: Slot) {
        let scorer = Arc::clone(&self.scorer);
        let scoring = Arc::clone(&self.scoring);
        let sender = self.sender.clone();
        let stop = self.stop.clone();
        let workers = Arc::clone(&self.workers);
        let limit = self.example_timeout;
        tokio::spawn(async move {
            let position = prepared.position;
            let source = if prepared.problem.is_some() {
                Source::Unusable
            } else if let Some(stored) = prepared.stored.get(index).and_then(Clone::clone) {
                Source::Store(stored)
            } else {
                tokio::select! {
                    biased;
                    () = stop.aborted() => return,
                    called = attempt(&*arm.system, &prepared.example, limit) => Source::Call(called),
                }
            };
            let mut throttled = false;
            if let Source::Call(called) = &source {
                arm.breaker
                    .record(called.result.as_ref().err().map(|e| &e.failure));
                throttled = called.was_throttled();
            }
            // The worker is free as soon as the system is done; scoring is our own time.
            workers.release(slot.worker, throttled);
            scoring.spawn(async move {
                let span = match &source {
                    Source::Call(called) => Some((called.started, called.started + called.elapsed)),
                    _ => None,
                };
                let (row, judged) = tokio::select! {
                    biased;
                    () = stop.aborted() => return,
                    done = scorer.row(index, arm.name, &prepared, source) => done,
                };
                // The collector outlives all senders; a failed send means a dropped run.
                let _ = sender.send(Finished {
                    system: index,
                    position,
                    row,
                    judged,
                    span,
                });
                drop(slot.backlog);
            });
        });
    }
}

/// The right to make one call and to keep its result until it is scored.
struct Slot {
    worker: OwnedSemaphorePermit,
    backlog: OwnedSemaphorePermit,
}

/// Gathers rows as they finish.
struct Collector {
    rows: Vec<Vec<(usize, EvalRow)>>,
    counts: Vec<Counts>,
    spans: Vec<Option<(Instant, Instant)>>,
}

impl Collector {
    fn new(n_systems: usize) -> Self {
        Self {
            rows: vec![Vec::new(); n_systems],
            counts: vec![Counts::default(); n_systems],
            spans: vec![None; n_systems],
        }
    }

    async fn gather(
        mut self,
        mut receiver: mpsc::UnboundedReceiver<Finished>,
        progress: &dyn Progress,
    ) -> Self {
        while let Some(Finished {
            system,
            position,
            row,
            judged,
            span,
        }) = receiver.recv().await
        {
            progress.on_event(&RunEvent::RowFinished { system, row: &row });
            self.counts[system].add(&row);
            self.counts[system].add_judged(judged);
            if let Some((start, end)) = span {
                let (first, last) = self.spans[system].unwrap_or((start, end));
                self.spans[system] = Some((first.min(start), last.max(end)));
            }
            self.rows[system].push((position, row));
        }
        self
    }

    fn into_outcome(
        self,
        planned: Option<usize>,
        n_examples: usize,
        dataset_error: Option<DatasetError>,
        gave_up: Vec<Option<Failure>>,
    ) -> Outcome {
        let planned = planned.unwrap_or(0).max(n_examples);
        let in_dataset_order = |mut rows: Vec<(usize, EvalRow)>| {
            rows.sort_by_key(|(position, _)| *position);
            rows.into_iter().map(|(_, row)| row).collect()
        };
        Outcome {
            rows: self.rows.into_iter().map(in_dataset_order).collect(),
            counts: self
                .counts
                .into_iter()
                .map(|counts| Counts { planned, ..counts })
                .collect(),
            wall: self
                .spans
                .into_iter()
                .map(|span| span.map_or(Duration::ZERO, |(first, last)| last - first))
                .collect(),
            gave_up,
            n_examples,
            dataset_error,
        }
    }
}
