//! The worked cases of the benchmarks' own rules, through the catalog: a record becomes
//! an example of its config, and the first evaluator of that config scores a response.
//!
//! Records are in our own words and laid out as on the hub.

use std::fs;

use context_bench::dataset::catalog::Config;
use context_bench::registry::{Registry, SystemRef};
use context_bench::{Example, Output};
use serde_json::{Value, json};

use super::{fixture, load};

/// The main score of a response to the first example of a record.
async fn scored(config: &str, record: &Value, response: &str) -> f64 {
    let example = example(config, record);
    score(config, &example, response).await
}

fn example(config: &str, record: &Value) -> Example {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("records.jsonl");
    fs::write(&file, format!("{record}\n")).expect("written");
    let loaded = load(&format!("{config}={}", file.display()));
    let mut examples = loaded.unwrap_or_else(|error| panic!("{config}: {error}"));
    examples.swap_remove(0)
}

async fn score(config: &str, example: &Example, response: &str) -> f64 {
    let registry = Registry::builtin();
    let config = named(&registry, config);
    let main = config.score_field().expect("a score");
    let reference: SystemRef = config.evaluators()[0].parse().expect("valid");
    let factory = registry.evaluators.get(&reference.name).expect("known");
    let evaluator = factory(reference.params).unwrap_or_else(|error| panic!("{error}"));
    assert!(evaluator.applies_to(example), "{}", config.full_name());
    let output = Output::reply(example, response);
    let scores = evaluator.score(example, &output).await.expect("scored");
    let value = scores.value(main);
    value.unwrap_or_else(|| panic!("{} has no `{main}`", config.full_name()))
}

fn named(registry: &Registry, typed: &str) -> Config {
    let (name, config) = typed.split_once(':').unwrap_or((typed, ""));
    let spec = registry.catalog.get(name).expect("known");
    let config = Some(config).filter(|config| !config.is_empty());
    spec.select(config, None).expect("known").remove(0)
}

/// Checks some responses to one record.
async fn check(config: &str, record: &Value, cases: &[(&str, f64)]) {
    for (response, expected) in cases {
        let found = scored(config, record, response).await;
        assert!(
            (found - expected).abs() < 5e-5,
            "{config}: {response:?} has {found}, not {expected}"
        );
    }
}

#[tokio::test]
async fn bbh() {
    let of = |target: &str| json!({"input": "What is it?", "target": target});
    for config in ["bbh:navigate", "bbh:ruin_names", "bbh:dyck_languages"] {
        check(
            config,
            &of("(B)"),
            &[
                ("… So the answer is (B).", 1.0),
                ("… the answer is (B) because it fits.", 0.0),
                ("(B)", 1.0),
                ("", 0.0),
            ],
        )
        .await;
    }
    let yes = "Is the answer is No? So the answer is Yes.";
    check(
        "bbh:web_of_lies",
        &of("Yes"),
        &[(yes, 1.0), ("So the answer is yes.", 0.0)],
    )
    .await;
    check(
        "bbh:dyck_languages",
        &of("] ) }"),
        &[("So the answer is ] ) }.", 1.0)],
    )
    .await;
    let minus = [
        ("so the answer is -12.", 1.0),
        ("so the answer is 12.", 0.0),
    ];
    check("bbh:multistep_arithmetic_two", &of("-12"), &minus).await;
}

fn infinite(answer: Value, options: Value) -> Value {
    let mut record = json!({"id": 0, "context": "A long text.", "input": "What is it?"});
    record["answer"] = answer;
    record["options"] = options;
    record
}

#[tokio::test]
async fn infinitebench() {
    let plain = |answer: Value| infinite(answer, json!([]));
    for config in ["infinitebench:passkey", "infinitebench:number_string"] {
        let cases = [
            ("The pass key is 71432.", 1.0),
            ("In line 3 it is 71432", 0.0),
            ("7 1432", 0.0),
        ];
        check(config, &plain(json!("71432")), &cases).await;
        check(config, &plain(json!(["71432"])), &cases).await;
    }
    check(
        "infinitebench:kv_retrieval",
        &plain(json!(["ab-12"])),
        &[
            ("The value is \"ab-12\".", 1.0),
            ("AB-12", 0.0),
            ("xab-12x", 0.0),
        ],
    )
    .await;
    let name = "infinitebench:longdialogue_qa_eng";
    let cases = [("Probably Jacob.", 1.0), ("Jacobson", 0.0), ("MARY", 0.0)];
    check(name, &plain(json!(["JACOB", "MARY"])), &cases).await;
    check(name, &plain(json!(["DR. SMITH"])), &[("DR. SMITH", 0.0)]).await;
    let run = "infinitebench:code_run";
    check(run, &plain(json!(-7)), &[("The return value is: -7.", 1.0)]).await;
    let cases = [
        ("It is 12 points", 0.0),
        ("**12**", 0.0),
        ("It is `12`", 1.0),
    ];
    check(run, &plain(json!([12])), &cases).await;
    check(run, &plain(json!(5)), &[("3.5", 1.0)]).await;
    let find = "infinitebench:math_find";
    let cases = [
        ("The largest number is 42.", 1.0),
        ("Of 60 numbers it is 42", 0.0),
    ];
    check(find, &plain(json!(42)), &cases).await;
    check(find, &plain(json!([-5])), &[("-5", 0.0)]).await;
    check(find, &plain(json!(42.5)), &[("42.5", 1.0)]).await;
    let calc = "infinitebench:math_calc";
    let cases = [
        ("[1, 4, 9]", 0.5),
        ("Values: 1 4 8 8 7", 1.0),
        ("1, 4, 8", 0.75),
    ];
    check(calc, &plain(json!([1, 4, 8, 8])), &cases).await;
    check(calc, &plain(json!([1, -4])), &[("[1, -4]", 0.5)]).await;
    let chinese = "infinitebench:longbook_qa_chn";
    check(chinese, &plain(json!(["李明"])), &[("他叫李明。", 0.6667)]).await;
    let dream = [("《红楼梦》", 0.8571), ("", 0.0)];
    check(chinese, &plain(json!(["红楼梦"])), &dream).await;
    check(
        "infinitebench:longbook_qa_eng",
        &plain(json!(["Berlin", "Paris"])),
        &[("It is in Paris, France", 0.3333), ("", 0.0)],
    )
    .await;
    check(
        "infinitebench:longbook_sum_eng",
        &plain(json!("the cat sat\non the mat")),
        &[("on the mat\nthe cat sat", 1.0), ("", 0.0)],
    )
    .await;
}

#[tokio::test]
async fn infinitebench_options() {
    let choice = "infinitebench:longbook_choice_eng";
    let at = |letter: &str, options: [&str; 4]| infinite(json!(["Paris", letter]), json!(options));
    check(
        choice,
        &at("B", ["Rome", "Paris", "Oslo", "Bern"]),
        &[
            ("B", 1.0),
            ("The answer is B", 1.0),
            ("Option B, surely", 1.0),
            ("*B*", 0.0),
            ("the correct option is: B", 0.0),
            ("Paris", 1.0),
            ("", 0.0),
        ],
    )
    .await;
    let third = at("C", ["Rome", "Oslo", "Paris", "Bern"]);
    check(choice, &third, &[("But I think C", 0.0)]).await;
    // The letter counts even where the text is not quite that of the option.
    let odd = at("B", ["Rome", "Paris ", "Oslo", "Bern"]);
    check(choice, &odd, &[("B", 1.0), ("A", 0.0)]).await;
    // The letter of an answer without one is that of its place.
    let first = infinite(json!(["Paris"]), json!(["Paris", "Rome", "Oslo", "Bern"]));
    check(choice, &first, &[("Definitely A", 0.0), ("A", 1.0)]).await;
    check(
        "infinitebench:code_debug",
        &infinite(
            json!(["parse", "B"]),
            json!(["read", "parse", "sum", "end"]),
        ),
        &[
            ("B. parse", 1.0),
            ("The function with the error is: B", 1.0),
            ("The answer is: parse", 1.0),
            ("The answer is B", 0.0),
            ("I choose B", 0.0),
            ("answer is: Option B", 1.0),
        ],
    )
    .await;
}

fn long(answers: Value, classes: Value) -> Value {
    let mut record = json!({"input": "Which?", "context": "A long text.", "length": 3});
    record["answers"] = answers;
    record["all_classes"] = classes;
    record
}

#[tokio::test]
async fn longbench() {
    let plain = |answer: &str| long(json!([answer]), Value::Null);
    let counts = [
        ("There are 7 unique of 30", 0.5),
        ("7", 1.0),
        ("seven", 0.0),
    ];
    check("longbench:passage_count", &plain("7"), &counts).await;
    let paragraphs = [("Paragraph 15", 0.0), ("Paragraph 5 (not 6)", 0.5)];
    check(
        "longbench:passage_retrieval_en",
        &plain("Paragraph 5"),
        &paragraphs,
    )
    .await;
    let chinese = "longbench:passage_retrieval_zh";
    check(chinese, &plain("段落5"), &[("段落5。段落6：", 0.5)]).await;
    let classes = json!(["Date", "Location", "City", "Other location"]);
    for config in ["longbench:trec", "longbench:lsht"] {
        check(
            config,
            &long(json!(["City"]), classes.clone()),
            &[
                ("Type: City", 1.0),
                ("City or Date", 0.5),
                // Only the first line counts.
                ("\n\nCity\nQuestion: When?\nType: Date", 1.0),
                ("Date\nCity", 0.0),
            ],
        )
        .await;
        let other = [("Location", 0.0), ("other location", 0.0)];
        check(
            config,
            &long(json!(["Other location"]), classes.clone()),
            &other,
        )
        .await;
        let nested = long(json!(["abc"]), json!(["a", "ab", "abc"]));
        check(config, &nested, &[("abc", 0.5)]).await;
    }
    for config in ["longbench:lcc", "longbench:repobench-p"] {
        let line = [
            ("\n    return x + 1\n    y = 2", 1.0),
            ("```\nreturn x + 1\n```", 0.86),
        ];
        check(config, &plain("    return x + 1"), &line).await;
        check(config, &plain("foo(baz)"), &[("# next\nfoo(bar)", 0.88)]).await;
        check(config, &plain("foo"), &[("# only", 0.0)]).await;
    }
    for config in [
        "narrativeqa",
        "qasper",
        "multifieldqa_en",
        "hotpotqa",
        "2wikimqa",
        "musique",
    ] {
        let config = format!("longbench:{config}");
        let cases = [("It is in Paris, France", 0.3333), ("", 0.0)];
        check(&config, &plain("Paris"), &cases).await;
        check(&config, &plain("a"), &[("the", 0.0)]).await;
        // No rule of its own for yes and no.
        check(&config, &plain("yes"), &[("Yes, both are", 0.5)]).await;
    }
    let cut = [("Paris\nQuestion: Which river?", 1.0)];
    check(
        "longbench:triviaqa",
        &long(json!(["Rome", "Paris"]), Value::Null),
        &cut,
    )
    .await;
    for config in ["gov_report", "multi_news", "qmsum", "samsum"] {
        let config = format!("longbench:{config}");
        let cat = plain("the cat sat on the mat");
        check(&config, &cat, &[("the cat. sat on mat", 1.0)]).await;
        check(&config, &plain("the cat"), &[("The cat", 0.5)]).await;
        check(&config, &plain("a b"), &[("a a a b", 1.0)]).await;
        check(&config, &plain("x"), &[("...", 0.0), ("", 0.0)]).await;
    }
    check("longbench:samsum", &plain("a b"), &[("a b\nc d", 1.0)]).await;
}

#[tokio::test]
async fn longbench_in_chinese() {
    let plain = |answer: &str| long(json!([answer]), Value::Null);
    let overlap = "longbench:multifieldqa_zh";
    check(overlap, &plain("李明"), &[("他叫李明。", 0.5)]).await;
    let dream = [("《红楼梦》", 0.6667), ("", 0.0)];
    check(overlap, &plain("红楼梦"), &dream).await;
    for config in ["longbench:dureader", "longbench:vcsum"] {
        check(
            config,
            &plain("会议讨论预算"),
            &[("会议讨论了预算", 0.8571)],
        )
        .await;
        check(config, &plain("会议"), &[("", 0.0)]).await;
    }
}

#[tokio::test]
async fn longbench_v2() {
    let of = |answer: &str| {
        json!({"_id": "1", "domain": "Own", "sub_domain": "Own", "difficulty": "easy",
               "length": "short", "question": "What burned?", "choice_A": "the mill",
               "choice_B": "the ferry", "choice_C": "the key", "choice_D": "the coin",
               "answer": answer, "context": "A text."})
    };
    check(
        "longbench-v2",
        &of("B"),
        &[
            ("The correct answer is (B).", 1.0),
            ("**The correct answer is B**", 1.0),
            ("the correct answer is (B)", 0.0),
            ("B", 0.0),
            ("The correct answer is Because… (C)", 1.0),
            ("", 0.0),
        ],
    )
    .await;
    let twice = "The correct answer is A, so The correct answer is (C)";
    check("longbench-v2", &of("C"), &[(twice, 1.0)]).await;
    let example = example("longbench-v2", &of("C"));
    assert_eq!(example.text("answer"), Some("the key"));
    assert_eq!(example.text("question"), Some("What burned?"));
    assert_eq!(example.text("length"), Some("short"));
}

#[tokio::test]
async fn quality() {
    let of = |label: Value| {
        json!({"article": "A story.", "question": "What sank?",
               "options": ["a mill", "a ferry", "a key", "a coin"], "gold_label": label})
    };
    check(
        "quality",
        &of(json!(2)),
        &[
            ("(B)", 1.0),
            ("The answer is B, since …", 1.0),
            ("A or B", 0.0),
            ("", 0.0),
            ("a ferry", 1.0),
        ],
    )
    .await;
    let example = example("quality", &of(json!(2)));
    assert_eq!(example.text("answer"), Some("a ferry"));
    assert_eq!(example.get("difficult"), Some(&Value::Null));
    // A label that is not published is no label.
    let hidden = super::official_rules::example("quality", &of(Value::Null));
    assert_eq!(hidden.text("correct_letter"), Some(""));
}

#[tokio::test]
async fn nolima() {
    let folder = fixture("datasets/nolima");
    let examples = load(&format!("nolima@250={}", folder.display())).expect("loads");
    assert_eq!(examples.len(), 26);
    for example in &examples {
        let name = example.text("answer").expect("a name");
        let other = if name == "Yuna" { "Stuart" } else { "Yuna" };
        for (response, expected) in [
            (name.to_owned(), 1.0),
            (format!("The character is {name}."), 1.0),
            (name.to_lowercase(), 0.0),
            (String::new(), 0.0),
            (format!("Either {name} or {other}"), 1.0),
            (other.to_owned(), 0.0),
        ] {
            let found = score("nolima", example, &response).await;
            assert_eq!(found, expected, "{response}");
        }
        // After a chain of thought the last line counts.
        let thought = format!("It may be {name}.\nIt is {other}.\n");
        let found = score("nolima:needle_set_w_CoT", example, &thought).await;
        assert_eq!(found, 0.0, "{thought}");
    }
    let error = load(&format!("nolima@test={}", folder.display())).unwrap_err();
    assert!(
        error.contains("`test` is not a length of `nolima`"),
        "{error}"
    );
    assert!(error.contains("hint: write a number of tokens"), "{error}");
}

#[tokio::test]
async fn locomo() {
    let of = |category: u64, answer: &str| {
        json!([{"sample_id": "c", "conversation": {
            "speaker_a": "Ada", "speaker_b": "Bo", "session_1_date_time": "8 May",
            "session_1": [{"speaker": "Ada", "text": "Hi!"}],
        }, "qa": [{"question": "What?", "answer": answer, "category": category}]}])[0]
            .clone()
    };
    let qa = "locomo:qa";
    check(qa, &of(4, "hike"), &[("She went hiking", 0.5)]).await;
    check(qa, &of(2, "8 May"), &[("8 May", 1.0), ("", 0.0)]).await;
    check(
        qa,
        &of(1, "painting, pottery"),
        &[("hiking, painting", 0.5)],
    )
    .await;
    check(qa, &of(3, "Yes; she said so twice"), &[("Yes", 1.0)]).await;
    let said = [
        ("Not mentioned in the conversation", 1.0),
        ("I don't know", 0.0),
    ];
    check(qa, &of(5, ""), &said).await;
}

/// Letters stand for the options of questions about what was never said.
#[tokio::test]
async fn locomo_options() {
    let file = fixture("datasets/locomo/original/locomo10.json");
    let examples = load(&format!("locomo:qa={}", file.display())).expect("loads");
    let asked = examples
        .iter()
        .find(|example| example.text("type") == Some("adversarial"))
        .expect("one");
    let options = asked.get("choices").and_then(Value::as_array).expect("two");
    let right = options
        .iter()
        .position(|option| option == "Not mentioned in the conversation")
        .expect("there");
    assert_eq!(options[1 - right], "Bo");
    let letters = [["a", "(a)", "A"], ["b", "(b)", "B"]];
    for letter in letters[right] {
        assert_eq!(score("locomo:qa", asked, letter).await, 1.0, "{letter}");
    }
    for letter in letters[1 - right] {
        assert_eq!(score("locomo:qa", asked, letter).await, 0.0, "{letter}");
    }
    let context = asked.text("context").expect("text");
    assert!(context.starts_with("DATE: 1:56 pm on 8 May, 2023\nCONVERSATION:\nAda said, \""));
    assert!(context.contains("Bo said, \"Look!\" [shares a photo of a ferry]\n"));
}

#[test]
fn every_config_names_its_rule() {
    let registry = Registry::builtin();
    for name in [
        "bbh",
        "infinitebench",
        "longbench",
        "longbench-v2",
        "quality",
        "nolima",
        "locomo",
    ] {
        let spec = registry.catalog.get(name).expect("known");
        let all = match spec.config_names().next() {
            Some(_) => spec.select(Some("*"), None),
            None => spec.select(None, None),
        };
        for config in all.expect("valid") {
            assert!(config.rule().is_some(), "{}", config.full_name());
        }
    }
}
