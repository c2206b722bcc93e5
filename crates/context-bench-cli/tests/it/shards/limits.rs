//! Limits and keys over all shards.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use context_bench_testkit::{ChatServer, Reply};

use super::merge;
use crate::program::{arg, command, questions, run};

/// Four processes at once with `--rps 100`. With one call in flight each, a process can be late with
/// one request only: in a window of `w` seconds a fourth of the rate allows 25·w requests, 1.25 after
/// a quiet time, the one at the beginning of the window and one that is late, whatever the machine
/// does. Without its share each would send up to 100 in a second.
#[test]
fn four_processes_keep_to_the_rate_of_one_run() {
    let server = ChatServer::builder()
        .record_bodies(false)
        .start(|_| Reply::text("Paris"));
    let (folder, path) = questions(440);
    let dir = folder.path().join("bench");
    let url = server.url();
    let with = ["--proxy", &url, "--rps", "100", "--max-workers", "1", "-q"];
    let children: Vec<_> = (0..4)
        .map(|index| {
            let which = format!("{index}/4");
            command()
                .args(["--shard", &which, "--cache-dir", arg(&dir)])
                .args(with)
                .args(["--dataset", arg(&path)])
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .unwrap()
        })
        .collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    let mut arrived: Vec<Instant> = server.requests().iter().map(|one| one.at).collect();
    assert_eq!(arrived.len(), 440);
    arrived.sort();
    for (seconds, most) in [(1, 112), (3, 3 * 105)] {
        let window = Duration::from_secs(seconds);
        for (at, from) in arrived.iter().enumerate() {
            let seen = arrived[at..]
                .iter()
                .take_while(|one| **one - *from < window);
            let seen = seen.count();
            assert!(seen <= most, "{seen} requests in {seconds} s");
        }
    }
    let merged = merge(&dir, &[]);
    assert_eq!(merged.code, 0, "{merged}");
}

/// The endpoint repeats the key in its errors, as some do.
#[test]
fn keys_are_in_no_file_and_no_output() {
    const KEY: &str = "sk-planted-7f3a9c51e2d84b60";
    let server = ChatServer::start(|request| match request.index % 3 {
        0 => Reply::status(400).message(format!("bad request with key {KEY}")),
        _ => Reply::text("Paris"),
    });
    let (folder, path) = questions(12);
    let dir = folder.path().join("bench");
    let scratch = folder.path().join("scratch");
    let url = server.url();
    let mut told = Vec::new();
    for which in ["0/2", "1/2"] {
        let mut child = command();
        child.env("OPENAI_API_KEY", KEY);
        child.args(["--shard", which, "--cache-dir", arg(&dir), "--proxy", &url]);
        child.args(["--name", "p", "--dataset", arg(&path), "--max-retries", "0"]);
        child.args(["--scratch", arg(&scratch), "--publish-every", "0.01"]);
        child.args(["--output", "json", "--max-error-rate", "1"]);
        let output = child.output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        told.extend([output.stdout, output.stderr]);
    }
    assert!(server.requests().iter().all(|request| {
        request.headers.get("authorization") == Some(format!("Bearer {KEY}").as_str())
    }));
    let list = folder.path().join("conflicts.jsonl");
    let done = merge(&dir, &["--conflicts", arg(&list)]);
    assert_eq!(done.code, 3, "{done}");
    told.extend([done.stdout.into(), done.stderr.into()]);
    for format in ["json", "jsonl", "csv", "table", "html"] {
        let args = ["export", "merged", "--cache-dir", arg(&dir), "--output"];
        let done = run(&[&args[..], &[format]].concat());
        told.extend([done.stdout.into(), done.stderr.into()]);
    }
    let mut files = Vec::new();
    files_below(&dir, &mut files);
    assert!(files.len() >= 3, "{files:?}");
    files.push(list);
    for file in files {
        let bytes = fs::read(&file).unwrap();
        assert!(!holds(&bytes, KEY), "{}", file.display());
    }
    for text in told {
        assert!(!holds(&text, KEY), "{}", String::from_utf8_lossy(&text));
    }
    // Nothing is left where the shards worked.
    let mut left = Vec::new();
    files_below(&scratch, &mut left);
    assert!(left.is_empty(), "{left:?}");
}

fn holds(bytes: &[u8], key: &str) -> bool {
    bytes.windows(key.len()).any(|part| part == key.as_bytes())
}

fn files_below(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => files_below(&path, found),
            false => found.push(path),
        }
    }
}
