//! Merged shards are the run of one process: whole, in any order, with attempts that ran twice.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use context_bench::shard::{self, LocalFolder, MergeTarget, SharedFolder};
use context_bench_testkit::{ChatServer, Reply, Request};
use serde_json::Value;

use super::kit::{Chance, content, decided_answer};
use super::{merge, results, shard};
use crate::program::{Done, arg, command, questions, run, signal};

const EXAMPLES: usize = 2000;

/// 2,000 examples, two systems, each asked twice; the shards of 3, 7 and 16 are merged in a random
/// order, some of them more than once, from folders of their own.
#[test]
fn two_thousand_examples_merge_to_the_run_of_one_process() {
    let server = ChatServer::builder()
        .counts_only()
        .start(|request: &Request| Reply::text(decided_answer(request)));
    let (folder, path) = questions(EXAMPLES);
    let url = server.url();
    let with = [
        "--proxy",
        &url,
        "--name",
        "p",
        "--system",
        "truncate:ratio=0.5",
        "--repeats",
        "2",
        "-q",
        "--dataset",
        arg(&path),
    ];
    let single = folder.path().join("single");
    let done = run(&[&with[..], &["--cache-dir", arg(&single)]].concat());
    assert_eq!(done.code, 0, "{done}");
    let expected = results(&single, "last");
    assert_eq!(expected["rows"].as_array().unwrap().len(), 4 * EXAMPLES);
    // Neither all right nor all wrong, or sums could not tell.
    let score = expected["summary"]["p"]["mean_score"].as_f64().unwrap();
    assert!(0.0 < score && score < 1.0, "{score}");
    let mut chance = Chance::new(1);
    for count in [1, 3, 7, 16] {
        let before = server.request_count();
        let dirs: Vec<PathBuf> = (0..count)
            .map(|index| folder.path().join(format!("{index}-of-{count}")))
            .collect();
        for index in chance.shuffled((0..count).collect()) {
            let done = shard(&format!("{index}/{count}"), &dirs[index], &with);
            assert_eq!(done.code, 0, "{done}");
        }
        // Every answer was asked for once, by one shard.
        assert_eq!(server.request_count() - before, 2 * EXAMPLES);
        let into = folder.path().join(format!("merged-{count}"));
        let mut order: Vec<&Path> = dirs.iter().map(PathBuf::as_path).collect();
        order.push(&dirs[chance.below(count)]);
        let order = chance.shuffled(order);
        let (first, rest) = order.split_at(chance.below(order.len()));
        for part in [first, rest] {
            let part: Vec<&str> = part.iter().map(|dir| arg(dir)).collect();
            if !part.is_empty() {
                run(&[&["merge"], &part[..], &["--into", arg(&into)]].concat());
            }
        }
        let merged = merge(&into, &[]);
        assert_eq!(merged.code, 0, "{merged}");
        let shards = format!("{count} of {count} shards, 100 % of rows");
        assert!(merged.stdout.contains(&shards), "{merged}");
        let found = results(&into, "merged");
        assert!(found == expected, "{count} shards differ");
    }
}

/// Attempts at the shards of one plan: one of the second attempts fails at some examples, and an
/// endpoint answers differently every time it is asked.
fn attempts(folder: &Path, path: &Path, server: &ChatServer) -> Vec<PathBuf> {
    let url = server.url();
    let with = ["--proxy", &url, "--name", "p", "-q", "--max-retries", "0"];
    let more = ["--max-error-rate", "1", "--dataset", arg(path)];
    let with = [&with[..], &more].concat();
    let mut dirs = Vec::new();
    for (name, which) in [
        ("a", "0/3"),
        ("b", "0/3"),
        ("c", "1/3"),
        ("d", "2/3"),
        ("e", "2/3"),
        ("f", "0/2"),
    ] {
        let dir = folder.join(name);
        let done = shard(which, &dir, &with);
        assert!([0, 3].contains(&done.code), "{done}");
        dirs.push(dir);
    }
    dirs
}

/// Merges folders into another one, without a program around it.
fn merge_all(dirs: &[PathBuf], into: &Path) -> shard::MergeReport {
    let folder = |dir: &Path| Arc::new(LocalFolder::new(dir)) as Arc<dyn SharedFolder>;
    let folders: Vec<_> = dirs.iter().map(|dir| folder(dir)).collect();
    let mut target = MergeTarget::open(folder(into)).unwrap();
    shard::merge(&mut target, &folders, None).unwrap()
}

#[test]
fn any_subset_in_any_order_any_number_of_times_comes_to_the_same() {
    let server = ChatServer::start(|request: &Request| match request.index % 11 {
        5 => Reply::status(400).message(format!("not now, request {}", request.index)),
        n => Reply::text("Paris ".repeat(1 + request.index % 7) + &n.to_string()),
    });
    let (folder, path) = questions(45);
    let sources = attempts(folder.path(), &path, &server);
    let mut trials = 0;
    let mut fresh = |name: &str| {
        trials += 1;
        folder.path().join(format!("{name}-{trials}"))
    };
    let reference = fresh("all");
    let report = merge_all(&sources, &reference);
    let expected = content(&reference);
    // Every answer that differs is counted.
    let planted = planted_conflicts(&sources);
    assert!(planted > 10, "{planted}");
    assert_eq!(report.conflicts, planted);
    for trial in 0..12 {
        let mut chance = Chance::new(100 + trial);
        // Some sources, and what was merged of them before, go here and there …
        let mut known = sources.clone();
        for _ in 0..chance.below(4) {
            let target = fresh("part");
            for _ in 0..=chance.below(3) {
                let n = 1 + chance.below(known.len());
                let picked: Vec<PathBuf> =
                    chance.shuffled(known.clone()).into_iter().take(n).collect();
                merge_all(&picked, &target);
            }
            known.push(target);
        }
        // … and all of it, in some order, into one.
        let whole = fresh("whole");
        for dir in chance.shuffled(known.clone()) {
            merge_all(&[dir], &whole);
        }
        for _ in 0..chance.below(3) {
            let again = known[chance.below(known.len())].clone();
            merge_all(&[again], &whole);
        }
        let found = content(&whole);
        assert!(
            found == expected,
            "trial {trial}: {}",
            first_difference(&expected, &found)
        );
        // A subset too comes to one thing, in whatever order.
        let n = 1 + chance.below(sources.len() - 1);
        let subset: Vec<PathBuf> = chance
            .shuffled(sources.clone())
            .into_iter()
            .take(n)
            .collect();
        let (one, other) = (fresh("one"), fresh("other"));
        merge_all(&subset, &one);
        for dir in chance.shuffled([subset.clone(), subset].concat()) {
            merge_all(&[dir], &other);
        }
        let (one, other) = (content(&one), content(&other));
        assert!(
            one == other,
            "subset {trial}: {}",
            first_difference(&one, &other)
        );
    }
}

fn first_difference(one: &[String], other: &[String]) -> String {
    let mut pairs = one.iter().zip(other);
    let found = pairs.find(|(a, b)| a != b);
    found.map_or_else(|| "lengths".into(), |(a, b)| format!("{a}\n{b}"))
}

/// Answers beyond the first that segments have for the same key, counted from the files.
fn planted_conflicts(sources: &[PathBuf]) -> usize {
    let mut outputs: HashMap<String, Vec<String>> = HashMap::new();
    for path in sources.iter().flat_map(|dir| super::segments(dir)) {
        let store = rusqlite::Connection::open(path).unwrap();
        let mut statement = store
            .prepare(
                "SELECT hex(e.key), hex(r.output) || coalesce(r.removed, '') FROM responses r
                 JOIN examples e ON e.id = r.example",
            )
            .unwrap();
        let found = statement.query_map((), |row| Ok((row.get(0)?, row.get(1)?)));
        for (key, output) in found.unwrap().map(Result::unwrap) {
            let known = outputs.entry(key).or_default();
            if !known.contains(&output) {
                known.push(output);
            }
        }
    }
    outputs.values().map(|known| known.len() - 1).sum()
}

/// Two attempts at shard 0 of 2: the first is halted until the second is done. The merged folder,
/// what the merge said, and how often was asked.
#[cfg(unix)]
fn zombie(
    folder: &Path,
    path: &Path,
    answer: impl Fn(&Request) -> String + Send + Sync + 'static,
) -> (PathBuf, Done, usize) {
    let server = ChatServer::start(move |request: &Request| {
        Reply::text(answer(request)).after(Duration::from_millis(20))
    });
    let dir = folder.join("bench");
    let url = server.url();
    let with = ["--proxy", &url, "--name", "p", "-q", "--timeout", "600"];
    let with = [&with[..], &["--max-workers", "1", "--dataset", arg(path)]].concat();
    let first = command()
        .args(["--shard", "0/2", "--cache-dir", arg(&dir)])
        .args(&with)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    assert!(server.wait_for_requests(1, Duration::from_secs(600)));
    signal(&first, "-STOP");
    let done = shard("0/2", &dir, &with);
    assert_eq!(done.code, 0, "{done}");
    signal(&first, "-CONT");
    let ended = first.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(0), "{ended:?}");
    let done = shard("1/2", &dir, &with);
    assert_eq!(done.code, 0, "{done}");
    let merged = merge(&dir, &[]);
    (dir, merged, server.request_count())
}

#[cfg(unix)]
#[test]
fn an_attempt_that_was_thought_dead_does_no_harm() {
    let (folder, path) = questions(30);
    let server = ChatServer::start(|request: &Request| Reply::text(decided_answer(request)));
    let single = folder.path().join("single");
    let url = server.url();
    let with = [
        "--proxy",
        &url,
        "--name",
        "p",
        "-q",
        "--dataset",
        arg(&path),
    ];
    let done = run(&[&with[..], &["--cache-dir", arg(&single)]].concat());
    assert_eq!(done.code, 0, "{done}");
    let (dir, merged, asked) = zombie(folder.path(), &path, decided_answer);
    assert_eq!(merged.code, 0, "{merged}");
    assert!(!merged.stderr.contains("differ"), "{merged}");
    assert!(asked > 30, "{asked}");
    // The port of the endpoint is not the same; nothing else may differ.
    let mut found = results(&dir, "merged");
    let mut expected = results(&single, "last");
    for result in [&mut found, &mut expected] {
        result.as_object_mut().unwrap().shift_remove("config");
    }
    assert!(found == expected, "{found}\n{expected}");
}

/// Where the attempts were answered differently, a merged row is all of one of them: text, scores
/// and tokens of the same answer.
#[cfg(unix)]
#[test]
fn answers_of_two_attempts_are_never_mixed() {
    let (folder, path) = questions(30);
    let (dir, merged, asked) = zombie(folder.path(), &path, |request| {
        let n = request.index;
        format!("Paris {}", format!("{n} ").repeat(1 + n * 5 % 17))
    });
    assert_eq!(merged.code, 0, "{merged}");
    let twice = asked - 30;
    assert!(twice > 0);
    let told = format!("{twice} answers differ");
    assert!(merged.stderr.contains(&told), "{merged}");
    // Each attempt by itself.
    let mut alone: HashMap<String, Vec<Value>> = HashMap::new();
    for (n, segment) in super::segments(&dir).iter().enumerate() {
        let own = folder.path().join(format!("alone-{n}"));
        fs::create_dir(&own).unwrap();
        fs::copy(segment, own.join("store.sqlite")).unwrap();
        for row in rows_with_texts(&own, "last") {
            let id = row["example_id"].to_string();
            alone.entry(id).or_default().push(row);
        }
    }
    let rows = rows_with_texts(&dir, "merged");
    assert_eq!(rows.len(), 30);
    for row in rows {
        let attempts = &alone[&row["example_id"].to_string()];
        assert!(attempts.contains(&row), "{row}\nis none of\n{attempts:?}");
    }
    // In the table too, which viewers and SQL read.
    let store = rusqlite::Connection::open(dir.join("store.sqlite")).unwrap();
    let mixed: i64 = store
        .query_row(
            "SELECT count(*) FROM run_rows w JOIN scores c ON c.response = w.response
             JOIN scorers k ON k.id = c.scorer AND k.name = 'tokens'
             WHERE w.output_tokens <> json_extract(c.scores, '$.output_tokens')",
            (),
            |row| row.get(0),
        )
        .unwrap();
    assert_eq!(mixed, 0);
}

fn rows_with_texts(dir: &Path, id: &str) -> Vec<Value> {
    let done = run(&["export", id, "--cache-dir", arg(dir), "--output", "json"]);
    let mut result = done.json();
    let rows = result["rows"].as_array_mut().unwrap();
    std::mem::take(rows)
}
