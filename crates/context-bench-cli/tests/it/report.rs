//! `report`: stored runs as a page, one or several.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::program::{arg, run};

/// Runs two layers over a file of questions, whose contexts end in `note`.
fn store(folder: &Path, name: &str, layers: [&str; 2], note: &str) {
    let line = |i: usize| {
        let example = json!({
            "id": i, "question": "What is the capital of France?", "answer": "Paris",
            "context": format!("Paris is the capital of France. It rains a lot. {note} {i}."),
        });
        format!("{example}\n")
    };
    let data = folder.join("questions.jsonl");
    fs::write(&data, (0..12).map(line).collect::<String>()).unwrap();
    let cache = folder.join(name);
    let [first, second] = layers;
    let args = [
        "--system",
        first,
        "--system",
        second,
        "--dataset",
        arg(&data),
        "--cache-dir",
        arg(&cache),
        "--quiet",
    ];
    let done = run(&args);
    assert_eq!(done.code, 0, "{done}");
}

/// What a page says above its rows, and its index of rows.
fn page(folder: &Path, runs: &[&str]) -> (Value, Value) {
    let file = folder.join("page.html");
    let runs: Vec<String> = runs
        .iter()
        .map(|run| arg(&folder.join(run)).to_owned())
        .collect();
    let mut args = vec!["report", "--output-file", arg(&file)];
    args.extend(runs.iter().map(String::as_str));
    let done = run(&args);
    assert_eq!(done.code, 0, "{done}");
    assert!(done.stderr.contains("wrote "), "{done}");
    let text = fs::read_to_string(&file).unwrap();
    let element = |id: &str| {
        let start = text.find(&format!("id=\"{id}\">")).unwrap() + id.len() + 6;
        let end = text[start..].find("</script>").unwrap();
        serde_json::from_str(&text[start..start + end]).unwrap()
    };
    (element("page-data"), element("row-index"))
}

fn names(data: &Value) -> Vec<&str> {
    let systems = data["systems"].as_array().unwrap().iter();
    systems
        .map(|system| system["name"].as_str().unwrap())
        .collect()
}

#[test]
fn systems_of_several_runs_are_paired_on_the_same_examples() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    store(
        folder,
        "a",
        ["passthrough", "half=truncate:ratio=0.5"],
        "Note",
    );
    store(
        folder,
        "b",
        ["passthrough", "tenth=truncate:ratio=0.1"],
        "Note",
    );
    let (data, index) = page(folder, &["a", "b"]);
    let names = names(&data);
    assert_eq!(names.len(), 4, "{names:?}");
    assert!(names[0].starts_with("passthrough of "), "{names:?}");
    assert!(
        names[2].starts_with("passthrough of ") && names[0] != names[2],
        "{names:?}"
    );
    assert_eq!((names[1], names[3]), ("half", "tenth"));
    // Twelve examples, each with the rows of all four.
    assert_eq!(
        (&index["rows"], &index["examples"]),
        (&json!(48), &json!(12))
    );
    let differences = data["comparison"]["differences"].as_array().unwrap();
    let overall = differences.iter().filter(|one| one["benchmark"].is_null());
    let pairs: Vec<(&Value, &Value)> = overall.map(|one| (&one["system"], &one["n"])).collect();
    assert_eq!(
        pairs,
        [
            (&json!(1), &json!(12)),
            (&json!(2), &json!(12)),
            (&json!(3), &json!(12))
        ]
    );
    let commands = data["reproduce"].as_array().unwrap();
    assert_eq!(commands.len(), 3, "{commands:?}");
    // Ranks among the systems of a run are not ranks on this page.
    let metrics = data["metrics"].as_array().unwrap();
    assert!(metrics.iter().all(|metric| metric["key"] != "pareto_rank"));
}

#[test]
fn examples_that_changed_between_runs_are_not_paired() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    store(
        folder,
        "a",
        ["passthrough", "half=truncate:ratio=0.5"],
        "Note",
    );
    store(
        folder,
        "b",
        ["other=passthrough", "tenth=truncate:ratio=0.1"],
        "Changed",
    );
    let (data, index) = page(folder, &["a", "b"]);
    assert_eq!(names(&data), ["passthrough", "half", "other", "tenth"]);
    assert_eq!(index["examples"], 24);
    let datasets: Vec<&str> = index["datasets"]
        .as_array()
        .unwrap()
        .iter()
        .map(|name| name.as_str().unwrap())
        .collect();
    assert_eq!(datasets[0], "questions");
    assert!(datasets[1].starts_with("questions of "), "{datasets:?}");
    let differences = data["comparison"]["differences"].as_array().unwrap();
    let paired = differences.iter().filter(|one| one["n"] != 0);
    assert!(
        paired.map(|one| &one["system"]).all(|system| *system == 1),
        "{differences:?}"
    );
}

/// Runs two layers over questions with these ids and numbers, under the name `file`.
fn store_items(folder: &Path, name: &str, file: &str, system: &str, items: &[(usize, usize)]) {
    let line = |(id, item): &(usize, usize)| {
        let example = json!({
            "id": id, "question": format!("What is the number of item {item}?"),
            "answer": format!("number {item}"), "context": format!("Item {item} has the number {item}."),
        });
        format!("{example}\n")
    };
    let data = folder.join(file);
    fs::write(&data, items.iter().map(line).collect::<String>()).unwrap();
    let cache = folder.join(name);
    let args = ["--system", system, "--dataset", arg(&data)];
    let done = run(&[&args[..], &["--cache-dir", arg(&cache), "--quiet"]].concat());
    assert_eq!(done.code, 0, "{done}");
}

#[test]
fn examples_are_paired_by_content_wherever_they_stand() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let first: Vec<(usize, usize)> = (0..8).map(|n| (n, n)).collect();
    // The same items in another order, and one that was not there before.
    let mut later: Vec<(usize, usize)> = (0..8).map(|n| (n, 7 - n)).collect();
    later[0].1 = 100;
    store_items(folder, "a", "items.jsonl", "passthrough", &first);
    store_items(folder, "b", "renamed.jsonl", "other=passthrough", &later);
    let (data, index) = page(folder, &["a", "b"]);
    assert_eq!(names(&data), ["passthrough", "other"]);
    // Seven are in both, one is only in each.
    assert_eq!(
        (&index["rows"], &index["examples"]),
        (&json!(16), &json!(9))
    );
    let differences = data["comparison"]["differences"].as_array().unwrap();
    let overall = differences.iter().find(|one| one["benchmark"].is_null());
    assert_eq!(overall.unwrap()["n"], 7, "{differences:?}");
    // As `compare` says.
    let (a, b) = (folder.join("a"), folder.join("b"));
    let done = run(&["compare", arg(&a), arg(&b), "--output", "json"]);
    let compared: Value = serde_json::from_str(&done.stdout).unwrap();
    assert_eq!(compared["systems"][0]["matched"]["paired"], 7, "{done}");
}
