//! What a plan adds to a run: benchmarks that sum themselves up, and what was asked and decided.

use std::collections::HashMap;
use std::time::{Duration, SystemTime};

use serde_json::{Map, Value};

use super::Evaluate;
use crate::benchmark::{RunTime, Suite, SuiteEvaluator, SumUp};
use crate::gate::{BaselineRun, Beside};
use crate::measures::Measures;
use crate::model::Answer;
use crate::plan::RunManifest;
use crate::reopened_run::ReopenedRun;
use crate::result::EvalResult;

impl Evaluate {
    /// Lets benchmarks score their examples, and sums them up at the end. The examples
    /// come with [`dataset`](Self::dataset), such as from [`Suite::examples`] or a store.
    #[must_use]
    pub fn suite(mut self, suite: Suite, how: SumUp) -> Self {
        for (tag, evaluators, field, holds_answers) in suite.scoring() {
            let field = field.map(str::to_owned);
            self.wiring.wire(tag.to_owned(), evaluators, field);
            if holds_answers {
                self.wiring.hold_answers(tag);
            }
        }
        self.planned.suite = Some((suite, how));
        self
    }

    /// What was asked and what was decided; the store keeps both with the run.
    #[must_use]
    pub fn manifest(mut self, manifest: RunManifest) -> Self {
        self.planned.manifest = Some(manifest);
        self
    }
}

/// The benchmarks of a run and its manifest; empty for a run that was put together by hand.
#[derive(Default)]
pub(super) struct Planned {
    suite: Option<(Suite, SumUp)>,
    manifest: Option<RunManifest>,
    /// Whether this is a part of a larger run: what it lacks is not missing, and gates are for the
    /// whole.
    pub(super) is_part: bool,
}

impl Planned {
    /// How many rows the plan says there will be.
    pub(super) fn rows(&self) -> Option<usize> {
        self.manifest.as_ref()?.plan.rows()
    }

    /// Takes the manifest out of a stored configuration.
    pub(super) fn take(config: &mut Map<String, Value>) {
        RunManifest::take(config);
    }

    /// Puts the manifest into the configuration that is stored.
    pub(super) fn put(&self, config: &mut Map<String, Value>) {
        if let Some(manifest) = &self.manifest {
            manifest.put(config);
        }
    }

    /// Whether an evaluator is not shown: one that only keeps fields of rows for later
    /// figures does not score.
    pub(super) fn hides(&self, evaluator: &str) -> bool {
        let suite = self.suite.as_ref().map(|(suite, _)| suite);
        evaluator == SuiteEvaluator::NAME && suite.is_some_and(|suite| !suite.scores_tasks())
    }

    /// What the plan says about where results come from.
    pub(super) fn provenance(&self) -> Map<String, Value> {
        self.manifest
            .as_ref()
            .map(RunManifest::provenance)
            .unwrap_or_default()
    }

    /// What a plan says about how results are measured.
    pub(super) fn measures(&self) -> Measures {
        let Some(plan) = self.manifest.as_ref().map(|manifest| &manifest.plan) else {
            return Measures::default();
        };
        Measures {
            benchmarks: plan.tags(),
            score_field: plan.scoring.score_field.clone(),
            threshold: plan.scoring.threshold,
            baseline: plan.scoring.baseline.clone(),
            controls: plan
                .controls
                .iter()
                .map(|one| one.control.clone())
                .collect(),
            ..Measures::default()
        }
    }

    /// Sums up sweeps and controls, and checks the gates of the plan. `own` is this run in its store.
    pub(super) fn judge(
        &self,
        result: &mut EvalResult,
        baseline_run: Option<&BaselineRun>,
        own: Option<&ReopenedRun>,
    ) {
        let Some(manifest) = self.manifest.as_ref().filter(|_| !self.is_part) else {
            return;
        };
        let plan = &manifest.plan;
        let scoring = &plan.scoring;
        result.sum_up_sweeps(&plan.sweeps, scoring.margin);
        result.sum_up_controls(&plan.controls);
        if scoring.gates.is_empty() {
            return;
        }
        // A stored run that is gone has no figures: what rests on it is not measured.
        let gone = EvalResult::default();
        let keys = baseline_run.and_then(|run| run.keys(own));
        let beside = match baseline_run {
            Some(run) => Some(Beside::by_content(&run.result, keys.as_ref())),
            None => scoring.baseline_run.is_some().then(|| Beside::by_id(&gone)),
        };
        result.gates = result.check_gates(&scoring.gates, beside);
    }

    /// Sums up the benchmarks, system by system.
    pub(super) fn sum_up(
        &self,
        result: &mut EvalResult,
        answers: &[HashMap<usize, Answer>],
        started: SystemTime,
        elapsed: Duration,
    ) {
        let Some((suite, how)) = &self.suite else {
            return;
        };
        let facts = self
            .manifest
            .as_ref()
            .map(|manifest| manifest.plan.harness.clone());
        let facts = facts.unwrap_or_default();
        let time = RunTime { started, elapsed };
        let none = HashMap::new();
        let systems: Vec<String> = result.summary.keys().cloned().collect();
        for (number, system) in systems.into_iter().enumerate() {
            let answers = answers.get(number).unwrap_or(&none);
            let outcome = suite.sum_up(result.rows_of(&system), answers, how);
            let mut report = facts.report(&system, outcome, time);
            let stopping = result.stopping.as_ref();
            if self.is_part || stopping.is_some_and(|stopping| stopping.is_done(&system)) {
                for counts in report.counts.values_mut() {
                    counts.planned -= counts.not_run;
                    counts.not_run = 0;
                }
            }
            result.tasks.insert(system, report);
        }
    }
}
