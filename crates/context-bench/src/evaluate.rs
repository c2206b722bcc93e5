//! `evaluate`: the one call that runs systems over a dataset and sums up.
//!
//! It is a builder, so that callers name only what they change. It checks what can
//! be checked before the first call is paid for, runs, and computes the summary.

mod error;
#[cfg_attr(not(feature = "tasks"), path = "evaluate/unplanned.rs")]
mod planned;
mod provenance;
mod stored;
mod summary;
mod timer;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use context_bench_scoring::price::RowPrices;
use indexmap::IndexMap;

pub use self::error::{Error, UnknownScore};
use self::planned::Planned;
use self::stored::{end_in_store, own_run, wire_note, withhold_again};
use self::summary::{check_score_fields, declared_scores, fill, summarize, take_wire};
use self::timer::Timer;
use crate::comparison::ComparisonSettings;
use crate::dataset::{Dataset, UsedDatasets};
use crate::evaluator::Evaluator;
use crate::gate::BaselineRun;
use crate::measures::Measures;
use crate::metric::{Comparison, Metric, RowCosts};
use crate::model::{ArmWire, EvalRow, Failure, ScoreName, TextsKept};
use crate::result::{EvalResult, Unfinished};
use crate::runner::AskedElsewhere;
use crate::runner::{
    self, MaxWorkers, NoProgress, Progress, RunSettings, Stop, StopWhenDecided, UnansweredRows,
    Wiring,
};
use crate::shard::DataFacts;
use crate::stopping::Stopping;
use crate::store::{Origin, RunStatus, ShardOrigin, Store};
use crate::system::System;
use crate::tap::{RunTap, RunWire};
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
    compared: ComparisonSettings,
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
    /// When a stored run is rescored: its rows without an answer.
    unanswered: Option<Arc<UnansweredRows>>,
    /// When systems were asked in other processes: what became of it.
    elsewhere: Option<Arc<AskedElsewhere>>,
    /// When a stored run is rescored: which one.
    origin: Option<Origin>,
    given_up: Vec<(String, Failure)>,
    planned: Planned,
    baseline_run: Option<Box<BaselineRun>>,
    stop_when: Option<StopWhenDecided>,
    /// When a stored run is rescored: what it showed while it went on.
    source_stopping: Option<Stopping>,
    command: String,
    prices: Option<Arc<RowPrices>>,
    /// Money, which no list of metrics names: it shows only where a price is known.
    costs: Option<Arc<dyn Metric>>,
    /// Which part of a larger run this is, and what it learns of the whole.
    shard: Option<(ShardOrigin, DataFacts)>,
    tap: Option<Arc<RunTap>>,
    /// When a stored run is rescored: what its tap saw.
    earlier_wire: IndexMap<String, ArmWire>,
}

impl Default for Evaluate {
    fn default() -> Self {
        Self {
            systems: Vec::new(),
            dataset: None,
            wiring: Wiring::default(),
            metrics: Vec::new(),
            comparisons: Vec::new(),
            compared: ComparisonSettings::default(),
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
            unanswered: None,
            elsewhere: None,
            origin: None,
            given_up: Vec::new(),
            planned: Planned::default(),
            baseline_run: None,
            stop_when: None,
            source_stopping: None,
            command: String::new(),
            prices: None,
            costs: None,
            shard: None,
            tap: None,
            earlier_wire: IndexMap::new(),
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

    /// How systems are compared with the baseline. The default compares all with the first one, by
    /// the score of the first metric that reads one.
    #[must_use]
    pub fn compared(mut self, settings: ComparisonSettings) -> Self {
        self.compared = settings;
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

    /// Keeps what was asked and answered with every row (`true`, or more with
    /// [`TextsKept::Contexts`]); the default is not to.
    #[must_use]
    pub fn keep_text(mut self, keep: impl Into<TextsKept>) -> Self {
        self.wiring.keep_text(keep.into());
        self
    }

    /// Counts tokens only of answers whose endpoint reports none, and leaves metrics out
    /// that need more. For results whose rows are not looked at: most of the work of a
    /// fast run is counting.
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

    /// Keeps everything in this store, and reuses what is already there.
    #[must_use]
    pub fn store(mut self, store: Store) -> Self {
        self.store = Some(store);
        self
    }

    /// Does not call the system of that name, because of this failure; it still
    /// gets the rows that are stored for it.
    #[must_use]
    pub fn give_up(mut self, system: impl Into<String>, failure: Failure) -> Self {
        self.given_up.push((system.into(), failure));
        self
    }

    /// Calls no system: others did that, and this is what became of it. Their answers are in the
    /// store, which must be given too.
    #[must_use]
    pub fn asked_elsewhere(mut self, asked: AskedElsewhere) -> Self {
        self.elsewhere = Some(Arc::new(asked));
        // That was for asking.
        self.max_time = None;
        self
    }

    /// Does not ask this evaluator, for this reason; its stored scores still count,
    /// and all others are missing.
    #[must_use]
    pub fn give_up_evaluator(mut self, evaluator: &Arc<dyn Evaluator>, reason: &str) -> Self {
        self.wiring.give_up(evaluator, reason);
        self
    }

    /// Ends the run as soon as every verdict is there.
    #[must_use]
    pub(crate) fn stop_when_decided(mut self, settings: StopWhenDecided) -> Self {
        self.stop_when = Some(settings);
        self
    }

    /// Compares with the systems of this result where gates say something about a baseline.
    #[must_use]
    pub fn baseline_run(mut self, run: impl Into<BaselineRun>) -> Self {
        self.baseline_run = Some(Box::new(run.into()));
        self
    }

    /// The command that started the run, without keys; the store keeps it.
    #[must_use]
    pub fn command(mut self, command: impl Into<String>) -> Self {
        self.command = command.into();
        self
    }

    /// What rows cost: metrics and comparisons about money rest on it.
    #[must_use]
    pub(crate) fn prices(mut self, prices: Option<Arc<RowPrices>>) -> Self {
        self.prices = prices;
        self
    }

    /// Adds what systems cost to the summary, where that is known.
    #[must_use]
    pub(crate) fn costs(mut self, costs: RowCosts) -> Self {
        self.costs = Some(Arc::new(costs));
        self
    }

    /// Says that this is a part of a larger run, whose examples come with
    /// [`dataset`](Self::dataset).
    #[must_use]
    pub(crate) fn shard(mut self, origin: ShardOrigin, facts: DataFacts) -> Self {
        self.planned.is_part = true;
        self.shard = Some((origin, facts));
        self
    }

    /// The tap that systems of the run share; it ends with the run.
    #[doc(hidden)]
    #[must_use]
    pub fn tap(mut self, tap: Option<Arc<RunTap>>) -> Self {
        self.tap = tap;
        self
    }

    /// Runs everything. Must be called inside a tokio runtime.
    ///
    /// # Errors
    ///
    /// When the description is not valid, before any call is made; or, with the
    /// partial result ([`Error::take_partial`]), when the dataset breaks off or a
    /// metric reads a score that no evaluator gave.
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
        let measures = Arc::new(self.measures());
        let stop = self.stop.clone();
        let (started, clock) = (SystemTime::now(), Instant::now());
        let origin = self.origin();
        let (reuse, mut summary) = self.begin_in_store(&config, &provenance, origin.clone());
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
        let (dataset, n_shuffled) = match &self.stop_when {
            Some(stop_when) => {
                let first = self.max_examples.unwrap_or(usize::MAX);
                let (dataset, total) = dataset.take(first).shuffled(stop_when.seed);
                (dataset, Some(total))
            }
            None => (dataset, None),
        };
        let used = UsedDatasets::of(&dataset);
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
            stop_when: self.stop_when.clone(),
        })
        .await
        .map_err(Error::Start)?;
        let is_tapped = self.tap.is_some();
        let mut wire = match &self.tap {
            Some(tap) => tap.finish().await,
            None => RunWire {
                arms: std::mem::take(&mut self.earlier_wire),
                ..RunWire::default()
            },
        };
        drop(timer);
        let stopping = self.stop_when.as_ref().map(|settings| {
            let rows: Vec<usize> = outcome.rows.iter().map(Vec::len).collect();
            let all = n_shuffled.as_ref().and_then(|all| all.get().copied());
            let (decisions, asked) = (&outcome.decisions, outcome.n_examples);
            Stopping::of(settings, &names, &rows, decisions, all, asked)
        });
        // A shard that was stopped has not begun all that is its own.
        let own = self.shard.as_ref().and_then(|(_, facts)| facts.own_rows());
        for counts in &mut outcome.counts {
            counts.planned = counts.planned.max(own.unwrap_or(0));
        }
        let cut_short = self.cut_short();
        for counts in &mut outcome.counts {
            counts.planned = counts.planned.max(cut_short.unwrap_or(0));
        }
        if self.unanswered.is_some() {
            // An incomplete run stays incomplete: it is a part of what was planned at first.
            for counts in &mut outcome.counts {
                counts.planned = counts.planned.max(origin.planned.unwrap_or(0));
            }
        }

        let mut result = EvalResult {
            config,
            provenance,
            measures,
            unfinished: origin.source.clone().and_then(|source| {
                let (run, how) = (source.run, source.unfinished?);
                Some(Unfinished { run, how })
            }),
            ..EvalResult::default()
        };
        let (answers, dataset_error) = fill(&mut result, &names, outcome);
        if let Some(reuse) = reuse.as_ref().filter(|_| is_tapped) {
            withhold_again(&mut wire, &result, reuse);
        }
        take_wire(&mut result, wire, is_tapped);
        result.stopping = self.source_stopping.take();
        result.leave_out_what_was_saved();
        // A verdict is about the scores of its run, and these are others.
        result.stopping = stopping;
        result.leave_out_what_was_saved();
        result.datasets = used.list();
        let lacks_rows = result.counts.values().any(|counts| counts.not_run() > 0);
        // How many examples a shard has shows only when it has read all data.
        let shard = self.shard.as_ref();
        let is_unread = shard.is_some_and(|(_, facts)| facts.whole().is_none());
        let is_ended = stop.is_stopped() || cut_short.is_some();
        let is_stopped = is_ended && (lacks_rows || is_unread);
        result.interrupted = is_stopped || result.unfinished.is_some();
        // This shows only now; what was paid for is stored and returned nevertheless.
        let mut unknown_score = None;
        if declared.is_none() && result.rows.iter().any(EvalRow::is_completed) {
            let seen = result.score_names();
            let seen = seen.iter().map(ToString::to_string);
            // Datasets without a main score have no common score either.
            let seen = seen.chain(common.clone()).collect();
            unknown_score = check_score_fields(&self.metrics, &seen).err();
        }
        summarize(&mut result, is_ended);
        self.put_comparison(&mut result);
        let planned = &self.planned;
        planned.sum_up(&mut result, &answers, started, clock.elapsed());
        let own = match self.baseline_run.is_some() {
            true => own_run(reuse.as_ref()).await,
            false => None,
        };
        planned.judge(&mut result, self.baseline_run.as_deref(), own.as_ref());
        if let (Some(reuse), Some(summary)) = (reuse, &mut summary) {
            let status = match (&dataset_error, result.interrupted) {
                (Some(_), _) => RunStatus::Failed,
                (None, true) => RunStatus::Interrupted,
                (None, false) => RunStatus::Finished,
            };
            let mut notes = Vec::from_iter(wire_note(&result));
            notes.extend(result.stopping.as_ref().and_then(Stopping::note));
            notes.extend(self.shard_note(&origin));
            end_in_store(&reuse, status, notes, summary).await;
        }
        result.store = summary;
        if let Some((shard, _)) = &self.shard {
            let run = result.store.as_ref().and_then(|store| store.run.clone());
            result.unfinished = Some(Unfinished {
                run: run.unwrap_or_default(),
                how: shard.described(),
            });
        }
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

    /// What results of this run are measured by.
    pub(crate) fn measures(&self) -> Measures {
        let scores = declared_scores(&self.wiring).unwrap_or_default();
        Measures {
            metrics: self.metrics.iter().chain(&self.costs).cloned().collect(),
            comparisons: self.comparisons.clone(),
            scores: scores.into_iter().collect(),
            prices: self.prices.clone(),
            ..self.planned.measures()
        }
    }

    /// Whether every evaluator says which scores it gives.
    pub(crate) fn declares_scores(&self) -> bool {
        declared_scores(&self.wiring).is_some()
    }

    /// Compares systems, if there are several.
    fn put_comparison(&self, result: &mut EvalResult) {
        let mut settings = self.compared.clone();
        let read = || self.metrics.iter().find_map(|metric| metric.score_field());
        settings.score = settings.score.or_else(|| read().map(str::to_owned));
        result.comparison = result.compare(&settings);
        result.compared = settings;
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
}
