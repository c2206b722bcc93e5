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
use super::earlier_versions;
use super::known::task_data;
use super::prompts::prompt_of;
use super::run::scored;
use super::surroundings::Surroundings;
use super::{PlanError, Planner};
use crate::benchmark::{
    Benchmark, ClassBenchmark, DatasetBenchmark, SCORE, Suite, SuiteEvaluator, TaskBenchmark,
    TaskDocuments, UnavailableBenchmark,
};
use crate::chat::Pace;
use crate::evaluate::evaluate;
use crate::evaluator::Evaluator;
use crate::plan::{
    BenchmarkKind, PLAN_VERSION, PlannedBenchmark, PlannedChat, RunManifest, RunPlan,
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
}

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
        let manifest = match RunManifest::of(&stored.run.config) {
            Some(manifest) if manifest.plan.version > PLAN_VERSION => {
                return Err(Self::later(&stored.run, manifest.plan.version));
            }
            Some(manifest) => manifest,
            None => earlier_versions::manifest(&stored)?,
        };
        Ok(Self { stored, manifest })
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
    pub fn result(&self, around: &Surroundings, keep_text: bool) -> Result<EvalResult, PlanError> {
        let plan = &self.manifest.plan;
        let stored = self.stored.evaluators();
        let suite = self.suite_as_it_was(&stored, around);
        // All of them, in their order: stored scores are found by it.
        let run = evaluate().evaluators(stored).keep_text(keep_text);
        let run = scored(run, suite, plan, self.stored.run.systems.len());
        let mut result = run.manifest(self.manifest.clone()).reopen(&self.stored)?;
        for used in &mut result.datasets {
            let planned = plan.benchmarks.iter().find(|one| one.tag == used.name);
            if let Some(planned) = planned {
                used.source.clone_from(&planned.source);
                used.revision.clone_from(&planned.revision);
            }
        }
        Ok(result)
    }

    fn suite_as_it_was(&self, stored: &[Arc<dyn Evaluator>], around: &Surroundings) -> Suite {
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
