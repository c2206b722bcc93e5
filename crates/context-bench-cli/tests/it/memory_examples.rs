//! The files under `examples/memory/`, as their README says to run them.

use serde_json::Value;

use crate::program::{Done, command, run_with};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
const GUIDE: &str = include_str!("../../../../docs/guide/memory.md");
const README: &str = include_str!("../../../../examples/memory/README.md");

fn at_root(typed: &str, more: &[&str]) -> Done {
    assert!(README.contains(typed), "not in the README: {typed}");
    assert!(GUIDE.contains(typed), "not in the guide: {typed}");
    let words = shlex::split(typed).unwrap();
    run_with(command().current_dir(ROOT).args(&words[1..]).args(more))
}

#[test]
fn the_run_file_measures_built_in_memories_and_a_command_offline() {
    let typed = "context-bench memory examples/memory/bench.yaml";
    let done = at_root(typed, &["--output", "json"]);
    assert_eq!(done.code, 0, "{done}");
    let result = done.json();
    let figure = |system: &str, figure: &str| {
        let value = &result["summary"][system][figure];
        value
            .as_f64()
            .unwrap_or_else(|| panic!("{system} {figure}: {done}"))
    };
    for (system, recall) in [
        ("naive", 1.0),
        ("bm25:top_k=2", 11.0 / 12.0),
        ("oracle", 1.0),
        ("none", 0.0),
        ("last-mention", 11.0 / 12.0),
    ] {
        let found = figure(system, "retrieval_recall_mean");
        assert!((found - recall).abs() < 1e-9, "{system}: {found}");
    }
    assert!((figure("oracle", "f1_mean") - 1.0).abs() < 1e-9);
    assert!((figure("none", "f1_mean")).abs() < 1e-9);
    let rows = result["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 5 * 6);
    let updated = rows
        .iter()
        .find(|row| row["system"] == "last-mention" && row["metadata"]["qa_type"] == "update");
    let answer = updated.and_then(|row| row["response"].as_str());
    assert!(answer.is_some_and(|text| text.contains("Bergen")), "{done}");
}

#[test]
fn the_guide_shows_the_tables_that_the_run_file_gives() {
    let done = at_root(
        "context-bench memory examples/memory/bench.yaml",
        &["--quiet"],
    );
    assert_eq!(done.code, 0, "{done}");
    // Times differ from run to run; everything else is shown as it comes.
    let timed = [
        "naive",
        "bm25",
        "oracle",
        "none",
        "last-mention",
        "ingest",
        "retrieve",
        "answer",
    ];
    // The widths of columns follow from the times in them.
    let words = |line: &str| {
        let words = line
            .split_whitespace()
            .filter(|word| !word.starts_with('─'));
        words.collect::<Vec<_>>().join(" ")
    };
    let guide: Vec<String> = GUIDE.lines().map(words).collect();
    let mut n_shown = 0;
    for line in done.stdout.lines().filter(|line| !words(line).is_empty()) {
        let is_timed = line.split_whitespace().any(is_time);
        if is_timed && timed.iter().any(|start| line.starts_with(start)) {
            continue;
        }
        let is_there = guide.iter().any(|shown| shown.contains(&words(line)));
        assert!(is_there, "not in the guide: {line}");
        n_shown += 1;
    }
    assert!(n_shown > 30, "{done}");
}

/// Whether a cell of a table is a time: `38.6ms`, and on a slow machine `1.2s`.
fn is_time(cell: &str) -> bool {
    cell.ends_with('s') && cell.starts_with(|first: char| first.is_ascii_digit())
}

#[test]
fn the_memory_of_the_example_keeps_conversations_apart() {
    let typed = "context-bench memory --command 'python3 examples/memory/last_mention.py' --check";
    let done = at_root(typed, &["--output", "json"]);
    assert_eq!(done.code, 0, "{done}");
    assert_eq!(done.json()["passed"], Value::Bool(true), "{done}");
}
