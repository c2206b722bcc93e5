//! The paired difference of what gates name and comparisons do not have, such as pass rates and
//! figures beside a stored run.

use crate::comparison::{ComparedRows, Pairing};
use crate::model::{EvalRow, Interval};
use crate::stats::{PairedDifferences, Resampling};

/// The rows of both about each attempt at an example that both have a row for.
pub(super) struct PairedRows<'a> {
    /// Baseline and system.
    pub(super) rows: Vec<(&'a EvalRow, &'a EvalRow)>,
    /// Per pair what it belongs to (a document, a conversation, attempts at one example).
    clusters: Option<Vec<u32>>,
}

impl<'a> PairedRows<'a> {
    pub(super) fn of(baseline: &'a [EvalRow], system: &'a [EvalRow]) -> Self {
        let (old, new) = (
            ComparedRows::new("", baseline),
            ComparedRows::new("", system),
        );
        let found = Pairing::of(&old, &new);
        let rows = found.pairs.iter();
        let rows = rows.map(|(old, new)| (&baseline[*old as usize], &system[*new as usize]));
        Self {
            rows: rows.collect(),
            clusters: found.clusters,
        }
    }

    /// The mean paired difference "system − baseline" of what `value` makes of rows, and its 95 %
    /// interval; `None` without pairs.
    pub(super) fn difference(
        &self,
        value: impl Fn(&EvalRow) -> Option<f64>,
        range: Option<(f64, f64)>,
    ) -> Option<(f64, Option<Interval>)> {
        let mut values = Vec::new();
        let mut clusters: Vec<u32> = Vec::new();
        for (at, (baseline, system)) in self.rows.iter().enumerate() {
            if let (Some(old), Some(new)) = (value(baseline), value(system)) {
                values.push(new - old);
                clusters.extend(self.clusters.as_ref().and_then(|all| all.get(at)));
            }
        }
        let within = range.filter(|(low, high)| values.iter().all(|v| low <= v && v <= high));
        let mut differences = PairedDifferences::new(values).ok()?;
        if !clusters.is_empty() {
            differences = differences.clustered_by(&clusters).ok()?;
        }
        if let Some((low, high)) = within {
            differences = differences.within(low, high).ok()?;
        }
        let draws = Resampling {
            resamples: 2000,
            ..Resampling::default()
        };
        let interval = differences.interval(0.95, &draws);
        Some((differences.mean().value, interval.ok().flatten()))
    }
}
