//! TokensPerPass: what a passing answer costs, in tokens of prompt and reply.

use super::row_sum::{RowSum, of_rows};
use super::token_means::tokens;
use super::{DEFAULT_THRESHOLD, Metric, Passing};
use crate::model::{EvalRow, Measurement, Summary, TokenUse, Unit};

/// The key of the metric.
pub const TOKENS_PER_PASS: &str = "tokens_per_pass";

/// `tokens_per_pass` = Σ tokens of prompt and reply of the completed rows / number of
/// passing rows (∞ when none passes), and `num_passing`. Where a completed row does not
/// report its tokens, or no row has the score, there is no value.
#[derive(Debug, Clone)]
pub struct TokensPerPass {
    threshold: f64,
    score_field: String,
}

impl TokensPerPass {
    /// Passing means `score_field >= threshold`.
    pub fn new(threshold: f64, score_field: impl Into<String>) -> Self {
        Self {
            threshold,
            score_field: score_field.into(),
        }
    }
}

impl Default for TokensPerPass {
    fn default() -> Self {
        Self::new(DEFAULT_THRESHOLD, "score")
    }
}

impl Metric for TokensPerPass {
    fn name(&self) -> &str {
        TOKENS_PER_PASS
    }

    fn score_field(&self) -> Option<&str> {
        Some(&self.score_field)
    }

    fn compute(&self, rows: &[EvalRow]) -> Summary {
        of_rows(Box::new(self.sum()), rows, None)
    }

    fn row_sum(&self) -> Option<Box<dyn RowSum + '_>> {
        Some(Box::new(self.sum()))
    }
}

impl TokensPerPass {
    fn sum(&self) -> SpentSum<'_> {
        SpentSum {
            metric: self,
            spent: Some(0),
            found: Passing::default(),
        }
    }
}

struct SpentSum<'a> {
    metric: &'a TokensPerPass,
    /// `None` as soon as a completed row does not say.
    spent: Option<u64>,
    found: Passing,
}

impl RowSum for SpentSum<'_> {
    fn add(&mut self, row: &EvalRow) {
        if row.is_completed() {
            let own = tokens(row).and_then(TokenUse::spent);
            self.spent = self.spent.zip(own).map(|(spent, own)| spent + own);
        }
        if let Some(value) = row.score(&self.metric.score_field) {
            self.found.add(value, self.metric.threshold);
        }
    }

    fn finish(self: Box<Self>, _: Option<&[u32]>) -> Summary {
        let cost = match self.spent.filter(|_| self.found.n > 0) {
            Some(spent) => self.found.share_of(spent),
            None => Measurement::missing(Unit::Tokens),
        };
        Summary::new()
            .with(TOKENS_PER_PASS, cost)
            .with("num_passing", self.found.count())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Reply, Scores};

    #[test]
    fn one_row_of_unknown_cost_makes_the_cost_unknown() {
        let row = |score: f64, prompt: Option<u64>| {
            let scores: Scores = [("f1", score)].into_iter().collect();
            let mut row = EvalRow::new("s", 1_usize, scores, 999, 999);
            let tokens = TokenUse {
                prompt,
                completion: Some(1),
                ..TokenUse::default()
            };
            row.reply = Some(Box::new(Reply {
                tokens,
                ..Reply::default()
            }));
            row
        };
        let cost = |rows: &[EvalRow]| {
            let summary = TokensPerPass::new(0.7, "f1").compute(rows);
            summary.value("tokens_per_pass")
        };
        assert_eq!(cost(&[row(0.9, Some(9)), row(0.1, Some(9))]), Some(20.0));
        assert_eq!(cost(&[row(0.1, Some(9))]), Some(f64::INFINITY));
        assert_eq!(cost(&[row(0.9, Some(9)), row(0.1, None)]), None);
        assert_eq!(cost(&[]), None);
    }
}
