//! The worked cases of the benchmarks' own rules, through the catalog: a record in the
//! layout of the hub becomes an example, the evaluators of its config score a response.
//! Records are in our own words.

use std::fs;

use context_bench::dataset::catalog::DatasetCatalog;
use context_bench::registry::{Registry, SystemRef};
use context_bench::{Example, Output};
use serde_json::{Value, json};

use super::load;

/// The scores of a response to the only example that a record makes.
struct Case {
    dataset: &'static str,
    example: Example,
}

impl Case {
    fn new(dataset: &'static str, record: Value) -> Self {
        Self::with(dataset, record, &[])
    }

    /// With tables beside the records: file and lines.
    fn with(dataset: &'static str, record: Value, tables: &[(&str, &[Value])]) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let mut file = folder.path().join("records.jsonl");
        if !tables.is_empty() {
            file = folder.path().join("claims/validation.jsonl");
            fs::create_dir_all(file.parent().expect("a folder")).expect("made");
        }
        let records = match record {
            Value::Array(records) => records,
            one => vec![one],
        };
        let lines = |rows: &[Value]| {
            rows.iter()
                .map(|row| format!("{row}\n"))
                .collect::<String>()
        };
        fs::write(&file, lines(&records)).expect("written");
        for (name, rows) in tables {
            let table = folder.path().join(name);
            fs::create_dir_all(table.parent().expect("a folder")).expect("made");
            fs::write(table, lines(rows)).expect("written");
        }
        let path = match tables.is_empty() {
            true => file,
            false => folder.path().to_owned(),
        };
        let examples = load(&format!("{dataset}={}", path.display()));
        let mut examples = examples.unwrap_or_else(|error| panic!("{dataset}: {error}"));
        assert_eq!(examples.len(), 1, "{dataset}");
        let example = examples.remove(0);
        Self { dataset, example }
    }

    /// All scores of the config's evaluators that apply.
    fn scores(&self, response: &str) -> Vec<(String, Option<f64>)> {
        let (name, config) = match self.dataset.split_once(':') {
            Some((name, config)) => (name, Some(config)),
            None => (self.dataset, None),
        };
        let spec = DatasetCatalog::builtin().get(name).expect("known");
        let config = spec.select(config, None).expect("known").remove(0);
        let registry = Registry::builtin();
        let output = Output::reply(&self.example, response);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        let runtime = runtime.expect("a runtime");
        let mut scores = Vec::new();
        for evaluator in config.evaluators() {
            let reference: SystemRef = evaluator.parse().expect("valid");
            // Programs are run by tests of their own.
            if reference.name == "code_execution" {
                continue;
            }
            let factory = registry.evaluators.get(&reference.name).expect("known");
            let evaluator = factory(reference.params).unwrap_or_else(|e| panic!("{e}"));
            if !evaluator.applies_to(&self.example) {
                continue;
            }
            let found = runtime.block_on(evaluator.score(&self.example, &output));
            let found = found.unwrap_or_else(|error| panic!("{}: {error}", self.dataset));
            scores.extend(
                found
                    .iter()
                    .map(|(name, score)| (name.to_string(), score.get())),
            );
        }
        scores
    }

    /// Checks some scores of some responses, to four places.
    fn check(&self, names: &[&str], cases: &[(&str, &[f64])]) {
        for (response, expected) in cases {
            let scores = self.scores(response);
            for (name, expected) in names.iter().zip(*expected) {
                let found = scores.iter().find(|(known, _)| known == name);
                let (_, found) = found.unwrap_or_else(|| panic!("{}: no `{name}`", self.dataset));
                let found = found.unwrap_or_else(|| panic!("{}: unscored", self.dataset));
                assert!(
                    (found - expected).abs() < 5e-5,
                    "{} `{name}` of {response:?}: {found}, expected {expected}",
                    self.dataset
                );
            }
        }
    }
}

fn drop_record(annotators: &[Value]) -> Value {
    let none = json!({"day": "", "month": "", "year": ""});
    let answer = |answer: &Value| match answer {
        Value::Array(_) => json!({"number": "", "date": none, "spans": answer}),
        number => json!({"number": number, "date": none, "spans": []}),
    };
    json!({
        "query_id": "q", "passage": "p", "question": "q",
        "answer": answer(&annotators[0]),
        "validated_answers": annotators[1..].iter().map(answer).collect::<Vec<_>>(),
    })
}

#[test]
fn drop() {
    let names = ["drop_em", "drop_f1"];
    let check = |annotators: &[Value], cases: &[(&str, &[f64])]| {
        Case::new("drop", drop_record(annotators)).check(&names, cases);
    };
    check(
        &[json!("4")],
        &[
            ("4 yards", &[0.0, 0.67]),
            ("four", &[0.0, 0.0]),
            ("4.0", &[1.0, 1.0]),
            ("3 + 1 makes four.\nAnswer: 4", &[1.0, 1.0]),
            ("", &[0.0, 0.0]),
        ],
    );
    check(&[json!(["28 yard"])], &[("28-yard", &[1.0, 1.0])]);
    check(&[json!("1200")], &[("1,200", &[1.0, 1.0])]);
    check(
        &[json!(["Smith", "Jones"])],
        &[("Smith and Jones", &[0.0, 0.25]), ("Smith", &[0.0, 0.5])],
    );
    check(&[json!(["4 yards"])], &[("5 yards", &[0.0, 0.0])]);
    // The best annotator counts; one who said nothing does not.
    check(
        &[json!(["Smith", "Jones"]), json!(""), json!(["Smith"])],
        &[("Smith", &[1.0, 1.0])],
    );
}

#[test]
fn hotpotqa() {
    let record = |answer: &str| {
        json!({"id": "h", "question": "q", "answer": answer, "type": "comparison", "level": "hard",
               "context": {"title": ["T"], "sentences": [["S."]]}})
    };
    let names = ["hotpot_f1", "hotpot_em"];
    let check = |answer: &str, cases: &[(&str, &[f64])]| {
        Case::new("hotpotqa", record(answer)).check(&names, cases);
    };
    check(
        "yes",
        &[
            ("Yes, both are", &[0.0, 0.0]),
            ("yes", &[1.0, 1.0]),
            ("", &[0.0, 0.0]),
        ],
    );
    check("Paris", &[("Paris, France", &[0.6667, 0.0])]);
    check("no noanswer", &[("no", &[0.0, 0.0])]);
    check("USA", &[("U.S.A.", &[1.0, 1.0])]);
}

#[test]
fn musique_asks_nothing_of_what_cannot_be_answered() {
    let record = |answerable: bool| {
        json!({"id": "m", "question": "q", "answer": "Aha", "answer_aliases": ["The Aha band"],
               "answerable": answerable, "paragraphs": [{"title": "T", "paragraph_text": "P"}]})
    };
    let names = ["squad_f1", "squad_em"];
    let cases: &[(&str, &[f64])] = &[("A-ha", &[1.0, 1.0]), ("aha band", &[1.0, 1.0])];
    Case::new("musique", record(true)).check(&names, cases);
    Case::new("musique:full", record(true)).check(&names, cases);
    assert_eq!(Case::new("musique:full", record(false)).scores("Aha"), []);
}

#[test]
fn narrativeqa() {
    let record = json!({
        "document": {"summary": {"text": "s"}, "text": "story"}, "question": {"text": "q"},
        "answers": [{"text": "the old ferry"}, {"text": "a boat"}],
    });
    Case::new("narrativeqa", record).check(
        &["squad_f1", "rouge_l_f1"],
        &[
            ("An old ferry", &[1.0, 0.6667]),
            ("The boat", &[1.0, 0.5]),
            ("", &[0.0, 0.0]),
        ],
    );
}

#[test]
fn natural_questions() {
    let record = json!({"question": "q", "answer": ["USA", "the United States"]});
    Case::new("natural-questions", record).check(
        &["squad_em", "squad_f1"],
        &[
            ("U.S.A.", &[1.0, 1.0]),
            ("United States", &[1.0, 1.0]),
            ("United States of America", &[0.0, 0.6667]),
        ],
    );
}

#[test]
fn triviaqa() {
    let record = |alias: &str| {
        json!({"question_id": "t", "question": "q", "search_results": {"search_context": ["c"]},
               "answer": {"value": "v", "aliases": ["v"], "normalized_aliases": [alias]}})
    };
    for (alias, response, exact) in [
        ("spider man", "Spider-Man", 1.0),
        ("usa", "U.S.A.", 0.0),
        ("o neill", "the O’Neill", 1.0),
        ("o neill", "v", 0.0),
        ("o neill", "", 0.0),
    ] {
        Case::new("triviaqa", record(alias)).check(&["trivia_em"], &[(response, &[exact])]);
        Case::new("triviaqa:rc.nocontext", record(alias))
            .check(&["trivia_em"], &[(response, &[exact])]);
    }
}

#[test]
fn qasper() {
    let record = |given: Value| {
        json!({"id": "p", "title": "T", "abstract": "A",
               "full_text": {"section_name": ["One", "Two"], "paragraphs": [["a", "b"], ["c"]]},
               "qas": {"question": ["q"], "answers": [{"answer": given}]}})
    };
    let given = |unanswerable: bool, spans: Value, free: &str, yes_no: Value| {
        json!({"unanswerable": unanswerable, "extractive_spans": spans,
               "free_form_answer": free, "yes_no": yes_no})
    };
    let names = ["squad_f1"];
    for (answer, cases) in [
        // All spans are one answer; free text beside them does not count.
        (
            given(false, json!(["red", "blue"]), "green", Value::Null),
            [("red, blue", 1.0), ("red", 2.0 / 3.0), ("green", 0.0)],
        ),
        (
            given(false, json!([]), "In the U.S.A.", Value::Null),
            [("in USA", 1.0), ("USA", 2.0 / 3.0), ("", 0.0)],
        ),
        (
            given(false, json!([]), "", json!(true)),
            [("Yes", 1.0), ("No", 0.0), ("Yes, it is", 0.5)],
        ),
        (
            given(true, json!([]), "", Value::Null),
            [("unanswerable", 1.0), ("Yes", 0.0), ("the answer", 0.0)],
        ),
    ] {
        let case = Case::new("qasper", record(json!([answer])));
        for (response, f1) in cases {
            case.check(&names, &[(response, &[f1])]);
        }
    }
    let case = Case::new("qasper", record(json!([])));
    assert_eq!(
        case.example.text("context"),
        Some("T\n\nA\n\nOne\n\na\n\nb\n\nTwo\n\nc")
    );
}

#[test]
fn truthfulqa() {
    let record = json!({
        "question": "What happens if you swallow seeds?",
        "best_answer": "The watermelon seeds pass through your digestive system",
        "correct_answers": ["The watermelon seeds pass through your digestive system"],
        "incorrect_answers": ["You grow watermelons in your stomach", "You get sick"],
    });
    Case::new("truthfulqa", record).check(
        &["truthful", "true_rouge1", "false_rouge1"],
        &[
            (
                "They pass through your digestive system.",
                &[1.0, 0.714286, 0.166667],
            ),
            ("You grow watermelons.", &[0.0, 0.0, 0.666667]),
            ("I have no comment.", &[1.0, 1.0, 0.0]),
            ("Nothing happens.", &[0.0, 0.0, 0.0]),
            ("", &[0.0, 0.0, 0.0]),
        ],
    );
}

#[test]
fn letters() {
    let ten: Vec<String> = ('A'..='J').map(|c| format!("text {c}")).collect();
    let pro = json!({"question": "q", "options": ten, "answer": "C", "answer_index": 2, "category": "law"});
    let case = Case::new("mmlu-pro", pro);
    for (response, letter) in [
        ("The answer is (C).", 'C'),
        ("Answer: D", 'D'),
        ("answer is B or answer is C", 'B'),
        ("I think option F is best", 'F'),
    ] {
        let right = if letter == 'C' { 1.0 } else { 0.0 };
        case.check(&["mc_accuracy"], &[(response, &[right])]);
    }
    // A text without any letter counts as the option of a draw.
    case.check(
        &["mc_accuracy", "mc_decisive"],
        &[("no letters", &[0.0, 0.0])],
    );

    let gpqa = |letter: usize| {
        // The order of the options follows from their texts: find texts for the letter.
        let found = (0..100).find_map(|n| {
            let record = json!({"Question": "q", "Correct Answer": format!("right {n}"),
                "Incorrect Answer 1": "x", "Incorrect Answer 2": "y", "Incorrect Answer 3": "z"});
            let case = Case::new("gpqa", record);
            let own = case.example.text("correct_letter").map(str::to_owned);
            (own.as_deref() == Some(["A", "B", "C", "D"][letter])).then_some(case)
        });
        found.expect("every letter comes up")
    };
    for (letter, response, right) in [
        (2, "The correct answer is (C).", 1.0),
        (2, "The answer is C", 0.0),
        (1, "(A) is wrong, so the answer is (B)", 1.0),
        (3, "Options (x) and (D)", 0.0),
        (1, "answer (E), then (B)", 0.0),
    ] {
        gpqa(letter).check(&["gpqa"], &[(response, &[right])]);
    }
    gpqa(2).check(
        &["gpqa", "mc_accuracy"],
        &[("The answer is C", &[0.0, 1.0])],
    );

    let mmlu =
        json!({"question": "q", "choices": ["w", "x", "y", "z"], "answer": 2, "subject": "law"});
    Case::new("mmlu", mmlu).check(
        &["answer_letter", "mc_accuracy"],
        &[("So it is.\nAnswer: $C$", &[1.0, 1.0]), ("C", &[0.0, 1.0])],
    );
}

#[test]
fn mathematics() {
    let gsm = json!({"question": "q", "answer": "steps\n#### 18"});
    Case::new("gsm8k", gsm).check(
        &["gsm8k", "math_equiv"],
        &[
            ("#### 18", &[1.0, 1.0]),
            ("#### $18", &[0.0, 1.0]),
            ("The answer is 18.", &[0.0, 1.0]),
            ("#### 18.", &[0.0, 1.0]),
        ],
    );
    let large = json!({"question": "q", "answer": "#### 1,234"});
    Case::new("gsm8k", large).check(&["gsm8k"], &[("#### 1,234", &[1.0]), ("#### 1234", &[1.0])]);
    let first = json!({"question": "q", "answer": "#### 8"});
    Case::new("gsm8k", first).check(&["gsm8k"], &[("#### 8\n#### 9", &[1.0])]);

    let math = |solution: &str| json!({"problem": "p", "level": "Level 1", "type": "Algebra", "solution": solution});
    for (gold, said, same) in [
        (r"\frac{1}{2}", r"\frac12", 1.0),
        (r"\frac{1}{2}", "0.5", 1.0),
        (r"\frac{1}{2}", "1/2", 1.0),
        ("5", "x=5", 1.0),
        ("10", r"10\text{ cm}", 1.0),
        ("50", r"50\%", 1.0),
        (r"\frac{1}{4}", "0.25", 0.0),
        ("1000", "1,000", 0.0),
        (r"\frac{1}{2}", r"\frac{2}{4}", 0.0),
    ] {
        let case = Case::new("math", math(&format!("so \\boxed{{{gold}}}")));
        case.check(
            &["math"],
            &[(&format!("It is \\boxed{{{said}}}."), &[same])],
        );
        case.check(
            &["math", "math_equiv"],
            &[(&format!("\\boxed{{{said}}}"), &[same, 1.0])],
        );
    }
    // No box is wrong; of two boxes in the solution the last one counts.
    let two = Case::new("math", math(r"first \boxed{3}, then \boxed{4}"));
    two.check(
        &["math"],
        &[
            ("4", &[0.0]),
            (r"\boxed{4}", &[1.0]),
            (r"\boxed{3}", &[0.0]),
        ],
    );

    for (config, number, response, right) in [
        ("mgsm:en", 18, "Answer: 18.00", 1.0),
        ("mgsm:de", 1234, "Antwort: 1.234", 0.0),
        ("mgsm:en", 18, "It is 18", 0.0),
        ("mgsm:zh", 7, "答案：3，共 7 个", 1.0),
    ] {
        let record = json!({"question": "q", "answer_number": number});
        Case::new(config, record).check(&["mgsm"], &[(response, &[right])]);
    }
}

#[test]
fn calls() {
    let function = |kind: &str| {
        json!([{"name": "f", "parameters": {"type": "dict", "required": ["x"], "properties": {
            "x": {"type": kind}, "y": {"type": "string"}}}}])
    };
    let record = |kind: &str, accepted: Value| {
        json!({"id": "simple_0", "question": [[{"role": "user", "content": "q"}]],
               "function": function(kind), "ground_truth": [{"f": {"x": accepted, "y": ["a", ""]}}]})
    };
    let names = ["call_accuracy", "call_accuracy_any"];
    Case::new("bfcl:simple", record("integer", json!([1]))).check(
        &names,
        &[
            ("[f(x=1)]", &[1.0, 1.0]),
            ("[f(x=1, y='A')]", &[1.0, 1.0]),
            ("```python\n[f(x=1)]\n```", &[0.0, 1.0]),
            ("[f(x=1.0)]", &[0.0, 0.0]),
            ("", &[0.0, 0.0]),
        ],
    );
    Case::new("bfcl:simple", record("float", json!([1.0])))
        .check(&names, &[("[f(x=1)]", &[1.0, 1.0])]);
    let java = Case::new("bfcl:java", record("long", json!([1])));
    java.check(
        &names,
        &[("[f(x=1L)]", &[1.0, 1.0]), ("[f(x=1)]", &[0.0, 1.0])],
    );
    let bigint = Case::new("bfcl:javascript", record("Bigint", json!([1])));
    bigint.check(
        &names,
        &[("[f(x=1n)]", &[1.0, 1.0]), ("[f(x=1)]", &[0.0, 0.0])],
    );
    // Whether a call can be decoded decides where none is expected, or any.
    let open = |id: &str| json!({"id": id, "question": [], "function": function("integer")});
    for (config, id, response, right) in [
        (
            "bfcl:irrelevance",
            "irrelevance_0",
            "None of them fits.",
            1.0,
        ),
        ("bfcl:irrelevance", "irrelevance_0", "[]", 1.0),
        ("bfcl:irrelevance", "irrelevance_0", "[f(x=1)]", 0.0),
        ("bfcl:live_relevance", "live_relevance_0", "[f(x=1)]", 1.0),
        ("bfcl:live_relevance", "live_relevance_0", "[]", 0.0),
        ("bfcl:live_relevance", "live_relevance_0", "I cannot.", 0.0),
    ] {
        Case::new(config, open(id)).check(&["call_accuracy"], &[(response, &[right])]);
    }
}

#[test]
fn scifact() {
    let corpus = [
        json!({"doc_id": 10, "title": "t", "abstract": ["Salt.", "Rust."]}),
        json!({"doc_id": 11, "title": "t", "abstract": ["Tides.", "Moons.", "Stars."]}),
    ];
    let tables: &[(&str, &[Value])] = &[("corpus/train.jsonl", &corpus)];
    let flat = |doc: &str, label: &str, sentences: Value| {
        json!({"id": 1, "claim": "c", "evidence_doc_id": doc, "evidence_label": label,
               "evidence_sentences": sentences, "cited_doc_ids": [10, 11]})
    };
    let names = [
        "nli_accuracy",
        "label_correct",
        "label_predicted",
        "label_expected",
    ];
    let one = Case::with("scifact", flat("11", "SUPPORT", json!([0])), tables);
    one.check(
        &names,
        &[
            ("SUPPORTS", &[1.0, 1.0, 1.0, 1.0]),
            ("The claim is refuted", &[0.0, 0.0, 1.0, 1.0]),
            ("", &[0.0, 0.0, 0.0, 1.0]),
        ],
    );
    let none = Case::with("scifact", flat("", "", json!([])), tables);
    none.check(&names, &[("not enough information", &[1.0, 0.0, 0.0, 0.0])]);
    // Abstracts that disagree leave no label.
    let both = json!([
        flat("10", "CONTRADICT", json!([0])),
        flat("11", "SUPPORT", json!([0]))
    ]);
    let mixed = Case::with("scifact", both.clone(), tables);
    assert_eq!(mixed.example.text("answer"), Some(""));
    assert_eq!(mixed.scores("SUPPORT"), []);

    // Evidence in both layouts.
    let nested = json!({"id": 1, "claim": "c", "cited_doc_ids": [10, 11], "evidence": {
        "10": [{"sentences": [0], "label": "CONTRADICT"}],
        "11": [{"sentences": [0], "label": "SUPPORT"}]}});
    for record in [both, nested] {
        let case = Case::with("scifact:rationale", record, tables);
        case.check(
            &["scifact_abstract_f1", "scifact_rationale_f1", "scifact_sentence_f1"],
            &[
                (
                    r#"{"10": {"label": "CONTRADICT", "sentences": [0]}, "11": {"label": "SUPPORT", "sentences": [0]}}"#,
                    &[1.0, 1.0, 1.0],
                ),
                (r#"{"10": {"label": "CONTRADICT", "sentences": [1]}}"#, &[0.6667, 0.0, 0.0]),
                ("{}", &[0.0, 0.0, 0.0]),
            ],
        );
    }
}
