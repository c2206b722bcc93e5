//! PassRate: the share of scored rows at or above a threshold.

use super::sample::Sample;
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
        let Passing { n, passing } = Passing::of(rows, &self.score_field, self.threshold);
        let measurement = if n > 0 {
            let share = passing as f64 / n as f64;
            let clustered = Sample::clustered(rows, |row| {
                let value = row.score(&self.score_field)?;
                Some(f64::from(u8::from(value >= self.threshold)))
            });
            match clustered {
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
        } else if rows.is_empty() {
            Measurement::new(0.0, Unit::Share)
        } else {
            Measurement::missing(Unit::Share)
        };
        Summary::new().with("pass_rate", measurement)
    }
}
