//! `SciFactEvidence` and `SciFactLabels`: claims checked against abstracts, as counts that
//! make micro F1 over a corpus.

use std::sync::LazyLock;

use async_trait::async_trait;
use serde_json::Value;

use super::{Evaluator, EvaluatorError};
use crate::model::{Example, Identity, Output, ScoreName, Scores};
use crate::official::one;
use crate::official::scifact::{ClaimCounts, Counts, Evidence};
use crate::text::nli::{self, Stance};

static EVIDENCE: LazyLock<[ScoreName; 10]> = LazyLock::new(|| {
    [
        "scifact_rationale_f1",
        "scifact_abstract_f1",
        "scifact_sentence_f1",
        "scifact_abstracts_correct",
        "scifact_abstracts_predicted",
        "scifact_abstracts_expected",
        "scifact_rationales_correct",
        "scifact_sentences_correct",
        "scifact_sentences_predicted",
        "scifact_sentences_expected",
    ]
    .map(ScoreName::from)
});

/// Which abstracts, labels and sentences a response names, by the rule of SciFact's authors
/// ([`crate::official::scifact`]). F1 of the claim alone, and the counts of which the
/// figures over the corpus are made (`micro_f1`).
///
/// `evidence` of an example is a list of `{doc, label, sentences: [[0, 2], [5]]}`, empty for
/// a claim that no abstract decides.
#[derive(Debug, Clone, Copy, Default)]
pub struct SciFactEvidence;

#[async_trait]
impl Evaluator for SciFactEvidence {
    fn name(&self) -> &str {
        "scifact"
    }

    fn score_names(&self) -> &[ScoreName] {
        &*EVIDENCE
    }

    fn identity(&self) -> Option<Identity> {
        Some(Identity::new(self.name(), 1, Value::Null))
    }

    fn required_fields(&self) -> &[&[&str]] {
        &[&["evidence"]]
    }

    /// A claim without evidence is one too.
    fn applies_to(&self, example: &Example) -> bool {
        example.get("evidence").is_some_and(Value::is_array)
    }

    async fn score(&self, example: &Example, output: &Output) -> Result<Scores, EvaluatorError> {
        let gold = Evidence::gold(example.get("evidence").unwrap_or(&Value::Null));
        let counts = ClaimCounts::of(&Evidence::predicted(&output.response()), &gold);
        let ClaimCounts {
            abstracts,
            rationales,
            sentences,
        } = counts;
        let all = |counts: Counts| [counts.correct, counts.predicted, counts.expected];
        let numbers = all(abstracts)
            .into_iter()
            .chain([rationales.correct])
            .chain(all(sentences))
            .map(|n| n as f64);
        let values = [rationales.f1(), abstracts.f1(), sentences.f1()];
        let values = values.into_iter().chain(numbers);
        Ok(EVIDENCE.iter().cloned().zip(values).collect())
    }
}

static LABELS: LazyLock<[ScoreName; 3]> =
    LazyLock::new(|| ["label_correct", "label_predicted", "label_expected"].map(ScoreName::from));

/// Whether a response supports or contradicts a claim, and whether it should: what F1 over
/// these two labels is made of (`micro_f1`). A claim that is left open counts for neither.
#[derive(Debug, Clone, Copy, Default)]
pub struct SciFactLabels;

#[async_trait]
impl Evaluator for SciFactLabels {
    fn name(&self) -> &str {
        "scifact_labels"
    }

    fn score_names(&self) -> &[ScoreName] {
        &*LABELS
    }

    fn identity(&self) -> Option<Identity> {
        Some(Identity::new(self.name(), 1, Value::Null))
    }

    fn required_fields(&self) -> &[&[&str]] {
        &[&["answer"]]
    }

    async fn score(&self, example: &Example, output: &Output) -> Result<Scores, EvaluatorError> {
        let decided = |stance: &Stance| [Stance::CONFIRMS, Stance::DENIES].contains(stance);
        let right = nli::label(&example.stringified("answer")).filter(decided);
        let said = nli::stance(&output.response()).map(|(stance, _)| stance);
        let said = said.filter(decided);
        let values = [
            one(said.is_some() && said == right),
            one(said.is_some()),
            one(right.is_some()),
        ];
        Ok(LABELS.iter().cloned().zip(values).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evaluator::score_now;
    use serde_json::json;

    #[test]
    fn counts_and_f1_of_a_claim() {
        let example = Example::new().with(
            "evidence",
            json!([{"doc": "11", "label": "SUPPORT", "sentences": [[0, 2]]}]),
        );
        assert!(SciFactEvidence.applies_to(&example));
        assert!(SciFactEvidence.applies_to(&Example::new().with("evidence", json!([]))));
        assert!(!SciFactEvidence.applies_to(&Example::new().with("answer", "SUPPORT")));
        let response = r#"{"11": {"label": "SUPPORT", "sentences": [0]}}"#;
        let output = Output::reply(&example, response);
        let scores = score_now(&SciFactEvidence, &example, &output)
            .expect("never waits")
            .expect("scores");
        for (name, expected) in [
            ("scifact_abstract_f1", 1.0),
            ("scifact_rationale_f1", 0.0),
            ("scifact_sentence_f1", 0.0),
            ("scifact_abstracts_correct", 1.0),
            ("scifact_sentences_predicted", 1.0),
            ("scifact_sentences_expected", 2.0),
        ] {
            assert_eq!(scores.value(name), Some(expected), "{name}");
        }
    }

    #[test]
    fn labels_that_decide_are_counted() {
        for (gold, response, expected) in [
            ("SUPPORT", "SUPPORTS", [1.0, 1.0, 1.0]),
            ("SUPPORT", "The claim is refuted", [0.0, 1.0, 1.0]),
            ("NOT_ENOUGH_INFO", "not enough information", [0.0, 0.0, 0.0]),
            ("NOT_ENOUGH_INFO", "SUPPORT", [0.0, 1.0, 0.0]),
            ("CONTRADICT", "", [0.0, 0.0, 1.0]),
        ] {
            let example = Example::new().with("answer", gold);
            let output = Output::reply(&example, response);
            let scores = score_now(&SciFactLabels, &example, &output)
                .expect("never waits")
                .expect("scores");
            let found = LABELS.each_ref().map(|name| scores.value(name.as_str()));
            assert_eq!(found, expected.map(Some), "{gold}: {response}");
        }
    }
}
