//! Every dataset has a small fixture of our own in the layout of the hub, and
//! its examples are committed whole. `CONTEXT_BENCH_UPDATE=1` writes them anew.

use std::fs;

use context_bench::dataset::catalog::DatasetCatalog;
use serde_json::{Map, Value};

use super::{fixture, is_update, load, untagged};

/// What is loaded besides the usual config of each dataset.
const FURTHER: [&str; 27] = [
    "alpaca-eval:alpaca_eval",
    "bbh:word_sorting",
    "bfcl:exec_multiple",
    "bfcl:rest",
    "gsm8k:socratic",
    "hotpotqa:fullwiki",
    "infinitebench:code_debug",
    "infinitebench:code_run",
    "infinitebench:longbook_choice_eng",
    "infinitebench:math_calc",
    "infinitebench:math_find",
    "infinitebench:passkey",
    "locomo:qa",
    "longbench:gov_report",
    "longbench:multifieldqa_zh",
    "longbench:trec",
    "longmemeval:qa",
    "mbpp:full",
    "mgsm:en,de",
    "mmlu:anatomy",
    "musique:full",
    "narrativeqa:story",
    "scifact:rationale",
    "triviaqa:rc.nocontext",
    "triviaqa:rc.wikipedia",
    "truthfulqa:multiple_choice",
    "gpqa@train",
];

#[test]
fn every_dataset_makes_the_expected_examples_of_its_fixture() {
    for name in DatasetCatalog::builtin().names() {
        let folder = fixture(&format!("datasets/{name}"));
        assert!(folder.is_dir(), "dataset `{name}` has no fixture");
        let further = FURTHER
            .iter()
            .copied()
            .filter(|typed| typed.split([':', '@']).next() == Some(name));
        let mut made = Map::new();
        for typed in std::iter::once(name).chain(further) {
            let examples = load(&format!("{typed}={}", folder.display()));
            let examples = examples.unwrap_or_else(|error| panic!("{typed}: {error}"));
            assert!(!examples.is_empty(), "{typed}");
            made.insert(typed.to_owned(), untagged(examples).into());
        }
        let made = Value::Object(made);
        let file = fixture(&format!("expected/{name}.json"));
        if is_update() {
            fs::create_dir_all(file.parent().expect("a folder")).expect("made");
            fs::write(&file, format!("{made:#}\n")).expect("written");
        }
        let text = fs::read_to_string(&file).unwrap_or_else(|_| panic!("no {}", file.display()));
        let expected: Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!(made, expected, "{name}");
    }
}

#[test]
fn the_original_layout_of_locomo_is_read_as_well() {
    let file = fixture("datasets/locomo/original/locomo10.json");
    let examples = load(&format!("locomo={}", file.display())).expect("loads");
    let [example] = &examples[..] else {
        panic!("one conversation");
    };
    let turns = example
        .get("turns")
        .and_then(Value::as_array)
        .expect("turns");
    assert_eq!(
        turns[1]["content"],
        "[1:56 pm on 8 May, 2023] Bo: Look! [shares a photo of a ferry]"
    );
    assert_eq!(
        (&turns[0]["role"], &turns[1]["role"]),
        (&"user".into(), &"assistant".into())
    );
    let pairs = example
        .get("qa_pairs")
        .and_then(Value::as_array)
        .expect("pairs");
    let told: Vec<(&str, &str)> = pairs
        .iter()
        .map(|pair| {
            (
                pair["answer"].as_str().unwrap(),
                pair["type"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        told,
        [
            ("8 May 2023", "temporal"),
            ("No information available", "adversarial"),
            ("1", "single_hop")
        ]
    );
}

#[test]
fn shuffled_options_can_be_kept_in_the_order_of_the_source() {
    use context_bench::registry::DatasetRequest;
    let typed = format!("gpqa={}", fixture("datasets/gpqa").display());
    let letters = |seed: u64, keep_order: bool| -> Vec<String> {
        let request = DatasetRequest {
            seed,
            keep_order,
            ..DatasetRequest::default()
        };
        let examples = super::load_with(&typed, &request).expect("loads");
        let letters = examples
            .iter()
            .map(|e| e.text("correct_letter").unwrap().to_owned());
        letters.collect()
    };
    assert_eq!(letters(1, true), ["A", "A"]);
    assert_eq!(letters(1, false), letters(1, false));
    assert!((0..20).any(|seed| letters(seed, false) != ["A", "A"]));
}

#[test]
fn every_evaluator_exists_and_gives_the_score_of_its_dataset() {
    use context_bench::evaluator::JudgeRule;
    use context_bench::registry::{Registry, SystemRef};
    let registry = Registry::builtin();
    // These need what the user names: a model, or a report.
    let mut judges = vec![
        ("llm_judge", &["judge_score"][..]),
        ("swebench_report", &["resolved"]),
    ];
    let own = JudgeRule::ALL.iter();
    judges.extend(own.map(|(rule, name, _)| (*name, rule.score_names())));
    for name in registry.catalog.names() {
        let spec = registry.catalog.get(name).expect("valid");
        let configs = match spec.config_names().next() {
            Some(_) => spec.select(Some("*"), None),
            None => spec.select(None, None),
        };
        for config in configs.expect("valid") {
            let mut scores: Vec<String> = Vec::new();
            for name in config.evaluators() {
                if let Some((_, own)) = judges.iter().find(|(judge, _)| judge == name) {
                    scores.extend(own.iter().map(ToString::to_string));
                    continue;
                }
                let reference: SystemRef = name.parse().expect("valid");
                let factory = registry.evaluators.get(&reference.name).expect("known");
                let evaluator = factory(reference.params).unwrap_or_else(|e| panic!("{e}"));
                scores.extend(evaluator.score_names().iter().map(ToString::to_string));
            }
            let field = config.score_field().expect("one");
            assert!(
                scores.iter().any(|score| score == field),
                "{}: `{field}` is none of {scores:?}",
                config.full_name()
            );
            let headline = config.headline().expect("one");
            let figures = config.summary().flat_map(|(_, figure)| figure.scores());
            let is_figure = config.summary().any(|(name, _)| name == headline);
            let headline = Some(headline).filter(|_| !is_figure);
            for score in figures.chain(headline) {
                assert!(
                    scores.iter().any(|known| known == score),
                    "{}: `{score}` of its figures is none of {scores:?}",
                    config.full_name()
                );
            }
        }
    }
}
