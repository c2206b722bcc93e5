//! `compare`: stored runs beside each other, matched by the content of examples.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::program::{Done, arg, run};

/// Questions of which those in `hidden` cannot be answered from the first words of the context.
fn write(path: &Path, ids: impl Iterator<Item = usize>, hidden: usize) {
    let line = |i: usize| {
        let (first, last) = match i < hidden {
            true => (
                "It rains a lot here in autumn.",
                "Paris is the capital of France.",
            ),
            false => (
                "Paris is the capital of France.",
                "It rains a lot here in autumn.",
            ),
        };
        let example = json!({
            "id": format!("é{i}"),
            "context": format!("{first} Note {i}. {last}"),
            "question": "What is the capital of France?",
            "answer": "Paris",
        });
        format!("{example}\n")
    };
    fs::write(path, ids.map(line).collect::<String>()).unwrap();
}

/// Runs a layer over a file and returns the id of the run.
fn stored(folder: &Path, file: &str, ratio: &str, more: &[&str]) -> String {
    let data = folder.join(file);
    let cache = folder.join("the store");
    let system = format!("läyer=truncate:ratio={ratio}");
    let args = [
        "--system",
        &system,
        "--dataset",
        arg(&data),
        "--cache-dir",
        arg(&cache),
        "--quiet",
    ];
    let done = run(&[&args[..], more].concat());
    assert_eq!(done.code, 0, "{done}");
    last(folder)
}

fn compare(folder: &Path, more: &[&str]) -> Done {
    let cache = folder.join("the store");
    run(&[&["compare", "--cache-dir", arg(&cache)][..], more].concat())
}

fn last(folder: &Path) -> String {
    let cache = folder.join("the store");
    let shown = [
        "runs",
        "--cache-dir",
        arg(&cache),
        "--output",
        "json",
        "show",
        "last",
    ];
    run(&shown).json()["id"].as_str().unwrap().to_owned()
}

#[test]
fn examples_are_matched_by_content_wherever_they_stand() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    write(&folder.join("a.jsonl"), 0..40, 30);
    // The same examples the other way round, without five of them and with five others.
    write(&folder.join("b.jsonl"), (5..45).rev(), 30);
    let runs = [
        stored(folder, "a.jsonl", "1.0", &[]),
        stored(folder, "b.jsonl", "0.45", &[]),
    ];
    let done = compare(
        folder,
        &[&runs[0], &runs[1], "--margin", "0.1", "--output", "json"],
    );
    assert_eq!(done.code, 0, "{done}");
    let found = done.json();
    let system = &found["systems"][0];
    let matched = &system["matched"];
    assert_eq!(matched["paired"], 35, "{matched}");
    assert_eq!(
        (&matched["only_baseline"], &matched["only_system"]),
        (&json!(5), &json!(5))
    );
    assert_eq!(system["verdict"], "worse", "{}", system["sentence"]);
    assert_eq!(
        (&system["baseline_run"], &system["run"]),
        (&json!(runs[0]), &json!(runs[1]))
    );
    let differences = system["differences"].as_array().unwrap();
    let main = &differences[0];
    assert_eq!(
        (&main["measure"], &main["scope"]),
        (&json!("f1"), &json!("all"))
    );
    // Ids 5 to 29 are hidden, and lost.
    assert_eq!(main["flips"]["lost"], 25, "{main}");
    let flips = system["flips"].as_array().unwrap();
    let lost: Vec<&Value> = flips
        .iter()
        .filter(|one| one["direction"] == "lost")
        .collect();
    assert_eq!(lost.len(), 5);
    assert_eq!(lost[0]["baseline_answer"], "Paris");
    assert_ne!(lost[0]["system_answer"], "Paris");
    let table = compare(folder, &[&runs[0], &runs[1], "--flips", "2"]);
    assert_eq!(table.code, 0, "{table}");
    let text = table.stdout.replace("\n  ", " ");
    for expected in [
        "Flips of läyer",
        "lost",
        "… ",
        "10 rows are not in both and left out.",
    ] {
        assert!(text.contains(expected), "no `{expected}` in {table}");
    }
    // The other way round it is better, by the same number.
    let back = compare(folder, &[&runs[1], &runs[0], "--output", "json"]).json();
    assert_eq!(back["systems"][0]["verdict"], "better");
    let (there, here) = (
        &main["difference"],
        &back["systems"][0]["differences"][0]["difference"],
    );
    assert_eq!(there.as_f64().unwrap(), -here.as_f64().unwrap());
    // And again the very same.
    let again = compare(
        folder,
        &[&runs[0], &runs[1], "--margin", "0.1", "--output", "json"],
    );
    assert_eq!(again.stdout, done.stdout);
}

#[test]
fn records_without_an_id_are_matched_in_any_order() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let texts = ["a", "b", "é", "d", "e", "f", "g"];
    let write = |file: &str, order: &[usize]| {
        let line = |at: &usize| {
            let mut said = [
                "Paris is the capital of France.",
                "It rains a lot here in autumn.",
            ];
            if at % 2 == 1 {
                said.reverse();
            }
            let example = json!({
                "context": format!("{} Note {}. {}", said[0], texts[*at], said[1]),
                "question": "What is the capital of France?",
                "answer": "Paris",
            });
            format!("{example}\n")
        };
        let lines: String = order.iter().map(line).collect();
        fs::write(folder.join(file), lines).unwrap();
    };
    // The last is there twice.
    write("a.jsonl", &[0, 1, 2, 3, 4, 5, 6, 6]);
    write("b.jsonl", &[6, 5, 4, 6, 3, 2, 1]);
    let runs = [
        stored(folder, "a.jsonl", "1.0", &[]),
        stored(folder, "b.jsonl", "0.45", &[]),
    ];
    let done = compare(folder, &[&runs[0], &runs[1], "--output", "json"]);
    assert_eq!(done.code, 0, "{done}");
    let found = done.json();
    let system = &found["systems"][0];
    let expected = json!({"paired": 7, "only_baseline": 1, "only_system": 0});
    assert_eq!(system["matched"], expected, "{done}");
    // Less than half keeps the first sentence alone: 1, 3 and 5 are lost.
    let main = &system["differences"][0];
    assert_eq!(main["flips"]["lost"], 3, "{done}");
    let notes = system["notes"].to_string();
    assert!(!notes.contains("prompts"), "{notes}");
}

#[test]
fn runs_that_share_nothing_say_so() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    write(&folder.join("a.jsonl"), 0..4, 0);
    let base = stored(folder, "a.jsonl", "1.0", &[]);
    // The same file with other contents under the same ids.
    write(&folder.join("a.jsonl"), 0..4, 4);
    let new = stored(
        folder,
        "a.jsonl",
        "1.0",
        &[
            "--evaluator",
            "summarization_quality",
            "--score-field",
            "rouge_l_f1",
        ],
    );
    let done = compare(folder, &[&base, &new]);
    assert_eq!(done.code, 0, "{done}");
    let text = done.stdout.replace("\n  ", " ");
    for expected in [
        "no example in common, so nothing can be compared.",
        "`answer_quality` scored only the first run",
        "4 examples have an id that the first run has too, and another content",
    ] {
        assert!(text.contains(expected), "no `{expected}` in {done}");
    }
}

#[test]
fn a_run_and_its_export_compare_alike() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    write(&folder.join("a.jsonl"), 0..12, 5);
    let more = [
        "--system",
        "passthrough",
        "--baseline",
        "passthrough",
        "--output",
        "json",
    ];
    let file = folder.join("run.json");
    let to_file = ["--output-file", arg(&file), "--margin", "0.05"];
    stored(folder, "a.jsonl", "0.45", &[&more[..], &to_file].concat());
    let live: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    let cache = folder.join("the store");
    let export = run(&["export", "last", "--cache-dir", arg(&cache)]).json();
    // What was asked again took another time; nothing else may differ.
    let without_latency = |result: &Value| {
        let mut found = result["comparison"].clone();
        for system in found["systems"].as_array_mut().unwrap() {
            let all = system["differences"].as_array_mut().unwrap();
            all.retain(|one| one["measure"] != "latency");
            system["flips"] = Value::Null;
        }
        found
    };
    assert_eq!(without_latency(&live), without_latency(&export));
    assert_eq!(live["comparison"]["margin"], 0.05);
    assert_eq!(live["comparison"]["systems"][0]["system"], "läyer");
}
