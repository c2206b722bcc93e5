//! NliLabelMatch: whether the response states the gold relation.

use std::sync::LazyLock;

use async_trait::async_trait;
use serde_json::Value;

use super::{Evaluator, EvaluatorError};
use crate::model::{Example, Identity, Output, Score, ScoreName, Scores};
use crate::text::nli;
use crate::text::words::{is_word_char, trim};

static NAMES: LazyLock<[ScoreName; 1]> = LazyLock::new(|| ["nli_accuracy".into()]);

/// `nli_accuracy`: 1 when the response states the gold label, else 0, with the
/// reason. Labels are compared by meaning (`true`, entailment and SUPPORTS are
/// one), negation is understood, and `not entailed` matches no three-way label
/// because it leaves two of them open. A gold label that we do not know must be
/// given literally.
///
/// A blank gold scores 1, checked first; then a blank response scores 0. In a
/// run, examples without `answer` are not applicable; one with `null`, where annotators
/// did not agree, is not applicable in a run and unscored when it is asked for.
#[derive(Debug, Clone, Copy, Default)]
pub struct NliLabelMatch;

impl NliLabelMatch {
    /// Scores a response against the gold label.
    pub fn compare(response: &str, gold: &str) -> Score {
        if trim(gold).is_empty() {
            return Score::value(1.0);
        }
        if trim(response).is_empty() {
            return Score::value(0.0).because("the response is empty");
        }
        let Some(expected) = nli::label(gold) else {
            let equal = spelt(response) == spelt(gold);
            return Score::from(equal).because("the gold label is unknown; compared as text");
        };
        match nli::stance(response) {
            None => Score::value(0.0).because("no label is stated"),
            Some((found, rule)) => {
                Score::from(found.within(expected)).because(format!("{found} ({rule})"))
            }
        }
    }
}

/// The words of a label, whatever case and signs it is written with.
fn spelt(text: &str) -> Vec<String> {
    text.split(|c| !is_word_char(c) || c == '_')
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect()
}

#[async_trait]
impl Evaluator for NliLabelMatch {
    fn name(&self) -> &str {
        "nli_label_match"
    }

    fn score_names(&self) -> &[ScoreName] {
        &*NAMES
    }

    fn identity(&self) -> Option<Identity> {
        // 2: what is said of a label counts, and so does one before its reason.
        Some(Identity::new(self.name(), 2, Value::Null))
    }

    fn required_fields(&self) -> &[&[&str]] {
        &[&["answer"]]
    }

    async fn score(&self, example: &Example, output: &Output) -> Result<Scores, EvaluatorError> {
        let score = match example.get("answer") {
            Some(Value::Null) => Score::unscored("the example has no gold label"),
            _ => Self::compare(&output.response(), &example.stringified("answer")),
        };
        Ok([(NAMES[0].clone(), score)].into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evaluator::score_now;

    #[test]
    fn a_null_label_is_none() {
        let example = Example::new().with("answer", Value::Null);
        assert!(!NliLabelMatch.applies_to(&example));
        let output = Output::reply(&example, "neutral");
        let scores = score_now(&NliLabelMatch, &example, &output)
            .expect("never waits")
            .expect("scores");
        assert_eq!(scores.value("nli_accuracy"), None);
        let reason = scores.get("nli_accuracy").and_then(Score::reason);
        assert_eq!(reason, Some("the example has no gold label"));
    }

    #[test]
    fn labels_match_by_meaning() {
        for (gold, response, expected) in [
            ("SUPPORTS", "True", 1.0),
            ("SUPPORT", "The claim is entailed.", 1.0),
            ("CONTRADICT", "The abstract refutes it.", 1.0),
            (
                "Not mentioned",
                "The claim is neither supported nor refuted.",
                1.0,
            ),
            ("Contradiction", "not entailed", 0.0),
            ("not_entailment", "not entailed", 1.0),
            ("not_entailment", "contradiction", 1.0),
            ("half-true", "Half true.", 1.0),
            ("half-true", "true", 0.0),
            ("Contradiction", "Entailment is impossible.", 0.0),
            ("SUPPORTS", "Yes and no.", 0.0),
            ("REFUTES", "Yes and no.", 0.0),
            ("NOT ENOUGH INFO", "Not mentioned or unknown", 1.0),
        ] {
            let score = NliLabelMatch::compare(response, gold);
            assert_eq!(score.get(), Some(expected), "{gold}: {response}");
        }
    }
}
