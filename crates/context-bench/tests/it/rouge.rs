//! ROUGE against values of the official implementation, and the worked cases.

use context_bench::evaluator::SummarizationQuality;
use context_bench::{Evaluator, Example, Output};
use context_bench_scoring::text::porter::porter_stem;
use context_bench_scoring::text::rouge::{Rouge, RougeScore, RougeTokens};
use serde_json::{Value, json};

use crate::worked::{check, lines, scores};

/// With the default tokens punctuation does not count.
const DEFAULT_DIFFERENCES: &[(&str, &str)] = &[(
    "cb-0063",
    r#"{"rouge_l_precision": 1.0, "rouge_l_recall": 1.0, "rouge_l_f1": 1.0}"#,
)];

/// Whether a score equals `[precision, recall, f1]` within 1e-9.
pub(crate) fn equals(found: RougeScore, expected: &Value) -> bool {
    let found = [found.precision, found.recall, found.f1];
    let expected = expected.as_array().unwrap();
    expected
        .iter()
        .zip(found)
        .all(|(expected, found)| (expected.as_f64().unwrap() - found).abs() < 1e-9)
}

/// Whether all three kinds equal the official values of a record, plain and stemmed.
pub(crate) fn agrees(prediction: &str, references: &[&str], expected: &Value) -> bool {
    [("plain", false), ("stemmed", true)]
        .iter()
        .all(|(key, stem)| {
            let tokens = RougeTokens::Google { stem: *stem };
            let rouge = Rouge::best(prediction, references.iter().copied(), tokens);
            equals(rouge.rouge_l, &expected[key]["rougeL"])
                && equals(rouge.rouge_1, &expected[key]["rouge1"])
                && equals(rouge.rouge_2, &expected[key]["rouge2"])
        })
}

/// The texts of a list.
pub(crate) fn texts(list: &Value) -> Vec<&str> {
    list.as_array()
        .unwrap()
        .iter()
        .map(|text| text.as_str().unwrap())
        .collect()
}

#[test]
fn equals_the_official_values_on_our_own_texts() {
    let golden = lines(include_str!("../fixtures/rouge/golden.jsonl"));
    assert!(golden.len() > 15);
    for record in golden {
        let prediction = record["prediction"].as_str().unwrap();
        let references = texts(&record["references"]);
        assert!(agrees(prediction, &references, &record), "{record}");
    }
}

#[test]
fn stems_equal_nltks() {
    for pair in lines(include_str!("../fixtures/rouge/stems.jsonl")) {
        let pair = texts(&pair);
        assert_eq!(porter_stem(pair[0]), pair[1], "{}", pair[0]);
    }
}

#[test]
fn worked_cases_hold_with_whitespace_tokens() {
    let evaluator = SummarizationQuality::new(RougeTokens::Whitespace);
    check("SummarizationQuality", &[], |input| {
        scores(&evaluator, input)
    });
}

#[test]
fn worked_cases_under_the_default_tokens() {
    let evaluator = SummarizationQuality::default();
    check("SummarizationQuality", DEFAULT_DIFFERENCES, |input| {
        scores(&evaluator, input)
    });
}

#[tokio::test]
async fn a_reference_that_the_tokens_cannot_read_is_unscored() {
    let example = Example::new().with("answer", "会议批准了预算");
    let output = Output::reply(&example, "会议批准了预算");
    let google = SummarizationQuality::default();
    let scores = google.score(&example, &output).await.unwrap();
    let score = scores.get("rouge_l_f1").unwrap();
    assert_eq!(score.get(), None);
    assert!(score.reason().unwrap().contains("tokens=whitespace"));
    let whitespace = SummarizationQuality::new(RougeTokens::Whitespace);
    let scores = whitespace.score(&example, &output).await.unwrap();
    assert_eq!(scores.value("rouge_l_f1"), Some(1.0));
    // Lists of references: the best of each kind.
    let example = Example::new().with("references", json!(["a b c", "x y"]));
    let output = Output::reply(&example, "x y");
    let scores = google.score(&example, &output).await.unwrap();
    assert_eq!(scores.value("rouge_2_f1"), Some(1.0));
}
