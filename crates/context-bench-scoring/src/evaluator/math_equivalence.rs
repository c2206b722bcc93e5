//! MathEquivalence: is the final answer of the response the gold answer?
//!
//! The mathematics is in `crate::math`; here is only which texts are compared.

use std::sync::LazyLock;

use async_trait::async_trait;
use serde_json::Value;

use super::{Evaluator, EvaluatorError};
use crate::math::{equivalent, extract_answer};
use crate::model::{Example, Identity, Output, Score, ScoreName, Scores};
use crate::text::stringify::python_str;

static NAMES: LazyLock<[ScoreName; 1]> = LazyLock::new(|| ["math_equiv".into()]);

/// `math_equiv`: 1 when the final answer of the response equals `answer`, or
/// one of the accepted `answers`; 0 otherwise.
///
/// The answer is found in both texts, so the gold may be a written-out solution.
/// A blank gold answer scores 1, checked first; then a blank response scores 0.
/// A response without any answer scores 0 and says so. In a run, examples
/// without a gold answer are not applicable.
#[derive(Debug, Clone, Copy, Default)]
pub struct MathEquivalence;

impl MathEquivalence {
    /// Scores a response against one gold answer.
    pub fn compare(response: &str, gold: &str) -> Score {
        Self::compare_any(response, &[gold])
    }

    /// Scores a response against the answers that are accepted.
    fn compare_any<T: AsRef<str>>(response: &str, accepted: &[T]) -> Score {
        if accepted.iter().any(|gold| gold.as_ref().trim().is_empty()) {
            return Score::value(1.0);
        }
        if response.trim().is_empty() {
            return Score::value(0.0).because("empty response");
        }
        let Some(found) = extract_answer(response) else {
            return Score::value(0.0).because("no answer found in the response");
        };
        let right = accepted.iter().any(|gold| {
            let gold = gold.as_ref().trim();
            equivalent(found, extract_answer(gold).unwrap_or(gold))
        });
        Score::from(right)
    }
}

#[async_trait]
impl Evaluator for MathEquivalence {
    fn name(&self) -> &str {
        "math_equivalence"
    }

    fn score_names(&self) -> &[ScoreName] {
        &*NAMES
    }

    fn identity(&self) -> Option<Identity> {
        // 2: `ABC` equals `abc`.
        Some(Identity::new(self.name(), 2, serde_json::Value::Null))
    }

    fn required_fields(&self) -> &[&[&str]] {
        &[&["answer", "answers"]]
    }

    async fn score(&self, example: &Example, output: &Output) -> Result<Scores, EvaluatorError> {
        let response = output.response();
        let score = match example.get("answers").and_then(Value::as_array) {
            Some(accepted) if !accepted.is_empty() => {
                let accepted: Vec<_> = accepted.iter().map(python_str).collect();
                Self::compare_any(&response, &accepted)
            }
            _ => Self::compare(&response, &example.stringified("answer")),
        };
        Ok([(NAMES[0].clone(), score)].into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evaluator::score_now;
    use serde_json::json;

    fn score(example: &Example, response: &str) -> Score {
        let output = Output::reply(example, response);
        let scores = score_now(&MathEquivalence, example, &output).expect("never waits");
        scores
            .expect("scores")
            .get("math_equiv")
            .expect("a score")
            .clone()
    }

    #[test]
    fn any_accepted_answer_counts() {
        let example = Example::new().with("answers", json!(["\\frac{1}{2}", 7]));
        assert_eq!(score(&example, "So it is 0.5").get(), Some(1.0));
        assert_eq!(score(&example, "\\boxed{7.0}").get(), Some(1.0));
        assert_eq!(score(&example, "\\boxed{8}").get(), Some(0.0));
    }

    #[test]
    fn what_is_missing_is_said() {
        let example = Example::new().with("answer", "5");
        let empty = score(&example, "  ");
        assert_eq!(empty.get(), Some(0.0));
        assert_eq!(empty.reason(), Some("empty response"));
        let refusal = score(&example, "I cannot help with that request, sorry.");
        assert_eq!(refusal.get(), Some(0.0));
        assert_eq!(refusal.reason(), Some("no answer found in the response"));
        let unknown = Example::new().with("answer", " ");
        assert_eq!(score(&unknown, "anything").get(), Some(1.0));
    }
}
