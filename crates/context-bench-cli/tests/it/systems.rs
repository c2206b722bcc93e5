//! Endpoints, context layers in front of them, and child processes.

use std::fs;
use std::time::Duration;

use context_bench_testkit::{ChatServer, Reply, handlers};

use crate::program::{arg, questions, run};

#[test]
fn a_context_layer_shortens_what_the_relay_gets() {
    let server = ChatServer::start(handlers::constant("Paris"));
    let (_folder, path) = questions(2);
    let done = run(&[
        "--system",
        "passthrough",
        "--system",
        "head=truncate:tokens=3",
        "--relay",
        &server.url(),
        "--model",
        "my-model",
        "--dataset",
        arg(&path),
        "--output",
        "json",
        "--text-field",
        "context",
    ]);
    assert_eq!(done.code, 0, "{done}");
    let contexts: Vec<String> = server
        .requests()
        .iter()
        .map(|request| {
            assert_eq!(request.body["model"], "my-model");
            request.body["messages"][0]["content"]
                .as_str()
                .unwrap()
                .to_owned()
        })
        .collect();
    // Systems take turns, example by example.
    assert_eq!(contexts.len(), 4);
    assert!(contexts[0].starts_with("Document 0. Paris"), "{contexts:?}");
    assert!(contexts[1].len() < 15, "{contexts:?}");
    let summary = &done.json()["summary"];
    assert_eq!(summary["passthrough"]["compression_ratio"], 0.0);
    assert!(summary["head"]["compression_ratio"].as_f64().unwrap() > 0.7);
}

#[test]
fn requests_carry_what_the_flags_say() {
    let server = ChatServer::start(handlers::constant("Paris"));
    let (_folder, path) = questions(1);
    let done = run(&[
        "--proxy",
        &server.base_url_v1(),
        "--dataset",
        arg(&path),
        "--system-prompt",
        "Be brief.",
        "--extra-body",
        r#"{"temperature": 0.5}"#,
        "--model",
        "m",
    ]);
    assert_eq!(done.code, 0, "{done}");
    let request = &server.requests()[0];
    assert_eq!(request.path, "/v1/chat/completions");
    assert_eq!(request.body["temperature"], 0.5);
    assert_eq!(request.body["messages"][0]["content"], "Be brief.");
    assert_eq!(request.body["messages"][2]["role"], "user");
}

#[test]
fn streaming_records_the_time_to_the_first_token() {
    let server = ChatServer::start(|_| {
        Reply::text("It is Paris")
            .first_token_after(Duration::from_millis(30))
            .between_tokens(Duration::from_millis(30))
    });
    let (_folder, path) = questions(1);
    let done = run(&[
        "--proxy",
        &server.url(),
        "--dataset",
        arg(&path),
        "--stream",
        "--output",
        "json",
    ]);
    assert_eq!(done.code, 0, "{done}");
    let row = &done.json()["rows"][0];
    let first = row["call"]["first_token"].as_f64().unwrap();
    let latency = row["latency"].as_f64().unwrap();
    assert!(first >= 0.03 && first < latency, "{first} {latency}");
    assert_eq!(row["scores"]["contains"], 1.0);
}

#[test]
fn calls_in_flight_stay_within_max_workers() {
    let server = ChatServer::builder()
        .together(5)
        .start(|_| Reply::text("Paris").after(Duration::from_millis(20)));
    let (_folder, path) = questions(40);
    let done = run(&[
        "--proxy",
        &server.url(),
        "--dataset",
        arg(&path),
        "--max-workers",
        "5",
    ]);
    assert_eq!(done.code, 0, "{done}");
    assert_eq!(server.peak_in_flight(), 5);
}

#[test]
fn a_python_program_is_a_system() {
    let (folder, path) = questions(6);
    let script = folder.path().join("my system.py");
    let code = r#"
import json, os, sys
for line in sys.stdin:
    example = json.loads(line)
    if example["id"] == "q1":
        print("not json", flush=True)
        continue
    if example["id"] == "q2":
        sys.stderr.write("Traceback: boom\n")
        os._exit(3)
    if example["id"] == "q3":
        print(json.dumps({"error": "too hard"}), flush=True)
        continue
    example["response"] = "Paris"
    print(json.dumps(example), flush=True)
"#;
    fs::write(&script, code).unwrap();
    let command = format!("python3 '{}'", arg(&script));
    let done = run(&[
        "--command",
        &command,
        "--dataset",
        arg(&path),
        "--output",
        "json",
        "--max-workers",
        "2",
    ]);
    assert_eq!(done.code, 3, "{done}");
    let result = done.json();
    let rows = result["rows"].as_array().unwrap();
    let error = |i: usize| {
        rows[i]["error"]["message"]
            .as_str()
            .unwrap_or("")
            .to_owned()
    };
    assert_eq!(rows[0]["scores"]["f1"], 1.0);
    assert!(error(1).contains("not json"), "{}", error(1));
    assert!(error(2).contains("boom"), "{}", error(2));
    assert!(error(3).contains("too hard"), "{}", error(3));
    assert_eq!(rows[4]["scores"]["f1"], 1.0);
    assert_eq!(rows[5]["scores"]["f1"], 1.0);
}
