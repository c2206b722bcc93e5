//! What a plan adds to a run: benchmarks that sum themselves up, and what was asked and decided.

use std::collections::HashMap;
use std::time::{Duration, SystemTime};

use serde_json::{Map, Value};

use super::Evaluate;
use crate::benchmark::{RunTime, Suite, SuiteEvaluator, SumUp};
use crate::model::Answer;
use crate::plan::RunManifest;
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
            let report = facts.report(&system, outcome, time);
            result.tasks.insert(system, report);
        }
    }
}
