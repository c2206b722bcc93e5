//! TokenMeans: how many tokens went to the model and came back.

use super::Metric;
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
        let mean = |count: fn(&TokenUse) -> Option<u64>| {
            let (mut n, mut sum) = (0_usize, 0_u64);
            for tokens in rows.iter().filter_map(tokens) {
                if let Some(count) = count(tokens) {
                    n += 1;
                    sum += count;
                }
            }
            Measurement {
                value: (n > 0).then(|| sum as f64 / n as f64),
                unit: Unit::Tokens,
                n: Some(n),
                ..Measurement::default()
            }
        };
        let cached = mean(|tokens| tokens.cached);
        let mut summary = Summary::new().with("mean_prompt_tokens", mean(|tokens| tokens.prompt));
        if cached.value.is_some() {
            summary.set("mean_cached_tokens", cached);
        }
        summary.with("mean_completion_tokens", mean(|tokens| tokens.completion))
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
