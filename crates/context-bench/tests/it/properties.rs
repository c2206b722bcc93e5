//! Properties of evaluators on any input: no panic, bounded, the same again.

use context_bench::evaluator::{CallFormat, FunctionCallMatch, IfEvalChecker};
use context_bench::{Evaluator, Example, Output, Score};
use proptest::prelude::*;
use serde_json::{Value, json};

/// Any JSON, not too deep, with text that evaluators care about.
pub(crate) fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any_text().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::vec((any_text(), inner), 0..5)
                .prop_map(|pairs| Value::Object(pairs.into_iter().collect())),
        ]
    })
}

fn any_text() -> impl Strategy<Value = String> {
    let pieces = prop::sample::select(vec![
        "*",
        "**",
        "***",
        "******",
        "-",
        "--",
        ".",
        ". ",
        "...",
        " . . .",
        "!",
        "?",
        "\n",
        "\n\n",
        " ",
        "\u{1c}",
        "\u{a0}",
        "[",
        "]",
        "<<",
        ">>",
        "\"",
        "'",
        "'s ",
        "n't ",
        "(",
        ")",
        "{",
        "}",
        ",",
        ":",
        ";",
        "@",
        "http://",
        "a@b.c",
        "P.S.",
        "p. p. s",
        "Section 1",
        "Mr.",
        "U.S.",
        "e.g.",
        "3.14",
        "١",
        "WORD",
        "word",
        "é",
        "e\u{301}",
        "ß",
        "İ",
        "ǅ",
        "Ⅷ",
        "日本",
        "हिन्दी",
        "😀",
        "```json",
        "```",
        "f(",
        "=",
        "None",
        "True",
        "\\",
        "\\u12",
        "0x1f",
        "1e5",
        "_",
    ]);
    let mixed = prop::collection::vec(pieces, 0..24).prop_map(|pieces| pieces.concat());
    prop_oneof![mixed, any::<String>()]
}

const IDS: [&str; 26] = [
    "keywords:existence",
    "keywords:frequency",
    "keywords:forbidden_words",
    "keywords:letter_frequency",
    "language:response_language",
    "length_constraints:number_sentences",
    "length_constraints:number_paragraphs",
    "length_constraints:number_words",
    "length_constraints:nth_paragraph_first_word",
    "detectable_content:number_placeholders",
    "detectable_content:postscript",
    "detectable_format:number_bullet_lists",
    "detectable_format:constrained_response",
    "detectable_format:number_highlighted_sections",
    "detectable_format:multiple_sections",
    "detectable_format:json_format",
    "detectable_format:title",
    "combination:two_responses",
    "combination:repeat_prompt",
    "startend:end_checker",
    "change_case:capital_word_frequency",
    "change_case:english_capital",
    "change_case:english_lowercase",
    "punctuation:no_comma",
    "startend:quotation",
    "unknown:thing",
];

/// Arguments that fit every instruction.
fn arguments() -> impl Strategy<Value = Value> {
    let relation = prop::sample::select(vec!["less than", "at least"]);
    let texts = prop::collection::vec(any_text(), 1..3);
    (any_text(), texts, 0_u8..6, relation).prop_map(|(text, texts, n, relation)| {
        let letter: String = text.chars().take(1).collect();
        json!({
            "keywords": texts, "keyword": text, "frequency": n, "relation": relation,
            "forbidden_words": texts, "letter": letter, "let_frequency": n,
            "let_relation": relation, "language": "en", "num_sentences": n, "num_words": n,
            "num_paragraphs": n, "nth_paragraph": 1, "first_word": text, "num_placeholders": n,
            "postscript_marker": text, "num_bullets": n, "num_highlights": n,
            "section_spliter": text, "num_sections": n, "prompt_to_repeat": text,
            "end_phrase": text, "capital_frequency": n, "capital_relation": relation,
        })
    })
}

fn scores(evaluator: &dyn Evaluator, example: &Example, output: &Output) -> Vec<Score> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let scores = runtime.block_on(evaluator.score(example, output));
    scores.map_or_else(
        |error| vec![Score::unscored(error.0)],
        |scores| scores.iter().map(|(_, score)| score.clone()).collect(),
    )
}

pub(crate) fn check_bounded(evaluator: &dyn Evaluator, example: &Example, output: &Output) {
    let found = scores(evaluator, example, output);
    for score in &found {
        match score.get() {
            Some(value) => assert!((0.0..=1.0).contains(&value), "{score:?}"),
            None => assert!(score.reason().is_some_and(|reason| !reason.is_empty())),
        }
    }
    assert_eq!(found, scores(evaluator, example, output));
}

proptest! {
    #[test]
    fn ifeval_judges_any_text(
        id in prop::sample::select(IDS.to_vec()),
        arguments in arguments(),
        response in any_text(),
    ) {
        let example = Example::new()
            .with("instruction_id_list", json!([id]))
            .with("kwargs", json!([arguments]));
        check_bounded(&IfEvalChecker, &example, &Output::reply(&example, response.as_str()));
        let verdicts = IfEvalChecker::check(&json!([id]), Some(&json!([arguments])), &response);
        if let Ok(verdicts) = verdicts {
            // Loose only forgives.
            prop_assert!(!verdicts.strict[0] || verdicts.loose[0]);
        }
    }

    #[test]
    fn ifeval_survives_any_record(ids in any_json(), kwargs in any_json(), response in any_json()) {
        let example = Example::new().with("instruction_id_list", ids).with("kwargs", kwargs);
        check_bounded(&IfEvalChecker, &example, &Output::reply(&example, response));
    }

    #[test]
    fn function_calls_survive_any_record(
        tools in any_json(),
        expected in any_json(),
        response in any_json(),
    ) {
        let example = Example::new().with("tools", tools).with("ground_truth", expected);
        for format in [CallFormat::Any, CallFormat::Bfcl] {
            let evaluator = FunctionCallMatch::new(format);
            let output = Output::reply(&example, response.clone());
            check_bounded(&evaluator, &example, &output);
        }
    }

    #[test]
    fn function_calls_are_read_in_any_text(
        arguments in prop::collection::vec(("[a-z]{1,3}", any_json()), 0..4),
        before in any_text(),
        after in any_text(),
        kind in prop::sample::select(vec!["string", "integer", "float", "array", "dict", "tuple"]),
    ) {
        let arguments: serde_json::Map<_, _> = arguments.into_iter().collect();
        let properties = arguments.keys();
        let properties = properties.map(|name| (name.clone(), json!({"type": kind})));
        let properties: serde_json::Map<_, _> = properties.collect();
        let example = Example::new()
            .with("tools", json!([{"name": "f", "parameters": {"properties": properties}}]))
            .with("answers", json!([{"name": "f", "arguments": arguments}]));
        let evaluator = FunctionCallMatch::default();
        let call = json!({"name": "f", "arguments": arguments});
        // Exact arguments are found again, natively and as text.
        let native = Output::reply(&example, "").with("tool_calls", json!([call]));
        prop_assert_eq!(scores(&evaluator, &example, &native)[0].get(), Some(1.0));
        let text = Output::reply(&example, call.to_string());
        prop_assert_eq!(scores(&evaluator, &example, &text)[0].get(), Some(1.0));
        let prose = format!("{before}f({after}){call}");
        check_bounded(&evaluator, &example, &Output::reply(&example, prose));
    }
}
