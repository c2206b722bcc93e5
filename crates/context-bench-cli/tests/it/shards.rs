//! Runs that are divided over processes: lost, repeated, moved and merged, they end as one process
//! would have ended. The promises in full size are in `shards/`.

mod kit;
mod limits;
mod lost;
mod merged;
mod tasks;
mod told;
mod wire;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use context_bench_testkit::{ChatServer, Reply};
use serde_json::Value;

use crate::program::{Done, arg, command, questions, run, run_with, write_questions};

/// Two systems that need no endpoint, each asked twice.
const SYSTEMS: [&str; 7] = [
    "--system",
    "passthrough",
    "--system",
    "truncate:ratio=0.5",
    "--repeats",
    "2",
    "-q",
];

fn shard(which: &str, dir: &Path, more: &[&str]) -> Done {
    run(&[&["--shard", which, "--cache-dir", arg(dir)], more].concat())
}

fn merge(dir: &Path, more: &[&str]) -> Done {
    run(&[&["merge", arg(dir)], more].concat())
}

/// Rows and summaries of a stored run, without what differs from run to run.
fn results(dir: &Path, id: &str) -> Value {
    let done = run(&["export", id, "--cache-dir", arg(dir), "--output", "json"]);
    assert_eq!(done.code, 0, "{done}");
    let mut result = done.json();
    for row in result["rows"].as_array_mut().unwrap() {
        let row = row.as_object_mut().unwrap();
        row.retain(|key, _| !["latency", "call", "cached"].contains(&key.as_str()));
    }
    for summary in result["summary"].as_object_mut().unwrap().values_mut() {
        let summary = summary.as_object_mut().unwrap();
        summary.retain(|key, _| !key.starts_with("latency") && !key.starts_with("connect"));
    }
    let keep = ["rows", "summary", "counts", "config", "part_of"];
    let members = result.as_object_mut().unwrap();
    members.retain(|key, _| keep.contains(&key.as_str()));
    result
}

/// The files of segments below a folder.
fn segments(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![dir.join("shards")];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => open.push(path),
                false if path.extension().is_some_and(|end| end == "sqlite") => found.push(path),
                false => {}
            }
        }
    }
    found.sort();
    found
}

/// Everything that a merged store says, whatever numbers it has for it.
fn content(dir: &Path) -> Vec<String> {
    [
        "SELECT hex(e.key), hex(s.key), r.repeat, r.checksum, r.output_checksum FROM responses r \
         JOIN examples e ON e.id = r.example JOIN systems s ON s.id = r.system ORDER BY 1, 2, 3",
        "SELECT hex(e.key), hex(s.key), r.repeat, hex(k.key), c.checksum FROM scores c \
         JOIN responses r ON r.id = c.response JOIN examples e ON e.id = r.example \
         JOIN systems s ON s.id = r.system JOIN scorers k ON k.id = c.scorer ORDER BY 1, 2, 3, 4",
        "SELECT r.id, w.system, w.position, w.repeat, w.checksum FROM run_rows w \
         JOIN runs r ON r.number = w.run ORDER BY 1, 2, 3, 4",
        "SELECT id, checksum FROM runs ORDER BY 1",
        "SELECT plan, run, checksum FROM shards ORDER BY 1, 2",
        "SELECT hex(example), hex(system), repeat, output_checksum, created_at FROM conflicts \
         ORDER BY 1, 2, 3, 4",
    ]
    .map(|query| {
        let done = run(&["runs", "sql", query, "--cache-dir", arg(dir)]);
        assert_eq!(done.code, 0, "{done}");
        done.stdout
    })
    .into()
}

#[test]
fn merged_shards_are_the_run_of_one_process() {
    let (folder, path) = questions(90);
    let single = folder.path().join("single");
    let dataset = ["--dataset", arg(&path)];
    let done = run(&[&SYSTEMS[..], &dataset, &["--cache-dir", arg(&single)]].concat());
    assert_eq!(done.code, 0, "{done}");
    let expected = results(&single, "last");
    assert_eq!(expected["rows"].as_array().unwrap().len(), 360);
    for (count, step) in [(1, 1), (3, 2), (7, 3)] {
        let dir = folder.path().join(format!("of-{count}"));
        for turn in 0..count {
            let which = format!("{}/{count}", turn * step % count);
            let done = shard(&which, &dir, &[&SYSTEMS[..], &dataset].concat());
            assert_eq!(done.code, 0, "{done}");
            if count > 1 {
                assert!(done.stdout.contains("is shard"), "{done}");
            }
            let partial = merge(&dir, &[]);
            let whole = turn + 1 == count;
            assert_eq!(partial.code, if whole { 0 } else { 3 }, "{partial}");
        }
        assert_eq!(results(&dir, "merged"), expected, "{count}");
        let again = merge(&dir, &[]);
        assert!(again.stderr.contains("merged 0 sources"), "{again}");
    }
}

#[test]
fn a_part_of_a_merge_says_so_everywhere() {
    let (folder, path) = questions(40);
    let dir = folder.path().join("bench");
    let with = [&SYSTEMS[..], &["--dataset", arg(&path)]].concat();
    for which in ["0/4", "2/4", "3/4"] {
        assert_eq!(shard(which, &dir, &with).code, 0);
    }
    let merged = merge(&dir, &[]);
    assert_eq!(merged.code, 3, "{merged}");
    assert!(merged.stdout.contains("3 of 4 shards, "), "{merged}");
    assert!(merged.stderr.contains("did not finish: 1/4"), "{merged}");
    assert_eq!(merge(&dir, &["--allow-partial"]).code, 0);
    for format in ["table", "markdown", "json", "html"] {
        let args = ["export", "merged", "--cache-dir", arg(&dir), "--output"];
        let shown = run(&[&args[..], &[format]].concat());
        assert_eq!(shown.code, 3, "{shown}");
        let told = shown.stdout.replace('\n', " ").replace("  ", " ");
        assert!(
            told.contains("is merged from 3 of 4 shards"),
            "{format}: {told}"
        );
    }
}

/// A conflict is planted in every example of shard 0, which two attempts did at the same time.
#[test]
fn any_order_gives_the_same_and_conflicts_are_counted() {
    let asked = AtomicUsize::new(0);
    let server = ChatServer::start(move |_| {
        Reply::text(format!("answer {}", asked.fetch_add(1, Ordering::SeqCst)))
    });
    let (folder, path) = questions(24);
    let url = server.url();
    let with = [
        "--proxy",
        &url,
        "--name",
        "p",
        "--dataset",
        arg(&path),
        "-q",
    ];
    let dirs = ["a", "b", "c"].map(|name| folder.path().join(name));
    for (dir, which) in [(0, "0/2"), (1, "0/2"), (2, "1/2")] {
        let done = shard(which, &dirs[dir], &with);
        assert_eq!(done.code, 0, "{done}");
    }
    let twice = server.request_count() - 24;
    let [a, b, c] = &dirs;
    let into = |name: &str| folder.path().join(name);
    let merged = |dirs: &[&Path], to: &Path| {
        let dirs: Vec<&str> = dirs.iter().map(|dir| arg(dir)).collect();
        run(&[&["merge"], &dirs[..], &["--into", arg(to)]].concat())
    };
    let (abc, cab, nested) = (into("abc"), into("cab"), into("nested"));
    let first = merged(&[a, b, c], &abc);
    assert_eq!(first.code, 0, "{first}");
    assert!(
        first.stderr.contains(&format!("{twice} answers differ")),
        "{first}"
    );
    for source in [c, a, b, a, c] {
        merged(&[source], &cab);
    }
    assert_eq!(content(&abc), content(&cab));
    // (b + c) + a, with what was merged before as the source.
    let bc = into("bc");
    merged(&[b, c], &bc);
    merged(&[a], &nested);
    let last = merged(&[&bc], &nested);
    assert_eq!(last.code, 0, "{last}");
    assert_eq!(content(&abc), content(&nested));
    let list = folder.path().join("conflicts.jsonl");
    let args = [
        "merge",
        arg(a),
        "--into",
        arg(&abc),
        "--conflicts",
        arg(&list),
    ];
    assert_eq!(run(&args).code, 0);
    let listed = fs::read_to_string(&list).unwrap();
    assert_eq!(listed.lines().count(), twice);
    let one: Value = serde_json::from_str(listed.lines().next().unwrap()).unwrap();
    assert_eq!(one["system"], "p");
    assert!(one["example_id"].as_str().unwrap().starts_with('q'));
}

#[test]
fn a_run_goes_on_elsewhere_with_another_number_of_shards() {
    let server = ChatServer::start(|_| Reply::text("Paris"));
    let (folder, path) = questions(60);
    let url = server.url();
    let with = ["--proxy", &url, "--name", "p", "-q", "--dataset"];
    let here = folder.path().join("here");
    for which in ["0/4", "2/4"] {
        let done = shard(which, &here, &[&with[..], &[arg(&path)]].concat());
        assert_eq!(done.code, 0, "{done}");
    }
    let paid = server.request_count();
    assert!(paid > 0 && paid < 60, "{paid}");
    assert_eq!(merge(&here, &[]).code, 3);
    let there = folder.path().join("elsewhere").join("there");
    fs::create_dir_all(there.parent().unwrap()).unwrap();
    fs::rename(&here, &there).unwrap();
    let moved = folder.path().join("elsewhere").join("my questions é.jsonl");
    fs::copy(&path, &moved).unwrap();
    for index in 0..6 {
        let which = format!("{index}/6");
        let done = shard(&which, &there, &[&with[..], &[arg(&moved)]].concat());
        assert_eq!(done.code, 0, "{done}");
    }
    assert_eq!(server.request_count(), 60);
    let merged = merge(&there, &[]);
    assert_eq!(merged.code, 0, "{merged}");
    assert!(
        merged.stdout.contains("6 of 6 shards, 100 % of rows"),
        "{merged}"
    );
    let result = results(&there, "merged");
    assert_eq!(result["counts"]["p"]["scored"], 60);
}

#[test]
fn other_plans_and_other_data_are_refused() {
    let (folder, path) = questions(20);
    let other = folder.path().join("other").join("my questions é.jsonl");
    fs::create_dir_all(other.parent().unwrap()).unwrap();
    write_questions(&other, 21);
    let system = ["--system", "passthrough", "-q", "--dataset"];
    let dataset = [&system[..], &[arg(&path)]].concat();
    for (name, second, told) in [
        ("seed", [&dataset[..], &["--seed", "7"]].concat(), "`seeds`"),
        (
            "repeats",
            [&dataset[..], &["--repeats", "2"]].concat(),
            "`repeats` (1 and 2)",
        ),
        ("limit", [&dataset[..], &["-n", "5"]].concat(), "`limit`"),
        (
            "evaluator",
            [
                &dataset[..],
                &[
                    "--evaluator",
                    "longbench_rouge",
                    "--score-field",
                    "longbench",
                ],
            ]
            .concat(),
            "`evaluators`",
        ),
        (
            "data",
            [&system[..], &[arg(&other)]].concat(),
            "20 examples",
        ),
    ] {
        let dir = folder.path().join(name);
        assert_eq!(shard("0/2", &dir, &dataset).code, 0);
        let done = shard("1/2", &dir, &second);
        assert_eq!(done.code, 0, "{done}");
        let merged = merge(&dir, &[]);
        merged.is_error(&[told]);
    }
    // The same file by another name is the same.
    let dir = folder.path().join("path");
    assert_eq!(shard("0/2", &dir, &dataset).code, 0);
    let mut command = command();
    command.current_dir(folder.path());
    command.args([
        "--shard",
        "1/2",
        "--cache-dir",
        "path",
        "--system",
        "passthrough",
    ]);
    command.args(["-q", "--dataset", "./my questions é.jsonl"]);
    let done = run_with(&mut command);
    assert_eq!(done.code, 0, "{done}");
    assert_eq!(merge(&dir, &[]).code, 0);
}

/// Answers in the segments of a folder, each once.
fn published(dir: &Path) -> usize {
    let mut keys = std::collections::HashSet::new();
    for path in segments(dir) {
        let store = rusqlite::Connection::open(path).unwrap();
        let mut statement = store
            .prepare("SELECT hex(e.key) FROM responses r JOIN examples e ON e.id = r.example")
            .unwrap();
        let found = statement.query_map((), |row| row.get::<_, String>(0));
        keys.extend(found.unwrap().map(Result::unwrap));
    }
    keys.len()
}

#[test]
fn a_killed_shard_loses_what_it_had_not_published() {
    let server = ChatServer::start(|_| Reply::text("Paris").after(Duration::from_millis(5)));
    let (folder, path) = questions(400);
    let dir = folder.path().join("bench");
    let url = server.url();
    let args = [
        "--shard",
        "0/1",
        "--cache-dir",
        arg(&dir),
        "--proxy",
        &url,
        "--name",
        "p",
        "-q",
        "--dataset",
        arg(&path),
        "--publish-every",
        "0.05",
    ];
    for _ in 0..3 {
        let before = published(&dir);
        let mut child = command()
            .args(args)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        while published(&dir) < before + 20 && child.try_wait().unwrap().is_none() {
            std::thread::sleep(Duration::from_millis(5));
        }
        let _ = child.kill();
        let _ = child.wait();
    }
    let (known, sent) = (published(&dir), server.request_count());
    assert!(known >= 60, "{known}");
    let done = run(&args);
    assert_eq!(done.code, 0, "{done}");
    assert_eq!(server.request_count() - sent, 400 - known);
    let merged = merge(&dir, &[]);
    assert_eq!(merged.code, 0, "{merged}");
    assert_eq!(results(&dir, "merged")["counts"]["p"]["scored"], 400);
}

#[cfg(unix)]
#[test]
fn a_shard_that_is_asked_to_end_publishes_what_it_has() {
    let server = ChatServer::start(|_| Reply::text("Paris").after(Duration::from_millis(20)));
    let (folder, path) = questions(500);
    let dir = folder.path().join("bench");
    let url = server.url();
    let child = command()
        .args([
            "--shard",
            "0/2",
            "--cache-dir",
            arg(&dir),
            "--proxy",
            &url,
            "-q",
        ])
        .args(["--name", "p", "--dataset", arg(&path)])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    while server.request_count() < 10 {
        std::thread::sleep(Duration::from_millis(5));
    }
    crate::program::signal(&child, "-TERM");
    let ended = child.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(130));
    assert_eq!(segments(&dir).len(), 1);
    assert_eq!(published(&dir), server.request_count());
    let merged = merge(&dir, &[]);
    assert_eq!(merged.code, 3, "{merged}");
    assert!(merged.stdout.contains("0 of 2 shards"), "{merged}");
}

#[test]
fn limits_are_those_of_the_whole_run_and_keys_are_nowhere() {
    let server = ChatServer::start(|_| Reply::text("Paris"));
    let (folder, path) = questions(12);
    let dir = folder.path().join("bench");
    let url = server.url();
    let mut command = command();
    command.env("OPENAI_API_KEY", "sk-planted-0123456789");
    command.args(["--shard", "1/4", "--cache-dir", arg(&dir), "--proxy", &url]);
    command.args(["--name", "p", "--dataset", arg(&path), "--rps", "100"]);
    let done = run_with(&mut command);
    assert_eq!(done.code, 0, "{done}");
    assert!(
        done.stderr
            .contains("25 requests/s here (100/s over 4 at once)"),
        "{done}"
    );
    command.args(["--shards-at-once", "2"]);
    let done = run_with(&mut command);
    assert!(
        done.stderr
            .contains("50 requests/s here (100/s over 2 at once)"),
        "{done}"
    );
    assert!(done.stderr.contains("answers are there already"), "{done}");
    merge(&dir, &[]);
    let files = segments(&dir);
    assert!(!files.is_empty());
    for file in files.iter().chain([&dir.join("store.sqlite")]) {
        let bytes = fs::read(file).unwrap();
        let planted = b"sk-planted-0123456789";
        assert!(!bytes.windows(planted.len()).any(|part| part == planted));
    }
}

#[test]
fn what_cannot_be_a_shard_is_told() {
    let (folder, path) = questions(3);
    let dir = folder.path().join("bench");
    let with = ["--system", "passthrough", "--dataset", arg(&path)];
    shard("8/8", &dir, &with).is_error(&["no shard 8 of 8", "`0/8`", "`7/8`"]);
    shard("eight", &dir, &with).is_error(&["`eight` is not a shard", "`3/8`"]);
    shard("auto", &dir, &with).is_error(&["no engine says which shard this is"]);
    run(&[&with[..], &["--shard", "0/2"]].concat()).is_error(&["--cache-dir"]);
    run(&[&with[..], &["--shards-at-once", "2"]].concat()).is_error(&["--shard i/n"]);
    let mut slurm = command();
    for (name, value) in [
        ("ID", "3"),
        ("COUNT", "2"),
        ("MIN", "3"),
        ("MAX", "5"),
        ("STEP", "2"),
    ] {
        slurm.env(format!("SLURM_ARRAY_TASK_{name}"), value);
    }
    slurm
        .args(with)
        .args(["--shard", "auto", "--cache-dir", arg(&dir)]);
    run_with(&mut slurm).is_error(&["Slurm", "--shard $SLURM_ARRAY_TASK_ID/8"]);
    merge(folder.path(), &[]).is_error(&["no store and no segment"]);
    assert!(!dir.exists());
}

#[test]
fn an_endpoint_that_is_away_is_not_now() {
    let (_folder, path) = questions(3);
    let args = ["--proxy", "http://127.0.0.1:1", "--dataset", arg(&path)];
    run(&args).is_not_now(&["cannot connect"]);
    let waited = run(&[&args[..], &["--wait-ready", "0.2"]].concat());
    assert_eq!(waited.code, 75, "{waited}");
    assert!(waited.stderr.contains("waiting up to 0.2 s"), "{waited}");
}
