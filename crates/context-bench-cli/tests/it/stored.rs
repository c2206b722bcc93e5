//! Looking at stored runs: `runs`, `show RUN ID`, `runs sql`, and plain SQLite tools.

use std::fs;
use std::process::Command;
use std::time::Duration;

use context_bench_testkit::{ChatServer, Reply, Request};
use serde_json::{Value, json};

use crate::program::{Done, arg, questions, run, run_with};

/// Long enough to be compressed.
fn long() -> String {
    format!("It is Paris. {}", "The city lies on the river. ".repeat(60))
}

/// Knows everything but number 2; about number 3 it talks.
fn server() -> ChatServer {
    ChatServer::start(|request: &Request| match request.last_user_content() {
        text if text.contains("Number 2:") => Reply::status(404).message("nobody here knows that"),
        text if text.contains("Number 3:") => Reply::text(long()),
        _ => Reply::text("Paris"),
    })
}

struct Stored {
    folder: tempfile::TempDir,
    cache: String,
    report: Value,
}

/// A run of two systems over five questions.
fn stored(more: &[&str]) -> Stored {
    let server = server();
    let (folder, path) = questions(5);
    let cache = folder.path().join("cache").display().to_string();
    let url = server.url();
    let args = [
        "--proxy",
        &url,
        "--name",
        "direct",
        "--system",
        "short=truncate:tokens=4",
        "--relay",
        &url,
        "--model",
        "my-model",
        "--system-prompt",
        "Be brief.",
        "--dataset",
        arg(&path),
        "--cache-dir",
        &cache,
        "--output",
        "json",
    ];
    let done = run(&[&args[..], more].concat());
    assert_eq!(done.code, 3, "{done}");
    Stored {
        folder,
        report: done.json(),
        cache,
    }
}

impl Stored {
    fn run(&self, args: &[&str]) -> Done {
        run(&[args, &["--cache-dir", &self.cache]].concat())
    }

    fn sql(&self, query: &str) -> Value {
        let done = self.run(&["runs", "sql", query, "--output", "json"]);
        assert_eq!(done.code, 0, "{done}");
        done.json()
    }
}

#[test]
fn runs_are_listed_with_models_benchmarks_scores_and_counts() {
    let stored = stored(&[]);
    let done = stored.run(&["runs"]);
    assert_eq!(done.code, 0, "{done}");
    let lines: Vec<&str> = done.stdout.lines().collect();
    assert_eq!(lines.len(), 3, "{done}");
    for line in &lines {
        assert!(line.chars().count() <= 80, "{line}");
    }
    assert!(lines[0].contains("  finished "), "{done}");
    let day = lines[0].split("  ").nth(1).unwrap();
    assert_eq!(day.len(), "2026-11-15 20:40".len(), "{done}");
    for (line, name) in lines[1..].iter().zip(["direct", "short"]) {
        assert!(line.starts_with(&format!("  {name} ")), "{done}");
        for text in ["my-model", "  f1 0.", "4 of 5 scored, 1 failed"] {
            assert!(line.contains(text), "no `{text}` in {line}");
        }
    }
    let listed = stored.run(&["runs", "--output", "json"]).json();
    let one = &listed[0];
    assert_eq!(one["models"], json!(["my-model"]));
    assert_eq!(one["score_field"], "f1");
    for (at, name) in ["direct", "short"].into_iter().enumerate() {
        let result = &one["results"][at];
        let expected = &stored.report["summary"][name]["mean_score"];
        let (mean, expected) = (result["mean"].as_f64(), expected.as_f64());
        assert!((mean.unwrap() - expected.unwrap()).abs() < 1e-12, "{one}");
        let counts = ["planned", "rows", "scored", "failed"].map(|key| result[key].clone());
        assert_eq!(counts, [json!(5), json!(5), json!(4), json!(1)]);
    }
}

#[test]
fn a_run_that_ended_early_says_how_far_it_came() {
    let server = ChatServer::builder()
        .latency(Duration::from_millis(500))
        .start(|_: &Request| Reply::text("Paris"));
    let (folder, path) = questions(60);
    let cache = folder.path().join("cache");
    let args = ["--proxy", &server.url(), "--dataset", arg(&path)];
    let done = run(&[&args[..], &["--cache-dir", arg(&cache), "--max-time", "3"]].concat());
    assert_eq!(done.code, 75, "{done}");
    let listed = run(&["runs", "--cache-dir", arg(&cache)]);
    assert!(listed.stdout.contains(" of 60 scored"), "{listed}");
    assert!(!listed.stdout.contains("60 of 60"), "{listed}");
    let shown = run(&["show", "last", "q0", "--cache-dir", arg(&cache)]);
    assert!(shown.stdout.contains("response: Paris"), "{shown}");
    run(&["show", "last", "q59", "--cache-dir", arg(&cache)])
        .is_error(&["has no example `q59`", "and may not have come to it"]);
}

#[test]
fn many_runs_are_listed() {
    let folder = tempfile::tempdir().unwrap();
    let cache = folder.path().join("cache");
    let args = ["--system", "passthrough", "--dataset", "demo", "-q"];
    for _ in 0..40 {
        let done = run(&[&args[..], &["--cache-dir", arg(&cache)]].concat());
        assert_eq!(done.code, 0, "{done}");
    }
    let done = run(&["runs", "--cache-dir", arg(&cache)]);
    assert_eq!(done.stdout.matches("  finished ").count(), 40, "{done}");
}

#[test]
fn one_example_is_shown_in_all_systems() {
    let stored = stored(&[]);
    for run in ["last", "latest"] {
        let done = stored.run(&["show", run, "q3"]);
        assert_eq!(done.code, 0, "{done}");
        for text in [
            "question: Number 3: what is the capital of France?",
            "answer: Paris",
            "--- direct (my-model)",
            "--- short (my-model)",
            "[system] Be brief.",
            "[system] Document 3. Paris is the capital of France. It is large.\n",
            "[user] Number 3:",
            "response: It is Paris. The city",
            "more characters; `--full` shows all",
            "scores of answer_quality",
            "  contains: 1\n",
            "1 request\n",
            "usage {",
            "/v1/chat/completions",
        ] {
            assert!(done.stdout.contains(text), "no `{text}` in {done}");
        }
        assert!(!done.stdout.contains("Number 4:"), "{done}");
    }
    let full = stored.run(&["show", "last", "q3", "--full"]);
    assert!(full.stdout.contains(&long()), "{full}");

    let shown = stored
        .run(&["show", "last", "q3", "--output", "json"])
        .json();
    let rows = shown["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 2);
    assert_eq!(rows[0]["response"], long());
    let messages = |at: usize| rows[at]["sent"]["requests"][0]["body"]["messages"].clone();
    assert_eq!(messages(0)[1]["content"], rows[0]["example"]["context"]);
    // What the layer left, and not what it got.
    assert_eq!(messages(1)[1]["content"], rows[1]["output"]["context"]);
    assert_ne!(messages(1), messages(0));

    let failed = stored.run(&["show", "last", "q2"]);
    assert_eq!(
        failed.stdout.matches("failed: not_found: ").count(),
        2,
        "{failed}"
    );
    assert!(failed.stdout.contains("nobody here knows that"), "{failed}");

    stored
        .run(&["show", "last", "q33"])
        .is_error(&["has no example `q33`", "did you mean `q3`"]);
    stored
        .run(&["show", "nonsense", "q3"])
        .is_error(&["no run `nonsense` in the store"]);
    run(&["show", "last", "q3"]).is_error(&["no run store given"]);
    run(&["show", "last"])
        .is_error(&["`last` is a stored run, and the id of an example is missing"]);
}

#[test]
fn repeats_and_tasks_are_shown_too() {
    let stored = stored(&["--repeats", "2"]);
    let done = stored.run(&["show", "last", "q1"]);
    assert_eq!(done.stdout.matches("--- direct").count(), 2, "{done}");
    assert!(done.stdout.contains(" q1, repeat 1\n"), "{done}");

    let folder = stored.folder.path();
    fs::write(folder.join("docs.jsonl"), "{\"thing\": \"rose\"}\n").unwrap();
    let task = format!(
        "task: said\ndataset_path: json\ndataset_kwargs: {{data_files: {{test: {}}}}}\n\
         test_split: test\ndoc_to_text: 'The {{{{thing}}}} is'\noutput_type: generate_until\n\
         doc_to_target: red\nmetric_list: [{{metric: exact_match}}, {{metric: bleu}}]\n",
        folder.join("docs.jsonl").display()
    );
    fs::write(folder.join("said.yaml"), task).unwrap();
    let server = server();
    let include = folder.display().to_string();
    let args = ["--tasks", "said", "--include-path", &include, "--proxy"];
    let done = stored.run(&[&args[..], &[&server.url(), "-q"]].concat());
    assert_eq!(done.code, 0, "{done}");
    let done = stored.run(&["show", "last", "0"]);
    for text in [
        "=== said 0",
        "[user] The rose is",
        "response: Paris",
        "scores of task",
        "  exact_match: 0",
        "scored over all rows",
    ] {
        assert!(done.stdout.contains(text), "no `{text}` in {done}");
    }
    let listed = stored.run(&["runs"]);
    assert!(listed.stdout.contains("  said\n"), "{listed}");
    assert!(listed.stdout.contains("1 of 1 scored"), "{listed}");
}

#[test]
fn answers_are_read_with_sql_also_compressed_ones() {
    let stored = stored(&[]);
    let found = stored.sql(
        "SELECT system, model, example_id, repeat, question, answer, response, failure_kind, \
         latency_s > 0 AS took, attempts FROM answers WHERE system = 'direct' ORDER BY position",
    );
    assert_eq!(found.as_array().unwrap().len(), 5);
    assert_eq!(found[0]["response"], "Paris");
    assert_eq!(
        found[3],
        json!({
            "system": "direct", "model": "my-model", "example_id": "q3", "repeat": 0,
            "question": "Number 3: what is the capital of France?", "answer": "Paris",
            "response": long(), "failure_kind": null, "took": 1, "attempts": 1,
        })
    );
    assert_eq!(found[2]["failure_kind"], "not_found");
    let texts = stored.sql("SELECT body_text(encoding, output) AS text FROM responses");
    let is_long = |row: &Value| row["text"].as_str().unwrap().contains(&long());
    assert_eq!(
        texts
            .as_array()
            .unwrap()
            .iter()
            .filter(|row| is_long(row))
            .count(),
        2
    );
    // Scores and answers side by side.
    let joined = stored.sql(
        "SELECT a.response, s.value FROM answers a JOIN run_scores s USING (run, system, position) \
         WHERE s.score = 'f1' AND a.system = 'short' ORDER BY s.value LIMIT 1",
    );
    assert_eq!(joined[0]["response"], long());

    let table = stored.run(&["runs", "sql", "SELECT 1 AS a, 'x\ty\nz' AS b, NULL AS c"]);
    assert_eq!(table.stdout, "a\tb\tc\n1\tx\\ty\\nz\t\n");
    for (query, problem) in [
        ("SELECT nope FROM answers", "no such column: nope"),
        ("DELETE FROM runs", "would change the store"),
        ("SELECT 1; SELECT 2", "more than one statement"),
        ("", "the query cannot be answered"),
    ] {
        stored.run(&["runs", "sql", query]).is_error(&[problem]);
    }
    assert_eq!(
        stored.sql("SELECT count(*) AS n FROM runs"),
        json!([{"n": 1}])
    );
}

/// Python with a script on standard input.
fn python(script: &str, args: &[&str]) -> Done {
    run_with(Command::new("python3").arg("-c").arg(script).args(args))
}

#[test]
fn plain_tools_read_the_file_and_old_files_get_the_view() {
    let stored = stored(&[]);
    let file = format!("{}/store.sqlite", stored.cache);
    let read = "import sqlite3, sys, json\n\
                db = sqlite3.connect(f'file:{sys.argv[1]}?mode=ro', uri=True)\n\
                rows = db.execute(\"SELECT example_id, response, failure_kind, context FROM answers \
                WHERE system = 'direct' ORDER BY position\").fetchall()\n\
                print(json.dumps(rows))";
    let check = |done: Done| {
        assert_eq!(done.code, 0, "{done}");
        let rows = done.json();
        assert_eq!(rows[0][1], "Paris", "{rows}");
        assert!(
            rows[0][3].as_str().unwrap().starts_with("Document 0."),
            "{rows}"
        );
        assert_eq!(rows[2][2], "not_found", "{rows}");
        // Compressed: not there, instead of wrong.
        assert_eq!((&rows[3][1], &rows[3][3]), (&Value::Null, &Value::Null));
    };
    check(python(read, &[&file]));

    // A store of an earlier version has no such view, and gets it when it is next used.
    let older = "import sqlite3, sys\n\
                 db = sqlite3.connect(sys.argv[1]); db.execute('DROP VIEW answers'); db.commit()";
    assert_eq!(python(older, &[&file]).code, 0);
    assert_eq!(python(read, &[&file]).code, 1);
    assert_eq!(
        stored.run(&["runs"]).stdout.matches("  finished ").count(),
        1
    );
    check(python(read, &[&file]));

    // The way that the documentation shows, as it stands there.
    let page = fs::read_to_string(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../docs/reference/store.md"
    ));
    let page = page.unwrap();
    let script = page.split("```python\n").nth(1).unwrap();
    let script = script.split("```").next().unwrap();
    let script = script.replace(".context-bench/store.sqlite", &file);
    let done = python(&script, &[]);
    if done.stderr.contains("No such file or directory: 'zstd'") {
        // Nothing on this machine can read zstd.
        return;
    }
    assert_eq!(done.code, 0, "{done}");
    assert!(done.stdout.contains(&long()), "{done}");
    assert!(done.stdout.contains("Paris\n"), "{done}");
}
