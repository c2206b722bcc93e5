//! CostOfPass: output tokens spent per passing row.

use super::row_sum::{RowSum, of_rows};
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
        of_rows(Box::new(self.sum()), rows, None)
    }

    fn row_sum(&self) -> Option<Box<dyn RowSum + '_>> {
        Some(Box::new(self.sum()))
    }
}

impl CostOfPass {
    fn sum(&self) -> CostSum<'_> {
        CostSum {
            metric: self,
            n_rows: 0,
            spent: 0,
            found: Passing::default(),
        }
    }
}

struct CostSum<'a> {
    metric: &'a CostOfPass,
    n_rows: usize,
    spent: u64,
    found: Passing,
}

impl RowSum for CostSum<'_> {
    fn add(&mut self, row: &EvalRow) {
        self.n_rows += 1;
        self.spent += row.output_tokens;
        if let Some(value) = row.score(&self.metric.score_field) {
            self.found.add(value, self.metric.threshold);
        }
    }

    fn finish(self: Box<Self>, _: Option<&[u32]>) -> Summary {
        let cost = match self.found.n == 0 && self.n_rows > 0 {
            true => Measurement::missing(Unit::Tokens),
            false => self.found.share_of(self.spent),
        };
        Summary::new()
            .with("cost_of_pass", cost)
            .with("num_passing", self.found.count())
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
