//! Relations between claim and text: the worked cases.

use context_bench::evaluator::NliLabelMatch;
use context_bench_scoring::text::nli::stance;
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

/// Labels that are denied, joined, or announced before a reason.
#[test]
fn what_is_said_of_a_label_counts() {
    for (text, expected) in [
        ("Entailment. Nothing contradicts it.", Some("entailment")),
        (
            "I would say entailment. It is not contradicted.",
            Some("entailment"),
        ),
        (
            "Contradiction. The statement is not entailed.",
            Some("contradiction"),
        ),
        ("Entailment: no\nContradiction: yes", Some("contradiction")),
        (
            "Entailment: no\nContradiction: no\nNeutral: yes",
            Some("not mentioned"),
        ),
        ("It is long. Not entailed.", Some("not entailed")),
        ("Entailment is impossible.", Some("not entailed")),
        ("Entailment is impossible here.", Some("not entailed")),
        ("Entailment does not hold.", Some("not entailed")),
        ("Entailment doesn't hold.", Some("not entailed")),
        ("Contradiction does not hold.", Some("not contradicted")),
        (
            "The entailment relation does not hold.",
            Some("not entailed"),
        ),
        ("The hypothesis does not hold.", Some("contradiction")),
        ("The claim does not hold.", Some("contradiction")),
        ("The claim holds.", Some("entailment")),
        ("The hypothesis holds.", Some("entailment")),
        ("A contradiction is impossible.", Some("not contradicted")),
        ("Contradiction is excluded.", Some("not contradicted")),
        ("Contradiction can be ruled out.", Some("not contradicted")),
        ("Entailment can be ruled out.", Some("not entailed")),
        ("Entailment is ruled out.", Some("not entailed")),
        ("Entailment is out of the question.", Some("not entailed")),
        ("Entailment is wrong.", Some("not entailed")),
        ("Entailment is incorrect.", Some("not entailed")),
        ("Entailment is not given.", Some("not entailed")),
        ("Entailment isn't the case.", Some("not entailed")),
        ("Entailment is not possible.", Some("not entailed")),
        (
            "Entailment would be wrong; it is a contradiction.",
            Some("contradiction"),
        ),
        (
            "Entailment is impossible, so it is a contradiction.",
            Some("contradiction"),
        ),
        (
            "Neither entailment nor contradiction holds.",
            Some("not mentioned"),
        ),
        (
            "Entailment and contradiction are both impossible.",
            Some("not mentioned"),
        ),
        (
            "Neutral is impossible.",
            Some("entailment or contradiction"),
        ),
        ("We cannot rule out entailment.", None),
        ("We can rule out contradiction.", Some("not contradicted")),
        ("We rule out entailment.", Some("not entailed")),
        ("I exclude entailment.", Some("not entailed")),
        (
            "It is impossible that the claim is true.",
            Some("contradiction"),
        ),
        ("It is impossible to determine.", Some("not mentioned")),
        ("It is impossible to say.", Some("not mentioned")),
        (
            "It is impossible to tell whether the claim is true.",
            Some("not mentioned"),
        ),
        ("yes and no", Some("entailment or contradiction")),
        ("Yes and no.", Some("entailment or contradiction")),
        (
            "Yes and no, it depends.",
            Some("entailment or contradiction"),
        ),
        ("Well, yes and no.", Some("entailment or contradiction")),
        ("both yes and no", Some("entailment or contradiction")),
        ("yes or no", Some("entailment or contradiction")),
        ("Yes/No", Some("entailment or contradiction")),
        ("True and false.", Some("entailment or contradiction")),
        ("true or false", Some("entailment or contradiction")),
        (
            "It is partly true and partly false.",
            Some("entailment or contradiction"),
        ),
        (
            "entailment or contradiction",
            Some("entailment or contradiction"),
        ),
        ("Either entailment or neutral.", Some("not contradicted")),
        ("Not mentioned or unknown", Some("not mentioned")),
        ("not mentioned or unknown", Some("not mentioned")),
        ("Not mentioned or unknown.", Some("not mentioned")),
        ("Not mentioned/unknown", Some("not mentioned")),
        ("Unknown or not mentioned", Some("not mentioned")),
        ("neutral or unknown", Some("not mentioned")),
        (
            "The claim is not mentioned or unknown.",
            Some("not mentioned"),
        ),
        ("not supported or refuted", Some("not mentioned")),
        ("not true or unknown", Some("not entailed")),
        ("Not mentioned or unclear.", Some("not mentioned")),
        (
            "Label: entailment. Reason: the text does not mention exceptions.",
            Some("entailment"),
        ),
        (
            "Label: Entailment\nReason: nothing here contradicts the claim.",
            Some("entailment"),
        ),
        (
            "Answer: Contradiction. The answer is clear because it is not true.",
            Some("contradiction"),
        ),
        (
            "The answer is entailment because no clause says it is false.",
            Some("entailment"),
        ),
        (
            "Entailment because the text says so and never contradicts it.",
            Some("entailment"),
        ),
        (
            "Entailment, because there is no contradiction.",
            Some("entailment"),
        ),
        (
            "Entailment - the contract says that this is not false.",
            Some("entailment"),
        ),
        (
            "Entailment: the contract does not mention exceptions.",
            Some("entailment"),
        ),
        (
            "Contradiction: the contract does not support it.",
            Some("contradiction"),
        ),
        (
            "Contradiction - the text says it is true that he left.",
            Some("contradiction"),
        ),
        (
            "Contradiction because the abstract supports the opposite.",
            Some("contradiction"),
        ),
        (
            "Contradiction since the text supports the opposite",
            Some("contradiction"),
        ),
        (
            "Not mentioned: the contract neither entails it nor is it true.",
            Some("not mentioned"),
        ),
        (
            "Not mentioned because the text would have to say yes.",
            Some("not mentioned"),
        ),
        (
            "Entailment (the text does not contradict it)",
            Some("entailment"),
        ),
        (
            "**Entailment** The contract does not mention limits.",
            Some("entailment"),
        ),
        (
            "Entailment.\n\nThe contract does not mention limits, so there is no contradiction.",
            Some("entailment"),
        ),
        (
            "Contradiction. Therefore the claim is not true.",
            Some("contradiction"),
        ),
        (
            "SUPPORTS. The abstract does not refute it.",
            Some("entailment"),
        ),
        ("True. No evidence refutes it.", Some("entailment")),
        (
            "False. There is no evidence that supports it.",
            Some("contradiction"),
        ),
        (
            "Neutral. So we cannot say that it is true.",
            Some("not mentioned"),
        ),
        (
            "Verdict: SUPPORTS. Explanation: it is unknown how many patients dropped out.",
            Some("entailment"),
        ),
        (
            "The label is contradiction, as the statement is not supported.",
            Some("contradiction"),
        ),
        (
            "It is entailment, since it does not contradict anything.",
            Some("entailment"),
        ),
        (
            "I would say entailment because nothing contradicts it.",
            Some("entailment"),
        ),
        (
            "My answer is SUPPORTS, because the study did not fail.",
            Some("entailment"),
        ),
        (
            "Yes, because the text does not say otherwise.",
            Some("entailment"),
        ),
        (
            "No, because the text supports the opposite.",
            Some("contradiction"),
        ),
        ("No, since it is unknown.", Some("not mentioned")),
        ("Yes.", Some("entailment")),
        ("Yes, it does not contradict.", Some("entailment")),
        ("Entailment? No, contradiction.", Some("contradiction")),
        ("Entailment? No.", Some("not entailed")),
        (
            "Is it entailment? No, it is neutral.",
            Some("not mentioned"),
        ),
        ("Not entailment.", Some("not entailed")),
        ("no entailment", Some("not entailed")),
        ("The claim isn't true.", Some("contradiction")),
        ("The claim is impossible.", Some("contradiction")),
        ("That is wrong.", Some("contradiction")),
        ("The claim is incorrect.", Some("contradiction")),
        ("The claim is correct.", Some("entailment")),
        ("The statement is right.", Some("entailment")),
        ("The text says nothing about it.", Some("not mentioned")),
        ("The contract is silent on this.", Some("not mentioned")),
        ("The hypothesis cannot be inferred.", Some("not mentioned")),
        (
            "The hypothesis follows from the premise.",
            Some("entailment"),
        ),
        (
            "The hypothesis does not follow from the premise.",
            Some("not entailed"),
        ),
        ("no contradiction holds", Some("not contradicted")),
        ("The label entailment does not apply.", Some("not entailed")),
        ("Entailment does not apply.", Some("not entailed")),
        (
            "Contradiction is not the right label; entailment is.",
            Some("entailment"),
        ),
    ] {
        let found = stance(text);
        let name = found.map(|(stance, _)| stance.to_string());
        assert_eq!(name.as_deref(), expected, "{text:?}: {found:?}");
    }
}
