//! AnswerQuality: SQuAD-style token overlap with the gold answer.

use std::sync::LazyLock;

use async_trait::async_trait;
use serde_json::Value;

use super::{Evaluator, EvaluatorError};
use crate::model::{Example, Identity, Output, ScoreName, Scores};
use crate::text::overlap::Overlap;
use crate::text::stringify::python_str;

static NAMES: LazyLock<[ScoreName; 4]> =
    LazyLock::new(|| ["f1", "exact_match", "recall", "contains"].map(ScoreName::from));

/// `f1`, `exact_match`, `recall` and `contains` of the response against
/// `answer`; with a list of accepted `answers`, the best value over all of them.
///
/// An empty gold answer scores 1 throughout, checked first; then an empty
/// response scores 0 throughout. In a run, examples without a gold answer are
/// not applicable.
#[derive(Debug, Clone, Copy, Default)]
pub struct AnswerQuality;

impl AnswerQuality {
    /// Scores a response against one gold answer, in the order of the score names.
    pub fn compare(response: &str, gold: &str) -> [f64; 4] {
        if gold.is_empty() {
            return [1.0; 4];
        }
        if response.is_empty() {
            return [0.0; 4];
        }
        let overlap = Overlap::of(response, gold);
        let contains = response.to_lowercase().contains(&gold.to_lowercase());
        [
            overlap.f1,
            overlap.exact_match,
            overlap.recall,
            f64::from(u8::from(contains)),
        ]
    }
}

#[async_trait]
impl Evaluator for AnswerQuality {
    fn name(&self) -> &str {
        "answer_quality"
    }

    fn score_names(&self) -> &[ScoreName] {
        &*NAMES
    }

    fn identity(&self) -> Option<Identity> {
        Some(Identity::new(self.name(), 1, Value::Null))
    }

    fn required_fields(&self) -> &[&[&str]] {
        &[&["answer", "answers"]]
    }

    async fn score(&self, example: &Example, output: &Output) -> Result<Scores, EvaluatorError> {
        let response = output.response();
        let values = match example.get("answers").and_then(Value::as_array) {
            Some(accepted) if !accepted.is_empty() => {
                let each = accepted
                    .iter()
                    .map(|gold| Self::compare(&response, &python_str(gold)));
                each.fold([0.0_f64; 4], |best, one| {
                    std::array::from_fn(|i| best[i].max(one[i]))
                })
            }
            _ => Self::compare(&response, &example.stringified("answer")),
        };
        Ok(NAMES.iter().cloned().zip(values).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[tokio::test]
    async fn the_best_accepted_answer_counts() {
        let example = Example::new()
            .with("answer", "58")
            .with("answers", json!(["58", "fifty-eight"]));
        let output = Output::reply(&example, "fifty-eight");
        let scores = AnswerQuality
            .score(&example, &output)
            .await
            .expect("scores");
        assert_eq!(scores.value("exact_match"), Some(1.0));
        let without = Example::new()
            .with("answer", "58")
            .with("answers", json!([]));
        let scores = AnswerQuality
            .score(&without, &output)
            .await
            .expect("scores");
        assert_eq!(scores.value("exact_match"), Some(0.0));
    }
}
