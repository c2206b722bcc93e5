//! PerQATypeMetric: the mean of one score per kind of question.

use std::collections::BTreeMap;

use context_bench_scoring::metric::Metric;
use context_bench_scoring::model::{EvalRow, Summary, Unit};
use serde_json::Value;

use super::{Values, metadata};

/// `<field>_<type>`: the mean of a score over the scored rows of each `qa_type`, sorted by
/// type (`unknown` without one), then `<field>_mean` over all. Intervals rest on conversations.
#[derive(Debug, Clone)]
pub struct PerQATypeMetric {
    score_field: String,
}

impl PerQATypeMetric {
    /// The breakdown of that score.
    pub fn of(score_field: impl Into<String>) -> Self {
        Self {
            score_field: score_field.into(),
        }
    }
}

impl Default for PerQATypeMetric {
    fn default() -> Self {
        Self::of("f1")
    }
}

impl Metric for PerQATypeMetric {
    fn name(&self) -> &str {
        "per_qa_type"
    }

    fn score_field(&self) -> Option<&str> {
        Some(&self.score_field)
    }

    fn compute(&self, rows: &[EvalRow]) -> Summary {
        let mut by_type: BTreeMap<&str, Values<'_>> = BTreeMap::new();
        let mut all = Values::default();
        for row in rows {
            let qa_type = metadata(row, "qa_type").and_then(Value::as_str);
            let of_type = by_type.entry(qa_type.unwrap_or("unknown")).or_default();
            if let Some(value) = row.score(&self.score_field) {
                of_type.push(row, value);
                all.push(row, value);
            }
        }
        let field = &self.score_field;
        let mut summary = Summary::new();
        for (qa_type, values) in by_type {
            summary.set(format!("{field}_{qa_type}"), values.mean(Unit::Number));
        }
        if !rows.is_empty() {
            summary.set(format!("{field}_mean"), all.mean(Unit::Number));
        }
        summary
    }
}
