//! What a new user gets wrong: always what, where and what to do, in no time.

use std::fs;

use context_bench_testkit::{ChatServer, handlers};

use crate::program::{arg, command, questions, run, run_with};

#[test]
fn a_broken_line_is_named_before_anything_is_sent() {
    let server = ChatServer::start(handlers::constant("Paris"));
    let (_folder, path) = questions(200);
    let mut lines: Vec<String> = fs::read_to_string(&path)
        .unwrap()
        .lines()
        .map(str::to_owned)
        .collect();
    lines[56] = r#"{"id": "q56", "context": "oops"#.into();
    fs::write(&path, lines.join("\n")).unwrap();
    let url = server.url();
    let done = run(&["--proxy", &url, "--dataset", arg(&path)]);
    done.is_error(&["my questions é.jsonl:57", "--skip-bad-lines"]);
    assert_eq!(server.request_count(), 0);

    let done = run(&[
        "--proxy",
        &url,
        "--dataset",
        arg(&path),
        "--skip-bad-lines",
        "--max-workers",
        "8",
    ]);
    assert_eq!(done.code, 0, "{done}");
    assert_eq!(server.request_count(), 199);
    assert!(done.stderr.contains("left out 1 bad record"), "{done}");
    assert!(done.stderr.contains("my questions é.jsonl:57"), "{done}");
}

#[test]
fn files_and_names_that_do_not_exist() {
    let (folder, path) = questions(1);
    let missing = folder.path().join("my question.jsonl");
    let base = ["--proxy", "http://127.0.0.1:9"];
    let with = |more: &[&str]| run(&[&base, more].concat());
    with(&["--dataset", arg(&missing)]).is_error(&["my question.jsonl", "my questions é.jsonl"]);
    with(&["--dataset", "dmeo"]).is_error(&["unknown dataset `dmeo`", "did you mean `demo`?"]);
    with(&["--dataset", "demo:x"]).is_error(&["dataset `demo` has no config `x`"]);
    with(&["--dataset", arg(folder.path())]).is_error(&[arg(folder.path())]);
    let known = ["--dataset", arg(&path)];
    let with = |more: &[&str]| run(&[&base, &known, more].concat());
    with(&["--evaluator", "anwser_quality"]).is_error(&[
        "unknown evaluator `anwser_quality`",
        "did you mean `answer_quality`?",
    ]);
    with(&["--output", "jsn"]).is_error(&["unknown output format `jsn`", "did you mean `json`"]);
    with(&["--tokenizer", "gpt"]).is_error(&["unknown tokenizer `gpt`", "`cl100k_base`"]);
    with(&["--system", "trunctate:ratio=1"])
        .is_error(&["unknown system `trunctate`", "did you mean `truncate`?"]);
    with(&["--system", "truncate:ratio=50"]).is_error(&["50"]);
    with(&["--system", "truncate"]).is_error(&["needs a budget", "truncate:ratio=0.5"]);
    with(&["--system", "dedup:ratio=0.5"]).is_error(&["`dedup` has no parameter `ratio`"]);
    with(&["--extra-body", "[1]"]).is_error(&["--extra-body"]);
    with(&["--relay", "http://127.0.0.1:9"]).is_error(&["--relay"]);
    with(&["--api-key-env", "NO_SUCH_KEY"]).is_error(&["NO_SUCH_KEY"]);
    with(&["--command", "no-such-program-here"]).is_error(&["no-such-program-here"]);
    with(&["--output-file", "/no/such/folder/r.json"]).is_error(&["/no/such/folder/r.json"]);
}

#[test]
fn a_score_that_nobody_yields_costs_no_request() {
    let server = ChatServer::start(handlers::constant("Paris"));
    let (_folder, path) = questions(3);
    let done = run(&[
        "--proxy",
        &server.url(),
        "--dataset",
        arg(&path),
        "--score-field",
        "f11",
    ]);
    done.is_error(&["`f11`", "did you mean `f1`?", "`exact_match`"]);
    assert_eq!(server.request_count(), 0);
}

#[test]
fn numbers_that_cannot_be_get_advice() {
    for flag in [
        "--rps",
        "--tpm",
        "--timeout",
        "--example-timeout",
        "--max-time",
        "--max-error-rate",
        "--max-workers",
        "--max-retries",
        "--max-examples",
        "--repeats",
    ] {
        let done = run(&["--proxy", "http://127.0.0.1:1", flag, "-1"]);
        done.is_error(&["'-1'", flag, "--help"]);
    }
}

#[test]
fn endpoints_that_cannot_work() {
    let (_folder, path) = questions(50);
    let data = ["--dataset", arg(&path)];
    let proxy = |url: &str| run(&[&["--proxy", url], &data[..]].concat());
    proxy("localhost:8080").is_error(&["localhost:8080", "http://localhost:8080"]);
    proxy("ftp://localhost").is_error(&["ftp://localhost"]);
    proxy("").is_error(&[]);
    // A port that was free a moment ago: nothing listens there.
    let free = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    proxy(&format!("http://{free}")).is_not_now(&["cannot connect", &free.to_string(), "refused"]);
    proxy("http://no-such-host.invalid").is_not_now(&["no-such-host.invalid"]);

    let server = ChatServer::start(handlers::require_key(
        "sk-right",
        handlers::constant("Paris"),
    ));
    let mut wrong = command();
    wrong
        .args(["--proxy", &server.url()])
        .args(data)
        .env("OPENAI_API_KEY", "sk-very-secret-4711");
    let done = run_with(&mut wrong);
    done.is_error(&["HTTP 401", "OPENAI_API_KEY"]);
    assert!(!done.stderr.contains("very-secret"), "{done}");
    // Given up after a few calls, not after all of them.
    assert!(server.request_count() < 20, "{}", server.request_count());
}

#[test]
fn no_arguments_show_the_way() {
    let done = run(&["--dataset", "demo"]);
    done.is_error(&["no system given", "context-bench demo"]);
    let done = run(&["--system", "passthrough"]);
    done.is_error(&["no dataset given", "context-bench demo"]);
    assert_eq!(run(&["--threshold", "high"]).code, 2);
    assert_eq!(run(&["--max-error-rate", "2"]).code, 2);
    assert_eq!(run(&["--no-such-flag"]).code, 2);
    let (_folder, path) = questions(0);
    run(&["--system", "passthrough", "--dataset", arg(&path)]).is_error(&["no examples loaded"]);
}

#[test]
fn an_output_file_that_cannot_be_written_costs_no_request() {
    let server = ChatServer::start(handlers::constant("Paris"));
    let (folder, path) = questions(2);
    let url = server.url();
    let base = ["--proxy", &url, "--dataset", arg(&path), "--output-file"];
    let into = |out: &str| run(&[&base[..], &[out]].concat());
    into(arg(folder.path())).is_error(&["cannot write", "it is a folder"]);
    into("/no such folder/x").is_error(&["/no such folder/x"]);
    assert_eq!(server.request_count(), 0);
}

#[test]
fn a_stream_without_examples_is_an_error() {
    run(&["--system", "passthrough", "--dataset", "-"]).is_error(&["no examples loaded"]);
}

#[test]
fn a_judge_that_nobody_reaches_costs_no_request() {
    let server = ChatServer::start(handlers::constant("Paris"));
    let (_folder, path) = questions(2);
    let url = server.url();
    let base = ["--proxy", &url, "--dataset", arg(&path), "--judge-url"];
    let judged_by = |judge: &str| run(&[&base[..], &[judge]].concat());
    judged_by("http://127.0.0.1:1").is_not_now(&["cannot connect", "127.0.0.1:1"]);
    judged_by("localhost").is_error(&["has no scheme"]);
    assert_eq!(server.request_count(), 0);
}

#[test]
fn names_and_parameters_get_the_right_advice() {
    let run = |more: &[&str]| run(&[&["--dataset", "demo"], more].concat());
    let twice = run(&["--system", "passthrough", "--system", "passthrough"]);
    twice.is_error(&["two systems are called `passthrough`", "LABEL=NAME"]);
    run(&["--system", "=passthrough"]).is_error(&["has no name"]);
    run(&["--command", "cat", "--name", ""]).is_error(&["has no name"]);
    run(&["--system", "truncate:ratoi=0.5"]).is_error(&["no parameter `ratoi`", "`ratio`"]);
    run(&["--system", "truncate"]).is_error(&["needs a budget"]);
    let format = run(&["--system", "passthrough", "--output", "tabel"]);
    format.is_error(&["`tabel`", "`table`", "`context-bench ls outputs`"]);
}
