//! SummarizationQuality: ROUGE of the response against the reference summaries.

use std::borrow::Cow;
use std::sync::LazyLock;

use async_trait::async_trait;
use serde_json::Value;

use super::{Evaluator, EvaluatorError};
use crate::model::{Example, Identity, Output, Score, ScoreName, Scores};
use crate::text::rouge::{Rouge, RougeTokens};
use crate::text::stringify::python_str;

static NAMES: LazyLock<[ScoreName; 5]> = LazyLock::new(|| {
    [
        "rouge_l_precision",
        "rouge_l_recall",
        "rouge_l_f1",
        "rouge_1_f1",
        "rouge_2_f1",
    ]
    .map(ScoreName::from)
});

/// `rouge_l_precision`, `rouge_l_recall`, `rouge_l_f1`, `rouge_1_f1` and
/// `rouge_2_f1` of the response against `answer`; with a list `answers` or
/// `references`, each kind takes the reference with its best F1.
///
/// An empty gold scores 1 throughout, checked first; then an empty response
/// scores 0 throughout. A gold text without any token of the chosen kind (a
/// Chinese summary under Google's tokens) is unscored: its 0 would say nothing
/// about the response.
#[derive(Debug, Clone, Copy, Default)]
pub struct SummarizationQuality {
    /// How texts are cut into tokens; Google's without stemming unless set.
    pub tokens: RougeTokens,
}

impl SummarizationQuality {
    /// With the given tokens.
    pub fn new(tokens: RougeTokens) -> Self {
        Self { tokens }
    }

    /// Scores a response against its references, in the order of the score
    /// names; `None` when no reference has a token although one has letters.
    pub fn compare(&self, response: &str, references: &[Cow<'_, str>]) -> Option<[f64; 5]> {
        if references.iter().all(|reference| reference.is_empty()) {
            return Some([1.0; 5]);
        }
        if response.is_empty() {
            return Some([0.0; 5]);
        }
        let has_letters = |text: &str| text.chars().any(char::is_alphanumeric);
        let unreadable = |text: &str| has_letters(text) && self.tokens.of(text).is_empty();
        if references.iter().all(|reference| unreadable(reference)) {
            return None;
        }
        let references = references.iter().map(AsRef::as_ref);
        let best = Rouge::best(response, references, self.tokens);
        Some([
            best.rouge_l.precision,
            best.rouge_l.recall,
            best.rouge_l.f1,
            best.rouge_1.f1,
            best.rouge_2.f1,
        ])
    }
}

/// The gold summaries: a list of several, else `answer`.
fn references(example: &Example) -> Vec<Cow<'_, str>> {
    let list = |key| example.get(key).and_then(Value::as_array);
    match list("answers").or_else(|| list("references")) {
        Some(list) if !list.is_empty() => list.iter().map(python_str).collect(),
        _ => vec![example.stringified("answer")],
    }
}

#[async_trait]
impl Evaluator for SummarizationQuality {
    fn name(&self) -> &str {
        "summarization_quality"
    }

    fn score_names(&self) -> &[ScoreName] {
        &*NAMES
    }

    fn identity(&self) -> Option<Identity> {
        Some(Identity::new(self.name(), 1, format!("{:?}", self.tokens)))
    }

    fn required_fields(&self) -> &[&[&str]] {
        &[&["answer", "answers", "references"]]
    }

    async fn score(&self, example: &Example, output: &Output) -> Result<Scores, EvaluatorError> {
        let names = NAMES.iter().cloned();
        Ok(
            match self.compare(&output.response(), &references(example)) {
                Some(values) => names.zip(values).collect(),
                None => {
                    let reason = "the reference has no word of a-z or 0-9, which ROUGE's tokens need; `tokens=whitespace` reads other scripts";
                    names.map(|name| (name, Score::unscored(reason))).collect()
                }
            },
        )
    }
}
