//! `PlannedRun`: everything that a run needs, made and checked.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use context_bench_tasks::aggregate::MacroError;
use context_bench_tasks::outcome::Resampling;

use super::comparison;
use super::metrics::with_metrics;
use super::prices;
use super::scoring::USUAL_SCORE;
use super::{Notice, PlanError, PlannedShard, RayCluster, Surroundings, Systems};
use crate::benchmark::{SCORE, Suite, SumUp};
use crate::dataset::{Dataset, RepeatedIds, Skipped};
use crate::evaluate::{Evaluate, evaluate};
use crate::evaluator::{Evaluator, JudgeRule};
use crate::gate::BaselineRun;
use crate::metric::RowCosts;
use crate::model::Interval;
use crate::plan::{PlannedScoring, RunManifest, RunPlan};
use crate::runner::{MaxWorkers, StopWhenDecided};
use crate::store::Store;
use crate::tokens::TokenCounter;

/// A run that is ready to begin.
pub struct PlannedRun {
    /// What was asked and what was decided.
    pub manifest: RunManifest,
    /// Who is asked.
    pub systems: Systems,
    /// What they are measured with.
    pub suite: Suite,
    /// All evaluators, for those who want to know whether their endpoints are there.
    pub evaluators: Vec<Arc<dyn Evaluator>>,
    /// The examples of all benchmarks.
    pub examples: Dataset,
    /// The bad records that were left out because the user asked for that.
    pub skipped: Skipped,
    /// The ids that are there more than once; complete when the examples are read.
    pub repeated: RepeatedIds,
    /// What users should know.
    pub notices: Vec<Notice>,
    /// Which part of a larger run this is.
    pub shard: Option<PlannedShard>,
    /// Where systems are asked, when that is not this process.
    pub engine: Option<RayCluster>,
    pub(super) counter: Arc<dyn TokenCounter>,
    pub(super) baseline_run: Option<BaselineRun>,
}

impl PlannedRun {
    /// What was decided.
    pub fn plan(&self) -> &RunPlan {
        &self.manifest.plan
    }

    /// Reads the stored run that gates compare with, if they do.
    ///
    /// # Errors
    ///
    /// When there is no store or no such run, or it has no system to compare with.
    pub fn read_baseline(
        &mut self,
        store: Option<&Store>,
        around: &Surroundings,
    ) -> Result<(), PlanError> {
        let plan = &mut self.manifest.plan;
        let Some(run) = &plan.scoring.baseline_run else {
            return Ok(());
        };
        let Some(store) = store else {
            let what = format!("there is no store to find the baseline run `{run}` in");
            return Err(PlanError::new(what).with_hint("name its folder with `--cache-dir DIR`"));
        };
        self.baseline_run = super::gates::baseline_run(plan, store, around)?;
        Ok(())
    }

    /// The run, to which a front end adds progress, a way to stop, and a store.
    pub fn evaluate(self) -> Evaluate {
        let plan = &self.manifest.plan;
        let n_systems = self.systems.systems.len();
        let limits = plan.limits.clone();
        let run = scored(evaluate(), self.suite, plan, n_systems)
            .systems(self.systems.systems)
            .dataset(self.examples)
            .max_workers(MaxWorkers::from(limits.max_workers))
            .token_counter(self.counter)
            .tap(self.systems.tap);
        let run = counting(run, &plan.scoring);
        let run = match limits.example_timeout {
            Some(seconds) => run.example_timeout(Duration::from_secs_f64(seconds)),
            None => run,
        };
        let run = match limits.max_time {
            Some(seconds) => run.max_time(Duration::from_secs_f64(seconds)),
            None => run,
        };
        let run = match stop_when(plan) {
            Some(settings) => run.stop_when_decided(settings),
            None => run,
        };
        let run = match self.baseline_run {
            Some(result) => run.baseline_run(result),
            None => run,
        };
        let run = match self.shard {
            Some(shard) => run.shard(shard.origin, shard.facts),
            None => run,
        };
        run.manifest(self.manifest)
    }
}

/// When a run may end before its last example.
fn stop_when(plan: &RunPlan) -> Option<StopWhenDecided> {
    let scoring = &plan.scoring;
    let first = || plan.systems.first().map(|one| one.name.clone());
    let score_field = scoring.score_field.clone()?;
    Some(StopWhenDecided {
        baseline: scoring.baseline.clone().or_else(first)?,
        scores: Interval {
            low: 0.0,
            high: JudgeRule::highest(Some(&score_field)),
        },
        score_field,
        margin: scoring.margin.filter(|_| plan.limits.stop_when_decided)?,
        seed: plan.seeds.order.cast_unsigned(),
    })
}

/// Counts the tokens of the fields that a plan names.
pub(super) fn counting(run: Evaluate, scoring: &PlannedScoring) -> Evaluate {
    match &scoring.text_fields {
        Some(fields) => run.text_fields(fields.iter().cloned()),
        None => run,
    }
}

/// Lets benchmarks score, and adds the summary that a plan asks for.
pub(super) fn scored(run: Evaluate, suite: Suite, plan: &RunPlan, n_systems: usize) -> Evaluate {
    let scoring = &plan.scoring;
    let how = SumUp {
        resampling: Resampling {
            iterations: scoring.bootstrap_iters,
            ..Resampling::default()
        },
        macro_error: match scoring.pooled_stderr {
            true => MacroError::Pooled,
            false => MacroError::Macro,
        },
        samples: scoring.log_samples,
    };
    let scores = declared(&suite);
    let run = run.compared(comparison::settings(plan, &suite));
    let run = run.suite(suite, how);
    let run = match scoring.is_common {
        true => run.common_score(SCORE, USUAL_SCORE),
        false => run,
    };
    let prices = prices::of_plans(&[plan]);
    let run = run.prices(prices.clone());
    match &scoring.metrics {
        // The program that asked brings its own; money is there if it was asked for.
        Some(_) => match prices.filter(|_| !scoring.prices.is_empty()) {
            Some(prices) => run.costs(RowCosts::new(prices)),
            None => run,
        },
        None => with_metrics(run, plan, scores.as_ref(), n_systems, prices),
    }
}

/// The scores of all evaluators; `None` when one does not know its own, as those of stored
/// runs.
fn declared(suite: &Suite) -> Option<BTreeSet<String>> {
    let mut evaluators = suite.benchmarks().flat_map(|one| one.evaluators());
    evaluators.try_fold(BTreeSet::new(), |mut scores, evaluator| {
        let names = evaluator.score_names();
        scores.extend(names.iter().map(ToString::to_string));
        (!names.is_empty()).then_some(scores)
    })
}
