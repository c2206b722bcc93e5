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

/// In which order texts are normalised before they are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum NormalOrder {
    /// Articles are removed while punctuation is still there, as the original tool does:
    /// `U.S.A.` is `us`.
    #[default]
    Original,
    /// Punctuation is removed first, as every official script does: `U.S.A.` is `usa`.
    Official,
}

/// `f1`, `exact_match`, `recall` and `contains` of the response against
/// `answer`; with a list of accepted `answers`, the best value over all of them.
///
/// An empty gold answer scores 1 throughout, checked first; then an empty
/// response scores 0 throughout. In a run, examples without a gold answer are
/// not applicable. Texts are normalised in the original tool's order;
/// [`in_order`](Self::in_order) gives the other one.
#[derive(Debug, Clone, Copy, Default)]
pub struct AnswerQuality;

impl AnswerQuality {
    /// The same scores with texts normalised in this order.
    pub fn in_order(order: NormalOrder) -> OrderedAnswerQuality {
        OrderedAnswerQuality { order }
    }

    /// Scores a response against one gold answer, in the order of the score names.
    pub fn compare(response: &str, gold: &str) -> [f64; 4] {
        Self::in_order(NormalOrder::Original).compare(response, gold)
    }
}

/// [`AnswerQuality`] with a given order of normalisation.
#[derive(Debug, Clone, Copy, Default)]
pub struct OrderedAnswerQuality {
    order: NormalOrder,
}

impl OrderedAnswerQuality {
    /// Scores a response against one gold answer, in the order of the score names.
    pub fn compare(self, response: &str, gold: &str) -> [f64; 4] {
        if gold.is_empty() {
            return [1.0; 4];
        }
        if response.is_empty() {
            return [0.0; 4];
        }
        let overlap = match self.order {
            NormalOrder::Original => Overlap::of(response, gold),
            NormalOrder::Official => Overlap::official(response, gold),
        };
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
impl Evaluator for OrderedAnswerQuality {
    fn name(&self) -> &str {
        "answer_quality"
    }

    fn score_names(&self) -> &[ScoreName] {
        &*NAMES
    }

    fn identity(&self) -> Option<Identity> {
        // Scores of the original order keep the identity that they had alone.
        let settings = match self.order {
            NormalOrder::Original => Value::Null,
            NormalOrder::Official => "official order".into(),
        };
        Some(Identity::new(self.name(), 1, settings))
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
                    .map(|gold| self.compare(&response, &python_str(gold)));
                each.fold([0.0_f64; 4], |best, one| {
                    std::array::from_fn(|i| best[i].max(one[i]))
                })
            }
            _ => self.compare(&response, &example.stringified("answer")),
        };
        Ok(NAMES.iter().cloned().zip(values).collect())
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
        OrderedAnswerQuality::default().identity()
    }

    fn required_fields(&self) -> &[&[&str]] {
        &[&["answer", "answers"]]
    }

    async fn score(&self, example: &Example, output: &Output) -> Result<Scores, EvaluatorError> {
        OrderedAnswerQuality::default().score(example, output).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evaluator::score_now;
    use serde_json::json;

    #[test]
    fn the_best_accepted_answer_counts() {
        let example = Example::new()
            .with("answer", "58")
            .with("answers", json!(["58", "fifty-eight"]));
        let output = Output::reply(&example, "fifty-eight");
        let scores = score_now(&AnswerQuality, &example, &output)
            .expect("never waits")
            .expect("scores");
        assert_eq!(scores.value("exact_match"), Some(1.0));
        let without = Example::new()
            .with("answer", "58")
            .with("answers", json!([]));
        let scores = score_now(&AnswerQuality, &without, &output)
            .expect("never waits")
            .expect("scores");
        assert_eq!(scores.value("exact_match"), Some(0.0));
    }

    #[test]
    fn the_order_decides_what_is_an_article() {
        for (response, gold, original, official) in [
            ("U.S.A.", "USA", 0.0, 1.0),
            ("A-ha", "Aha", 0.0, 1.0),
            ("the state-of-the-art", "state-of-the-art", 1.0, 1.0),
            ("stateoftheart", "state-of-the-art", 0.0, 1.0),
        ] {
            let exact = |order| AnswerQuality::in_order(order).compare(response, gold)[1];
            assert_eq!(exact(NormalOrder::Original), original, "{response}");
            assert_eq!(exact(NormalOrder::Official), official, "{response}");
        }
        let identity = |order| AnswerQuality::in_order(order).identity();
        assert_eq!(identity(NormalOrder::Original), AnswerQuality.identity());
        assert_ne!(identity(NormalOrder::Official), AnswerQuality.identity());
    }
}
