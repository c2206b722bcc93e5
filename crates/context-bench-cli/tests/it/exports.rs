//! Several formats at once, rows streamed from a store, Parquet, and the summary of a GitHub job.

use std::fs::{self, File};
use std::path::Path;

use context_bench_testkit::{ChatServer, Reply, Request};
use parquet::file::reader::{FileReader as _, SerializedFileReader};
use parquet::record::RowAccessor as _;
use serde_json::Value;

use crate::program::{Done, arg, command, questions, run, run_with};

/// Some questions fail for good, the others are answered right or wrong.
fn endpoint() -> ChatServer {
    ChatServer::start(|request: &Request| {
        let asked = request.last_user_content();
        if asked.contains("3:") {
            return Reply::status(400).message("not that | one\u{7}");
        }
        Reply::text(match asked.contains("4:") {
            true => "é, <b>\"none\"</b>\n",
            false => "Paris",
        })
    })
}

fn stored_run(folder: &Path, path: &Path, more: &[&str]) -> (ChatServer, Done) {
    let server = endpoint();
    let (url, cache) = (server.url(), folder.join("cache"));
    let args = ["--proxy", &url, "--name", "p", "--system", "passthrough"];
    let rest = [
        "--dataset",
        arg(path),
        "--cache-dir",
        arg(&cache),
        "--quiet",
    ];
    let done = run(&[&args[..], &rest, more].concat());
    (server, done)
}

#[test]
fn one_run_is_written_in_several_formats() {
    let (folder, path) = questions(7);
    let at = |name: &str| folder.path().join(name);
    let (json, parquet, markdown) = (at("r.json"), at("r.parquet"), at("r.md"));
    let files = ["--output-file", arg(&parquet), "--output-file", arg(&json)];
    let (_server, done) = stored_run(
        folder.path(),
        &path,
        &[
            &["--output", "table", "--output", "json"][..],
            &files,
            &["--output-file", arg(&markdown)],
        ]
        .concat(),
    );
    assert!(done.stdout.contains("passthrough"), "{done}");
    assert!(!done.stdout.contains('{'), "{done}");
    let result: Value = serde_json::from_slice(&fs::read(&json).unwrap()).unwrap();
    assert_eq!(result["rows"].as_array().unwrap().len(), 14);
    let text = fs::read_to_string(&markdown).unwrap();
    assert!(text.starts_with("# Evaluation Results"), "{text}");
    let reader = SerializedFileReader::new(File::open(&parquet).unwrap()).unwrap();
    assert_eq!(reader.metadata().file_metadata().num_rows(), 14);
    let left = fs::read_dir(folder.path()).unwrap();
    let left: Vec<_> = left.map(|one| one.unwrap().file_name()).collect();
    assert!(
        !left
            .iter()
            .any(|name| name.to_string_lossy().contains("partial")),
        "{left:?}"
    );
}

#[test]
fn a_stored_run_says_no_time_that_nobody_kept() {
    let (folder, path) = questions(2);
    let cache = folder.path().join("cache");
    let (_server, done) = stored_run(folder.path(), &path, &["--output", "markdown"]);
    assert!(done.stdout.contains("## Timing"), "{done}");
    let export = |format: &str| {
        let args = ["export", "last", "--cache-dir", arg(&cache), "--output"];
        run(&[&args[..], &[format]].concat())
    };
    let markdown = export("markdown");
    assert!(markdown.stdout.contains("# Evaluation"), "{markdown}");
    assert!(!markdown.stdout.contains("Timing"), "{markdown}");
    let json: Value = serde_json::from_str(&export("json").stdout).unwrap();
    assert_eq!(json["timing"], serde_json::json!({}));
}

#[test]
fn outputs_that_cannot_be_told_apart_are_refused_before_the_run() {
    let (folder, path) = questions(1);
    let missing = folder.path().join("no/such/r.json");
    let fine = folder.path().join("r.csv");
    for (flags, expected) in [
        (
            &["--output", "json", "--output", "csv"][..],
            "`json` and `csv` would both go to stdout",
        ),
        (
            &["--output-file", "a", "--output-file", "b"],
            "no format is given for `a`",
        ),
        (
            &["--output-file", "a.foo"],
            "no format is given for `a.foo`",
        ),
        (
            &["--output-file", "a.json", "--output-file", "a.json"],
            "would both be written to `a.json`",
        ),
        (
            &["--output-file", arg(&fine), "--output-file", arg(&missing)],
            "no/such/r.json",
        ),
    ] {
        let server = endpoint();
        let url = server.url();
        let args = ["--proxy", &url, "--dataset", arg(&path)];
        let done = run_with(command().current_dir(folder.path()).args(args).args(flags));
        assert_eq!(done.code, 2, "{done}");
        assert!(done.stderr.contains(expected), "{expected}: {done}");
        assert!(done.stderr.contains("hint: "), "{done}");
        assert_eq!(server.request_count(), 0);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "{flags:?}");
    }
}

#[test]
fn rows_that_are_streamed_are_those_of_the_whole_result() {
    let (folder, path) = questions(40);
    let (_server, _) = stored_run(folder.path(), &path, &[]);
    let cache = folder.path().join("cache");
    let export = |more: &[&str]| {
        let args = ["export", "last", "--cache-dir", arg(&cache)];
        run(&[&args[..], more].concat())
    };
    let in_memory = export(&["--output", "json"]).json();
    let rows = in_memory["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 80);
    assert!(rows.iter().any(|row| row["error"].is_object()));

    let lines = export(&["--output", "jsonl"]).stdout;
    let lines: Vec<Value> = lines
        .lines()
        .map(|line| {
            let mut row: Value = serde_json::from_str(line).unwrap();
            row.as_object_mut().unwrap().shift_remove("answered_by");
            row
        })
        .collect();
    assert_eq!(&lines, rows);

    let (streamed, table) = (folder.path().join("a.csv"), folder.path().join("b.csv"));
    let done = export(&["--output-file", arg(&streamed)]);
    assert_eq!(done.stdout, "", "{done}");
    // With a page beside it, all rows with their texts are in memory.
    let (json, page) = (folder.path().join("r.json"), folder.path().join("r.html"));
    let pair = ["--output-file", arg(&table), "--output-file", arg(&json)];
    export(&[&pair[..], &["--output-file", arg(&page)]].concat());
    assert_eq!(fs::read(&streamed).unwrap(), fs::read(&table).unwrap());
    assert_eq!(
        serde_json::from_slice::<Value>(&fs::read(&json).unwrap()).unwrap()["rows"],
        in_memory["rows"]
    );
    let short = export(&["--output", "jsonl", "--no-text"]).stdout;
    assert!(!short.contains("\"question\""), "{short}");
}

#[test]
fn a_parquet_file_has_a_typed_column_for_every_fact() {
    let (folder, path) = questions(10);
    let (_server, done) = stored_run(folder.path(), &path, &["--output", "json"]);
    let rows = done.json()["rows"].clone();
    let (cache, file) = (
        folder.path().join("cache"),
        folder.path().join("rows.parquet"),
    );
    let args = ["export", "last", "--cache-dir", arg(&cache)];
    run(&[&args[..], &["--output-file", arg(&file)]].concat());
    let reader = SerializedFileReader::new(File::open(&file).unwrap()).unwrap();
    let schema = reader.metadata().file_metadata().schema_descr_ptr();
    let names: Vec<&str> = schema.columns().iter().map(|one| one.name()).collect();
    let at = |name: &str| names.iter().position(|one| *one == name).unwrap();
    let found: Vec<_> = reader.get_row_iter(None).unwrap().collect();
    assert_eq!(found.len(), 20);
    for (place, (row, expected)) in found.iter().zip(rows.as_array().unwrap()).enumerate() {
        let row = row.as_ref().unwrap();
        let text = |name: &str| row.get_string(at(name)).ok().cloned();
        let number = |name: &str| row.get_double(at(name)).ok();
        let count = |name: &str| row.get_long(at(name)).ok();
        assert_eq!(text("system").as_deref(), expected["system"].as_str());
        assert_eq!(count("position"), Some(place as i64 % 10));
        assert_eq!(count("repeat"), Some(0));
        assert_eq!(number("latency"), expected["latency"].as_f64());
        assert_eq!(number("f1"), expected["scores"]["f1"].as_f64());
        assert_eq!(text("response").as_deref(), expected["response"].as_str());
        assert_eq!(text("question").as_deref(), expected["question"].as_str());
        let error = &expected["error"];
        assert_eq!(text("error_kind").as_deref(), error["kind"].as_str());
        assert_eq!(text("error").as_deref(), error["message"].as_str());
        assert_eq!(count("prompt_tokens"), expected["prompt_tokens"].as_i64());
    }
    let run_id = reader
        .metadata()
        .file_metadata()
        .key_value_metadata()
        .unwrap();
    assert!(run_id.iter().any(|one| one.key == "run"), "{run_id:?}");
}

#[test]
fn a_job_summary_is_added_and_never_an_error() {
    let (folder, path) = questions(3);
    let summary = folder.path().join("summary.md");
    fs::write(&summary, "before").unwrap();
    let shown = |summary: &Path| {
        let mut command = command();
        command.env("GITHUB_STEP_SUMMARY", summary);
        run_with(command.args(["--system", "a@b=passthrough", "--dataset", arg(&path)]))
    };
    let done = shown(&summary);
    assert_eq!(done.code, 0, "{done}");
    let text = fs::read_to_string(&summary).unwrap();
    assert!(text.starts_with("before\n# Evaluation Results"), "{text}");
    assert!(text.contains("*3 examples evaluated*"), "{text}");
    let done = shown(&folder.path().join("no/such/folder"));
    assert_eq!(done.code, 0, "{done}");
    assert!(
        done.stderr
            .contains("warning: cannot write the job summary"),
        "{done}"
    );
}
