//! What a row says about a document of a task: numbers that people see and, where
//! numbers are not everything, the rest as evidence.
//!
//! Scores over a whole corpus need more than a number per document (the pair of
//! texts for BLEU, what a Python function gave). Kept with the row, it need not
//! be computed again when a run is resumed, exported or summed up.

use std::collections::BTreeMap;

use context_bench_tasks::metric::AggregationKind;
use context_bench_tasks::python::value::float;
use context_bench_tasks::scoring::ScoredDocument;
use context_bench_tasks::{OutputType, Task};
use indexmap::IndexMap;
use serde_json::{Map, Value, json};

use crate::model::{Score, ScoreName, Scores};

/// The name of the evidence of a row.
const EVIDENCE: &str = "task";

/// The name of a metric in rows; that of the only filter is left out.
pub(super) fn score_name(metric: &str, filter: &str) -> String {
    match filter {
        "none" => metric.to_owned(),
        filter => format!("{metric},{filter}"),
    }
}

/// The scores of a document as a row has them.
pub(super) fn row_scores(task: &Task, filters: &IndexMap<String, ScoredDocument>) -> Scores {
    let mut scores = Scores::new();
    let mut whole = !needs_evidence(task);
    for (filter, scored) in filters {
        whole &= scored.added_by.is_empty();
        for (metric, value) in &scored.scores {
            // A log-likelihood is not a score of its own.
            let is_sum = task.output_type == OutputType::Loglikelihood && metric == "perplexity";
            let is_known = task.metrics.iter().any(|known| known.name == *metric);
            whole &= is_known && !metric.contains(',');
            whole &= (value.is_number() || value.is_null()) && !is_sum;
            if let Some(number) = float(value).filter(|_| !is_sum) {
                scores.set(ScoreName::from(score_name(metric, filter)), number);
            }
        }
    }
    if !whole {
        scores.set(EVIDENCE, Score::evidence(written(filters)));
    }
    scores
}

/// Whether numbers alone can never show what a task's scores are made of: functions
/// in Python want the very values back.
fn needs_evidence(task: &Task) -> bool {
    task.process_results.is_some()
        || task.metrics.iter().any(|metric| {
            metric.kind.is_function() || matches!(metric.aggregation, AggregationKind::Function(_))
        })
}

fn written(filters: &IndexMap<String, ScoredDocument>) -> Value {
    let one = |(filter, scored): (&String, &ScoredDocument)| {
        let entry = json!({
            "filtered": scored.filtered,
            "scores": scored.scores,
            "added_by": scored.added_by,
        });
        (filter.clone(), entry)
    };
    Value::Object(filters.iter().map(one).collect())
}

/// The scores of a document again, by filter; `at` is its place among the documents.
pub(super) fn scored(task: &Task, scores: &Scores, at: usize) -> IndexMap<String, ScoredDocument> {
    if let Some(Value::Object(filters)) = scores.get(EVIDENCE).and_then(Score::as_evidence) {
        let read = |(filter, entry): (&String, &Value)| (filter.clone(), read(entry, at));
        return filters.iter().map(read).collect();
    }
    let of_filter = |name: &str| {
        let mut values = Map::new();
        for (score, value) in scores.iter() {
            let metric = match (name, score.as_str().split_once(',')) {
                ("none", None) => score.as_str(),
                (_, Some((metric, filter))) if filter == name => metric,
                _ => continue,
            };
            // Rows may have scores of other evaluators too.
            let is_own = task.metrics.iter().any(|known| known.name == metric);
            if let Some(value) = value.get().filter(|_| is_own) {
                values.insert(metric.to_owned(), json!(value));
            }
        }
        ScoredDocument {
            request: at,
            filtered: Value::Null,
            scores: values,
            added_by: BTreeMap::new(),
        }
    };
    let filters = task.filters.iter();
    filters
        .map(|pipeline| (pipeline.name.clone(), of_filter(&pipeline.name)))
        .filter(|(_, scored)| !scored.scores.is_empty())
        .collect()
}

/// Whether a row has what the filters made of the answer, and not only scores.
pub(super) fn has_filtered(scores: &Scores) -> bool {
    scores.get(EVIDENCE).and_then(Score::as_evidence).is_some()
}

fn read(entry: &Value, at: usize) -> ScoredDocument {
    let object = |key: &str| entry.get(key).and_then(Value::as_object);
    let added_by = object("added_by").into_iter().flatten();
    ScoredDocument {
        request: at,
        filtered: entry.get("filtered").cloned().unwrap_or_default(),
        scores: object("scores").cloned().unwrap_or_default(),
        added_by: added_by
            .filter_map(|(key, metric)| Some((key.clone(), metric.as_str()?.to_owned())))
            .collect(),
    }
}
