//! Stored runs: their results made again as they were, or scored anew.
//!
//! The plan is kept with the run. As it was, a run is summed up by the very plan
//! that it had; scored anew, what its spec names is read again, so that an added
//! filter or metric counts. No system is called either way.

use std::collections::HashMap;
use std::sync::Arc;

use context_bench_tasks::options::Chat;
use context_bench_tasks::{Host, Leaf, Options, Task, Tree};

use super::benchmarks::{Known, task_data};
use super::run::{counting, scored};
use super::scoring::Scoring;
use super::surroundings::Surroundings;
use super::{Notice, PlanError, Planner};
use crate::benchmark::{
    Benchmark, ClassBenchmark, DatasetBenchmark, SCORE, Suite, SuiteEvaluator, TaskBenchmark,
    TaskDocuments, UnavailableBenchmark,
};
use crate::chat::Pace;
use crate::dataset::catalogue::Config;
use crate::dataset::{DatasetRef, DatasetTarget};
use crate::evaluate::{Evaluate, evaluate};
use crate::evaluator::Evaluator;
use crate::plan::{BenchmarkKind, PlannedBenchmark, PlannedChat, RunPlan, RunRecord, RunSpec};
use crate::registry::Registry;
use crate::replay::Replay;
use crate::result::EvalResult;
use crate::store::{Store, StoreError};
use crate::tokens::{TokenCounter as _, Tokenizer};

/// A stored run, with what was asked and decided.
pub struct Reopened {
    /// The run.
    pub replay: Replay,
    /// What was asked and decided. Runs of programs that plan nothing have a plan that
    /// says what their rows say.
    pub record: RunRecord,
}

/// A stored run about to be scored anew.
pub struct Rescoring {
    /// The run, to which a front end adds progress and a way to stop.
    pub evaluate: Evaluate,
    /// What was asked and decided, with what is changed.
    pub record: RunRecord,
    /// What users should know.
    pub notices: Vec<Notice>,
}

/// The id of the newest run of a store.
///
/// # Errors
///
/// When the store cannot be read.
pub fn last_run(store: &Store) -> Result<Option<String>, StoreError> {
    let runs = store.runs()?;
    Ok(runs.last().map(|run| run.run.id().to_string()))
}

impl Reopened {
    /// Finds a run by its id, the beginning of it, or `last`.
    ///
    /// # Errors
    ///
    /// When there is no such run, or the store cannot be read.
    pub fn open(store: &Store, id: &str) -> Result<Self, PlanError> {
        let id = match id {
            "last" => last_run(store)?.ok_or_else(|| {
                PlanError::new("the store has no runs")
                    .with_hint("a run with `--cache-dir` puts itself into the store")
            })?,
            id => id.to_owned(),
        };
        let replay = Replay::open(store, &id)?;
        let record = RunRecord::of(&replay.run.config).unwrap_or_else(|| unplanned(&replay));
        Ok(Self { replay, record })
    }

    /// The result of the run as it was, from the store. Blocks while it reads.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    pub fn result(&self, around: &Surroundings) -> Result<EvalResult, PlanError> {
        let plan = &self.record.plan;
        let stored = self.replay.evaluators();
        let suite = self.suite_as_it_was(&stored, around);
        // All of them, in their order: stored scores are found by it.
        let run = evaluate().evaluators(stored);
        let run = scored(run, suite, plan, self.replay.run.systems.len());
        Ok(run.record(self.record.clone()).recall(&self.replay)?)
    }

    fn suite_as_it_was(&self, stored: &[Arc<dyn Evaluator>], around: &Surroundings) -> Suite {
        let (spec, plan) = (&self.record.spec, &self.record.plan);
        let host = (around.host)(&spec.python);
        let planner = Planner {
            spec,
            around,
            pace: Arc::new(Pace::new(None, None)),
            notices: Vec::new(),
        };
        let named = |names: &[String]| -> Vec<Arc<dyn Evaluator>> {
            let own = stored
                .iter()
                .filter(|one| names.iter().any(|name| name == one.name()));
            own.cloned().collect()
        };
        let rebuilt = planner.rebuilt(plan, &plan.tree, &host, |benchmark, task| match task {
            Some(task) => {
                let mut names = benchmark.evaluators.clone();
                names.push(SuiteEvaluator::NAME.to_owned());
                Rebuilt::Task(task.scored_by(named(&names)))
            }
            None => Rebuilt::Evaluators(named(&benchmark.evaluators)),
        });
        Suite::new(plan.tree.clone(), rebuilt)
    }

    /// Scores the run anew, with `over` on top of what was asked.
    ///
    /// # Errors
    ///
    /// When something that is named does not exist, or the store cannot be read.
    pub fn rescore(&self, over: &RunSpec, around: &Surroundings) -> Result<Rescoring, PlanError> {
        let spec = self.record.spec.clone().with(over);
        let names_evaluators = spec.scoring.evaluators.is_some();
        let mut planner = Planner {
            spec: &spec,
            around,
            pace: Arc::new(Pace::new(spec.limits.rps, spec.limits.tpm)),
            notices: Vec::new(),
        };
        let known = planner.registry()?;
        let mut scoring = Scoring::new(&spec, &known, &around.given)?;
        let host = (around.host)(&spec.python);
        let old = &self.record.plan;
        let tree = planner.tree_now(old, &known)?;
        let mut plan = RunPlan {
            tree: tree.clone(),
            ..old.clone()
        };
        let mut fields = Vec::new();
        let mut failure = None;
        let extra = match names_evaluators {
            true => scoring.evaluators(None)?,
            false => Vec::new(),
        };
        let mut notices = Vec::new();
        let rebuilt = planner.rebuilt(old, &tree, &host, |benchmark, task| match task {
            Some(task) => Rebuilt::Task(task.with_evaluators(extra.clone())),
            None => {
                let config = config_of(&known.registry, &benchmark.tag);
                notices.extend(scoring.notice(&benchmark.tag, config.as_ref()));
                benchmark.score_field = Some(scoring.field_of(config.as_ref()));
                fields.extend(benchmark.score_field.clone());
                let evaluators = scoring.evaluators(config.as_ref());
                Rebuilt::Evaluators(evaluators.unwrap_or_else(|error| {
                    failure.get_or_insert(error);
                    Vec::new()
                }))
            }
        });
        if let Some(error) = failure {
            return Err(error);
        }
        planner.notices.extend(notices);
        let suite = Suite::new(tree, rebuilt);
        plan.benchmarks = suite
            .benchmarks()
            .filter_map(|one| {
                let old = old.benchmarks.iter().find(|old| old.key == one.key())?;
                let evaluators = one.evaluators().iter();
                Some(PlannedBenchmark {
                    evaluators: evaluators.map(|one| one.name().to_owned()).collect(),
                    score_field: one.score_field().map(str::to_owned),
                    ..old.clone()
                })
            })
            .collect();
        let has_tasks = plan.harness.has_tasks;
        let has_score = plan.benchmarks.iter().any(|one| one.score_field.is_some());
        let field = match (has_tasks && names_evaluators, &spec.scoring.score_field) {
            (_, Some(field)) => field.clone(),
            (true, None) => super::scoring::USUAL_SCORE.to_owned(),
            (false, None) => scoring.score_field(&fields, has_tasks),
        };
        plan.scoring.is_common = field == SCORE && spec.scoring.score_field.is_none();
        plan.scoring.score_field = (has_score || names_evaluators).then_some(field);
        plan.scoring.evaluators = spec.scoring.evaluators.clone().unwrap_or_default();
        plan.scoring.judge = scoring.judge();
        if let Some(threshold) = spec.scoring.threshold {
            plan.scoring.threshold = threshold;
        }
        if let Some(n) = spec.scoring.bootstrap_iters {
            plan.scoring.bootstrap_iters = n;
        }
        plan.scoring.log_samples = planner.logs_samples();
        plan.scoring.metrics = None;
        let tokenizer = spec
            .scoring
            .tokenizer
            .as_ref()
            .unwrap_or(&plan.scoring.tokenizer);
        let tokenizer = match Tokenizer::ALL
            .into_iter()
            .find(|one| one.name() == tokenizer)
        {
            Some(known) => known,
            None if over.scoring.tokenizer.is_some() => tokenizer.parse()?,
            // A counter of the program that ran it: its counts are in the store.
            None => Tokenizer::default(),
        };
        if !spec.scoring.text_fields.is_empty() {
            plan.scoring.text_fields = Some(spec.scoring.text_fields.clone());
        }
        plan.scoring.tokenizer = tokenizer.name().to_owned();
        if let Some(workers) = spec.limits.max_workers {
            plan.limits.max_workers = workers;
        }
        let run = scored(evaluate(), suite, &plan, self.replay.run.systems.len());
        let run = counting(run, &plan.scoring)
            .replay(&self.replay)?
            .token_counter(tokenizer.counter())
            .max_workers(crate::runner::MaxWorkers::from(plan.limits.max_workers));
        let notices = planner.notices;
        let record = RunRecord {
            spec: spec.without_secrets(),
            plan,
        };
        Ok(Rescoring {
            evaluate: run.record(record.clone()),
            record,
            notices,
        })
    }
}

/// What stands for a benchmark of a plan.
enum Rebuilt {
    /// A task, as it is to be scored.
    Task(TaskBenchmark),
    /// A dataset with these evaluators.
    Evaluators(Vec<Arc<dyn Evaluator>>),
}

impl Planner<'_> {
    /// The benchmarks of a plan again, without their examples; `how` decides how each is
    /// scored. One that cannot be made again costs only itself.
    fn rebuilt(
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
                BenchmarkKind::Dataset => {
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
                        is_open: planned.is_open,
                        keeps_ids: planned.keeps_ids,
                        samples,
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
                        let catalogue = self.around.registry.catalogue.clone();
                        let data = task_data(self.spec, self.around, catalogue)?;
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

    /// The tree of a plan as its files are now; datasets stay as they were.
    fn tree_now(&mut self, old: &RunPlan, known: &Known) -> Result<Tree, PlanError> {
        let names: Vec<String> = self
            .spec
            .benchmarks
            .iter()
            .filter_map(|one| one.task.clone())
            .collect();
        let Some(catalog) = known.catalog.as_ref().filter(|_| !names.is_empty()) else {
            return Ok(old.tree.clone());
        };
        let now = self.selected(&names, catalog)?;
        let tasks = now.keys();
        let datasets = old.tree.nodes.iter().filter(|node| {
            let is_dataset = old
                .benchmarks
                .iter()
                .any(|one| one.kind == BenchmarkKind::Dataset && one.key == node.id());
            is_dataset && !tasks.iter().any(|key| key == node.id())
        });
        let nodes = datasets.cloned().chain(now.nodes.clone()).collect();
        Ok(Tree { nodes })
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

/// What the catalogue says about a dataset, if its tag is one of there.
fn config_of(registry: &Registry, tag: &str) -> Option<Config> {
    let reference = DatasetRef::parse(tag).ok()?;
    let DatasetTarget::Named(named) = reference.target() else {
        return None;
    };
    let mut configs = registry.configs(named).ok()?;
    configs.pop().filter(|_| configs.is_empty())
}

/// The record of a run that has none: a program that plans nothing, or an earlier
/// version. Its rows say which datasets there are, and all its evaluators scored them.
fn unplanned(replay: &Replay) -> RunRecord {
    let provenance = replay.run.config.get("provenance");
    let said = |key: &str| provenance.and_then(|map| map.get(key));
    let mut plan = RunPlan::default();
    let scoring = &mut plan.scoring;
    scoring.threshold = said("threshold")
        .and_then(serde_json::Value::as_f64)
        .unwrap_or(crate::metric::DEFAULT_THRESHOLD);
    let field = said("score_field").and_then(serde_json::Value::as_str);
    scoring.score_field = field.map(str::to_owned);
    scoring.is_common = field == Some(SCORE);
    scoring.repeats = said("repeats")
        .and_then(serde_json::Value::as_u64)
        .unwrap_or(1);
    scoring.tokenizer = said("tokenizer")
        .and_then(serde_json::Value::as_str)
        .unwrap_or_default()
        .to_owned();
    if field.is_none() {
        scoring.metrics = Some(Vec::new());
    }
    RunRecord {
        spec: RunSpec::default(),
        plan,
    }
}
