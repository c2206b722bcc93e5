//! CostOfPass: output tokens spent per passing row.

use super::{DEFAULT_THRESHOLD, Metric, values};
use crate::model::{EvalRow, Measurement, Summary, Unit};

/// `cost_of_pass` = Σ output tokens of all rows / number of passing rows (∞ when
/// none passes), and `num_passing`.
#[derive(Debug, Clone)]
pub struct CostOfPass {
    threshold: f64,
    score_field: String,
}

impl CostOfPass {
    /// Passing means `score_field >= threshold`.
    pub fn new(threshold: f64, score_field: impl Into<String>) -> Self {
        Self {
            threshold,
            score_field: score_field.into(),
        }
    }
}

impl Default for CostOfPass {
    fn default() -> Self {
        Self::new(DEFAULT_THRESHOLD, "score")
    }
}

impl Metric for CostOfPass {
    fn name(&self) -> &str {
        "cost_of_pass"
    }

    fn score_field(&self) -> Option<&str> {
        Some(&self.score_field)
    }

    fn compute(&self, rows: &[EvalRow]) -> Summary {
        let spent: u64 = rows.iter().map(|row| row.output_tokens).sum();
        let n = values(rows, &self.score_field).count();
        let passing = values(rows, &self.score_field)
            .filter(|value| *value >= self.threshold)
            .count();
        let cost = if passing == 0 {
            f64::INFINITY
        } else {
            spent as f64 / passing as f64
        };
        let with_n = |value, unit| Measurement {
            n: Some(n),
            ..Measurement::new(value, unit)
        };
        Summary::new()
            .with("cost_of_pass", with_n(cost, Unit::Tokens))
            .with("num_passing", with_n(passing as f64, Unit::Count))
    }
}
