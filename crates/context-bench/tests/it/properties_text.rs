//! Properties of the evaluators that compare texts, on nasty texts: no panic,
//! bounded, the same again, symmetric where sides do not matter, and 1 for what is
//! equal. IFEval and function calls are in `properties`, mathematics in `math`.

use std::borrow::Cow;

use context_bench::evaluator::{
    AnswerQuality, ChoiceExtraction, JudgeTemplate, MathEquivalence, MultipleChoiceAccuracy,
    NliLabelMatch, SummarizationQuality, code_execution,
};
use context_bench::{Evaluator, Example, Output};
use context_bench_scoring::text::rouge::RougeTokens;
use context_bench_scoring::text::verdict::{Preference, Scale, preference, rating};
use proptest::prelude::*;
use serde_json::json;

use crate::properties::{any_json, check_bounded};

/// Text made of what evaluators look for and of characters that break careless code.
fn nasty() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "\\frac{",
        "}{",
        "}",
        "{",
        "\\boxed{",
        "\\sqrt{",
        "^{",
        "$",
        "####",
        "%",
        "1,000",
        "1e309",
        "3/4",
        "-",
        "The answer is ",
        "(B)",
        "B",
        "A.",
        "not ",
        "I ",
        "entailment",
        "refuted",
        "the ",
        "an ",
        "```python\n",
        "```",
        "def f(x):\n    return x",
        "    ",
        "\n",
        "\r\n",
        "\t",
        "\u{1c}",
        "\u{a0}",
        "\u{200b}",
        "\u{202e}",
        "\u{feff}",
        "\0",
        "é",
        "e\u{301}",
        "İ",
        "ß",
        "ſ",
        "ǅ",
        "½",
        "٤",
        "４",
        "日本語",
        "हिन्दी",
        "👩\u{200d}👧",
        "<b>",
        "</b>",
        "&amp;",
        "[[",
        "]]",
        "Score: ",
        "4",
        "5",
        "/5",
        " out of ",
        "Model 1",
        " is better than ",
        "tie",
        "m",
        "M",
        "<think>",
        "</think>",
        "{\"score\": ",
        "\"winner\"",
        "null",
        "word",
        "Word",
        ".",
        ",",
        ":",
        "\"",
        "'",
    ]);
    let mixed = prop::collection::vec(piece, 0..30).prop_map(|pieces| pieces.concat());
    prop_oneof![3 => mixed, 1 => any::<String>()]
}

fn rouges() -> [SummarizationQuality; 3] {
    [
        RougeTokens::Google { stem: false },
        RougeTokens::Google { stem: true },
        RougeTokens::Whitespace,
    ]
    .map(SummarizationQuality::new)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 384, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn answer_quality_holds(a in nasty(), b in nasty()) {
        let scores = AnswerQuality::compare(&a, &b);
        prop_assert!(scores.iter().all(|score| (0.0..=1.0).contains(score)), "{scores:?}");
        let turned = AnswerQuality::compare(&b, &a);
        if !a.is_empty() && !b.is_empty() {
            prop_assert!((scores[0] - turned[0]).abs() < 1e-12);
            prop_assert_eq!(scores[1], turned[1]);
        }
        let [_, exact, _, contains] = AnswerQuality::compare(&a, &a);
        prop_assert_eq!((exact, contains), (1.0, 1.0));
        // A word that no normalisation takes away makes it 1 throughout.
        let kept = format!("{a} wolf");
        prop_assert_eq!(AnswerQuality::compare(&kept, &kept), [1.0; 4]);
    }

    #[test]
    fn rouge_holds(a in nasty(), b in nasty()) {
        for rouge in rouges() {
            let compare = |a: &str, b: &str| rouge.compare(a, &[Cow::Borrowed(b)]);
            if let Some(scores) = compare(&a, &b) {
                prop_assert!(scores.iter().all(|score| (0.0..=1.0).contains(score)), "{scores:?}");
                if let (Some(turned), false, false) = (compare(&b, &a), a.is_empty(), b.is_empty()) {
                    // Precision and recall change places, F1 stays.
                    prop_assert!((scores[0] - turned[1]).abs() < 1e-12, "{scores:?} {turned:?}");
                    for i in 2..5 {
                        prop_assert!((scores[i] - turned[i]).abs() < 1e-12, "{scores:?} {turned:?}");
                    }
                }
            }
            let kept = format!("{a} wolf pack");
            prop_assert_eq!(compare(&kept, &kept), Some([1.0; 5]));
        }
    }

    #[test]
    fn choices_hold(response in nasty(), options in prop::collection::vec(nasty(), 0..6), gold in 0..6_usize) {
        let letter = char::from(b'A' + gold as u8).to_string();
        let example = Example::new().with("choices", json!(options)).with("correct_letter", letter.as_str());
        for extraction in [ChoiceExtraction::Decisive, ChoiceExtraction::MmluPro] {
            let evaluator = MultipleChoiceAccuracy::new(extraction);
            check_bounded(&evaluator, &example, &Output::reply(&example, response.as_str()));
        }
        // Whatever came before, the last decisive statement counts.
        let plain = Example::new().with("correct_letter", letter.as_str());
        let decided = format!("{response}\n\nThe final answer is ({letter}).");
        let found = MultipleChoiceAccuracy::default().extract(&plain, &decided);
        let found: Option<String> = found.ok().map(|choice| choice.letters.into_iter().collect());
        prop_assert_eq!(found, Some(letter));
    }

    #[test]
    fn mathematics_and_labels_hold(response in nasty(), gold in nasty()) {
        let example = Example::new().with("answer", gold.as_str());
        let output = Output::reply(&example, response.as_str());
        check_bounded(&MathEquivalence, &example, &output);
        check_bounded(&NliLabelMatch, &example, &output);
        for label in ["entailment", "contradiction", "neutral", "SUPPORTS", "REFUTES"] {
            prop_assert_eq!(NliLabelMatch::compare(label, label).get(), Some(1.0));
        }
    }

    #[test]
    fn every_evaluator_survives_any_record(
        answer in any_json(),
        answers in any_json(),
        letter in any_json(),
        response in any_json(),
    ) {
        let example = Example::new()
            .with("answer", answer)
            .with("answers", answers.clone())
            .with("choices", answers)
            .with("correct_letter", letter);
        let output = Output::reply(&example, response);
        let evaluators: [&dyn Evaluator; 5] = [
            &AnswerQuality,
            &SummarizationQuality::default(),
            &MultipleChoiceAccuracy::default(),
            &MathEquivalence,
            &NliLabelMatch,
        ];
        for evaluator in evaluators {
            check_bounded(evaluator, &example, &output);
        }
    }

    #[test]
    fn programs_are_put_together_from_anything(response in nasty(), context in nasty(), test in nasty()) {
        let human_eval = Example::new()
            .with("context", context.as_str())
            .with("test", format!("def check(candidate):\n    pass\n{test}"))
            .with("entry_point", "f");
        let mbpp = Example::new().with("test_list", json!([test]));
        for example in [human_eval, mbpp] {
            let first = code_execution::assemble(&example, &response);
            prop_assert_eq!(first, code_execution::assemble(&example, &response));
        }
    }

    #[test]
    fn ratings_hold(reply in nasty(), value in 1..=5_u8) {
        let scale = Scale::default();
        if let Ok(found) = rating(&reply, scale) {
            prop_assert!(scale.holds(found.value), "{found:?}");
        }
        prop_assert_eq!(rating(&reply, scale), rating(&reply, scale));
        // Brackets are the strongest statement, wherever they stand last.
        if !reply.contains("think") {
            let decided = format!("{reply}\nRating: [[{value}]]");
            let found = rating(&decided, scale).map(|rating| rating.value);
            prop_assert_eq!(found, Ok(f64::from(value)), "{}", decided);
        }
    }

    #[test]
    fn preferences_hold(reply in nasty()) {
        prop_assert_eq!(preference(&reply), preference(&reply));
        if !reply.contains("think") {
            for (label, expected) in [("A", Preference::First), ("B", Preference::Second), ("C", Preference::Tie)] {
                let decided = format!("{reply}\n[[{label}]]");
                prop_assert_eq!(preference(&decided), Ok(expected), "{}", decided);
            }
        }
    }

    #[test]
    fn templates_are_read_or_refused(text in nasty()) {
        if let Ok(template) = JudgeTemplate::parse(&text) {
            prop_assert_eq!(template.text(), text.as_str());
        }
    }
}
