//! Datasets that are scored by a judge of their own, or by a harness of their own, from the
//! command line: with what they need, without it, and with what is wrong with it.

use std::path::{Path, PathBuf};
use std::process::Command;

use context_bench_testkit::{ChatServer, Reply, Request, handlers};
use serde_json::{Value, json};

use crate::program::{Done, arg, command, run, run_with};

fn fixture(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../context-bench/tests/fixtures");
    let dataset = name.split(':').next().unwrap();
    format!("{name}={}", folder.join("datasets").join(dataset).display())
}

fn judged(dataset: &str, answer: &'static str, verdict: Reply) -> (Done, ChatServer, ChatServer) {
    let model = ChatServer::start(handlers::constant(answer));
    let judge = ChatServer::start(move |_: &Request| verdict.clone());
    let typed = fixture(dataset);
    let (url, judge_url) = (model.url(), judge.url());
    let done = run(&[
        "--proxy",
        &url,
        "--name",
        "p",
        "--dataset",
        &typed,
        "--judge-url",
        &judge_url,
        "--max-retries",
        "0",
        "--output",
        "json",
        "-q",
    ]);
    (done, model, judge)
}

#[test]
fn each_dataset_is_scored_by_its_own_judge() {
    for (dataset, verdict, field, expected) in [
        ("frames", "Decision: TRUE", "frames", 1.0),
        ("longmemeval:qa", "Yes", "longmemeval", 1.0),
        ("mt-bench", "Rating: [[8]]", "mt_bench", 8.0),
        ("mt-bench", "Rating: [[8]]", "mt_bench_turn2", 8.0),
    ] {
        let (done, _, judge) = judged(dataset, "Forty.", Reply::text(verdict));
        assert_eq!(done.code, 0, "{done}");
        let result = done.json();
        for row in result["rows"].as_array().unwrap() {
            assert_eq!(row["scores"][field], expected, "{dataset}: {row}");
            assert!(row["scores"].get("judge_score").is_none(), "{row}");
        }
        assert!(judge.request_count() > 0);
    }
    let (done, _, judge) = judged("alpaca-eval", "A ferry.", Reply::text("m"));
    let row = done.json()["rows"][0].clone();
    let win = row["scores"]["alpaca_eval"].as_f64().unwrap();
    assert!(win == 0.0 || win == 1.0, "{row}");
    assert_eq!(judge.request_count(), 1);
}

#[test]
fn judges_of_answers_from_memory_are_evaluators_by_name() {
    let judge = ChatServer::start(handlers::constant("YES, in essence."));
    let model = ChatServer::start(handlers::constant("Forty."));
    let (url, judge_url, typed) = (model.url(), judge.url(), fixture("longmemeval:qa"));
    let evaluators = [
        "--evaluator",
        "memory_judge",
        "--evaluator",
        "false_memory_rate",
        "--score-field",
        "memory_judge",
    ];
    let common = [
        "--proxy",
        &url,
        "--dataset",
        &typed,
        "-n",
        "1",
        "--output",
        "json",
        "-q",
    ];
    let asked = [&common[..], &evaluators, &["--judge-url", &judge_url]].concat();
    let done = run(&asked);
    assert_eq!(done.code, 0, "{done}");
    let scores = done.json()["rows"][0]["scores"].clone();
    let expected = json!({"memory_judge": 1.0, "memory_judge_raw": 1.0, "false_memory": 1.0});
    assert_eq!(scores, expected);
    assert_eq!(judge.request_count(), 2);
    // Nobody to ask is found out before anything is paid for.
    let before = model.request_count();
    let done = run(&[&common[..], &evaluators].concat());
    assert_eq!(done.code, 2, "{done}");
    assert!(
        done.stderr
            .contains("`memory_judge` has no endpoint to ask"),
        "{done}"
    );
    assert!(done.stderr.contains("--judge-url URL"), "{done}");
    assert_eq!(model.request_count(), before);
}

#[test]
fn the_judge_of_a_memory_run_is_that_of_answers_from_memory() {
    let judge = ChatServer::start(handlers::constant("NO"));
    let (judge_url, typed) = (judge.url(), fixture("locomo"));
    let done = run(&[
        "memory",
        "--system",
        "naive",
        "--dataset",
        &typed,
        "--judge-url",
        &judge_url,
        "--output",
        "json",
        "-q",
    ]);
    assert_eq!(done.code, 0, "{done}");
    let result = done.json();
    let rows = result["rows"].as_array().unwrap();
    assert!(!rows.is_empty());
    for row in rows {
        let scores = &row["scores"];
        assert_eq!(scores["memory_judge"], 0.0, "{row}");
        assert!(scores["locomo"].is_number(), "{row}");
        assert!(scores.get("judge_score").is_none(), "{row}");
    }
    assert!(judge.request_count() > 0);
}

#[test]
fn both_answers_of_a_conversation_reach_the_judge() {
    let model = ChatServer::start(|request: &Request| {
        Reply::text(format!("answer {}", request.messages().len()))
    });
    let judge = ChatServer::start(handlers::constant("[[7]]"));
    let typed = fixture("mt-bench");
    let done = run(&[
        "--proxy",
        &model.url(),
        "--dataset",
        &typed,
        "--judge-url",
        &judge.url(),
        "-n",
        "1",
        "--output",
        "json",
        "-q",
    ]);
    assert_eq!(done.code, 0, "{done}");
    let asked: Vec<String> = judge
        .requests()
        .iter()
        .map(|request| request.body["messages"].to_string())
        .collect();
    assert_eq!(asked.len(), 2);
    let second = asked
        .iter()
        .find(|asked| asked.contains("Now in French."))
        .unwrap();
    assert!(
        second.contains("answer 1") && second.contains("answer 3"),
        "{second}"
    );
    let first = asked
        .iter()
        .find(|asked| !asked.contains("Now in French."))
        .unwrap();
    assert!(
        first.contains("answer 1") && !first.contains("answer 3"),
        "{first}"
    );
}

#[test]
fn malformed_and_failing_verdicts_leave_rows_unscored() {
    for (dataset, verdict, reason) in [
        ("frames", Reply::text("Perhaps."), "neither TRUE nor FALSE"),
        (
            "mt-bench",
            Reply::text("Very good."),
            "no rating in brackets",
        ),
        ("alpaca-eval", Reply::text("Both."), "neither `m` nor `M`"),
        ("longmemeval:qa", Reply::status(400), "the judge failed"),
        (
            "frames",
            Reply::raw(200, "text/html", "<html>"),
            "the judge failed",
        ),
    ] {
        let (done, _, _) = judged(dataset, "An answer.", verdict);
        assert_eq!(done.code, 3, "{done}");
        let result = done.json();
        for row in result["rows"].as_array().unwrap() {
            let said = row.to_string();
            assert!(said.contains(reason), "{dataset}: {said}");
        }
        assert_eq!(
            result["summary"]["p"]["mean_score"],
            Value::Null,
            "{dataset}"
        );
    }
}

#[test]
fn without_a_judge_the_main_score_is_left_out_and_a_notice_says_so() {
    let model = ChatServer::start(handlers::constant("40"));
    for (dataset, field, code) in [
        ("frames", "frames", 0),
        // Nothing else can be said of an open conversation: such a run measured nothing.
        ("mt-bench", "mt_bench", 3),
        ("alpaca-eval", "alpaca_eval", 0),
        ("longmemeval:qa", "longmemeval", 0),
    ] {
        let typed = fixture(dataset);
        let base = ["--proxy", &model.url(), "--name", "p", "--dataset", &typed];
        let done = run(&[&base[..], &["--output", "json"]].concat());
        assert_eq!(done.code, code, "{done}");
        assert!(
            done.stderr.contains(&format!("gets no `{field}`")),
            "{done}"
        );
        assert!(done.stderr.contains("--judge-url"), "{done}");
        let result = done.json();
        assert_eq!(result["summary"]["p"]["mean_score"], Value::Null, "{done}");
        for row in result["rows"].as_array().unwrap() {
            assert!(row["scores"].get(field).is_none(), "{row}");
        }
    }
    // Named by the user, a judge without an address is a mistake.
    let typed = fixture("frames");
    run(&[
        "--proxy",
        &model.url(),
        "--dataset",
        &typed,
        "--evaluator",
        "frames_judge",
    ])
    .is_error(&["`frames_judge` has no endpoint to ask", "--judge-url"]);
}

#[test]
fn a_stored_run_gets_its_judge_later() {
    let stored = Stored(tempfile::tempdir().unwrap());
    let model = ChatServer::start(handlers::constant("40"));
    let judge = ChatServer::start(handlers::constant("Decision: TRUE"));
    let (typed, url) = (fixture("frames"), model.url());
    let base = [
        "run",
        "--proxy",
        &url,
        "--name",
        "p",
        "--dataset",
        &typed,
        "-q",
    ];
    assert_eq!(stored.command(&base).code, 0);
    let asked = model.request_count();
    let later = [
        "rescore",
        "last",
        "--judge-url",
        &judge.url(),
        "--output",
        "json",
    ];
    let result = stored.command(&later).json();
    assert_eq!(result["summary"]["p"]["mean_score"], 1.0, "{result}");
    assert_eq!((model.request_count(), judge.request_count()), (asked, 1));
}

/// A folder with a store, for commands that follow each other.
struct Stored(tempfile::TempDir);

impl Stored {
    fn command(&self, args: &[&str]) -> Done {
        let mut command: Command = command();
        command.args(args).args(["--cache-dir", arg(self.0.path())]);
        run_with(&mut command)
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    }
}

#[test]
fn swe_bench_is_scored_by_the_report_of_its_harness_alone() {
    let stored = Stored(tempfile::tempdir().unwrap());
    let patch = "--- a/t.py\n+++ b/t.py\n@@ -1 +1 @@\n-a\n+b\n";
    let answer = format!("Here:\n```diff\n{patch}```\n");
    let model = ChatServer::start(handlers::constant(answer));
    let typed = fixture("swebench");
    let done = stored.command(&[
        "run",
        "--proxy",
        &model.url(),
        "--name",
        "org/m",
        "--dataset",
        &typed,
        "--output",
        "json",
    ]);
    assert_eq!(done.code, 0, "{done}");
    assert!(done.stderr.contains("gets no `resolved`"), "{done}");
    assert!(
        done.stderr.contains("export last --output swebench"),
        "{done}"
    );
    let row = done.json()["rows"][0].clone();
    assert!(row["scores"].get("resolved").is_none(), "{row}");
    assert!(row["scores"].get("f1").is_none(), "{row}");
    assert!(
        row["scores"]["patch_overlap"].as_f64().unwrap() > 0.0,
        "{row}"
    );

    let predictions = stored.0.path().join("predictions.jsonl");
    let done = stored.command(&[
        "export",
        "last",
        "--output",
        "swebench",
        "--output-file",
        arg(&predictions),
    ]);
    assert_eq!(done.code, 0, "{done}");
    let line: Value =
        serde_json::from_str(&std::fs::read_to_string(&predictions).unwrap()).unwrap();
    let expected = json!({"instance_id": "orrin__tide-7", "model_name_or_path": "org/m",
        "model_patch": patch});
    assert_eq!(line, expected);

    let rescore = |evaluator: &str| {
        let evaluator = format!("swebench_report:{evaluator}");
        stored.command(&[
            "rescore",
            "last",
            "--evaluator",
            &evaluator,
            "--output",
            "json",
        ])
    };
    let list = |n: usize| vec!["t"; n];
    let instance = |f2p: (usize, usize), p2p: (usize, usize)| {
        let kind = |(a, b): (usize, usize)| json!({"success": list(a), "failure": list(b)});
        json!({"orrin__tide-7": {"resolved": false, "tests_status": {
            "FAIL_TO_PASS": kind(f2p), "PASS_TO_PASS": kind(p2p)}}})
    };
    let summary = |resolved: &[&str], unresolved: &[&str]| {
        json!({"resolved_ids": resolved, "unresolved_ids": unresolved, "error_ids": [],
            "empty_patch_ids": [], "schema_version": 2})
    };
    for (report, expected) in [
        (summary(&["orrin__tide-7"], &[]), Some(1.0)),
        (summary(&[], &["orrin__tide-7"]), Some(0.0)),
        (instance((3, 0), (40, 0)), Some(1.0)),
        (instance((3, 0), (39, 1)), Some(0.0)),
        (instance((2, 1), (40, 0)), Some(0.0)),
        // Of another run.
        (summary(&["orrin__tide-8"], &[]), None),
    ] {
        let path = stored.write("report.json", &report.to_string());
        let done = rescore(&format!("file={}", path.display()));
        assert_eq!(
            done.code,
            if expected.is_some() { 0 } else { 3 },
            "{report} {done}"
        );
        let result = done.json();
        let row = &result["rows"][0];
        assert_eq!(
            row["scores"].get("resolved").and_then(Value::as_f64),
            expected,
            "{row}"
        );
        let mean = &result["summary"]["org/m"]["mean_score"];
        assert_eq!(mean.as_f64(), expected, "{result}");
        if expected.is_none() {
            assert!(row.to_string().contains("none of the 1 instances"), "{row}");
        }
    }

    // Folders of the harness hold the patch that they are about.
    let folder = "logs/org__m/orrin__tide-7";
    stored.write(
        &format!("{folder}/report.json"),
        &instance((1, 0), (1, 0)).to_string(),
    );
    stored.write(&format!("{folder}/patch.diff"), patch);
    let logs = stored.0.path().join("logs");
    let done = rescore(&format!("file={}", logs.display()));
    assert_eq!(done.json()["rows"][0]["scores"]["resolved"], 1.0, "{done}");
    stored.write(&format!("{folder}/patch.diff"), "--- a/x\n+++ b/x\n");
    let done = rescore(&format!("file={}", logs.display()));
    assert!(done.stdout.contains("another patch"), "{done}");
    // A patch that could not be applied has a folder and no report.
    stored.write(&format!("{folder}/patch.diff"), patch);
    std::fs::remove_file(stored.0.path().join(folder).join("report.json")).unwrap();
    let done = rescore(&format!("file={}", logs.display()));
    assert_eq!(done.json()["rows"][0]["scores"]["resolved"], 0.0, "{done}");
    // And so do predictions, for a summary.
    let path = stored.write("sum.json", &summary(&["orrin__tide-7"], &[]).to_string());
    let checked = format!(
        "file={},predictions={}",
        path.display(),
        predictions.display()
    );
    assert_eq!(
        rescore(&checked).json()["rows"][0]["scores"]["resolved"],
        1.0
    );
    assert!(
        rescore(&format!("file={}", path.display()))
            .stderr
            .contains("predictions=FILE")
    );

    let wrong = stored.write("wrong.json", "{\"accuracy\": 1}");
    rescore(&format!("file={}", wrong.display())).is_error(&[
        "wrong.json: not a report of the SWE-bench harness",
        "`resolved_ids`",
    ]);
    rescore("fil=x").is_error(&["no parameter `fil`", "`file`"]);
    rescore("file=nowhere.json").is_error(&["cannot read `nowhere.json`"]);
    stored
        .command(&["rescore", "last", "--evaluator", "swebench_report"])
        .is_error(&["`swebench_report` has no report", "file=REPORT.json"]);
}

#[test]
fn predictions_are_a_file_for_each_system() {
    let stored = Stored(tempfile::tempdir().unwrap());
    let model = ChatServer::start(handlers::constant("no patch"));
    let typed = fixture("swebench-lite");
    let url = model.url();
    let done = stored.command(&[
        "run",
        "--proxy",
        &url,
        "--name",
        "a/b",
        "--proxy",
        &url,
        "--name",
        "c",
        "--dataset",
        &typed,
        "-q",
    ]);
    assert_eq!(done.code, 0, "{done}");
    stored
        .command(&["export", "last", "--output", "swebench"])
        .is_error(&["2 systems", "--output-file"]);
    let file = stored.0.path().join("p.jsonl");
    let done = stored.command(&[
        "export",
        "last",
        "--output",
        "swebench",
        "--output-file",
        arg(&file),
    ]);
    assert_eq!(done.code, 0, "{done}");
    assert!(done.stderr.contains("1 answers without a patch"), "{done}");
    for name in ["p.a_b.jsonl", "p.c.jsonl"] {
        assert!(stored.0.path().join(name).is_file(), "{name}");
    }
    let (_folder, path) = crate::program::questions(1);
    let other = Stored(tempfile::tempdir().unwrap());
    let done = other.command(&["run", "--proxy", &url, "--dataset", arg(&path), "-q"]);
    assert_eq!(done.code, 0, "{done}");
    other
        .command(&["export", "last", "--output", "swebench"])
        .is_error(&["no answers to SWE-bench", "swebench-lite"]);
}
