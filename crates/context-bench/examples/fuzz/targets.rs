//! The pure evaluators, and the properties that hold for any two texts.

use std::borrow::Cow;

use context_bench::evaluator::{
    AnswerQuality, CallFormat, ChoiceExtraction, FunctionCallMatch, IfEvalChecker, JudgeTemplate,
    MathEquivalence, MultipleChoiceAccuracy, NliLabelMatch, SummarizationQuality, code_execution,
};
use context_bench::{Example, Score};
use context_bench_scoring::math::{equivalent, extract_answer};
use context_bench_scoring::text::rouge::RougeTokens;
use context_bench_scoring::text::verdict::{Scale, preference, rating};
use serde_json::{Value, json};

/// The result of an input, or the property that it violates.
type Outcome = Result<String, String>;

/// One evaluator or parser.
pub(crate) struct Target {
    pub(crate) name: &'static str,
    pub(crate) run: fn(&str, &str) -> Outcome,
}

pub(crate) const TARGETS: &[Target] = &[
    Target {
        name: "answer_quality",
        run: answer_quality,
    },
    Target {
        name: "summarization",
        run: summarization,
    },
    Target {
        name: "multiple_choice",
        run: multiple_choice,
    },
    Target {
        name: "math_evaluator",
        run: math_evaluator,
    },
    Target {
        name: "math_parser",
        run: math_parser,
    },
    Target {
        name: "nli",
        run: nli,
    },
    Target {
        name: "ifeval",
        run: ifeval,
    },
    Target {
        name: "function_call",
        run: function_call,
    },
    Target {
        name: "code_assembly",
        run: code_assembly,
    },
    Target {
        name: "verdict_rating",
        run: verdict_rating,
    },
    Target {
        name: "verdict_preference",
        run: verdict_preference,
    },
    Target {
        name: "judge_template",
        run: judge_template,
    },
];

fn ensure(holds: bool, what: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(what()) }
}

fn in_range(values: &[f64]) -> Result<(), String> {
    let holds = values.iter().all(|value| (0.0..=1.0).contains(value));
    ensure(holds, || format!("out of range: {values:?}"))
}

/// A value in range, or a reason.
fn sound(score: &Score) -> Result<(), String> {
    match score.get() {
        Some(value) => in_range(&[value]),
        None => ensure(
            score.reason().is_some_and(|reason| !reason.is_empty()),
            || "unscored without a reason".into(),
        ),
    }
}

fn answer_quality(a: &str, b: &str) -> Outcome {
    let scores = AnswerQuality::compare(a, b);
    in_range(&scores)?;
    let turned = AnswerQuality::compare(b, a);
    if !a.is_empty() && !b.is_empty() {
        ensure((scores[0] - turned[0]).abs() < 1e-12, || {
            format!("F1 {scores:?}, swapped {turned:?}")
        })?;
        ensure(scores[1] == turned[1], || {
            "exact match depends on the side".into()
        })?;
    }
    let same = AnswerQuality::compare(a, a);
    ensure(same[1] == 1.0 && same[3] == 1.0, || {
        format!("not equal to itself: {same:?}")
    })?;
    Ok(format!("{scores:?}"))
}

fn summarization(a: &str, b: &str) -> Outcome {
    let mut all = Vec::new();
    for tokens in [
        RougeTokens::Google { stem: false },
        RougeTokens::Google { stem: true },
        RougeTokens::Whitespace,
    ] {
        let rouge = SummarizationQuality::new(tokens);
        let compare = |a: &str, b: &str| rouge.compare(a, &[Cow::Borrowed(b)]);
        let (scores, turned) = (compare(a, b), compare(b, a));
        if let Some(scores) = scores {
            in_range(&scores)?;
        }
        if let (Some(scores), Some(turned), false, false) =
            (scores, turned, a.is_empty(), b.is_empty())
        {
            for i in [2, 3, 4] {
                ensure((scores[i] - turned[i]).abs() < 1e-12, || {
                    format!("{scores:?}, swapped {turned:?}")
                })?;
            }
        }
        if let (Some(same), false) = (compare(a, a), a.is_empty()) {
            // A text without tokens overlaps with nothing.
            let holds = (same[2] == 1.0 && same[3] == 1.0) || tokens.of(a).is_empty();
            ensure(holds, || format!("not equal to itself: {same:?}"))?;
        }
        all.push(scores);
    }
    Ok(format!("{all:?}"))
}

fn multiple_choice(a: &str, b: &str) -> Outcome {
    let choices: Vec<&str> = b.lines().take(10).collect();
    let with = Example::new()
        .with("choices", json!(choices))
        .with("correct_letter", "B");
    let mut all = Vec::new();
    for extraction in [ChoiceExtraction::Decisive, ChoiceExtraction::MmluPro] {
        for example in [&with, &Example::new()] {
            let found = MultipleChoiceAccuracy::new(extraction).extract(example, a);
            if let Ok(choice) = &found {
                let letters = choice.letters.iter().all(char::is_ascii_uppercase);
                ensure(letters && !choice.letters.is_empty(), || {
                    format!("{choice:?}")
                })?;
            }
            all.push(format!("{found:?}"));
        }
    }
    Ok(all.join(" "))
}

fn math_evaluator(a: &str, b: &str) -> Outcome {
    let score = MathEquivalence::compare(a, b);
    sound(&score)?;
    Ok(format!("{score:?}"))
}

fn math_parser(a: &str, b: &str) -> Outcome {
    for text in [a, b] {
        if let Some(found) = extract_answer(text) {
            ensure(text.contains(found) && !found.trim().is_empty(), || {
                format!("found {found:?}")
            })?;
        }
    }
    // Answers are short; whole texts go through `extract_answer`.
    let cut = |text: &str| text.chars().take(2000).collect::<String>();
    let (a, b) = (cut(a), cut(b));
    let (there, back) = (equivalent(&a, &b), equivalent(&b, &a));
    ensure(there == back, || format!("{there}, swapped {back}"))?;
    ensure(equivalent(&a, &a), || "not equal to itself".into())?;
    Ok(there.to_string())
}

fn nli(a: &str, b: &str) -> Outcome {
    let mut all = Vec::new();
    for gold in ["entailment", "not_entailment", "neutral", b] {
        let score = NliLabelMatch::compare(a, gold);
        sound(&score)?;
        all.push(format!("{score:?}"));
    }
    Ok(all.join(" "))
}

const INSTRUCTIONS: [&str; 25] = [
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
];

fn ifeval(a: &str, b: &str) -> Outcome {
    let n = b.len() % 6;
    let word: String = b.chars().take(12).collect();
    let letter: String = b.chars().take(1).collect();
    let arguments = json!({
        "keywords": [word], "keyword": word, "frequency": n, "relation": "at least",
        "forbidden_words": [word], "letter": letter, "let_frequency": n,
        "let_relation": "less than", "language": "en", "num_sentences": n, "num_words": n,
        "num_paragraphs": n, "nth_paragraph": 1, "first_word": word, "num_placeholders": n,
        "postscript_marker": "P.S.", "num_bullets": n, "num_highlights": n,
        "section_spliter": word, "num_sections": n, "prompt_to_repeat": b,
        "end_phrase": word, "capital_frequency": n, "capital_relation": "at least",
    });
    let id = INSTRUCTIONS[(a.len() + b.len()) % INSTRUCTIONS.len()];
    let found = IfEvalChecker::check(&json!([id]), Some(&json!([arguments])), a);
    if let Ok(verdicts) = &found {
        ensure(!verdicts.strict[0] || verdicts.loose[0], || {
            format!("{id}: strict and not loose")
        })?;
    }
    Ok(format!("{found:?}"))
}

fn function_call(a: &str, b: &str) -> Outcome {
    let parsed: Option<Value> = serde_json::from_str(b).ok();
    let expected = parsed.unwrap_or_else(|| json!([{"f": {"a": [1], "b": [b, ""]}}]));
    let example = Example::new()
        .with(
            "tools",
            json!([{"name": "f", "parameters": {"type": "dict", "properties": {
            "a": {"type": "integer"}, "b": {"type": "string"}}, "required": ["a"]}}]),
        )
        .with("ground_truth", expected);
    let mut all = Vec::new();
    for format in [CallFormat::Any, CallFormat::Bfcl] {
        let score = FunctionCallMatch::new(format).check(&example, &json!(a));
        if let Ok(score) = &score {
            sound(score)?;
        }
        all.push(format!("{score:?}"));
    }
    Ok(all.join(" "))
}

fn code_assembly(a: &str, b: &str) -> Outcome {
    let human_eval = Example::new()
        .with("context", b)
        .with(
            "test",
            "def check(candidate):\n    assert candidate(1) == 1\n",
        )
        .with("entry_point", "f");
    let mbpp = Example::new().with("test_list", json!([b]));
    let mut all = Vec::new();
    for example in [human_eval, mbpp] {
        let program = code_execution::assemble(&example, a);
        let text = program.as_ref().map(code_execution::program_text);
        all.push(format!("{}", text.map_or(0, |text| text.len())));
    }
    Ok(all.join(" "))
}

fn verdict_rating(a: &str, _: &str) -> Outcome {
    let mut all = Vec::new();
    for (min, max) in [(1.0, 5.0), (0.0, 1.0), (-2.0, 2.0)] {
        let scale = Scale::new(min, max).map_err(|error| error.to_string())?;
        let found = rating(a, scale);
        if let Ok(found) = &found {
            ensure(scale.holds(found.value), || {
                format!("{found:?} is not on {scale}")
            })?;
            in_range(&[scale.share(found.value)])?;
        }
        all.push(format!("{found:?}"));
    }
    Ok(all.join(" "))
}

fn verdict_preference(a: &str, _: &str) -> Outcome {
    let found = preference(a);
    if let Ok(found) = found {
        in_range(&[found.value()])?;
        ensure(found.swapped().swapped() == found, || {
            "swapped twice differs".into()
        })?;
    }
    Ok(format!("{found:?}"))
}

fn judge_template(a: &str, _: &str) -> Outcome {
    let template = JudgeTemplate::parse(a);
    if let Ok(template) = &template {
        ensure(template.text() == a, || "the template is not kept".into())?;
    }
    Ok(format!("{}", template.is_ok()))
}
