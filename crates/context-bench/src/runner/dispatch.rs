//! The loop: workers take jobs, call systems, and hand the results to scoring.
//!
//! A worker that is done takes the next job itself. The dispatcher only starts
//! workers while there is room for more and something to do: waking it for every
//! call would cost more than the call does here.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};

use super::attempt::attempt;
use super::breaker::Breaker;
use super::collector::{Collector, Finished};
use super::decisions::{Decision, Decisions, StopWhenDecided};
use super::event::{Progress, RunEvent};
use super::feed::Feed;
use super::queue::Taken;
use super::reuse::{Reuse, StoreLookup};
use super::scoring::{RowScoring, ScoringRuntime, Source};
use super::stop::Stop;
use super::wiring::Wiring;
use super::work::{Arm, Job, Work};
use super::workers::{MaxWorkers, Workers};
use crate::dataset::{Dataset, DatasetError, UsedDatasets};
use crate::model::Answer;
use crate::model::{Counts, EvalRow, Failure};
use crate::stopwatch::Stopwatch;
use crate::system::System;
use crate::tokens::{TextFields, TokenCounter};

/// Rows that may wait for scoring beyond those in flight. Bounds memory when
/// scoring is slower than the systems.
const SCORING_BACKLOG: usize = 1024;

/// The settings of a run, all decided.
pub(crate) struct RunSettings {
    pub(crate) systems: Vec<Arc<dyn System>>,
    pub(crate) dataset: Dataset,
    pub(crate) wiring: Arc<Wiring>,
    pub(crate) used: UsedDatasets,
    pub(crate) max_examples: Option<usize>,
    pub(crate) max_workers: MaxWorkers,
    pub(crate) example_timeout: Option<Duration>,
    pub(crate) text_fields: TextFields,
    /// Whether tokens are counted even where an endpoint reports them.
    pub(crate) counts_all: bool,
    pub(crate) counter: Arc<dyn TokenCounter>,
    pub(crate) progress: Arc<dyn Progress>,
    pub(crate) stop: Stop,
    pub(crate) reuse: Option<Arc<Reuse>>,
    /// Per system: why it is not to be called.
    pub(crate) given_up: Vec<Option<Failure>>,
    /// When the run may end before its last example.
    pub(crate) stop_when: Option<StopWhenDecided>,
}

/// What a run produced.
pub(crate) struct Outcome {
    /// Per system: its rows in dataset order.
    pub(crate) rows: Vec<Vec<EvalRow>>,
    /// Per system: the answers that benchmarks need, by the number of their row.
    pub(crate) answers: Vec<HashMap<usize, Answer>>,
    /// Per system: how many rows were planned, and what happened to them.
    pub(crate) counts: Vec<Counts>,
    /// Per system: from its first call to the end of its last.
    /// None where nobody knows, as of a stored run.
    pub(crate) wall: Vec<Option<Duration>>,
    /// Per system: the failure that made the runner give up on it.
    pub(crate) gave_up: Vec<Option<Failure>>,
    /// Examples that at least one system was asked about.
    pub(crate) n_examples: usize,
    /// The error that ended the dataset early.
    pub(crate) dataset_error: Option<DatasetError>,
    /// What was shown while the run went on, if it could end early.
    pub(crate) decisions: Vec<Decision>,
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

    let arms: Arc<[Arm]> = names
        .iter()
        .zip(settings.systems)
        .zip(&settings.given_up)
        .map(|((name, system), given_up)| Arm {
            name: Arc::clone(name),
            system,
            breaker: given_up
                .clone()
                .map_or_else(Breaker::default, Breaker::opened),
        })
        .collect();
    let decisions = settings.stop_when.as_ref().and_then(|stop_when| {
        let baseline = names
            .iter()
            .position(|name| **name == *stop_when.baseline)?;
        // Settings are checked when the run is planned.
        Decisions::new(stop_when, baseline, names.len()).ok()
    });
    let decisions = decisions.map(Arc::new);
    let queue = Feed {
        dataset: settings.dataset,
        max_examples: settings.max_examples,
        reuse: settings.reuse.clone(),
        wiring: Arc::clone(&settings.wiring),
        used: settings.used,
    }
    .start()?;
    let counter = Arc::clone(&settings.counter);
    // A counter that panics here will do so in rows, where it is reported.
    let loading = tokio::task::spawn_blocking(move || counter.load());
    // Endpoints can be asked meanwhile.
    if arms.iter().any(|arm| arm.system.counts_tokens()) {
        let _ = loading.await;
    }
    let (sender, receiver) = mpsc::unbounded_channel();
    // Kept here until the last row is in: dropping the runtime drops its tasks.
    let scoring = Arc::new(ScoringRuntime::start()?);
    let dispatcher = Dispatcher {
        work: Work::new(
            Arc::clone(&arms),
            queue,
            settings.reuse.is_some(),
            decisions.clone(),
        ),
        decisions: decisions.clone(),
        arms: Arc::clone(&arms),
        row_scoring: Arc::new(RowScoring {
            wiring: settings.wiring,
            counter: settings.counter,
            text_fields: settings.text_fields,
            counts_all: settings.counts_all,
            reuse: settings.reuse,
            stop: settings.stop.clone(),
        }),
        scoring: Arc::clone(&scoring),
        workers: Workers::new(settings.max_workers),
        backlog: Arc::new(Semaphore::new(
            settings.max_workers.most() + SCORING_BACKLOG,
        )),
        example_timeout: settings.example_timeout,
        progress: Arc::clone(&progress),
        stop: settings.stop,
        sender,
    };
    let collector = Collector::new(names.len(), planned);
    let ((n_examples, dataset_error), collector) = tokio::join!(
        Arc::new(dispatcher).run(),
        collector.gather(receiver, &*progress)
    );
    drop(scoring);
    progress.on_event(&RunEvent::Finished);
    let gave_up = arms.iter().map(|arm| arm.breaker.reason()).collect();
    let mut outcome = collector.into_outcome(planned, n_examples, dataset_error, gave_up);
    outcome.decisions = decisions.map(|one| one.finish()).unwrap_or_default();
    for ((gave_up, counts), in_advance) in outcome
        .gave_up
        .iter_mut()
        .zip(&outcome.counts)
        .zip(&settings.given_up)
    {
        // Nothing is missing because of it: everything that was not asked is stored.
        let answered = counts.planned > counts.failed;
        if counts.not_run() == 0 && (answered || in_advance.is_some()) {
            *gave_up = None;
        }
    }
    Ok(outcome)
}

/// What workers share. Dropped with the last of them, which ends the collector.
struct Dispatcher {
    arms: Arc<[Arm]>,
    work: Work,
    row_scoring: Arc<RowScoring>,
    scoring: Arc<ScoringRuntime>,
    workers: Workers,
    example_timeout: Option<Duration>,
    backlog: Arc<Semaphore>,
    progress: Arc<dyn Progress>,
    stop: Stop,
    decisions: Option<Arc<Decisions>>,
    sender: mpsc::UnboundedSender<Finished>,
}

impl Dispatcher {
    /// Starts workers until nothing is left to do or the run is stopped. Returns
    /// how many examples were started and what ended the dataset early.
    async fn run(self: Arc<Self>) -> (usize, Option<DatasetError>) {
        // A slot first, then a job: a job that waits for a slot would be overtaken
        // by all that running workers take meanwhile.
        while let Some(slot) = self.unless_draining(self.slot()).await {
            let Some(job) = self.unless_draining(self.next_call()).await else {
                break;
            };
            let this = Arc::clone(&self);
            tokio::spawn(async move {
                let mut next = Some((job, slot));
                while let Some((job, slot)) = next {
                    next = this.call(job, slot).await;
                    // Systems that never wait would keep the thread to themselves.
                    tokio::task::coop::consume_budget().await;
                }
            });
        }
        self.work.end()
    }

    async fn unless_draining<T>(&self, future: impl Future<Output = Option<T>>) -> Option<T> {
        tokio::select! {
            biased;
            () = self.stop.draining() => None,
            () = self.decided() => None,
            value = future => value,
        }
    }

    /// Waits until nobody need be asked any more.
    async fn decided(&self) {
        match &self.decisions {
            Some(decisions) => decisions.over().await,
            None => std::future::pending().await,
        }
    }

    /// Times a call of a system, and reports at once when an attempt takes too long.
    fn stopwatch(&self, system: usize) -> Stopwatch {
        let progress = Arc::clone(&self.progress);
        Stopwatch::telling(move || progress.on_event(&RunEvent::TimedOut { system }))
    }

    /// Waits for a free worker.
    async fn slot(&self) -> Option<Slot> {
        let backlog = Arc::clone(&self.backlog).acquire_owned().await.ok()?;
        let worker = self.workers.acquire().await?;
        Some(Slot { worker, backlog })
    }

    /// Waits for the next job that needs a worker.
    async fn next_call(&self) -> Option<Job> {
        loop {
            let job = self.work.next().await?;
            if !self.reuse_whole(&job).await {
                return Some(job);
            }
        }
    }

    /// The next job that needs a worker, if there is one right now.
    async fn next_call_now(&self) -> Option<Job> {
        while !self.stop.is_stopped()
            && let Taken::Item(job) = self.work.take()
        {
            if !self.reuse_whole(&job).await {
                return Some(job);
            }
        }
        None
    }

    /// Makes the row of an answer that the store holds with all its scores; no
    /// worker and no scoring is needed for it.
    async fn reuse_whole(&self, job: &Job) -> bool {
        let Job {
            system, prepared, ..
        } = job;
        let Some(stored) = prepared.stored_whole(*system) else {
            return false;
        };
        let name = Arc::clone(&self.arms[*system].name);
        let row = self.row_scoring.stored_row(*system, name, prepared, stored);
        let row = row.await;
        // Here and not in the collector, which takes its time: a verdict that is there spares calls.
        if let Some(decisions) = &self.decisions {
            decisions.scored(*system, prepared.turn, &row.row);
        }
        let _ = self.sender.send(Finished {
            system: *system,
            position: prepared.position,
            row,
            span: None,
        });
        true
    }

    /// Makes one call and hands the result to scoring. Returns the next job if
    /// this worker may go on with it.
    async fn call(&self, job: Job, slot: Slot) -> Option<(Job, Slot)> {
        let Job {
            system,
            prepared,
            announced,
        } = job;
        let arm = &self.arms[system];
        let source = match prepared.lookups.get(system) {
            Some(StoreLookup::Failure(stored)) => Source::StoredFailure(Arc::clone(stored)),
            Some(StoreLookup::Unread(failure)) => Source::Unread(Arc::clone(failure)),
            _ if prepared.problem.is_some() => Source::Unusable,
            Some(StoreLookup::Answer(stored)) => Source::Store(stored.as_ref().clone()),
            _ => tokio::select! {
                biased;
                () = self.stop.aborted() => return None,
                called = attempt(
                    &*arm.system,
                    &prepared.example,
                    self.example_timeout,
                    &self.stop,
                    self.stopwatch(system),
                ) => Source::Call(called?),
            },
        };
        drop(announced);
        let mut throttled = false;
        let mut span = None;
        if let Source::Call(called) = &source {
            arm.breaker
                .record(called.result.as_ref().err().map(|e| &e.failure));
            throttled = called.was_throttled();
            span = Some((called.started, called.started + called.elapsed));
        }
        let row_scoring = Arc::clone(&self.row_scoring);
        let sender = self.sender.clone();
        let stop = self.stop.clone();
        let decisions = self.decisions.clone();
        let name = Arc::clone(&arm.name);
        let backlog = slot.backlog;
        self.scoring.spawn(async move {
            let row = tokio::select! {
                biased;
                () = stop.aborted() => return,
                done = row_scoring.row(system, name, &prepared, source) => done,
            };
            if let Some(decisions) = &decisions {
                decisions.scored(system, prepared.turn, &row.row);
            }
            // The collector outlives all senders; a failed send means a dropped run.
            let _ = sender.send(Finished {
                system,
                position: prepared.position,
                row,
                span,
            });
            drop(backlog);
        });
        // The worker is free as soon as the system is done; scoring is our own time.
        let worker = self.workers.finished(slot.worker, throttled)?;
        let backlog = Arc::clone(&self.backlog).try_acquire_owned().ok()?;
        let next = self.next_call_now().await?;
        Some((next, Slot { worker, backlog }))
    }
}

/// The right to make one call and to keep its result until it is scored.
struct Slot {
    worker: OwnedSemaphorePermit,
    backlog: OwnedSemaphorePermit,
}
