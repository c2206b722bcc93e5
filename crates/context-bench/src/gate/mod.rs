//! Gates of a run: rules such as `f1 < baseline - 0.02` checked against its result.
//!
//! The rules themselves are in `context_bench_scoring::gate`; here are the figures of a result that
//! they name, and what became of them ([`CheckedGate`]). What a failed gate leads to is for front ends.

mod baseline_run;
mod checked;
mod figures;
mod pairs;

pub use baseline_run::BaselineRun;
pub(crate) use baseline_run::Beside;
pub(crate) use checked::counterpart;
pub use checked::{CheckedGate, Flips, GateStatus};
pub use context_bench_scoring::gate::{GateError, GatePolicy, GateProblem, GateRule};
pub(crate) use figures::ERROR_RATE;

use serde::{Deserialize, Serialize};

use crate::result::EvalResult;

/// A gate of a plan.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PlannedGate {
    /// The rule, as it was written.
    pub rule: String,
    /// The file and line that it comes from, if it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
}

impl EvalResult {
    /// Checks a rule such as `f1 < baseline - 0.02`: an outcome for each system and benchmark that it
    /// is about. `baseline_run` is a result to compare with instead of a system of this one, on the
    /// examples that have the same dataset and id in both.
    ///
    /// # Errors
    ///
    /// If it is no rule, or names what the result does not have.
    pub fn check(
        &self,
        rule: &str,
        baseline_run: Option<&EvalResult>,
    ) -> Result<Vec<CheckedGate>, GateError> {
        let rule = GateRule::parse(rule)?;
        self.check_rule_names(&rule)?;
        let beside = baseline_run.map(Beside::by_id);
        Ok(checked::check(self, &rule, None, beside))
    }

    /// Whether the result has all that a rule names.
    pub(crate) fn check_rule_names(&self, rule: &GateRule) -> Result<(), GateError> {
        let systems: Vec<String> = self.summary.keys().cloned().collect();
        let metrics = figures::known_metrics(self);
        rule.check_names(Some(&metrics), &self.benchmark_names(), &systems)
    }

    /// Checks gates whose names were checked before.
    pub(crate) fn check_gates(
        &self,
        gates: &[PlannedGate],
        beside: Option<Beside<'_>>,
    ) -> Vec<CheckedGate> {
        let mut found = Vec::new();
        for gate in gates {
            // A stored plan may come from a version with other rules.
            if let Ok(rule) = GateRule::parse(&gate.rule) {
                let place = gate.place.as_deref();
                found.extend(checked::check(self, &rule, place, beside));
            }
        }
        found
    }

    /// The gates that did not pass.
    pub fn failed_gates(&self) -> impl Iterator<Item = &CheckedGate> {
        self.gates.iter().filter(|gate| !gate.is_passed())
    }
}
