//! `ReopenedPlan`: a stored run with its plan, and its result as it was.
//!
//! The plan is stored with the run, and the run is summed up by that very plan, even if
//! its files have changed since. No system is called.

use std::collections::HashMap;
use std::sync::Arc;

use context_bench_error::suggest;
use context_bench_tasks::options::Chat;
use context_bench_tasks::{Host, Leaf, Options, Task, Tree};

use super::benchmark_collector::scorer;
use super::known::task_data;
use super::prompts::prompt_of;
use super::run::scored;
use super::surroundings::Surroundings;
use super::{PlanError, Planner};
use super::{earlier_versions, gates};
use crate::benchmark::{
    Benchmark, ClassBenchmark, DatasetBenchmark, SCORE, Suite, SuiteEvaluator, TaskBenchmark,
    TaskDocuments, UnavailableBenchmark,
};
use crate::chat::Pace;
use crate::evaluate::{Evaluate, evaluate};
use crate::evaluator::Evaluator;
use crate::gate::BaselineRun;
use crate::model::{TextsKept, WIRE};
use crate::plan::{
    BenchmarkKind, PLAN_VERSION, PlannedBenchmark, PlannedChat, RunManifest, RunPlan, ScoringSpec,
};
use crate::reopened_run::ReopenedRun;
use crate::result::EvalResult;
use crate::store::{Store, StoreError, StoredRun};

/// A stored run, with what was asked and decided.
pub struct ReopenedPlan {
    /// The run.
    pub stored: ReopenedRun,
    /// What was asked and decided. Runs of programs that plan nothing have a plan that
    /// says what their rows say.
    pub manifest: RunManifest,
    /// Whether its gates were given now, and are not those that it had.
    is_gated: bool,
}

/// How the result of a stored run is made.
type Reopen = fn(Evaluate, &ReopenedRun) -> Result<EvalResult, StoreError>;

/// Which run is the last one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Last {
    /// The newest of all.
    Any,
    /// The newest that asked systems: what a rescore is made of, however often it is
    /// repeated, and whether an earlier one was killed or not.
    Asked,
}

/// The id of the last run of a store.
fn last_run(store: &Store, which: Last) -> Result<Option<String>, StoreError> {
    let mut runs = store.runs()?;
    if which == Last::Asked && runs.iter().any(|run| run.origin().source.is_none()) {
        runs.retain(|run| run.origin().source.is_none());
    }
    Ok(runs.last().map(|run| run.run.id().to_string()))
}

/// The error for a run that does not exist, with a similar id if there is one.
fn unknown(store: &Store, error: StoreError) -> PlanError {
    let StoreError::UnknownRun { id } = &error else {
        return error.into();
    };
    let runs = store.runs().unwrap_or_default();
    let ids: Vec<&str> = runs.iter().map(|run| run.run.id().as_str()).collect();
    match suggest::did_you_mean(id, ids) {
        Some(near) => PlanError::new(error.to_string()).with_hint(near),
        None => error.into(),
    }
}

impl ReopenedPlan {
    /// Finds a run by its id, the beginning of it, or `last` (also `latest`).
    ///
    /// # Errors
    ///
    /// When there is no such run, or the store cannot be read.
    pub fn open(store: &Store, id: &str) -> Result<Self, PlanError> {
        Self::open_last(store, id, Last::Any)
    }

    /// Finds a run to rescore. `last` is then the last one that asked systems: one that
    /// is itself a rescore must be named by its id.
    ///
    /// # Errors
    ///
    /// As for [`open`](Self::open).
    pub fn open_source(store: &Store, id: &str) -> Result<Self, PlanError> {
        Self::open_last(store, id, Last::Asked)
    }

    fn open_last(store: &Store, id: &str, which: Last) -> Result<Self, PlanError> {
        let id = match id {
            "last" | "latest" => last_run(store, which)?.ok_or_else(|| {
                PlanError::new("the store has no runs")
                    .with_hint("a run with `--cache-dir` puts itself into the store")
            })?,
            id => id.to_owned(),
        };
        let stored = ReopenedRun::open(store, &id).map_err(|error| match error {
            StoreError::UnknownRun { .. } => unknown(store, error),
            error => error.into(),
        })?;
        Self::of(stored)
    }

    /// The run with that whole id, without counting its rows: for readers of single rows, which are to
    /// be there at once.
    ///
    /// # Errors
    ///
    /// As for [`open`](Self::open).
    pub fn open_uncounted(store: &Store, id: &str) -> Result<Self, PlanError> {
        Self::of(ReopenedRun::of(store, store.run_uncounted(id)?))
    }

    fn of(stored: ReopenedRun) -> Result<Self, PlanError> {
        let manifest = match RunManifest::of(&stored.run.config) {
            Some(manifest) if manifest.plan.version > PLAN_VERSION => {
                return Err(Self::later(&stored.run, manifest.plan.version));
            }
            Some(manifest) => manifest,
            None => earlier_versions::manifest(&stored)?,
        };
        Ok(Self {
            stored,
            manifest,
            is_gated: false,
        })
    }

    /// A run that a later version planned.
    pub(super) fn later(run: &StoredRun, version: u32) -> PlanError {
        let what = format!("run {} has a plan of format {version}", run.run.id());
        PlanError::new(what).with_hint("a later version of context-bench made it; use that one")
    }

    /// The result of the run as it was, from the store; with `keep_text` its rows have
    /// what was asked and answered. Blocks while it reads.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    pub fn result(
        &self,
        around: &Surroundings,
        keep_text: impl Into<TextsKept>,
    ) -> Result<EvalResult, PlanError> {
        self.checked(around, keep_text.into(), Evaluate::reopen)
    }

    /// The same result, to be written: its rows in memory have no texts, and those that are written
    /// are read from the store as they are [asked for](EvalResult::each_row).
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    pub fn result_to_write(
        &self,
        around: &Surroundings,
        keep_text: impl Into<TextsKept>,
    ) -> Result<EvalResult, PlanError> {
        self.checked(around, keep_text.into(), Evaluate::reopen_without_texts)
    }

    fn checked(
        &self,
        around: &Surroundings,
        keep_text: TextsKept,
        reopen: Reopen,
    ) -> Result<EvalResult, PlanError> {
        let plan = &self.manifest.plan;
        let baseline = gates::baseline_run(&mut plan.clone(), self.stored.store(), around);
        let baseline = match baseline {
            // A run that its gates compared with may be gone by now.
            Err(_) if !self.is_gated => None,
            found => found?,
        };
        let result = self.read(around, keep_text, baseline, reopen)?;
        if self.is_gated {
            gates::check_result(&result, plan)?;
        }
        Ok(result)
    }

    /// The rows of the run and how many there are, without figures about them. Rows are read from
    /// the store each time they are [asked for](EvalResult::each_row), so that memory does not grow
    /// with them. Blocks while it reads.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    pub fn streamed(
        &self,
        around: &Surroundings,
        keep_text: impl Into<TextsKept>,
    ) -> Result<EvalResult, PlanError> {
        let run = self.as_it_was(around, keep_text.into());
        Ok(run.stream(&self.stored)?)
    }

    /// The result of a large run, summed up while its rows are read, and rows as
    /// [`streamed`](Self::streamed) has them. Its numbers are those of [`result`](Self::result), but
    /// systems are not compared with each other, and benchmarks have no figures of their own: those
    /// must see all rows at once.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    pub fn summed_up(
        &self,
        around: &Surroundings,
        keep_text: impl Into<TextsKept>,
    ) -> Result<EvalResult, PlanError> {
        let run = self.as_it_was(around, keep_text.into());
        let mut result = run.sum_up(&self.stored)?;
        self.name_sources(&mut result);
        Ok(result)
    }

    /// Whether [`summed_up`](Self::summed_up) leaves nothing out that the run is about.
    pub fn can_be_summed_up(&self) -> bool {
        let plan = &self.manifest.plan;
        let mut benchmarks = plan.benchmarks.iter();
        let is_plain = benchmarks.all(|one| one.kind == BenchmarkKind::Dataset);
        let has_tap = self.stored.run.config.contains_key(WIRE);
        let extras =
            !plan.sweeps.is_empty() || !plan.controls.is_empty() || plan.scoring.repeats > 1;
        is_plain && !has_tap && !extras && !self.has_gates()
    }

    /// Whether the run has rules that its figures are checked by.
    pub fn has_gates(&self) -> bool {
        !self.manifest.plan.scoring.gates.is_empty()
    }

    /// The result without what it is compared with.
    pub(super) fn plain_result(
        &self,
        around: &Surroundings,
        keep_text: bool,
    ) -> Result<EvalResult, PlanError> {
        self.read(around, keep_text.into(), None, Evaluate::reopen)
    }

    /// Gates in place of those that the run had, if any are given.
    ///
    /// # Errors
    ///
    /// When a rule cannot be understood.
    pub fn gated(mut self, scoring: &ScoringSpec) -> Result<Self, PlanError> {
        let given = gates::read(scoring)?;
        let planned = &mut self.manifest.plan.scoring;
        if !given.is_empty() {
            planned.gates = given;
            planned.baseline_run = None;
            self.is_gated = true;
        }
        if let Some(run) = &scoring.baseline_run {
            planned.baseline_run = Some(run.clone());
            self.is_gated = true;
        }
        if let Some(baseline) = &scoring.baseline {
            planned.baseline = Some(baseline.clone());
        }
        Ok(self)
    }

    fn read(
        &self,
        around: &Surroundings,
        keep_text: TextsKept,
        baseline: Option<BaselineRun>,
        reopen: Reopen,
    ) -> Result<EvalResult, PlanError> {
        let run = self.as_it_was(around, keep_text);
        let run = match baseline {
            Some(baseline) => run.baseline_run(baseline),
            None => run,
        };
        let mut result = reopen(run, &self.stored)?;
        self.name_sources(&mut result);
        Ok(result)
    }

    /// Says where datasets are from, as the plan knows it.
    fn name_sources(&self, result: &mut EvalResult) {
        let benchmarks = &self.manifest.plan.benchmarks;
        for used in &mut result.datasets {
            let planned = benchmarks.iter().find(|one| one.tag == used.name);
            if let Some(planned) = planned {
                used.source.clone_from(&planned.source);
                used.revision.clone_from(&planned.revision);
            }
        }
    }

    /// What the run was evaluated by.
    fn as_it_was(&self, around: &Surroundings, keep_text: TextsKept) -> Evaluate {
        let stored = self.stored.evaluators();
        let suite = self.suite_as_it_was(&stored, around);
        // All of them, in their order: stored scores are found by it.
        let run = evaluate().evaluators(stored).keep_text(keep_text);
        let n_systems = self.stored.run.systems.len();
        let run = scored(run, suite, &self.manifest.plan, n_systems);
        run.manifest(self.manifest.clone())
    }

    /// The benchmarks of the run as they were, without their examples.
    pub(super) fn suite_as_it_was(
        &self,
        stored: &[Arc<dyn Evaluator>],
        around: &Surroundings,
    ) -> Suite {
        let (spec, plan) = (&self.manifest.spec, &self.manifest.plan);
        let host = (around.host)(&spec.python);
        let planner = Planner {
            spec,
            around,
            pace: Arc::new(Pace::new(None, None)),
            notices: Vec::new(),
        };
        let named = |planned: &PlannedBenchmark| -> Vec<Arc<dyn Evaluator>> {
            let own = stored.iter().filter(|one| {
                let key = scorer(&***one);
                let mut own = planned.evaluators.iter().enumerate();
                own.any(|(at, name)| {
                    let known = planned.scorers.get(at).filter(|known| !known.is_empty());
                    name == one.name() && known.is_none_or(|known| *known == key)
                })
            });
            own.cloned().collect()
        };
        let rebuilt = planner.rebuilt(plan, &plan.tree, &host, |benchmark, task| match task {
            Some(task) => Rebuilt::Task(task.with_evaluators(named(benchmark))),
            None => Rebuilt::Evaluators(named(benchmark)),
        });
        let own = stored.iter().find(|one| one.name() == SuiteEvaluator::NAME);
        Suite::new(plan.tree.clone(), rebuilt).scored_by(own.cloned())
    }
}

/// What stands for a benchmark of a plan.
pub(super) enum Rebuilt {
    /// A task, as it is to be scored.
    Task(TaskBenchmark),
    /// A dataset with these evaluators.
    Evaluators(Vec<Arc<dyn Evaluator>>),
}

impl Planner<'_> {
    /// The benchmarks of a plan again, without their examples; `how` decides how each is
    /// scored. One that cannot be made again costs only itself.
    pub(super) fn rebuilt(
        &self,
        plan: &RunPlan,
        tree: &Tree,
        host: &Arc<dyn Host>,
        mut how: impl FnMut(&mut PlannedBenchmark, Option<TaskBenchmark>) -> Rebuilt,
    ) -> Vec<Arc<dyn Benchmark>> {
        let leaves: HashMap<String, &Leaf> = tree.keys().into_iter().zip(tree.leaves()).collect();
        let samples = self.logs_samples();
        let mut rebuilt: Vec<Arc<dyn Benchmark>> = Vec::new();
        for planned in &plan.benchmarks {
            let mut planned = planned.clone();
            let unavailable = |why: PlanError| -> Arc<dyn Benchmark> {
                let hint = crate::error::Hint::hint(&why);
                Arc::new(UnavailableBenchmark {
                    key: planned.key.clone(),
                    documents: planned.documents,
                    why: context_bench_tasks::Error::new(why.to_string()).with_some_hint(hint),
                })
            };
            let leaf = leaves.get(&planned.key).copied();
            let gone = || PlanError::new(format!("there is no task `{}` any more", planned.key));
            let benchmark: Arc<dyn Benchmark> = match planned.kind {
                BenchmarkKind::Dataset | BenchmarkKind::Memory => {
                    let evaluators = match how(&mut planned, None) {
                        Rebuilt::Evaluators(evaluators) => evaluators,
                        Rebuilt::Task(_) => Vec::new(),
                    };
                    Arc::new(DatasetBenchmark {
                        key: planned.key.clone(),
                        tag: planned.tag.clone(),
                        alias: planned.alias.clone(),
                        evaluators,
                        score_field: planned.score_field.clone(),
                        common_score: Some(SCORE.to_owned()),
                        documents: planned.documents,
                        repeats: planned.repeats,
                        is_memory: planned.kind == BenchmarkKind::Memory,
                        is_open: planned.is_open,
                        keeps_ids: planned.keeps_ids,
                        reporting: planned.reporting.clone(),
                        samples,
                        prompt: planned.prompt.as_ref().and_then(prompt_of),
                        ..DatasetBenchmark::default()
                    })
                }
                BenchmarkKind::Task => match leaf.ok_or_else(gone).and_then(|l| self.task(l)) {
                    Ok(task) => {
                        let task = task_benchmark(&planned, task, host, samples);
                        match how(&mut planned, Some(task)) {
                            Rebuilt::Task(task) => Arc::new(task),
                            Rebuilt::Evaluators(_) => continue,
                        }
                    }
                    Err(why) => unavailable(why),
                },
                BenchmarkKind::Class => {
                    let made = leaf.ok_or_else(gone).and_then(|leaf| {
                        let catalog = self.around.registry.catalog.clone();
                        let data = task_data(self.spec, self.around, catalog)?;
                        self.class(leaf, &data, &options_of(plan), host)
                    });
                    match made {
                        Ok(class) => Arc::new(ClassBenchmark::new(&*planned.key, class, samples)),
                        Err(why) => unavailable(why),
                    }
                }
            };
            rebuilt.push(benchmark);
        }
        rebuilt
    }
}

fn task_benchmark(
    planned: &PlannedBenchmark,
    task: Task,
    host: &Arc<dyn Host>,
    samples: bool,
) -> TaskBenchmark {
    let documents = TaskDocuments::stored(
        planned.documents.unwrap_or(0),
        planned.original,
        planned.num_fewshot.unwrap_or(0),
    );
    let (task, host) = (Arc::new(task), Arc::clone(host));
    TaskBenchmark::new(&*planned.key, task, host, documents, samples)
}

/// How the prompts of a plan were made.
fn options_of(plan: &RunPlan) -> Options {
    let prompts = &plan.prompts;
    Options {
        num_fewshot: prompts.num_fewshot,
        seed: plan.seeds.fewshot,
        chat: prompts.chat.map(|chat| match chat {
            PlannedChat::MultiTurn => Chat::MultiTurn,
            PlannedChat::SingleTurn => Chat::SingleTurn,
        }),
        system_instruction: prompts.system_instruction.clone(),
        generation: prompts.generation.clone(),
        limit: plan
            .limit
            .and_then(|limit| context_bench_tasks::options::Limit::new(limit).ok()),
        ..Options::default()
    }
}
