//! [`ControlReport`]: the difference that pure noise makes, from a system that ran twice.

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

use crate::aligned::{mark, resampling, rows_of_all};
use crate::result::EvalResult;
use crate::stats::{PairedDifferences, noise_floor};

/// A control of a plan: a system, and the arm that is the same system again.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PlannedControl {
    /// The system.
    pub system: String,
    /// The arm that is the same.
    pub control: String,
}

/// What a system differs from itself by.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ControlReport {
    /// The system.
    pub system: String,
    /// The arm that is the same.
    pub control: String,
    /// The score that was compared.
    pub score: String,
    /// Examples that both have a score for.
    pub examples: usize,
    /// The mean difference of the two.
    pub difference: f64,
    /// Differences up to this size come from noise alone in 95 of 100 comparisons.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub floor: Option<f64>,
    /// How often noise alone gives a difference as large. A small one means a fault of the set-up:
    /// an order effect, a cache, a warm-up.
    pub p_value: f64,
    /// The differences of other systems to this one, to be set against the floor.
    pub beside: IndexMap<String, f64>,
}

impl EvalResult {
    /// Compares systems with themselves.
    pub(crate) fn sum_up_controls(&mut self, controls: &[PlannedControl]) {
        let found = controls
            .iter()
            .filter_map(|control| compared(self, control));
        self.controls = found.collect();
    }
}

/// Paired differences of a score between two systems of a result.
fn differences(
    result: &EvalResult,
    old: &str,
    new: &str,
    score: &str,
) -> Option<PairedDifferences> {
    let rows = [result.rows_of(old), result.rows_of(new)];
    let pairs = rows_of_all(&rows, |row| row.score(score).is_some());
    let values = pairs.iter().map(|pair| {
        let value = |at: usize| pair[at].score(score).unwrap_or(f64::NAN);
        value(1) - value(0)
    });
    let marks: Vec<_> = pairs.iter().map(|pair| mark(pair[0])).collect();
    let differences = PairedDifferences::new(values.collect()).ok()?;
    differences.clustered_by(&marks).ok()
}

fn compared(result: &EvalResult, control: &PlannedControl) -> Option<ControlReport> {
    let score = result.measures.score_field.clone()?;
    let (system, again) = (&control.system, &control.control);
    let own = differences(result, system, again, &score)?;
    let n = own.values().len();
    let found = noise_floor(&own, &resampling(n, 1));
    let others = result
        .summary
        .keys()
        .filter(|name| *name != system && *name != again);
    let beside = others.filter_map(|name| {
        let found = differences(result, system, name, &score)?;
        Some((name.clone(), found.mean().value))
    });
    Some(ControlReport {
        system: system.clone(),
        control: again.clone(),
        examples: n,
        difference: found.difference,
        floor: found.floor,
        p_value: found.test.p_value,
        beside: beside.collect(),
        score,
    })
}
