//! What charts need beside the summary: how values of rows are spread, and failures by kind.

use context_bench_page::{Curve, FailureCount, Histogram};
use indexmap::IndexMap;

use super::rows::ScoreFields;
use crate::result::EvalResult;
use crate::stats::percentile;

/// Points of a curve; more cannot be told apart on a screen.
const MAX_POINTS: usize = 200;
/// Parts of a histogram.
const PARTS: usize = 20;

/// How long the calls of each system took, of those that were made in this run.
pub(super) fn latency(result: &EvalResult, systems: &[&str]) -> Vec<Curve> {
    let mut curves = Vec::new();
    for (number, system) in systems.iter().enumerate() {
        let rows = result.rows_of(system).iter();
        let timed = rows.filter(|row| row.is_completed() && !row.cached && row.latency.is_finite());
        let mut seconds: Vec<f64> = timed.map(|row| row.latency).collect();
        seconds.sort_by(f64::total_cmp);
        let n = seconds.len();
        if n == 0 || seconds.iter().all(|value| *value == 0.0) {
            continue;
        }
        let steps = n.min(MAX_POINTS);
        let points = (1..=steps).map(|step| {
            let place = (step * n).div_ceil(steps);
            [seconds[place - 1], place as f64 / n as f64]
        });
        let summary = result.summary.get(*system);
        let marks = [
            ("p50", "latency_median", 0.5),
            ("p95", "latency_p95", 0.95),
            ("p99", "latency_p99", 0.99),
        ];
        let marks = marks.into_iter().filter_map(|(name, key, share)| {
            let known = summary.and_then(|summary| summary.get(key)?.value);
            match known {
                Some(value) => Some((name.to_owned(), Some(key.to_owned()), value)),
                None => Some((name.to_owned(), None, percentile(&seconds, share)?)),
            }
        });
        curves.push(Curve {
            system: number,
            n,
            points: points.collect(),
            marks: marks.collect(),
        });
    }
    curves
}

/// How the scores that count are spread over the rows of each system, on one scale for all.
pub(super) fn spread(
    result: &EvalResult,
    systems: &[&str],
    scoring: &ScoreFields,
) -> Vec<Histogram> {
    let values = |system: &str| -> Vec<f64> {
        let rows = result.rows_of(system).iter();
        rows.filter_map(|row| scoring.quality(row)).collect()
    };
    let (mut low, mut high) = (0.0_f64, 1.0_f64);
    for system in systems {
        for value in values(system) {
            low = low.min(value);
            high = high.max(value);
        }
    }
    let mut histograms = Vec::new();
    for (number, system) in systems.iter().enumerate() {
        let values = values(system);
        if values.is_empty() {
            continue;
        }
        let mut counts = vec![0; PARTS];
        for value in values {
            let part = (value - low) / (high - low) * PARTS as f64;
            counts[(part as usize).min(PARTS - 1)] += 1;
        }
        histograms.push(Histogram {
            system: number,
            low,
            high,
            counts,
        });
    }
    histograms
}

/// How often each system failed in which way, most often first.
pub(super) fn failures(result: &EvalResult, systems: &[&str]) -> Vec<FailureCount> {
    let mut found: IndexMap<(usize, String), FailureCount> = IndexMap::new();
    for (number, system) in systems.iter().enumerate() {
        for row in result.rows_of(system) {
            let (kind, message) = match &row.failure {
                Some(failure) => (failure.kind.to_string(), failure.message.as_str()),
                None => match row.scores.unscored().next() {
                    Some((_, reason)) => ("unscored".to_owned(), reason),
                    None => continue,
                },
            };
            let first = || FailureCount {
                system: number,
                kind: kind.clone(),
                n: 0,
                message: message.chars().take(400).collect(),
            };
            found.entry((number, kind.clone())).or_insert_with(first).n += 1;
        }
    }
    let mut failures: Vec<FailureCount> = found.into_values().collect();
    failures.sort_by_key(|one| std::cmp::Reverse(one.n));
    failures
}
