//! Parts of runs: nothing that was killed passes for a whole, and nothing that goes on
//! is taken away.

use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use context_bench_testkit::{ChatServer, Reply};
use serde_json::Value;

use crate::program::{Done, answers_in, arg, command, questions, run};

/// Answers so many requests, and none after that while it is told so.
struct Reluctant {
    server: ChatServer,
    left: Arc<AtomicUsize>,
}

impl Reluctant {
    fn start(n: usize, reply: &'static str) -> Self {
        let left = Arc::new(AtomicUsize::new(n));
        let known = Arc::clone(&left);
        let server = ChatServer::start(move |_| {
            let take = |left: usize| left.checked_sub(1);
            match known.fetch_update(Ordering::SeqCst, Ordering::SeqCst, take) {
                Ok(_) => Reply::text(reply),
                Err(_) => Reply::hang(),
            }
        });
        Self { server, left }
    }

    fn answer_all(&self) {
        self.left.store(usize::MAX, Ordering::SeqCst);
    }
}

/// Starts the program, kills it when `is_time`, and says whether it was still there.
fn killed(args: &[&str], is_time: impl Fn() -> bool) {
    let mut child = spawned(args);
    while !is_time() {
        assert!(child.try_wait().unwrap().is_none(), "it ended by itself");
        std::thread::sleep(Duration::from_millis(2));
    }
    child.kill().unwrap();
    child.wait().unwrap();
}

fn spawned(args: &[&str]) -> Child {
    command()
        .args(args)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// How many rows the newest run of a store has.
fn rows_of_last(cache: &Path) -> i64 {
    let flags = rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY;
    let store = rusqlite::Connection::open_with_flags(cache.join("store.sqlite"), flags);
    let count = "SELECT count(*) FROM run_rows WHERE run = (SELECT max(number) FROM runs)";
    store
        .and_then(|store| store.query_row(count, (), |row| row.get(0)))
        .unwrap_or(0)
}

fn counts(result: &Value) -> [u64; 4] {
    let counts = &result["counts"]["p"];
    ["planned", "scored", "failed", "not_begun"].map(|key| counts[key].as_u64().unwrap())
}

#[test]
fn a_killed_run_is_a_part_wherever_it_is_shown() {
    let endpoint = Reluctant::start(104, "Paris");
    let (folder, path) = questions(400);
    let cache = folder.path().join("cache");
    let url = endpoint.server.url();
    let base = ["--proxy", &url, "--name", "p", "--dataset", arg(&path)];
    let base = [&base[..], &["--cache-dir", arg(&cache), "-q"]].concat();
    killed(&[&base[..], &["--max-workers", "8"]].concat(), || {
        rows_of_last(&cache) == 104
    });

    let show = |command: &str, format: &str| -> Done {
        let more = if command == "rescore" {
            &["-q"][..]
        } else {
            &[]
        };
        let args = [command, "last", "--cache-dir", arg(&cache), "--output"];
        let done = run(&[&args[..], &[format], more].concat());
        assert_eq!(done.code, 3, "{done}");
        assert!(done.stderr.contains("was killed"), "{done}");
        done
    };
    let missing = "which was killed: 296 of 400 rows not begun";
    let mut id = String::new();
    // Once more each: a part that was scored anew is not the run.
    for command in ["export", "rescore", "rescore", "export"] {
        let result = show(command, "json").json();
        assert_eq!(counts(&result), [400, 104, 0, 296], "{command}");
        assert_eq!(result["interrupted"], true);
        assert!(result["part_of"].as_str().unwrap().ends_with(missing));
        let source = result["unfinished"]["run"].as_str().unwrap();
        if id.is_empty() {
            id = source.to_owned();
        }
        assert_eq!(source, id, "{command}");
        let task = &result["tasks"];
        assert!(task.is_null() || task["p"].is_object(), "{task}");
    }
    let table = show("export", "table");
    for text in [missing, "104/0 of 400", "p: 296 of 400 not begun"] {
        assert!(table.stdout.contains(text), "no `{text}` in {table}");
    }
    let markdown = show("export", "markdown").stdout;
    assert!(
        markdown.contains(missing) && markdown.contains("| not begun |"),
        "{markdown}"
    );
    assert!(
        markdown.contains("| p | 400 | 104 | 0 | 0 | 0 | 296 |"),
        "{markdown}"
    );
    for (format, n_lines) in [("jsonl", 104), ("csv", 105)] {
        let text = show("export", format).stdout;
        assert_eq!(text.lines().count(), n_lines, "{text}");
        assert_eq!(text.matches(missing).count(), 104, "{text}");
    }
    let listed = run(&["runs", "--cache-dir", arg(&cache)]);
    assert_eq!(
        listed.stdout.matches("104 of 400 scored").count(),
        3,
        "{listed}"
    );

    endpoint.answer_all();
    let whole = run(&[&base[..], &["--output", "json"]].concat());
    assert_eq!(whole.code, 0, "{whole}");
    assert_eq!(counts(&whole.json()), [400, 400, 0, 0]);
    for command in ["export", "rescore"] {
        let args = [
            command,
            "last",
            "--cache-dir",
            arg(&cache),
            "--output",
            "json",
        ];
        let done = run(&args);
        assert_eq!(done.code, 0, "{done}");
        assert_eq!(counts(&done.json()), [400, 400, 0, 0]);
        assert!(done.json().get("part_of").is_none(), "{done}");
    }
}

#[test]
fn a_killed_rescore_that_is_repeated_starts_from_the_run() {
    let endpoint = Reluctant::start(usize::MAX, "Paris");
    let judge = Reluctant::start(20, "4");
    let (folder, path) = questions(60);
    let cache = folder.path().join("cache");
    let url = endpoint.server.url();
    let store = ["--cache-dir", arg(&cache), "-q", "--output", "json"];
    let base = ["--proxy", &url, "--name", "p", "--dataset", arg(&path)];
    let whole = run(&[&base[..], &store[..]].concat());
    assert_eq!(whole.code, 0, "{whole}");
    let judged = judge.server.url();
    let rescore = [
        "rescore",
        "last",
        "--evaluator",
        "llm_judge",
        "--score-field",
        "judge_score",
        "--judge-url",
        &judged,
    ];
    let rescore = [&rescore[..], &store[..]].concat();
    killed(&rescore, || {
        (1..60).contains(&rows_of_last(&cache)) && judge.left.load(Ordering::SeqCst) == 0
    });
    // What there is of it is a part of all that was planned.
    let part = run(&[
        "export",
        "last",
        "--cache-dir",
        arg(&cache),
        "--output",
        "json",
    ]);
    assert_eq!(part.code, 3, "{part}");
    let [planned, scored, _, not_begun] = counts(&part.json());
    assert_eq!((planned, scored + not_begun), (60, 60), "{part}");
    assert!(part.stderr.contains("was killed"), "{part}");
    assert!(not_begun > 0, "{part}");

    judge.answer_all();
    for _ in 0..2 {
        let again = run(&rescore);
        assert_eq!(again.code, 0, "{again}");
        assert_eq!(counts(&again.json()), [60, 60, 0, 0], "{again}");
        assert!(again.json().get("part_of").is_none());
    }
    assert_eq!(endpoint.server.request_count(), 60);
}

#[test]
fn a_run_that_goes_on_is_not_removed() {
    let endpoint = Reluctant::start(5, "Paris");
    let (folder, path) = questions(20);
    let cache = folder.path().join("cache");
    let url = endpoint.server.url();
    let base = ["--proxy", &url, "--name", "p", "--dataset", arg(&path)];
    let store = ["--cache-dir", arg(&cache)];
    let mut child = spawned(&[&base[..], &store[..]].concat());
    while rows_of_last(&cache) < 5 {
        std::thread::sleep(Duration::from_millis(2));
    }
    let remove = [&["runs", "remove", "last"], &store[..]].concat();
    run(&remove).is_error(&["is still in progress", "wait for its end"]);
    let shown = run(&[&["export", "last"], &store[..]].concat());
    assert_eq!(shown.code, 3, "{shown}");
    assert!(
        shown
            .stdout
            .contains("which is still running: 15 of 20 rows"),
        "{shown}"
    );
    assert_eq!(answers_in(&cache), 5);
    child.kill().unwrap();
    child.wait().unwrap();
    let shown = run(&[&["export", "last"], &store[..]].concat());
    assert!(
        shown.stdout.contains("which was killed: 15 of 20 rows"),
        "{shown}"
    );
    let removed = run(&remove);
    assert_eq!(removed.code, 0, "{removed}");
    assert!(removed.stderr.contains("5 rows, 5 responses"), "{removed}");
}
