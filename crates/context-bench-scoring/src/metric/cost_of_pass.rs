//! CostOfPass: output tokens spent per passing row.

use super::{DEFAULT_THRESHOLD, Metric, Passing};
use crate::model::{EvalRow, Measurement, Summary, Unit};

/// `cost_of_pass` = Σ output tokens of all rows / number of passing rows (∞ when
/// none passes), and `num_passing`. Rows of which none has the score say nothing
/// about passing, so there is no cost then.
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

    fn counts_maps(&self) -> bool {
        true
    }

    fn compute(&self, rows: &[EvalRow]) -> Summary {
        let spent: u64 = rows.iter().map(|row| row.output_tokens).sum();
        let found = Passing::of(rows, &self.score_field, self.threshold);
        let cost = match found.n == 0 && !rows.is_empty() {
            true => Measurement::missing(Unit::Tokens),
            false => found.share_of(spent),
        };
        Summary::new()
            .with("cost_of_pass", cost)
            .with("num_passing", found.count())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Score, Scores};

    #[test]
    fn nothing_scored_is_no_cost_and_nothing_passed_is_an_endless_one() {
        let row = |score: Score| {
            let scores: Scores = [("f1", score)].into_iter().collect();
            EvalRow::new("s", 1_usize, scores, 10, 6)
        };
        let unscored = || row(Score::unscored("the judge timed out"));
        let cost = |rows: &[EvalRow]| CostOfPass::new(0.7, "f1").compute(rows);
        for (rows, expected, n) in [
            (vec![unscored(), unscored()], None, 0),
            (vec![unscored(), row(0.1.into())], Some(f64::INFINITY), 1),
            (vec![unscored(), row(0.9.into())], Some(12.0), 1),
            (vec![], Some(f64::INFINITY), 0),
        ] {
            let summary = cost(&rows);
            assert_eq!(summary.value("cost_of_pass"), expected, "{rows:?}");
            assert_eq!(summary.get("cost_of_pass").and_then(|m| m.n), Some(n));
        }
    }
}
