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
            .contains("| 127.0.0.1 | 5 | 5 | 0 | 0 | 0 | 0 | 5 |"),
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
            "mean_prompt_tokens",
            "mean_completion_tokens",
            "tokens_per_pass",
            "num_passing",
            "compression_ratio",
            "mean_input_tokens",
            "mean_output_tokens",
            "cost_of_pass",
            "latency_mean",
            "latency_median",
            "latency_p95",
            "latency_p99",
            "connect_median",
            "connect_max",
            "tokens_saved",
        ]
    );
    assert_eq!(result["rows"][0]["dataset"], "my questions é");
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
    assert_eq!(summary["dataset:more"], 1.0);
    assert_eq!(summary["pareto_rank"], 1.0);
    assert_eq!(result["config"]["num_examples"], 6);
    assert_eq!(
        result["config"]["systems"],
        serde_json::json!(["passthrough", "short"])
    );
    let table = run(&args);
    assert!(
        table.stdout.contains("Dataset") && table.stdout.contains("more"),
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

#[test]
fn rows_without_a_gold_answer_are_not_called_scored() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.jsonl");
    let line = |i: usize| match i {
        0..3 => "{\"context\": \"Paris\", \"answer\": \"Paris\"}\n",
        _ => "{\"context\": \"Paris\"}\n",
    };
    fs::write(&path, (0..5).map(line).collect::<String>()).unwrap();
    let base = ["--command", "cat", "--dataset", arg(&path), "--output"];
    let table = run(&[&base[..], &["table"]].concat());
    assert_eq!(table.code, 0, "{table}");
    assert!(table.stdout.contains(" 3/0"), "{table}");
    let told = "cat: 2 of 5 not applicable: the examples do not have";
    assert!(table.stdout.contains(told), "{table}");
    let counts = &run(&[&base[..], &["json"]].concat()).json()["counts"]["cat"];
    assert_eq!(counts["planned"], 5);
    assert_eq!(counts["scored"], 3);
    assert_eq!(counts["not_applicable"], 2);
}

#[test]
fn a_misspelt_text_field_is_told() {
    let (_folder, path) = questions(1);
    let base = ["--system", "passthrough", "--dataset", arg(&path)];
    let done = run(&[&base[..], &["--text-field", "contxt"]].concat());
    assert!(done.stderr.contains("no example has text"), "{done}");
    let done = run(&[&base[..], &["--text-field", "context"]].concat());
    assert!(!done.stderr.contains("no example has text"), "{done}");
}

#[test]
#[cfg(unix)]
fn a_child_shows_neither_keys_nor_control_characters() {
    let (_folder, path) = questions(1);
    let mut leaky = command();
    leaky
        .args(["--dataset", arg(&path), "--command"])
        .arg("sh -c 'printf \"\\033[2J $OPENAI_API_KEY $MY_PASS\" >&2; exit 3'")
        .args(["--api-key-env", "MY_PASS"])
        .env("OPENAI_API_KEY", "sk-very-secret-4711")
        .env("MY_PASS", "hunter2-hunter2");
    let done = run_with(&mut leaky);
    assert_eq!(done.code, 3, "{done}");
    assert!(done.stdout.contains("[redacted] [redacted]"), "{done}");
    for hidden in ["4711", "hunter2", "\u{1b}"] {
        assert!(!done.stdout.contains(hidden), "{done}");
        assert!(!done.stderr.contains(hidden), "{done}");
    }
}

#[test]
fn every_line_of_the_table_fits_80_columns() {
    let server = ChatServer::start(handlers::constant("Paris"));
    let (_folder, path) = questions(2);
    let url = server.url();
    let done = run(&["--proxy", &url, "--dataset", arg(&path)]);
    for line in done.stdout.lines() {
        assert!(line.chars().count() <= 80, "{line}");
    }
    assert!(done.stdout.contains("2 examples · "), "{done}");
    let one = run(&["--proxy", &url, "--dataset", arg(&path), "-n", "1"]);
    assert!(one.stdout.contains("1 example · "), "{one}");
    assert!(one.stdout.contains("1 request"), "{one}");
    assert!(!one.stdout.contains("1 requests"), "{one}");
}

#[test]
#[cfg(unix)]
fn pipes_and_devices_are_written_and_not_replaced() {
    use std::os::unix::fs::FileTypeExt as _;
    let (folder, path) = questions(2);
    let pipe = folder.path().join("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.unwrap().success());
    let reader = std::thread::spawn({
        let pipe = pipe.clone();
        move || fs::read_to_string(pipe).unwrap()
    });
    let base = ["--system", "passthrough", "--dataset", arg(&path)];
    let done = run(&[&base[..], &["--output-file", arg(&pipe)]].concat());
    assert_eq!(done.code, 0, "{done}");
    assert!(fs::metadata(&pipe).unwrap().file_type().is_fifo());
    assert!(reader.join().unwrap().starts_with("System"));

    // A link stays a link.
    let (target, link) = (folder.path().join("target"), folder.path().join("link"));
    fs::write(&target, "old").unwrap();
    std::os::unix::fs::symlink(&target, &link).unwrap();
    let done = run(&[&base[..], &["--output-file", arg(&link)]].concat());
    assert_eq!(done.code, 0, "{done}");
    assert!(fs::read_to_string(&target).unwrap().starts_with("System"));
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_is_told() {
    let (folder, path) = questions(2);
    let full = || fs::File::options().write(true).open("/dev/full").unwrap();
    let told = |args: &[&str]| {
        let output = command().args(args).stdout(full()).output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{stderr}");
        assert!(stderr.contains("No space left"), "{stderr}");
    };
    told(&["--system", "passthrough", "--dataset", arg(&path)]);
    told(&["ls"]);

    // What a file cannot hold goes to stdout: nothing is lost. The link keeps
    // the device itself out of danger.
    let link = folder.path().join("full");
    std::os::unix::fs::symlink("/dev/full", &link).unwrap();
    let base = ["--system", "passthrough", "--dataset", arg(&path)];
    let done = run(&[&base[..], &["--output-file", arg(&link)]].concat());
    assert_eq!(done.code, 2, "{done}");
    assert!(done.stdout.starts_with("System"), "{done}");
    assert!(done.stderr.contains("No space left"), "{done}");
}
