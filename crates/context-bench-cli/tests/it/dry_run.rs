//! `run --dry-run`: what would be asked, without asking.

use std::time::Duration;

use serde_json::{Value, json};

use crate::bench::{BENCHMARKS, Bench};
use crate::program::{Done, run, run_with};

/// What a dry run says about one system.
fn of<'a>(preview: &'a Value, system: &str) -> &'a Value {
    let systems = preview["systems"].as_array().unwrap();
    let found = systems.iter().find(|one| one["name"] == system);
    found.unwrap_or_else(|| panic!("no `{system}` in {preview}"))
}

fn tokens(preview: &Value, system: &str) -> u64 {
    of(preview, system)["prompt_tokens"].as_u64().unwrap()
}

#[test]
fn a_dry_run_counts_and_asks_nobody() {
    let bench = Bench::new(Duration::ZERO);
    let done = bench.run("cache", &["--dry-run"]);
    assert_eq!(done.code, 0, "{done}");
    let preview = done.json();
    let counts = [6, 30, 10, 10, 4, 4, 4];
    for (name, count) in BENCHMARKS.iter().zip(counts) {
        assert_eq!(preview["examples_by_dataset"][name], json!(count), "{name}");
    }
    assert_eq!(preview["examples"], json!(68));
    for system in ["direct", "layered"] {
        let one = of(&preview, system);
        assert_eq!((&one["stored"], &one["to_ask"]), (&json!(0), &json!(68)));
        assert!(tokens(&preview, system) > 0, "{one}");
        assert_eq!(one["prompt_tokens"], one["prompt_tokens_to_ask"]);
    }
    assert_eq!(preview["plan"]["systems"][1]["model"], json!("small"));
    let other: usize = bench.servers.iter().map(|s| s.other_requests().len()).sum();
    assert_eq!((bench.requests(), other), (0, 0));
    let connections = bench.servers.iter().map(|s| s.connection_count());
    assert_eq!(connections.sum::<usize>(), 0);
    assert!(!bench.tasks.folder.path().join("cache").exists());

    assert_eq!(bench.run("cache", &[]).code, 0);
    let asked = bench.requests();
    let preview = bench.run("cache", &["--dry-run"]).json();
    let direct = of(&preview, "direct");
    assert_eq!(
        (&direct["stored"], &direct["to_ask"]),
        (&json!(68), &json!(0))
    );
    assert_eq!(direct["prompt_tokens_to_ask"], json!(0));
    // The fives failed: asked thrice in one task and once in two.
    let layered = of(&preview, "layered");
    assert_eq!(
        (&layered["stored"], &layered["to_ask"]),
        (&json!(63), &json!(5))
    );
    let rest = layered["prompt_tokens_to_ask"].as_u64().unwrap();
    assert!(0 < rest && rest < tokens(&preview, "layered"), "{layered}");
    let text = bench
        .program()
        .args(["run", "bench.yaml", "--dry-run", "--cache-dir", "cache"])
        .output();
    let text = String::from_utf8(text.unwrap().stdout).unwrap();
    assert!(
        text.contains("63 of 68 answers are stored; would ask about 5 examples"),
        "{text}"
    );
    assert!(text.contains("nothing was sent"), "{text}");
    assert_eq!(bench.requests(), asked);
    let runs = bench
        .program()
        .args(["runs", "--cache-dir", "cache", "--output", "json"])
        .output();
    let runs: Value = serde_json::from_slice(&runs.unwrap().stdout).unwrap();
    assert_eq!(runs.as_array().unwrap().len(), 1, "a dry run is no run");
}

#[test]
fn layers_differ_in_what_they_would_send() {
    let line = [
        "run",
        "--dataset",
        "demo",
        "--system",
        "passthrough",
        "--system",
    ];
    let more = [
        "truncate:ratio=0.25",
        "--relay",
        "http://127.0.0.1:9",
        "--dry-run",
        "--output",
        "json",
    ];
    let preview: Done = run(&[&line[..], &more].concat());
    assert_eq!(preview.code, 0, "{preview}");
    let preview = preview.json();
    let (whole, part) = (
        tokens(&preview, "passthrough"),
        tokens(&preview, "truncate:ratio=0.25"),
    );
    assert!(part < whole / 2, "{part} of {whole}");
    // What a program would make of it shows only when it runs.
    let mut program = crate::program::command();
    program.args([
        "run",
        "--dataset",
        "demo",
        "--command",
        "false",
        "--dry-run",
        "-n",
        "1",
    ]);
    let done = run_with(&mut program);
    assert_eq!(done.code, 0, "{done}");
    assert!(
        done.stdout
            .contains("would ask about 1 example, — prompt tokens"),
        "{done}"
    );
}

#[test]
fn what_cannot_be_run_cannot_be_previewed() {
    let done = run(&["run", "--dataset", "demo", "--dry-run"]);
    done.is_error(&["no system given"]);
    let done = run(&[
        "run",
        "--dataset",
        "demos",
        "--system",
        "passthrough",
        "--dry-run",
    ]);
    done.is_error(&["demos"]);
}
