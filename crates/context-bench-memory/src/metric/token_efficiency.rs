//! TokenEfficiencyMetric: a score against the tokens that it took.

use context_bench_scoring::metric::Metric;
use context_bench_scoring::model::{EvalRow, Measurement, Summary, Unit};
use serde_json::Value;

use super::{Values, metadata};

/// The number of tokens at which the efficiency is the score itself.
const REFERENCE_TOKENS: f64 = 100.0;
/// How much more tokens lower it.
const EXPONENT: f64 = 0.1;

/// With the mean m of a score and the mean t of `input_tokens`: `token_efficiency` =
/// m·(100/t)^0.1, `token_efficiency_raw` = m per 1,000 tokens; both means, and those of
/// the times of taking in and of asking.
///
/// Rows without the score are left out; times and tokens are those of the rows with it. The
/// exponent is the original's: it rewards brevity little, and a ranking by it is a choice.
#[derive(Debug, Clone)]
pub struct TokenEfficiencyMetric {
    score_field: String,
}

impl TokenEfficiencyMetric {
    /// The efficiency of that score.
    pub fn of(score_field: impl Into<String>) -> Self {
        Self {
            score_field: score_field.into(),
        }
    }
}

impl Default for TokenEfficiencyMetric {
    fn default() -> Self {
        Self::of("f1")
    }
}

impl Metric for TokenEfficiencyMetric {
    fn name(&self) -> &str {
        "token_efficiency"
    }

    fn score_field(&self) -> Option<&str> {
        Some(&self.score_field)
    }

    fn compute(&self, rows: &[EvalRow]) -> Summary {
        let (mut scores, mut tokens) = (Values::default(), Values::default());
        let (mut ingests, mut queries) = (Values::default(), Values::default());
        let seconds = |row, key| metadata(row, key).and_then(Value::as_f64).unwrap_or(0.0);
        for row in rows {
            let Some(score) = row.score(&self.score_field) else {
                continue;
            };
            scores.push(row, score);
            tokens.push(row, row.input_tokens as f64);
            ingests.push(row, seconds(row, "ingest_latency"));
            queries.push(row, seconds(row, "query_latency"));
        }
        let (score, spent) = (scores.mean(Unit::Number), tokens.mean(Unit::Tokens));
        let n = score.n;
        let of_means = |value: fn(f64, f64) -> f64| Measurement {
            value: score.value.zip(spent.value).map(|(m, t)| value(m, t)),
            unit: Unit::Number,
            n,
            ..Measurement::default()
        };
        let adjusted = of_means(|m, t| match m > 0.0 && t > 0.0 {
            true => m * (REFERENCE_TOKENS / t).powf(EXPONENT),
            false => 0.0,
        });
        let raw = of_means(|m, t| if t > 0.0 { m / (t / 1000.0) } else { 0.0 });
        let mut summary = Summary::new();
        if rows.is_empty() {
            // Nothing planned is 0, as users know it.
            let zero = |unit| Measurement::new(0.0, unit);
            return summary
                .with("token_efficiency", zero(Unit::Number))
                .with("mean_score", zero(Unit::Number))
                .with("mean_input_tokens", zero(Unit::Tokens))
                .with("mean_ingest_latency", zero(Unit::Seconds))
                .with("mean_query_latency", zero(Unit::Seconds));
        }
        summary.set("token_efficiency", adjusted);
        summary.set("token_efficiency_raw", raw);
        summary.set("mean_score", score);
        summary.set("mean_input_tokens", spent);
        summary.set("mean_ingest_latency", ingests.mean(Unit::Seconds));
        summary.set("mean_query_latency", queries.mean(Unit::Seconds));
        summary
    }
}
