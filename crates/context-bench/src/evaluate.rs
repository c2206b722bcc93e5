//! `evaluate`: the one call that runs systems over a dataset and sums up.
//!
//! A builder, so that callers name only what they change. It checks what can be
//! checked before the first call is paid for, runs, and computes the summary.

mod error;
#[cfg_attr(not(feature = "tasks"), path = "evaluate/unplanned.rs")]
mod planned;
mod summary;
mod timer;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use serde_json::{Map, Value, json};

pub use self::error::{Error, UnknownScore};
use self::planned::Planned;
use self::summary::{check_score_fields, declared_scores, fill, summarize};
use self::timer::Timer;
use crate::dataset::{Dataset, Used};
use crate::evaluator::Evaluator;
use crate::mask::Mask;
use crate::metric::{Comparison, Metric};
use crate::model::{EvalRow, Failure, ScoreName};
use crate::replay::Replay;
use crate::result::{EvalResult, Kept, Unfinished};
use crate::runner::{
    self, MaxWorkers, NoProgress, Progress, Recorded, Reuse, ReuseSettings, RunSettings, Stop,
    Wiring,
};
use crate::store::{Origin, RunStatus, SourceRun, Store, StoreError};
use crate::system::System;
use crate::tokens::{TextFields, TokenCounter, Tokenizer};

/// Starts describing a run.
///
/// ```
/// use context_bench::{Example, Output, evaluate, evaluator::AnswerQuality, metric::MeanScore, system};
///
/// # tokio::runtime::Runtime::new().unwrap().block_on(async {
/// let first_word = system::from_fn("first word", |example| {
///     let word = example.context().split(' ').next().unwrap_or_default();
///     Ok(Output::reply(example, word))
/// });
/// let result = evaluate()
///     .system(first_word)
///     .dataset(vec![Example::new().with("context", "Paris is nice").with("answer", "Paris")])
///     .evaluator(AnswerQuality)
///     .metric(MeanScore::of("f1"))
///     .run()
///     .await?;
/// assert_eq!(result.summary["first word"].value("mean_score"), Some(1.0));
/// # Ok::<(), context_bench::Error>(()) }).unwrap();
/// ```
pub fn evaluate() -> Evaluate {
    Evaluate::default()
}

/// A run being described; see [`evaluate`].
pub struct Evaluate {
    systems: Vec<Arc<dyn System>>,
    dataset: Option<Dataset>,
    wiring: Wiring,
    metrics: Vec<Arc<dyn Metric>>,
    comparisons: Vec<Arc<dyn Comparison>>,
    max_examples: Option<usize>,
    max_workers: MaxWorkers,
    example_timeout: Option<Duration>,
    max_time: Option<Duration>,
    text_fields: TextFields,
    counts_all: bool,
    counter: Arc<dyn TokenCounter>,
    progress: Arc<dyn Progress>,
    stop: Stop,
    store: Option<Store>,
    recorded: Option<Arc<Recorded>>,
    /// What the run is made of, when it is the replay of another.
    origin: Option<Origin>,
    given_up: Vec<(String, Failure)>,
    planned: Planned,
    command: String,
}

impl Default for Evaluate {
    fn default() -> Self {
        Self {
            systems: Vec::new(),
            dataset: None,
            wiring: Wiring::default(),
            metrics: Vec::new(),
            comparisons: Vec::new(),
            max_examples: None,
            max_workers: MaxWorkers::Fixed(1),
            example_timeout: None,
            max_time: None,
            text_fields: TextFields::All,
            counts_all: true,
            counter: Tokenizer::default().counter(),
            progress: Arc::new(NoProgress),
            stop: Stop::new(),
            store: None,
            recorded: None,
            origin: None,
            given_up: Vec::new(),
            planned: Planned::default(),
            command: String::new(),
        }
    }
}

impl Evaluate {
    /// Adds a system.
    #[must_use]
    pub fn system(self, system: impl System + 'static) -> Self {
        self.systems([Arc::new(system) as Arc<dyn System>])
    }

    /// Adds systems.
    #[must_use]
    pub fn systems(mut self, systems: impl IntoIterator<Item = Arc<dyn System>>) -> Self {
        self.systems.extend(systems);
        self
    }

    /// Sets the dataset: anything that yields examples.
    #[must_use]
    pub fn dataset(mut self, dataset: impl Into<Dataset>) -> Self {
        self.dataset = Some(dataset.into());
        self
    }

    /// Adds an evaluator.
    #[must_use]
    pub fn evaluator(self, evaluator: impl Evaluator + 'static) -> Self {
        self.evaluators([Arc::new(evaluator) as Arc<dyn Evaluator>])
    }

    /// Adds evaluators.
    #[must_use]
    pub fn evaluators(mut self, evaluators: impl IntoIterator<Item = Arc<dyn Evaluator>>) -> Self {
        self.wiring.evaluators.extend(evaluators);
        self
    }

    /// Scores the examples tagged with this dataset by these evaluators and no
    /// others. Examples of datasets that are not named here are scored by all.
    /// `score_field` is the score that stands for the dataset's quality.
    #[must_use]
    pub fn evaluators_for(
        mut self,
        dataset: impl Into<String>,
        evaluators: impl IntoIterator<Item = Arc<dyn Evaluator>>,
        score_field: Option<&str>,
    ) -> Self {
        let score_field = score_field.map(str::to_owned);
        self.wiring.wire(dataset.into(), evaluators, score_field);
        self
    }

    /// Gives every row the score that stands for its dataset's quality (see
    /// [`evaluators_for`](Self::evaluators_for)) under this name as well, so
    /// that metrics can be computed over datasets that are scored differently.
    /// Examples of datasets that are not named there have the score `otherwise`.
    #[must_use]
    pub fn common_score(
        mut self,
        name: impl Into<ScoreName>,
        otherwise: impl Into<String>,
    ) -> Self {
        self.wiring.share(name.into(), otherwise.into());
        self
    }

    /// Adds a metric.
    #[must_use]
    pub fn metric(self, metric: impl Metric + 'static) -> Self {
        self.metrics([Arc::new(metric) as Arc<dyn Metric>])
    }

    /// Adds metrics.
    #[must_use]
    pub fn metrics(mut self, metrics: impl IntoIterator<Item = Arc<dyn Metric>>) -> Self {
        self.metrics.extend(metrics);
        self
    }

    /// Adds a comparison across systems, computed after all metrics.
    #[must_use]
    pub fn comparison(mut self, comparison: impl Comparison + 'static) -> Self {
        self.comparisons.push(Arc::new(comparison));
        self
    }

    /// Uses only the first `max` examples.
    #[must_use]
    pub fn max_examples(mut self, max: usize) -> Self {
        self.max_examples = Some(max);
        self
    }

    /// How many calls may be in flight, over all systems together: a number (0
    /// counts as 1), or [`MaxWorkers::Auto`].
    #[must_use]
    pub fn max_workers(mut self, max: impl Into<MaxWorkers>) -> Self {
        self.max_workers = max.into();
        self
    }

    /// How long a system may take for one example, all its retries included.
    #[must_use]
    pub fn example_timeout(mut self, limit: Duration) -> Self {
        self.example_timeout = Some(limit);
        self
    }

    /// How long the whole run may take; then what is in flight is finished, for half a
    /// minute more at the most.
    #[must_use]
    pub fn max_time(mut self, limit: Duration) -> Self {
        self.max_time = Some(limit);
        self
    }

    /// Keeps what was asked and answered with every row; the default is not to.
    #[must_use]
    pub fn keep_text(mut self, keep: bool) -> Self {
        self.wiring.keep_text(keep);
        self
    }

    /// Counts tokens only of answers whose endpoint reports none, and leaves metrics out
    /// that need more. For results whose rows nobody sees: most of the work of a fast run
    /// is counting.
    #[must_use]
    pub fn count_where_needed(mut self) -> Self {
        self.counts_all = false;
        self.metrics.retain(|metric| !metric.counts_maps());
        self
    }

    /// Counts the tokens of these fields only.
    #[must_use]
    pub fn text_fields<S: Into<String>>(mut self, fields: impl IntoIterator<Item = S>) -> Self {
        self.text_fields = TextFields::Only(fields.into_iter().map(Into::into).collect());
        self
    }

    /// Counts tokens with this counter.
    #[must_use]
    pub fn token_counter(mut self, counter: Arc<dyn TokenCounter>) -> Self {
        self.counter = counter;
        self
    }

    /// Sends the events of the run to this sink.
    #[must_use]
    pub fn progress(mut self, progress: impl Progress + 'static) -> Self {
        self.progress = Arc::new(progress);
        self
    }

    /// Lets this handle end the run early.
    #[must_use]
    pub fn stop(mut self, stop: Stop) -> Self {
        self.stop = stop;
        self
    }

    /// Keeps everything in this store, and takes from it what is there already.
    #[must_use]
    pub fn store(mut self, store: Store) -> Self {
        self.store = Some(store);
        self
    }

    /// Scores a stored run anew, as a run of its own: its systems, its examples
    /// and its failures. What it did not get to is left out, and no system is
    /// called.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    pub fn replay(mut self, replay: &Replay) -> Result<Self, StoreError> {
        let (dataset, recorded) = replay.examples()?;
        self.recorded = Some(recorded);
        self.origin = Some(replay.as_origin());
        Ok(self
            .systems(replay.systems())
            .dataset(dataset)
            .store(replay.store().clone()))
    }

    /// Sums up a stored run as it was: its own rows, with the latency, the
    /// failures and the marks of reuse that they had. The evaluators must be
    /// [those of the run](Replay::evaluators). Blocks while it reads.
    ///
    /// # Errors
    ///
    /// When the store cannot be read. Rows that are damaged are no error: they
    /// are missing among those that were planned.
    pub fn recall(self, replay: &Replay) -> Result<EvalResult, StoreError> {
        let run = &replay.run;
        let unfinished = replay.unfinished();
        let planned = run.origin().planned.or_else(|| {
            // What an earlier version planned shows only in what is missing.
            unfinished.as_ref().and_then(|_| self.planned.rows())
        });
        let (outcome, used) = replay.recall(&self.wiring, planned)?;
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
        result.kept = Some(Kept {
            run: Some(run.run.id().to_string()),
            path: replay.store().path().to_owned(),
            damaged: replay.store().damaged(),
            ..Kept::default()
        });
        Ok(result)
    }

    /// Does not call the system of that name, because of this failure; it still
    /// gets the rows that are stored of it.
    #[must_use]
    pub fn give_up(mut self, system: impl Into<String>, failure: Failure) -> Self {
        self.given_up.push((system.into(), failure));
        self
    }

    /// Does not ask this evaluator, for this reason; the scores that are stored of
    /// it still count, and all others are missing.
    #[must_use]
    pub fn give_up_evaluator(mut self, evaluator: &Arc<dyn Evaluator>, reason: &str) -> Self {
        self.wiring.give_up(evaluator, reason);
        self
    }

    /// How the run was asked for, without keys; the store remembers it.
    #[must_use]
    pub fn command(mut self, command: impl Into<String>) -> Self {
        self.command = command.into();
        self
    }

    /// Runs everything. Must be called inside a tokio runtime.
    ///
    /// # Errors
    ///
    /// When the description is not sound, before any call is made; or with the
    /// result ([`Error::take_partial`]) when the dataset breaks off, or a metric
    /// reads a score that evaluators which do not name theirs did not give.
    /// Failing systems, evaluators and examples are not errors: they are rows and
    /// counts of the result.
    pub async fn run(mut self) -> Result<EvalResult, Error> {
        self.check_systems()?;
        let declared = declared_scores(&self.wiring);
        let common = self.wiring.common().map(ToString::to_string);
        if let Some(declared) = &declared {
            check_score_fields(&self.metrics, declared).map_err(|unknown| {
                Error::UnknownScoreField {
                    unknown,
                    partial: None,
                }
            })?;
        }
        let config = self.config();
        let provenance = self.provenance();
        let names: Vec<String> = self.systems.iter().map(|s| s.name().to_owned()).collect();
        let stop = self.stop.clone();
        let (started, clock) = (SystemTime::now(), Instant::now());
        let origin = self.origin();
        let (reuse, mut kept) = self.begin_in_store(&config, &provenance, origin.clone());
        let given_up = |system: &Arc<dyn System>| {
            let mut given_up = self.given_up.iter();
            let found = given_up.find(|(name, _)| name == system.name());
            found.map(|(_, failure)| failure.clone())
        };
        let given_up = self.systems.iter().map(given_up).collect();
        let timer = self
            .max_time
            .map(|limit| Timer::start(limit, self.stop.clone(), Arc::clone(&self.progress)));
        let dataset = self.dataset.take().unwrap_or_else(|| Vec::new().into());
        let used = Used::of(&dataset);
        let mut outcome = runner::run(RunSettings {
            systems: std::mem::take(&mut self.systems),
            dataset,
            wiring: Arc::new(std::mem::take(&mut self.wiring)),
            used: used.clone(),
            max_examples: self.max_examples,
            max_workers: self.max_workers,
            example_timeout: self.example_timeout,
            text_fields: self.text_fields.clone(),
            counts_all: self.counts_all,
            counter: Arc::clone(&self.counter),
            progress: Arc::clone(&self.progress),
            stop: self.stop.clone(),
            reuse: reuse.clone(),
            given_up,
        })
        .await
        .map_err(Error::Start)?;
        drop(timer);
        if self.recorded.is_some() {
            // A part stays a part of what was planned at first.
            for counts in &mut outcome.counts {
                counts.planned = counts.planned.max(origin.planned.unwrap_or(0));
            }
        }

        let mut result = EvalResult {
            config,
            provenance,
            unfinished: origin.source.and_then(|source| {
                let (run, how) = (source.run, source.unfinished?);
                Some(Unfinished { run, how })
            }),
            ..EvalResult::default()
        };
        let (answers, dataset_error) = fill(&mut result, &names, outcome);
        result.datasets = used.list();
        let is_stopped =
            stop.is_stopped() && result.counts.values().any(|counts| counts.not_run() > 0);
        result.interrupted = is_stopped || result.unfinished.is_some();
        // Only now it shows: what was paid for is kept and given back all the same.
        let mut unknown_score = None;
        if declared.is_none() && result.rows.iter().any(EvalRow::is_completed) {
            let seen = result.score_names();
            let seen = seen.iter().map(ToString::to_string);
            // Datasets without a score that stands for them have none in common either.
            let seen = seen.chain(common.clone()).collect();
            unknown_score = check_score_fields(&self.metrics, &seen).err();
        }
        summarize(
            &mut result,
            &self.metrics,
            &self.comparisons,
            stop.is_stopped(),
        );
        let planned = &self.planned;
        planned.sum_up(&mut result, &answers, started, clock.elapsed());
        if let (Some(reuse), Some(kept)) = (reuse, &mut kept) {
            let status = match (&dataset_error, result.interrupted) {
                (Some(_), _) => RunStatus::Failed,
                (None, true) => RunStatus::Interrupted,
                (None, false) => RunStatus::Finished,
            };
            end_in_store(&reuse, status, kept).await;
        }
        result.kept = kept;
        match (dataset_error, unknown_score) {
            (Some(source), _) => Err(Error::Dataset {
                source,
                partial: Box::new(result),
            }),
            (None, Some(unknown)) => Err(Error::UnknownScoreField {
                unknown,
                partial: Some(Box::new(result)),
            }),
            (None, None) => Ok(result),
        }
    }

    /// Begins the run in the store. One that cannot be written does not end the
    /// run: it goes on in memory, and the result says so.
    fn begin_in_store(
        &self,
        config: &Map<String, Value>,
        provenance: &Map<String, Value>,
        origin: Origin,
    ) -> (Option<Arc<Reuse>>, Option<Kept>) {
        let Some(store) = self.store.clone() else {
            return (None, None);
        };
        let mut kept = Kept {
            path: store.path().to_owned(),
            read_only: store.read_only().map(str::to_owned),
            ..Kept::default()
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
            recorded: self.recorded.clone(),
        });
        match begun {
            Ok(reuse) => {
                kept.run = reuse.run().map(|run| run.id().to_string());
                (Some(Arc::new(reuse)), Some(kept))
            }
            Err(error) => {
                kept.failed(&error);
                (None, Some(kept))
            }
        }
    }

    /// How much is planned, and what the run is made of.
    fn origin(&self) -> Origin {
        let dataset = self.dataset.as_ref();
        let read = dataset.and_then(Dataset::known_len);
        let read = read.map(|len| len.min(self.max_examples.unwrap_or(len)));
        match &self.origin {
            // What is read is what there is of the other run, whole or not.
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

    fn check_systems(&self) -> Result<(), Error> {
        let mut seen = BTreeSet::new();
        for system in &self.systems {
            if system.name().trim().is_empty() {
                return Err(Error::UnnamedSystem);
            }
            if !seen.insert(system.name()) {
                return Err(Error::DuplicateSystem {
                    name: system.name().to_owned(),
                });
            }
        }
        Ok(())
    }

    fn config(&self) -> Map<String, Value> {
        let mut config = Map::new();
        let systems: Vec<_> = self.systems.iter().map(|system| system.name()).collect();
        let evaluators = self.wiring.evaluators.iter().map(|e| e.name());
        let evaluators: Vec<_> = evaluators
            .filter(|name| !self.planned.hides(name))
            .collect();
        let metrics: Vec<_> = self.metrics.iter().map(|metric| metric.name()).collect();
        config.insert("systems".into(), json!(systems));
        config.insert("evaluators".into(), json!(evaluators));
        config.insert("metrics".into(), json!(metrics));
        config.insert("num_examples".into(), json!(0));
        let max_workers = match self.max_workers {
            MaxWorkers::Fixed(_) => json!(self.max_workers.most()),
            MaxWorkers::Auto { .. } => json!("auto"),
        };
        config.insert("max_workers".into(), max_workers);
        config
    }

    fn provenance(&self) -> Map<String, Value> {
        let mut provenance = Map::new();
        provenance.insert("version".into(), json!(env!("CARGO_PKG_VERSION")));
        provenance.insert("tokenizer".into(), json!(self.counter.name()));
        if let TextFields::Only(fields) = &self.text_fields {
            let fields = fields.iter().map(|field| Mask::Dots.setting(field));
            provenance.insert("text_fields".into(), fields.collect());
        }
        let workers = match self.max_workers {
            MaxWorkers::Fixed(_) => self.max_workers.most().to_string(),
            MaxWorkers::Auto { .. } => "auto".to_owned(),
        };
        provenance.insert("max_workers".into(), json!(workers));
        let fields: BTreeSet<_> = self
            .metrics
            .iter()
            .filter_map(|m| m.score_field())
            .collect();
        if !fields.is_empty() {
            provenance.insert("score_fields".into(), json!(fields));
        }
        provenance.extend(self.planned.provenance());
        provenance
    }
}

/// Waits until everything is on disk and notes what the store has to say.
async fn end_in_store(reuse: &Arc<Reuse>, status: RunStatus, kept: &mut Kept) {
    let flushed = reuse.store().flush().await;
    let finishing = Arc::clone(reuse);
    let finished = tokio::task::spawn_blocking(move || match finishing.run() {
        Some(run) => finishing.store().finish_run(run, status),
        None => Ok(()),
    });
    if let (Err(error), _) | (Ok(()), Ok(Err(error))) = (flushed, finished.await) {
        kept.failed(&error);
    }
    kept.damaged = reuse.store().damaged();
    (kept.unread, kept.unread_reason) = reuse.unread();
    kept.dropped = reuse.store().dropped();
}
