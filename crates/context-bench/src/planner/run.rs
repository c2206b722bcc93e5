//! `PlannedRun`: everything that a run needs, made and checked.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use context_bench_tasks::aggregate::MacroError;
use context_bench_tasks::outcome::Resampling;

use super::metrics::with_metrics;
use super::scoring::USUAL_SCORE;
use super::{Notice, Systems};
use crate::benchmark::{SCORE, Suite, SumUp};
use crate::dataset::{Dataset, RepeatedIds, Skipped};
use crate::evaluate::{Evaluate, evaluate};
use crate::evaluator::Evaluator;
use crate::plan::{PlannedScoring, RunManifest, RunPlan};
use crate::runner::MaxWorkers;
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
    pub(super) counter: Arc<dyn TokenCounter>,
}

impl PlannedRun {
    /// What was decided.
    pub fn plan(&self) -> &RunPlan {
        &self.manifest.plan
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
            .token_counter(self.counter);
        let run = counting(run, &plan.scoring);
        let run = match limits.example_timeout {
            Some(seconds) => run.example_timeout(Duration::from_secs_f64(seconds)),
            None => run,
        };
        let run = match limits.max_time {
            Some(seconds) => run.max_time(Duration::from_secs_f64(seconds)),
            None => run,
        };
        run.manifest(self.manifest)
    }
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
    let run = run.suite(suite, how);
    let run = match scoring.is_common {
        true => run.common_score(SCORE, USUAL_SCORE),
        false => run,
    };
    match &scoring.metrics {
        // The program that asked brings its own.
        Some(_) => run,
        None => with_metrics(run, plan, scores.as_ref(), n_systems),
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
