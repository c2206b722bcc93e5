//! Relations between claim and text: the worked cases.

use context_bench::evaluator::NliLabelMatch;
use context_bench::text::nli::stance;
use serde_json::json;

use crate::worked::{check, scores};

const DIFFERENCES: &[(&str, &str)] = &[
    // `maybe` is a label of PubMedQA; unknown labels are compared as text.
    ("cb-0187", r#"{"nli_accuracy": 1.0}"#),
    // Inflected forms are labels.
    ("cb-0189", r#"{"nli_accuracy": 1.0}"#),
];

/// Labels have one name per meaning.
const LABEL_DIFFERENCES: &[(&str, &str)] = &[
    ("cb-0194", r#""contradiction""#),
    ("cb-0196", r#""entailment""#),
];

#[test]
fn worked_cases() {
    check("NLILabelMatch", DIFFERENCES, |input| {
        scores(&NliLabelMatch, input)
    });
    check("nli.extract_label", LABEL_DIFFERENCES, |input| {
        let found = stance(input["text"].as_str().unwrap());
        json!(
            found
                .map(|(stance, _)| stance.to_string())
                .unwrap_or_default()
        )
    });
}

#[test]
fn relations_as_models_write_them() {
    for (expected, text) in [
        (
            "entailment",
            "It is **entailed**, as Section 3 says. There is no clause that contradicts it.",
        ),
        (
            "contradiction",
            "Contradiction: Section 4 prohibits sharing, so the hypothesis is false.",
        ),
        (
            "not mentioned",
            "The contract doesn't say anything about reverse engineering.",
        ),
        (
            "not mentioned",
            "**Not Mentioned**\n\nThe contract neither supports nor contradicts it.",
        ),
        (
            "entailment",
            "Based on the evidence, the claim is SUPPORTED.",
        ),
        (
            "contradiction",
            "The evidence contradicts the claim, which says that it supports growth.",
        ),
        ("not mentioned", "The label should be: NOT_ENOUGH_INFO"),
        (
            "entailment",
            "Yes, the contract entails it; it does not mention exceptions.",
        ),
        (
            "not mentioned",
            "Neutral. The premise neither entails nor contradicts the hypothesis.",
        ),
        ("entailment", "{\"label\": \"SUPPORTS\"}"),
        ("contradiction", "Answer: **Contradiction**"),
        (
            "not mentioned",
            "Therefore, the contract does not mention the hypothesis.",
        ),
        (
            "contradiction",
            "The claim is false because the trial showed no effect.",
        ),
        (
            "not mentioned",
            "There is not enough information to support or refute the claim.",
        ),
        ("entailment", "I would classify this as entailment."),
        ("not entailed", "not supported"),
        ("not mentioned", "No evidence supports or refutes this."),
        (
            "entailment",
            "There is no doubt that the claim is supported.",
        ),
        (
            "contradiction",
            "The relationship is contradiction, not entailment.",
        ),
        ("entailment", "It is entailment rather than contradiction."),
        (
            "contradiction",
            "The claim is not only unsupported but contradicted.",
        ),
    ] {
        let found = stance(text);
        let name = found.map(|(stance, _)| stance.to_string());
        assert_eq!(name.as_deref(), Some(expected), "{text:?}: {found:?}");
    }
}
