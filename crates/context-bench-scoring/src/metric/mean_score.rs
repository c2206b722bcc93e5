//! MeanScore: the mean of one score over the rows that have it.

use super::sample::Sample;
use super::{Metric, mean_measurement};
use crate::model::{EvalRow, Summary};

/// `mean_score`: mean of a score over the scored rows, with error and interval.
#[derive(Debug, Clone)]
pub struct MeanScore {
    score_field: String,
}

impl MeanScore {
    /// The mean of that score.
    pub fn of(score_field: impl Into<String>) -> Self {
        Self {
            score_field: score_field.into(),
        }
    }
}

impl Default for MeanScore {
    fn default() -> Self {
        Self::of("score")
    }
}

impl Metric for MeanScore {
    fn name(&self) -> &str {
        "mean_score"
    }

    fn score_field(&self) -> Option<&str> {
        Some(&self.score_field)
    }

    fn compute(&self, rows: &[EvalRow]) -> Summary {
        let mean = Sample::of(rows, &self.score_field).mean();
        Summary::new().with("mean_score", mean_measurement(mean, rows.len()))
    }
}
