//! PassRate: the share of scored rows at or above a threshold.

use super::row_sum::{RowSum, RowValues, of_rows};
use super::sample::attempts;
use super::{DEFAULT_THRESHOLD, Metric, Passing, fewer};
use crate::model::{EvalRow, Measurement, Summary, Unit};
use crate::stats::{share_interval, wilson_interval};

/// `pass_rate`: share of the scored rows whose score is `>=` the threshold.
#[derive(Debug, Clone)]
pub struct PassRate {
    threshold: f64,
    score_field: String,
}

impl PassRate {
    /// Passing means `score_field >= threshold`. A score that is not a number never passes.
    pub fn new(threshold: f64, score_field: impl Into<String>) -> Self {
        Self {
            threshold,
            score_field: score_field.into(),
        }
    }
}

impl Default for PassRate {
    fn default() -> Self {
        Self::new(DEFAULT_THRESHOLD, "score")
    }
}

impl Metric for PassRate {
    fn name(&self) -> &str {
        "pass_rate"
    }

    fn score_field(&self) -> Option<&str> {
        Some(&self.score_field)
    }

    fn compute(&self, rows: &[EvalRow]) -> Summary {
        of_rows(Box::new(self.sum()), rows, attempts(rows).as_deref())
    }

    fn row_sum(&self) -> Option<Box<dyn RowSum + '_>> {
        Some(Box::new(self.sum()))
    }
}

impl PassRate {
    fn sum(&self) -> PassSum<'_> {
        PassSum {
            metric: self,
            n_rows: 0,
            found: Passing::default(),
            values: RowValues::default(),
        }
    }
}

struct PassSum<'a> {
    metric: &'a PassRate,
    n_rows: usize,
    found: Passing,
    /// 1 for a row that passes, else 0.
    values: RowValues,
}

impl RowSum for PassSum<'_> {
    fn add(&mut self, row: &EvalRow) {
        let at = self.n_rows;
        self.n_rows += 1;
        if let Some(value) = row.score(&self.metric.score_field) {
            let threshold = self.metric.threshold;
            self.found.add(value, threshold);
            let passes = f64::from(u8::from(value >= threshold));
            self.values.push(passes, at);
        }
    }

    fn finish(self: Box<Self>, attempts: Option<&[u32]>) -> Summary {
        let Passing { n, passing } = self.found;
        let measurement = if n > 0 {
            let share = passing as f64 / n as f64;
            let mean = attempts.and_then(|attempts| self.values.mean(Some(attempts)));
            match mean.filter(|mean| mean.clusters < mean.n) {
                Some(mean) => Measurement {
                    value: Some(share),
                    unit: Unit::Share,
                    n: Some(n),
                    examples: fewer(&mean),
                    stderr: mean.stderr,
                    interval: share_interval(&mean),
                },
                None => Measurement {
                    value: Some(share),
                    unit: Unit::Share,
                    n: Some(n),
                    examples: None,
                    // The same sample formula as for means of 0 and 1.
                    stderr: (n > 1).then(|| (share * (1.0 - share) / (n - 1) as f64).sqrt()),
                    interval: wilson_interval(passing, n),
                },
            }
        } else if self.n_rows == 0 {
            Measurement::new(0.0, Unit::Share)
        } else {
            Measurement::missing(Unit::Share)
        };
        Summary::new().with("pass_rate", measurement)
    }
}
