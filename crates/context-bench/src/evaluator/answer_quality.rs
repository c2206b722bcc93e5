//! AnswerQuality: SQuAD-style token overlap with the gold answer.

use std::sync::LazyLock;

use async_trait::async_trait;

use super::{Evaluator, EvaluatorError};
use crate::model::{Example, Output, ScoreName, Scores};
use crate::text::overlap::Overlap;

static NAMES: LazyLock<[ScoreName; 4]> =
    LazyLock::new(|| ["f1", "exact_match", "recall", "contains"].map(ScoreName::from));

/// `f1`, `exact_match`, `recall` and `contains` of the response against `answer`.
///
/// An empty gold answer scores 1 throughout, checked first; then an empty
/// response scores 0 throughout.
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

    async fn score(&self, example: &Example, output: &Output) -> Result<Scores, EvaluatorError> {
        let gold = example.stringified("answer");
        let values = Self::compare(&output.response(), &gold);
        Ok(NAMES.iter().cloned().zip(values).collect())
    }
}
