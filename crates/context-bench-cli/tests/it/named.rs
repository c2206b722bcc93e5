//! What datasets are called, and that a path is no part of what is asked.

use std::fs;

use context_bench_testkit::{ChatServer, handlers};
use serde_json::Value;

use crate::program::{arg, command, questions, run, run_with, write_questions};

/// The tags of all rows, each once.
fn tags(result: &Value) -> Vec<&str> {
    let rows = result["rows"].as_array().unwrap();
    let mut tags: Vec<&str> = rows
        .iter()
        .map(|row| row["dataset"].as_str().unwrap())
        .collect();
    tags.dedup();
    tags
}

#[test]
fn one_file_is_one_dataset_however_its_path_is_written() {
    let server = ChatServer::start(handlers::constant("Paris"));
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("sub")).unwrap();
    let path = folder.path().join("q.jsonl");
    write_questions(&path, 3);
    let run = |typed: &[&str]| {
        let mut command = command();
        command.current_dir(folder.path());
        command.args(["--proxy", &server.url(), "--output", "json", "-q"]);
        command.args(["--name", "p", "--cache-dir", "cache"]);
        for typed in typed {
            command.args(["--dataset", typed]);
        }
        let done = run_with(&mut command);
        assert_eq!(done.code, 0, "{done}");
        done
    };
    for typed in ["q.jsonl", "./q.jsonl", "sub/../q.jsonl", arg(&path)] {
        let result = run(&[typed]).json();
        assert_eq!(server.request_count(), 3, "{typed}");
        assert_eq!(tags(&result), ["q"], "{typed}");
        assert_eq!(result["datasets"][0]["name"], "q", "{typed}");
    }
    let twice = run(&["q.jsonl", "./q.jsonl"]);
    assert!(twice.stderr.contains("`q` is named twice"), "{twice}");
    assert_eq!(twice.json()["rows"].as_array().unwrap().len(), 3);

    // Another file of that name: both are told apart, and what is known stays known.
    write_questions(&folder.path().join("sub/q.jsonl"), 4);
    let both = run(&["q.jsonl", "sub/q.jsonl"]).json();
    let parent = folder.path().file_name().unwrap().to_str().unwrap();
    assert_eq!(tags(&both), [&*format!("{parent}/q"), "sub/q"]);
    assert_eq!(server.request_count(), 4);
    let exported = run_with(command().current_dir(folder.path()).args([
        "export",
        "last",
        "--cache-dir",
        "cache",
    ]));
    assert_eq!(tags(&exported.json()), tags(&both));
}

#[test]
fn a_file_called_like_a_dataset_is_scored_as_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("gsm8k.jsonl");
    write_questions(&path, 2);
    let cache = folder.path().join("cache");
    let args = ["--system", "passthrough", "--output", "json", "-q"];
    let first = run(&[
        &args[..],
        &["--dataset", arg(&path), "--cache-dir", arg(&cache)],
    ]
    .concat());
    let again = run(&[
        "rescore",
        "last",
        "--cache-dir",
        arg(&cache),
        "--output",
        "json",
        "-q",
    ]);
    for done in [&first, &again] {
        let result = done.json();
        assert_eq!(tags(&result), ["gsm8k"]);
        assert_eq!(result["rows"][0]["scores"]["f1"], 1.0, "{done}");
    }
}

#[test]
fn tokens_are_counted_anew_when_rescoring_asks_so() {
    let (folder, path) = questions(2);
    let cache = folder.path().join("cache");
    let args = ["--system", "passthrough", "--output", "json", "-q"];
    let all = run(&[
        &args[..],
        &["--dataset", arg(&path), "--cache-dir", arg(&cache)],
    ]
    .concat());
    let id = "last";
    let rescore = |more: &[&str]| {
        let args = [
            "rescore",
            id,
            "--cache-dir",
            arg(&cache),
            "--output",
            "json",
            "-q",
        ];
        let done = run(&[&args[..], more].concat());
        assert_eq!(done.code, 0, "{done}");
        done.json()
    };
    let tokens = |result: &Value| result["rows"][0]["input_tokens"].as_u64().unwrap();
    let words = rescore(&["--tokenizer", "whitespace", "--text-field", "context"]);
    assert_eq!(tokens(&words), 11);
    assert_eq!(words["provenance"]["tokenizer"], "whitespace");
    assert_eq!(words["provenance"]["text_fields"][0], "context");
    let one = rescore(&["--tokenizer", "cl100k_base", "--text-field", "question"]);
    assert!(tokens(&one) < tokens(&all.json()));
}

#[test]
fn no_workers_at_all_is_a_mistake() {
    let (folder, path) = questions(1);
    let done = run(&[
        "--system",
        "passthrough",
        "--dataset",
        arg(&path),
        "--max-workers",
        "0",
    ]);
    done.is_error(&["`max_workers` must be a whole number above 0", "auto"]);
    let file = folder.path().join("bench.yaml");
    let text = format!(
        "systems: [{{system: passthrough}}]\nbenchmarks: [{{dataset: '{}'}}]\nlimits: {{max_workers: 0}}\n",
        arg(&path)
    );
    fs::write(&file, text).unwrap();
    run(&["run", arg(&file)]).is_error(&["`max_workers` must be a whole number above 0"]);
}

#[test]
fn many_questions_one_after_the_other_are_worth_a_hint() {
    let server = ChatServer::start(handlers::constant("Paris"));
    let (_folder, path) = questions(250);
    let args = ["--proxy", &server.url(), "--dataset", arg(&path), "-q"];
    let told = "up to 250 answers are asked for one after the other";
    let slow = run(&args);
    assert!(slow.stderr.contains(told), "{slow}");
    assert!(slow.stderr.contains("`--max-workers auto`"), "{slow}");
    for more in [&["--max-workers", "1"][..], &["-n", "199"]] {
        let done = run(&[&args[..], more].concat());
        assert!(!done.stderr.contains("one after the other"), "{done}");
    }
}

#[test]
fn a_name_for_nobody_is_a_mistake() {
    let (_folder, path) = questions(1);
    let args = ["--system", "passthrough", "--dataset", arg(&path)];
    let done = run(&[&args[..], &["--name", "nobody"]].concat());
    done.is_error(&["`--name nobody` has no `--proxy` or `--command` to name"]);
}
