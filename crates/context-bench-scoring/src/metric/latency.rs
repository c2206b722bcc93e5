//! Latency: mean, median and high percentiles of the time inside a system.

use super::Metric;
use super::row_sum::{RowSum, of_rows};
use crate::model::{EvalRow, Measurement, Summary, Unit};
use crate::stats;

/// `latency_mean`, `latency_median`, `latency_p95`, `latency_p99` in seconds.
///
/// Failed and cached rows are left out: their times say nothing about the
/// system. Percentiles are measured values, without interpolation.
#[derive(Debug, Clone, Copy, Default)]
pub struct Latency;

impl Metric for Latency {
    fn name(&self) -> &str {
        "latency"
    }

    fn compute(&self, rows: &[EvalRow]) -> Summary {
        of_rows(Box::new(LatencySum::default()), rows, None)
    }

    fn row_sum(&self) -> Option<Box<dyn RowSum + '_>> {
        Some(Box::new(LatencySum::default()))
    }
}

#[derive(Default)]
struct LatencySum {
    n_rows: usize,
    seconds: Vec<f64>,
}

impl RowSum for LatencySum {
    fn add(&mut self, row: &EvalRow) {
        self.n_rows += 1;
        if row.is_completed() && !row.cached {
            self.seconds.push(row.latency);
        }
    }

    fn finish(self: Box<Self>, _: Option<&[u32]>) -> Summary {
        let mut seconds = self.seconds;
        // The mean sums in row order, as the reference does; then sort.
        let mean = stats::mean(&seconds).map(|mean| mean.value);
        seconds.sort_unstable_by(f64::total_cmp);
        let none = if self.n_rows == 0 { Some(0.0) } else { None };
        [
            ("latency_mean", mean),
            ("latency_median", stats::median(&seconds)),
            ("latency_p95", stats::percentile(&seconds, 0.95)),
            ("latency_p99", stats::percentile(&seconds, 0.99)),
        ]
        .into_iter()
        .map(|(name, value)| {
            let measurement = Measurement {
                value: value.or(none),
                unit: Unit::Seconds,
                n: Some(seconds.len()),
                ..Measurement::default()
            };
            (name, measurement)
        })
        .collect()
    }
}
