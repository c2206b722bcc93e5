//! Rescoring: the answers of a stored run are scored again. What its spec names is read
//! again, so that an added filter or metric counts. No system is called.

use std::sync::Arc;

use context_bench_tasks::Tree;

use super::benchmark_collector::scorers;
use super::known::Known;
use super::reopened_plan::{Rebuilt, ReopenedPlan};
use super::run::{counting, scored};
use super::scoring::{Scoring, USUAL_SCORE};
use super::surroundings::Surroundings;
use super::{Notice, PlanError, Planner};
use super::{earlier_versions, gates, prices};
use crate::benchmark::{SCORE, Suite};
use crate::chat::Pace;
use crate::dataset::catalog::Config;
use crate::dataset::{DatasetRef, DatasetTarget};
use crate::evaluate::{Evaluate, evaluate};
use crate::plan::{PlannedBenchmark, RunManifest, RunPlan, RunSpec};
use crate::registry::Registry;
use crate::result::Unfinished;
use crate::runner::MaxWorkers;
use crate::tokens::{TokenCounter as _, Tokenizer};

/// A stored run about to be rescored.
pub struct Rescoring {
    /// The run, to which a front end adds progress and a way to stop.
    pub evaluate: Evaluate,
    /// What was asked and decided, with what is changed.
    pub manifest: RunManifest,
    /// What users should know.
    pub notices: Vec<Notice>,
}

impl ReopenedPlan {
    /// Rescores the run, with `over` on top of what was asked.
    ///
    /// # Errors
    ///
    /// When something that is named does not exist, or the store cannot be read.
    pub fn rescore(&self, over: &RunSpec, around: &Surroundings) -> Result<Rescoring, PlanError> {
        let spec = self.manifest.spec.clone().with(over);
        earlier_versions::check(&self.stored, &spec)?;
        super::comparison::check_margin(&spec)?;
        let mut planner = Planner {
            spec: &spec,
            around,
            pace: Arc::new(Pace::new(spec.limits.rps, spec.limits.tpm)),
            notices: Vec::new(),
        };
        let known = planner.registry()?;
        let scoring = Scoring::new(&spec, &known, &around.given)?;
        let (suite, mut plan) = planner.suite_now(&self.manifest.plan, &known, scoring)?;
        let tokenizer = tokenizer(&spec, over, &plan)?;
        plan.scoring.tokenizer = tokenizer.name().to_owned();
        // Without new ones the gates are those that the run had, even if their file is gone.
        if !over.scoring.fail_if.is_empty() || over.scoring.policy.is_some() {
            plan.scoring.gates = gates::read(&over.scoring)?;
            plan.scoring.baseline_run = None;
        }
        if !over.scoring.prices.is_empty() {
            plan.scoring.prices = prices::read(&over.scoring.prices)?;
        }
        if over.scoring.baseline_run.is_some() {
            plan.scoring
                .baseline_run
                .clone_from(&over.scoring.baseline_run);
        }
        let run = scored(evaluate(), suite, &plan, self.stored.run.systems.len());
        gates::check(&run, &plan)?;
        let baseline = gates::baseline_run(&mut plan, self.stored.store(), around)?;
        let run = match baseline {
            Some(baseline) => run.baseline_run(baseline),
            None => run,
        };
        let run = counting(run, &plan.scoring)
            .rescore(&self.stored)?
            .token_counter(tokenizer.counter())
            .max_workers(MaxWorkers::from(plan.limits.max_workers));
        let mut notices = planner.notices;
        if let Some(Unfinished { run, how }) = self.stored.unfinished() {
            let what = format!(
                "run {run} {how}: examples that it did not reach are missing from these scores"
            );
            notices.push(
                Notice::new(what)
                    .with_hint("run the same command again to complete it, then rescore that run"),
            );
        }
        let manifest = RunManifest {
            spec: super::stored_spec(&spec),
            plan: plan.without_secrets(),
        };
        Ok(Rescoring {
            evaluate: run.manifest(manifest.clone()),
            manifest,
            notices,
        })
    }
}

/// Counts tokens as the run did, so that the stored counts are found, unless the user
/// asks for another way.
fn tokenizer(spec: &RunSpec, over: &RunSpec, plan: &RunPlan) -> Result<Tokenizer, PlanError> {
    let named = spec.scoring.tokenizer.as_ref();
    let named = named.unwrap_or(&plan.scoring.tokenizer);
    let known = Tokenizer::ALL.into_iter().find(|one| one.name() == named);
    Ok(match known {
        Some(known) => known,
        None if over.scoring.tokenizer.is_some() => named.parse()?,
        // A counter of the program that ran it: its counts are in the store.
        None => Tokenizer::default(),
    })
}

impl Planner<'_> {
    /// The benchmarks of a plan as they are scored now, and the plan for that.
    fn suite_now(
        &mut self,
        old: &RunPlan,
        known: &Known,
        mut scoring: Scoring<'_>,
    ) -> Result<(Suite, RunPlan), PlanError> {
        let spec = self.spec;
        let names_evaluators = spec.scoring.evaluators.is_some();
        let tree = self.tree_now(old, known)?;
        let (suite, fields) = self.suite_of(old, &tree, known, &mut scoring)?;
        let mut plan = RunPlan {
            tree,
            benchmarks: replanned(&suite, old),
            ..old.clone()
        };
        let has_tasks = plan.harness.has_tasks;
        let has_score = plan.benchmarks.iter().any(|one| one.score_field.is_some());
        let field = match (has_tasks && names_evaluators, &spec.scoring.score_field) {
            (_, Some(field)) => field.clone(),
            (true, None) => USUAL_SCORE.to_owned(),
            (false, None) => scoring.score_field(&fields, has_tasks),
        };
        let decided = &mut plan.scoring;
        decided.is_common = field == SCORE && spec.scoring.score_field.is_none();
        decided.score_field = (has_score || names_evaluators).then_some(field);
        decided.evaluators = spec.scoring.evaluators.clone().unwrap_or_default();
        decided.judge = scoring.judge();
        let evaluators = scoring.into_evaluators();
        let cautions = evaluators.iter().filter_map(|one| one.caution());
        self.notices.extend(cautions.map(Notice::new));
        decided.threshold = spec.scoring.threshold.unwrap_or(decided.threshold);
        decided.baseline = spec.scoring.baseline.clone().or(decided.baseline.take());
        decided.margin = spec.scoring.margin.or(decided.margin);
        let iterations = spec.scoring.bootstrap_iters;
        decided.bootstrap_iters = iterations.unwrap_or(decided.bootstrap_iters);
        decided.pooled_stderr = spec.scoring.pooled_stderr.unwrap_or(decided.pooled_stderr);
        decided.log_samples = self.logs_samples();
        decided.metrics = None;
        if !spec.scoring.text_fields.is_empty() {
            decided.text_fields = Some(spec.scoring.text_fields.clone());
        }
        let workers = spec.limits.max_workers;
        plan.limits.max_workers = workers.unwrap_or(plan.limits.max_workers);
        let allowed = spec.limits.max_error_rate;
        plan.limits.max_error_rate = allowed.unwrap_or(plan.limits.max_error_rate);
        plan.harness.bootstrap_iters = plan.scoring.bootstrap_iters;
        Ok((suite, plan))
    }

    /// The benchmarks of a plan without their examples, with the evaluators that the spec asks for,
    /// and the score that stands for each dataset.
    pub(super) fn suite_of(
        &mut self,
        old: &RunPlan,
        tree: &Tree,
        known: &Known,
        scoring: &mut Scoring<'_>,
    ) -> Result<(Suite, Vec<String>), PlanError> {
        let spec = self.spec;
        let host = (self.around.host)(&spec.python);
        let extra = match spec.scoring.evaluators.is_some() {
            true => scoring.evaluators(None)?,
            false => Vec::new(),
        };
        let (mut fields, mut notices, mut failure) = (Vec::new(), Vec::new(), None);
        let rebuilt = self.rebuilt(old, tree, &host, |benchmark, task| match task {
            Some(task) => Rebuilt::Task(task.with_evaluators(extra.clone())),
            None => {
                // A file may be called like a dataset of the catalog.
                let config = match benchmark.is_open {
                    true => None,
                    false => config_of(&known.registry, &benchmark.tag),
                };
                notices.extend(scoring.notice(&benchmark.tag, config.as_ref()));
                benchmark.score_field = Some(scoring.field_of(config.as_ref()));
                fields.extend(benchmark.score_field.clone());
                let evaluators = scoring.evaluators(config.as_ref());
                let made = evaluators.as_deref().unwrap_or_default();
                benchmark.reporting =
                    scoring.reporting(config.as_ref(), made, benchmark.prompt.as_ref());
                Rebuilt::Evaluators(evaluators.unwrap_or_else(|error| {
                    failure.get_or_insert(error);
                    Vec::new()
                }))
            }
        });
        if let Some(error) = failure {
            return Err(error);
        }
        self.notices.extend(notices);
        Ok((Suite::new(tree.clone(), rebuilt), fields))
    }

    /// The tree of a plan as its files are now; datasets stay as they were.
    fn tree_now(&mut self, old: &RunPlan, known: &Known) -> Result<Tree, PlanError> {
        let names: Vec<String> = self
            .spec
            .benchmarks
            .iter()
            .filter_map(|one| one.task.clone())
            .collect();
        let Some(task_index) = known.task_index.as_ref().filter(|_| !names.is_empty()) else {
            return Ok(old.tree.clone());
        };
        let now = self.selected(&names, task_index)?;
        let tasks = now.keys();
        let datasets = old.tree.nodes.iter().filter(|node| {
            let is_dataset = old
                .benchmarks
                .iter()
                .any(|one| one.kind.is_dataset() && one.key == node.id());
            is_dataset && !tasks.iter().any(|key| key == node.id())
        });
        let nodes = datasets.cloned().chain(now.nodes).collect();
        Ok(Tree { nodes })
    }
}

/// What a plan says about benchmarks, with how they are scored now.
fn replanned(suite: &Suite, old: &RunPlan) -> Vec<PlannedBenchmark> {
    let replanned = suite.benchmarks().filter_map(|one| {
        let old = old.benchmarks.iter().find(|old| old.key == one.key())?;
        let evaluators = one.evaluators().iter();
        Some(PlannedBenchmark {
            evaluators: evaluators.map(|one| one.name().to_owned()).collect(),
            scorers: scorers(one.evaluators()),
            score_field: one.score_field().map(str::to_owned),
            reporting: one.reporting().cloned().unwrap_or_default(),
            ..old.clone()
        })
    });
    replanned.collect()
}

/// What the catalog says about a dataset, if its tag names one.
fn config_of(registry: &Registry, tag: &str) -> Option<Config> {
    let reference = DatasetRef::parse(tag).ok()?;
    let DatasetTarget::Named(named) = reference.target() else {
        return None;
    };
    let mut configs = registry.configs(named).ok()?;
    configs.pop().filter(|_| configs.is_empty())
}
