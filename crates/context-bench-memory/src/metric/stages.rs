//! `MemoryStages`: what taking in, recalling and answering took, each for itself.

use std::collections::HashSet;

use context_bench_scoring::metric::Metric;
use context_bench_scoring::model::{EvalRow, Measurement, Summary, Unit};
use serde_json::Value;

use super::{Values, metadata};

/// `ingest_seconds` per conversation, `retrieve_seconds` and `answer_seconds` per question,
/// `context_tokens` that answers rest on, `history_tokens` that were taken in, and what
/// endpoints reported for ingests, summed up: `ingest_requests`, `ingest_prompt_tokens`,
/// `ingest_completion_tokens`. What is not known is left out.
#[derive(Debug, Clone, Copy, Default)]
pub struct MemoryStages;

impl Metric for MemoryStages {
    fn name(&self) -> &str {
        "memory_stages"
    }

    fn compute(&self, rows: &[EvalRow]) -> Summary {
        let mut summary = Summary::new();
        let ingests = ingests(rows);
        let mut put = |name: &str, rows: &[&EvalRow], key: &str, unit: Unit| {
            let mut values = Values::default();
            for row in rows {
                let value = metadata(row, key).and_then(Value::as_f64);
                if let Some(value) = value {
                    values.push(row, value);
                }
            }
            if !values.is_empty() {
                summary.set(name, values.mean(unit));
            }
        };
        let all: Vec<&EvalRow> = rows.iter().collect();
        put("ingest_seconds", &ingests, "ingest_latency", Unit::Seconds);
        put("retrieve_seconds", &all, "retrieve_latency", Unit::Seconds);
        put("answer_seconds", &all, "answer_latency", Unit::Seconds);
        put("context_tokens", &all, "context_tokens", Unit::Tokens);
        put("history_tokens", &ingests, "ingest_tokens", Unit::Tokens);
        for (name, value) in [
            ("ingest_requests", sum(&ingests, &["ingest_requests"])),
            (
                "ingest_prompt_tokens",
                sum(&ingests, &["ingest_usage", "prompt_tokens"]),
            ),
            (
                "ingest_completion_tokens",
                sum(&ingests, &["ingest_usage", "completion_tokens"]),
            ),
        ] {
            if let Some(value) = value {
                let unit = match name {
                    "ingest_requests" => Unit::Count,
                    _ => Unit::Tokens,
                };
                summary.set(name, Measurement::new(value, unit));
            }
        }
        summary
    }
}

/// The first row of each conversation: all of them say the same about its ingest, unless a
/// run was resumed and had to take it in again.
fn ingests(rows: &[EvalRow]) -> Vec<&EvalRow> {
    let mut seen: HashSet<(&str, &str, u64)> = HashSet::new();
    let mut firsts = Vec::new();
    for row in rows {
        let seconds = metadata(row, "ingest_latency").and_then(Value::as_f64);
        if let (Some(conversation), Some(seconds)) = (row.conversation(), seconds)
            && seen.insert((&*row.dataset, conversation, seconds.to_bits()))
        {
            firsts.push(row);
        }
    }
    firsts
}

fn sum(rows: &[&EvalRow], path: &[&str]) -> Option<f64> {
    let (first, rest) = path.split_first()?;
    let values = rows.iter().filter_map(|row| {
        let value = rest
            .iter()
            .try_fold(metadata(row, first)?, |value, key| value.get(key));
        value?.as_f64()
    });
    let values: Vec<f64> = values.collect();
    (!values.is_empty()).then(|| values.iter().sum())
}

#[cfg(test)]
mod tests {
    use context_bench_scoring::model::Scores;
    use serde_json::json;

    use super::*;

    fn row(conversation: &str, added: Value) -> EvalRow {
        let mut row = EvalRow::new("m", conversation, Scores::new(), 0, 0);
        let Value::Object(mut added) = added else {
            unreachable!("a map")
        };
        added.insert("conversation_id".into(), json!(conversation));
        row.added = Some(Box::new(added));
        row
    }

    #[test]
    fn an_ingest_counts_once_and_what_is_not_known_is_left_out() {
        let ingest = |seconds: f64, retrieve: f64| {
            json!({"ingest_latency": seconds, "ingest_tokens": 100, "ingest_requests": 2,
                   "ingest_usage": {"prompt_tokens": 7}, "retrieve_latency": retrieve,
                   "context_tokens": 10})
        };
        let rows = [
            row("a", ingest(2.0, 0.1)),
            row("a", ingest(2.0, 0.3)),
            row("b", ingest(4.0, 0.2)),
            row("b", json!({})),
        ];
        let summary = MemoryStages.compute(&rows);
        assert_eq!(summary.value("ingest_seconds"), Some(3.0));
        assert_eq!(summary.value("ingest_requests"), Some(4.0));
        assert_eq!(summary.value("ingest_prompt_tokens"), Some(14.0));
        assert_eq!(summary.value("ingest_completion_tokens"), None);
        assert_eq!(summary.value("answer_seconds"), None);
        let retrieve = summary.value("retrieve_seconds").unwrap();
        assert!((retrieve - 0.2).abs() < 1e-12, "{retrieve}");
    }
}
