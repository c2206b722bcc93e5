//! Sentences, words and languages against NLTK 3.9.1 and langdetect 1.0.9
//! (seed 0) on real model outputs.
//!
//! `tests/golden/ifeval/nltk_langdetect.jsonl` holds, per text, the number of
//! sentences, of words in capitals and of words, and the language. The texts
//! themselves are in the shared folder.

use std::path::Path;

use context_bench_testkit_macros::{needs_shared, shared_path};
use serde_json::Value;

use super::language::{Language, detect};
use super::{punkt, words};

const GOLDEN: &str = include_str!("../../../tests/golden/ifeval/nltk_langdetect.jsonl");

/// Not found by the test kit, which would bring a runtime into the tree of this crate.
const RESPONSES: &str = shared_path!("data/responses");

fn texts(file: &str, record: &Value) -> Vec<String> {
    let fields: &[&str] = match file {
        "mt-bench.model_answer" => &["/choices/0/turns/0", "/choices/0/turns/1"],
        "dialogsum.bart" => &["/dialogue", "/prediction"],
        "longbench.predictions" => &["/pred", "/prompt_tail"],
        "leval.predictions" => &["/pred", "/gt"],
        _ => &["/response"],
    };
    let text = |field: &&str| {
        let value = record.pointer(field);
        value.and_then(Value::as_str).unwrap_or("").to_owned()
    };
    fields.iter().map(text).collect()
}

#[needs_shared("data/responses")]
#[test]
fn agreement_with_nltk_and_langdetect() {
    let (mut checked, mut differences) = (0, Vec::new());
    for line in GOLDEN.lines() {
        let golden: Value = serde_json::from_str(line).expect("JSON");
        let file = golden["file"].as_str().expect("a file");
        let path = Path::new(RESPONSES).join(format!("{file}.jsonl"));
        let records = std::fs::read_to_string(path).expect("readable");
        let records = records.lines().enumerate();
        let texts: Vec<(usize, String)> = records
            .flat_map(|(row, line)| {
                let record = serde_json::from_str(line).expect("JSON");
                let texts = texts(file, &record).into_iter();
                texts.map(move |text| (row, text)).collect::<Vec<_>>()
            })
            .collect();
        let expected = golden["texts"].as_array().expect("a list");
        assert_eq!(texts.len(), expected.len(), "{file}");
        for ((row, text), expected) in texts.iter().zip(expected) {
            let language = match detect(text) {
                Language::Code(code) => code,
                Language::Unknown => "unknown",
                Language::NoFeatures => "",
            };
            let (capitals, all) = words::count(text);
            let found = serde_json::json!([punkt::sentences(text).len(), capitals, all, language]);
            checked += 1;
            if &found != expected {
                differences.push(format!("{file} row {row}: {found}, Python {expected}"));
            }
        }
    }
    eprintln!(
        "sentences, words and language equal Python on {} of {checked} texts",
        checked - differences.len()
    );
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}
