//! The same result in every format, to stdout or to a file.

use std::fs;

use context_bench_testkit::{ChatServer, handlers};
use serde_json::Value;

use crate::program::{arg, command, questions, run, run_with, write_questions};

#[test]
fn every_format_holds_the_result() {
    let server = ChatServer::start(handlers::constant("Paris"));
    let (_folder, path) = questions(5);
    let url = server.url();
    let with = |format: &str| run(&["--proxy", &url, "--dataset", arg(&path), "--output", format]);

    let table = with("table");
    assert!(
        table.stdout.contains("1.000 ±0.000") && table.stdout.contains("5/0"),
        "{table}"
    );
    let markdown = with("markdown");
    assert!(
        markdown
            .stdout
            .starts_with("# Evaluation Results\n\n| System | mean_score |"),
        "{markdown}"
    );
    assert!(
        markdown
            .stdout
            .contains("| 127.0.0.1 | 5 | 5 | 0 | 0 | 0 | 5 |"),
        "{markdown}"
    );
    let result = with("json").json();
    let keys: Vec<&String> = result["summary"]["127.0.0.1"]
        .as_object()
        .unwrap()
        .keys()
        .collect();
    assert_eq!(
        keys,
        [
            "mean_score",
            "pass_rate",
            "compression_ratio",
            "mean_input_tokens",
            "mean_output_tokens",
            "cost_of_pass",
            "num_passing",
            "latency_mean",
            "latency_median",
            "latency_p95",
            "latency_p99",
        ]
    );
    assert_eq!(result["rows"][0]["dataset"], arg(&path));
    assert!(
        result["rows"][0]["metadata"]["total_tokens"]
            .as_u64()
            .unwrap()
            > 0
    );
    assert_eq!(
        result["statistics"]["127.0.0.1"]["pass_rate"]["ci95"]
            .as_array()
            .unwrap()
            .len(),
        2
    );
    assert_eq!(with("jsonl").stdout.lines().count(), 5);
    let csv = with("csv");
    assert_eq!(csv.stdout.lines().count(), 6, "{csv}");
    assert!(
        csv.stdout
            .starts_with("system,example_id,dataset,input_tokens"),
        "{csv}"
    );
}

#[test]
fn a_file_appears_whole_and_stdout_stays_empty() {
    let (folder, path) = questions(3);
    let out = folder.path().join("results ü.json");
    let done = run(&[
        "--system",
        "passthrough",
        "--dataset",
        arg(&path),
        "--output",
        "json",
        "--output-file",
        arg(&out),
    ]);
    assert_eq!(done.code, 0, "{done}");
    assert_eq!(done.stdout, "");
    assert!(done.stderr.contains("wrote "), "{done}");
    let result: Value = serde_json::from_str(&fs::read_to_string(&out).unwrap()).unwrap();
    assert_eq!(result["rows"].as_array().unwrap().len(), 3);
    let names: Vec<_> = fs::read_dir(folder.path()).unwrap().collect();
    assert_eq!(names.len(), 2, "no partial file is left: {names:?}");
}

#[test]
fn two_datasets_are_broken_down_and_two_systems_ranked() {
    let (folder, first) = questions(4);
    let second = folder.path().join("more.jsonl");
    write_questions(&second, 2);
    let args = [
        "--system",
        "passthrough",
        "--system",
        "short=truncate:tokens=3",
        "--dataset",
        arg(&first),
        "--dataset",
        arg(&second),
    ];
    let result = run(&[&args[..], &["--output", "json"]].concat()).json();
    let summary = &result["summary"]["passthrough"];
    assert_eq!(summary[format!("dataset:{}", arg(&second))], 1.0);
    assert_eq!(summary["pareto_rank"], 1.0);
    assert_eq!(result["config"]["num_examples"], 6);
    assert_eq!(
        result["config"]["systems"],
        serde_json::json!(["passthrough", "short"])
    );
    let table = run(&args);
    assert!(
        table.stdout.contains("Dataset") && table.stdout.contains("more.jsonl"),
        "{table}"
    );
    assert!(table.stdout.contains("pareto"), "{table}");
}

#[test]
fn a_key_is_sent_and_never_shown() {
    let server = ChatServer::start(handlers::require_key(
        "sk-right-key",
        handlers::constant("Paris"),
    ));
    let (_folder, path) = questions(2);
    let mut with_key = command();
    with_key
        .args([
            "--proxy",
            &server.url(),
            "--dataset",
            arg(&path),
            "--output",
            "json",
        ])
        .args(["--api-key-env", "MY_KEY"])
        .env("MY_KEY", "sk-right-key");
    let done = run_with(&mut with_key);
    assert_eq!(done.code, 0, "{done}");
    assert_eq!(
        server.requests()[0].headers.get("authorization"),
        Some("Bearer sk-right-key")
    );
    assert!(!done.stdout.contains("sk-right") && !done.stderr.contains("sk-right"));
}

#[test]
fn a_reader_that_has_seen_enough_is_no_error() {
    let (_folder, path) = questions(2000);
    let mut child = command()
        .args([
            "--system",
            "passthrough",
            "--dataset",
            arg(&path),
            "--output",
            "jsonl",
            "-q",
        ])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(
        output.status.code(),
        Some(0),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}
