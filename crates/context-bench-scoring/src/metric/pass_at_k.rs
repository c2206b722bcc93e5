//! PassAtK: how likely at least one of k attempts at an example passes.

use indexmap::IndexMap;

use super::{Metric, mean_measurement};
use crate::model::{EvalRow, ExampleId, Summary};
use crate::stats::{mean, pass_at_k};

/// `pass_at_K` for each K: the unbiased estimate of HumanEval, from the attempts
/// that were scored. Attempts are rows with the same dataset and id, as
/// `Dataset::times` of the library makes them. An example with fewer
/// than K scored attempts says nothing about K and is left out, not counted as 0.
#[derive(Debug, Clone)]
pub struct PassAtK {
    ks: Vec<u64>,
    threshold: f64,
    score_field: String,
}

impl PassAtK {
    /// Passing means `score_field >= threshold`.
    pub fn new(
        ks: impl IntoIterator<Item = u64>,
        threshold: f64,
        score_field: impl Into<String>,
    ) -> Self {
        Self {
            ks: ks.into_iter().collect(),
            threshold,
            score_field: score_field.into(),
        }
    }

    /// The usual values of k for so many attempts: 1, 5, 10, 100 and all of them.
    pub fn of_attempts(n: u64, threshold: f64, score_field: impl Into<String>) -> Self {
        let mut ks: Vec<u64> = [1, 5, 10, 100].into_iter().filter(|k| *k < n).collect();
        ks.push(n);
        Self::new(ks, threshold, score_field)
    }
}

impl Metric for PassAtK {
    fn name(&self) -> &str {
        "pass_at_k"
    }

    fn score_field(&self) -> Option<&str> {
        Some(&self.score_field)
    }

    fn compute(&self, rows: &[EvalRow]) -> Summary {
        let mut attempts: IndexMap<(&str, &ExampleId), (u64, u64)> = IndexMap::new();
        for row in rows {
            let (n, passed) = attempts.entry((&row.dataset, &row.example_id)).or_default();
            if let Some(value) = row.score(&self.score_field) {
                *n += 1;
                *passed += u64::from(value >= self.threshold);
            }
        }
        let mut summary = Summary::new();
        for k in &self.ks {
            // One value per example: these stand for themselves.
            let values: Vec<f64> = attempts
                .values()
                .filter_map(|(n, passed)| pass_at_k(*n, *passed, *k))
                .collect();
            let name = format!("pass_at_{k}");
            summary = summary.with(name, mean_measurement(mean(&values), rows.len()));
        }
        summary
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Score, Scores};

    fn row(id: &str, score: Option<f64>) -> EvalRow {
        let score = score.map_or_else(|| Score::unscored("no"), Score::value);
        let scores: Scores = [("s", score)].into_iter().collect();
        EvalRow::new("p", id, scores, 0, 0)
    }

    #[test]
    fn attempts_at_one_example_belong_together() {
        let rows = [
            row("a", Some(1.0)),
            row("b", Some(0.0)),
            row("a", Some(0.0)),
            row("b", Some(0.0)),
        ];
        let summary = PassAtK::of_attempts(2, 1.0, "s").compute(&rows);
        let value = |name: &str| summary.get(name).and_then(|m| m.value);
        assert_eq!(value("pass_at_1"), Some(0.25));
        assert_eq!(value("pass_at_2"), Some(0.5));
    }

    #[test]
    fn an_example_with_too_few_scored_attempts_is_left_out() {
        let rows = [
            row("a", Some(1.0)),
            row("a", None),
            row("b", Some(0.0)),
            row("b", Some(0.0)),
        ];
        let summary = PassAtK::new([2], 1.0, "s").compute(&rows);
        let two = summary.get("pass_at_2").expect("computed");
        assert_eq!((two.value, two.n), (Some(0.0), Some(1)));
        let none = PassAtK::new([3], 1.0, "s").compute(&rows);
        assert_eq!(none.get("pass_at_3").and_then(|m| m.value), None);
    }
}
