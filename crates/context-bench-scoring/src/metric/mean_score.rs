//! MeanScore: the mean of one score over the rows that have it.

use super::row_sum::{RowSum, RowValues, of_rows};
use super::sample::attempts;
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
        of_rows(Box::new(self.sum()), rows, attempts(rows).as_deref())
    }

    fn row_sum(&self) -> Option<Box<dyn RowSum + '_>> {
        Some(Box::new(self.sum()))
    }
}

impl MeanScore {
    fn sum(&self) -> ScoreSum<'_> {
        ScoreSum {
            score_field: &self.score_field,
            n_rows: 0,
            values: RowValues::default(),
        }
    }
}

struct ScoreSum<'a> {
    score_field: &'a str,
    n_rows: usize,
    values: RowValues,
}

impl RowSum for ScoreSum<'_> {
    fn add(&mut self, row: &EvalRow) {
        if let Some(value) = row.score(self.score_field) {
            self.values.push(value, self.n_rows);
        }
        self.n_rows += 1;
    }

    fn finish(self: Box<Self>, attempts: Option<&[u32]>) -> Summary {
        let mean = self.values.mean(attempts);
        Summary::new().with("mean_score", mean_measurement(mean, self.n_rows))
    }
}
