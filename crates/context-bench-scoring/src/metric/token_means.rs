//! TokenMeans: how many tokens went to the model and came back.

use super::Metric;
use super::row_sum::{RowSum, of_rows};
use crate::model::{EvalRow, Measurement, Summary, TokenUse, Unit};

/// `mean_prompt_tokens`, `mean_cached_tokens` and `mean_completion_tokens` over the
/// completed rows of which they are known: as the endpoint reported them or, for systems
/// without one, counted from what they handed on. Without any there is no value.
///
/// Prompt tokens include those that the model had in its cache, which are shown apart
/// where an endpoint reports it.
#[derive(Debug, Clone, Copy, Default)]
pub struct TokenMeans;

impl Metric for TokenMeans {
    fn name(&self) -> &str {
        "token_means"
    }

    fn compute(&self, rows: &[EvalRow]) -> Summary {
        of_rows(Box::new(TokenSums::default()), rows, None)
    }

    fn row_sum(&self) -> Option<Box<dyn RowSum + '_>> {
        Some(Box::new(TokenSums::default()))
    }
}

/// How many rows have a count, and all counts together.
#[derive(Default)]
struct CountSum {
    n: usize,
    sum: u64,
}

impl CountSum {
    fn add(&mut self, count: Option<u64>) {
        if let Some(count) = count {
            self.n += 1;
            self.sum += count;
        }
    }

    fn mean(&self) -> Measurement {
        Measurement {
            value: (self.n > 0).then(|| self.sum as f64 / self.n as f64),
            unit: Unit::Tokens,
            n: Some(self.n),
            ..Measurement::default()
        }
    }
}

#[derive(Default)]
struct TokenSums {
    prompt: CountSum,
    cached: CountSum,
    completion: CountSum,
}

impl RowSum for TokenSums {
    fn add(&mut self, row: &EvalRow) {
        if let Some(tokens) = tokens(row) {
            self.prompt.add(tokens.prompt);
            self.cached.add(tokens.cached);
            self.completion.add(tokens.completion);
        }
    }

    fn finish(self: Box<Self>, _: Option<&[u32]>) -> Summary {
        let cached = self.cached.mean();
        let mut summary = Summary::new().with("mean_prompt_tokens", self.prompt.mean());
        if cached.value.is_some() {
            summary.set("mean_cached_tokens", cached);
        }
        summary.with("mean_completion_tokens", self.completion.mean())
    }
}

/// The tokens of a row that was completed.
pub(super) fn tokens(row: &EvalRow) -> Option<&TokenUse> {
    let reply = row.reply.as_deref().filter(|_| row.is_completed())?;
    Some(&reply.tokens)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Failure, FailureKind, Reply, Scores};

    #[test]
    fn only_what_is_known_counts() {
        let row = |prompt: Option<u64>, cached: Option<u64>| {
            let mut row = EvalRow::new("s", 1_usize, Scores::new(), 0, 0);
            let tokens = TokenUse {
                prompt,
                cached,
                reported: true,
                ..TokenUse::default()
            };
            row.reply = Some(Box::new(Reply {
                tokens,
                ..Reply::default()
            }));
            row
        };
        let mut failed = row(Some(1000), None);
        failed.failure = Some(Box::new(Failure::new(FailureKind::Other, "x")));
        let rows = [
            row(Some(10), None),
            row(None, None),
            row(Some(20), None),
            failed,
        ];
        let summary = TokenMeans.compute(&rows);
        assert_eq!(summary.value("mean_prompt_tokens"), Some(15.0));
        assert_eq!(summary.get("mean_prompt_tokens").and_then(|m| m.n), Some(2));
        assert_eq!(summary.get("mean_cached_tokens"), None);
        assert_eq!(summary.value("mean_completion_tokens"), None);
        let cached = TokenMeans.compute(&[row(Some(10), Some(4))]);
        assert_eq!(cached.value("mean_cached_tokens"), Some(4.0));
    }
}
