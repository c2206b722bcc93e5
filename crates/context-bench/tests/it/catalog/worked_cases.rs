//! The worked cases of the original tool for its datasets, except the
//! deliberate differences, which are named in `docs/differences.md`.

use std::fs;
use std::path::Path;

use context_bench::registry::DatasetRequest;
use context_bench_testkit::worked;
use serde_json::{Value, json};

use super::{load_with, untagged};

/// Case ids whose outcome differs on purpose, and why.
const DIFFERENCES: [(&str, &str); 17] = [
    (
        "cb-0394",
        "a line that is not JSON is an error, unless it is to be skipped",
    ),
    ("cb-0395", "a record without `query` is an error"),
    (
        "cb-0404",
        "a record without `article` is an error, a label out of range too",
    ),
    (
        "cb-0405",
        "sections stand under their names, and answers are those of annotators",
    ),
    ("cb-0407", "a record without `prompt` is an error"),
    ("cb-0410", "SCROLLS puts the query first"),
    ("cb-0412", "SCROLLS puts the hypothesis first"),
    ("cb-0413", "a claim without evidence is NOT_ENOUGH_INFO"),
    ("cb-0417", "options are shuffled"),
    ("cb-0418", "an unpublished label is no label"),
    ("cb-0419", "an unpublished label is no label"),
    ("cb-0424", "null arguments are left out"),
    ("cb-0428", "a record without `context` is an error"),
    (
        "cb-0430",
        "every form, depth and book, with a name that is drawn for each",
    ),
    (
        "cb-0434",
        "names and times of turns are kept, kinds are those of the paper",
    ),
    (
        "cb-0435",
        "kinds are those of the paper, adversarial questions are kept",
    ),
    ("cb-0436", "filters by kind are not part of loading"),
];

fn write(folder: &Path, path: &str, text: &str) {
    let file = folder.join(path);
    fs::create_dir_all(file.parent().expect("a folder")).expect("made");
    fs::write(file, text).expect("written");
}

fn lines(records: &Value) -> String {
    let records = records.as_array().expect("a list");
    records.iter().map(|record| format!("{record}\n")).collect()
}

/// What we make of the input of a case; an error is a text.
fn ours(name: &str, input: &Value) -> Result<Vec<Value>, String> {
    let folder = tempfile::tempdir().expect("a folder");
    let mut path = folder.path().to_owned();
    if let Some(files) = input["files"].as_object() {
        for (file, text) in files {
            write(folder.path(), file, text.as_str().expect("text"));
        }
    } else if !input["claims"].is_null() {
        write(
            folder.path(),
            "claims/validation.jsonl",
            &lines(&input["claims"]),
        );
        write(
            folder.path(),
            "corpus/train.jsonl",
            &lines(&input["corpus"]),
        );
    } else {
        write(folder.path(), "records.jsonl", &lines(&input["records"]));
        path = path.join("records.jsonl");
    }
    let typed = match input["config"].as_str() {
        Some(config) => format!("{name}:{config}={}", path.display()),
        None => format!("{name}={}", path.display()),
    };
    let request = DatasetRequest {
        max_examples: input["n"]
            .as_u64()
            .map(|n| usize::try_from(n).expect("small")),
        ..DatasetRequest::default()
    };
    Ok(untagged(load_with(&typed, &request)?))
}

/// Whether what is expected is there; what we add does not matter.
fn agrees(expected: &Value, found: &Value) -> bool {
    match (expected, found) {
        (Value::Object(expected), Value::Object(found)) => expected
            .iter()
            .filter(|(key, _)| *key != "dataset")
            .all(|(key, value)| found.get(key).is_some_and(|found| agrees(value, found))),
        (Value::Array(expected), Value::Array(found)) => {
            let mut pairs = expected.iter().zip(found);
            expected.len() == found.len() && pairs.all(|(e, f)| agrees(e, f))
        }
        _ => expected == found,
    }
}

/// What the cases of some datasets look at, in our own fields.
fn translated(expected: &Value) -> Value {
    let mut expected = expected.clone();
    for example in expected.as_array_mut().expect("a list") {
        if let Some(items) = example.as_object_mut().and_then(|map| map.remove("items")) {
            example["turns"] = items;
            let queries = example
                .as_object_mut()
                .and_then(|map| map.remove("queries"));
            let queries = queries.unwrap_or_default();
            let pairs = queries.as_array().into_iter().flatten().map(|query| {
                json!({
                    "question": query["question"],
                    "answer": query["answer"],
                    "type": query["query_type"],
                })
            });
            example["qa_pairs"] = pairs.collect();
        }
    }
    expected
}

#[test]
fn worked_cases_hold_except_the_deliberate_differences() {
    let mut n_cases = 0;
    for case in worked::original_tool() {
        let component = case["component"].as_str().expect("text");
        let Some(name) = component.strip_prefix("dataset.") else {
            continue;
        };
        let id = case["id"].as_str().expect("text");
        // Filters by kind of question are not part of loading.
        if !case["input"]["question_types"].is_null() {
            continue;
        }
        n_cases += 1;
        let expected = translated(&case["expected"]);
        let found = ours(name, &case["input"]);
        let holds = found
            .as_ref()
            .is_ok_and(|found| agrees(&expected, &json!(found)));
        let is_listed = DIFFERENCES.iter().any(|(listed, _)| *listed == id);
        assert_eq!(
            holds, !is_listed,
            "{id} {name}:\n expected {expected:#}\n found {found:#?}"
        );
    }
    assert!(n_cases > 40, "only {n_cases} cases");
    let differences = include_str!("../../../../../docs/differences.md");
    for (id, _) in DIFFERENCES {
        assert!(
            differences.contains(id),
            "{id} is not in docs/differences.md"
        );
    }
}

/// Blank lines count as lines, for ids and for `n`, as they do there.
#[test]
fn worked_cases_of_a_plain_file_hold() {
    for case in worked::cases_of("local.load_jsonl") {
        let (id, input) = (&case["id"], &case["input"]);
        let folder = tempfile::tempdir().expect("a folder");
        write(
            folder.path(),
            "own.jsonl",
            input["text"].as_str().expect("text"),
        );
        let request = DatasetRequest {
            max_examples: input["n"].as_u64().map(|n| n as usize),
            ..DatasetRequest::default()
        };
        let path = folder.path().join("own.jsonl");
        let found = load_with(path.to_str().expect("text"), &request).expect("examples");
        assert_eq!(json!(untagged(found)), case["expected"], "{id}");
    }
}
