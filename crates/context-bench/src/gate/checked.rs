//! [`CheckedGate`]: what became of a gate, by how much, and which examples turned.

use context_bench_scoring::gate::{GateOutcome, GateRule, GateState};
use serde::{Deserialize, Serialize};

use super::baseline_run::{Beside, SharedRows};
use super::figures::{Parts, SystemFigures};
use super::pairs::PairedRows;
use crate::comparison::Matched;
use crate::model::ExampleId;
use crate::result::EvalResult;

/// Flipped examples that are named; all are counted.
const NAMED: usize = 100;

/// What became of a gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GateStatus {
    /// What the rule says is not the case.
    Passed,
    /// What the rule says is the case.
    Failed,
    /// A figure is missing, so nobody can say; it counts as failed.
    NotMeasured,
}

/// A gate checked against one system, over everything or over one benchmark.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CheckedGate {
    /// The rule, as it was written.
    pub rule: String,
    /// The file and line that it comes from, if it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
    /// The system.
    pub system: String,
    /// The stored run that the system is of, where several runs are checked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// What it was compared with, where the rule says something about a baseline.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub baseline: Option<String>,
    /// The dataset, task or group; `None` for all together.
    pub benchmark: Option<String>,
    /// What became of it.
    pub status: GateStatus,
    /// The left side of the rule.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left: Option<f64>,
    /// The right side of the rule.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub right: Option<f64>,
    /// By how much a failed rule was missed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missed_by: Option<f64>,
    /// The figure that was not measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_measured: Option<String>,
    /// Which examples turned, where the rule says something about a baseline and did not pass.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flips: Option<Flips>,
    /// How rows found their partners in a stored run, where the rule compares with one. What has no
    /// partner is left out on both sides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub matched: Option<Matched>,
}

/// Examples on which a system and its baseline differ: one passes, the other does not.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Flips {
    /// How many passed with the baseline and do not with the system.
    pub n_lost: usize,
    /// How many did not pass with the baseline and do with the system.
    pub n_gained: usize,
    /// The ids of the first that were lost.
    pub lost: Vec<ExampleId>,
    /// The ids of the first that were gained.
    pub gained: Vec<ExampleId>,
}

impl CheckedGate {
    /// Whether it lets the run through.
    pub fn is_passed(&self) -> bool {
        self.status == GateStatus::Passed
    }
}

/// Checks a rule, whose names are checked, against every system that it is about.
pub(super) fn check(
    result: &EvalResult,
    rule: &GateRule,
    place: Option<&str>,
    beside: Option<Beside<'_>>,
) -> Vec<CheckedGate> {
    let benchmarks = result.benchmark_names();
    let named = rule.benchmarks();
    let about: Vec<String> = match named.contains(&"*") {
        true => benchmarks.clone(),
        false => named.iter().map(|name| (*name).to_owned()).collect(),
    };
    let parts = Parts::of(result, &about);
    let own_baseline = result.baseline();
    // A rule without `for` is about all systems but the one that others are compared with.
    let is_alone = result.summary.len() == 1 || beside.is_some();
    let is_about = |system: &str| match rule.systems().is_empty() {
        true => {
            let is_control = result.measures.controls.iter().any(|name| name == system);
            !is_control && (is_alone || Some(system) != own_baseline)
        }
        false => rule.applies_to(system),
    };
    let mut found = Vec::new();
    for system in result.summary.keys().filter(|name| is_about(name)) {
        let other = beside.and_then(|beside| Some((beside, beside.counterpart(system)?)));
        // Both sides of a rule are about the same examples.
        let shared = other
            .filter(|_| rule.needs_baseline())
            .map(|(beside, name)| SharedRows::of(result, system, &beside, name));
        let both = shared.as_ref().map(|shared| {
            (
                Parts::of(&shared.own, &about),
                Parts::of(&shared.other, &about),
            )
        });
        let own_parts = both.as_ref().map_or(&parts, |both| &both.0);
        let baseline = match beside {
            Some(_) => both
                .as_ref()
                .zip(other)
                .map(|(both, (_, name))| (&both.1, name)),
            None => own_baseline.map(|name| (&parts, name)),
        };
        let comparison = result.comparison.as_ref().filter(|_| beside.is_none());
        let comparison = comparison.and_then(|comparison| comparison.system(system));
        let figures = SystemFigures {
            result: own_parts,
            system,
            baseline,
            comparison: comparison.filter(|one| Some(one.baseline.as_str()) == own_baseline),
            metrics: rule.metrics().into_iter().map(str::to_owned).collect(),
            benchmarks: match named.contains(&"*") {
                true => benchmarks.clone(),
                false => benchmarks.iter().chain(&about).cloned().collect(),
            },
        };
        // Names are those of the rule, so this cannot fail.
        let outcomes = match named.contains(&"*") && benchmarks.is_empty() {
            true => Vec::new(),
            false => rule.check(&figures).unwrap_or_default(),
        };
        let baseline = baseline.filter(|_| rule.needs_baseline());
        for outcome in outcomes {
            let benchmark = outcome.benchmark.clone();
            let compared = baseline.filter(|_| !outcome.is_passed());
            let flips = compared.and_then(|(other, name)| {
                let (own, other) = (
                    own_parts.get(benchmark.as_deref()),
                    other.get(benchmark.as_deref()),
                );
                turned(own, system, other, name, &rule.metrics())
            });
            found.push(CheckedGate {
                rule: rule.text().to_owned(),
                place: place.map(str::to_owned),
                system: system.clone(),
                baseline: baseline.map(|(_, name)| name.to_owned()),
                flips,
                matched: shared.as_ref().map(|shared| shared.matched),
                ..of_outcome(outcome)
            });
        }
    }
    found
}

/// The system of a stored run that another one is compared with: that of the same name, or the
/// only one.
pub(crate) fn counterpart<'a>(run: &'a EvalResult, system: &str) -> Option<&'a str> {
    let mut names = run.summary.keys().map(String::as_str);
    names.clone().find(|name| *name == system).or_else(|| {
        let first = names.next();
        first.filter(|_| names.next().is_none())
    })
}

fn of_outcome(outcome: GateOutcome) -> CheckedGate {
    let missed_by = outcome.missed_by();
    let (status, sides, not_measured) = match outcome.state {
        GateState::Passed { left, right } => (GateStatus::Passed, Some((left, right)), None),
        GateState::Failed { left, right } => (GateStatus::Failed, Some((left, right)), None),
        GateState::NotMeasured { figure } => (GateStatus::NotMeasured, None, Some(figure)),
    };
    CheckedGate {
        rule: String::new(),
        place: None,
        system: String::new(),
        baseline: None,
        benchmark: outcome.benchmark,
        status,
        left: sides.map(|sides| sides.0),
        right: sides.map(|sides| sides.1),
        missed_by,
        not_measured,
        flips: None,
        run: None,
        matched: None,
    }
}

/// Which examples turned, by the score that the rule names, else by the main one; `None` when no
/// pair has such a score.
fn turned(
    own: &EvalResult,
    system: &str,
    other: &EvalResult,
    baseline: &str,
    metrics: &[&str],
) -> Option<Flips> {
    let pairs = PairedRows::of(other.rows_of(baseline), own.rows_of(system)).rows;
    let has = |field: &str| pairs.iter().any(|(_, row)| row.score(field).is_some());
    let main = own.measures.score_field.as_deref();
    let field = metrics.iter().copied().find(|name| has(name)).or(main)?;
    let threshold = own.measures.threshold;
    let mut flips = Flips::default();
    for (old, new) in pairs {
        let (Some(before), Some(after)) = (old.score(field), new.score(field)) else {
            continue;
        };
        let (count, ids) = match (before >= threshold, after >= threshold) {
            (true, false) => (&mut flips.n_lost, &mut flips.lost),
            (false, true) => (&mut flips.n_gained, &mut flips.gained),
            _ => continue,
        };
        *count += 1;
        if ids.len() < NAMED {
            ids.push(new.example_id.clone());
        }
    }
    Some(flips)
}
