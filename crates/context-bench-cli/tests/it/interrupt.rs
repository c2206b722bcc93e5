//! Ctrl-C: once finishes what is in flight, twice stops now.
#![cfg(unix)]

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use context_bench_testkit::{ChatServer, Reply};

use crate::program::{arg, command, questions, run, signal};

/// So long that no machine needs it.
const PATIENCE: Duration = Duration::from_secs(120);

fn interrupt(child: &Child) {
    signal(child, "-INT");
}

fn end(mut child: Child) -> (Option<i32>, String, String) {
    let (mut stdout, mut stderr) = (String::new(), String::new());
    child
        .stdout
        .take()
        .unwrap()
        .read_to_string(&mut stdout)
        .unwrap();
    child
        .stderr
        .take()
        .unwrap()
        .read_to_string(&mut stderr)
        .unwrap();
    (child.wait().unwrap().code(), stdout, stderr)
}

fn start(server: &ChatServer, path: &str, more: &[&str]) -> Child {
    let mut command = command();
    command
        .args(["--proxy", &server.url(), "--dataset", path])
        .args(more);
    command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

#[test]
fn once_finishes_what_is_in_flight_and_prints_what_is_there() {
    let server = ChatServer::start(|_| Reply::text("Paris").after(Duration::from_millis(300)));
    let (_folder, path) = questions(500);
    let child = start(
        &server,
        arg(&path),
        &["--max-workers", "4", "--output", "json"],
    );
    assert!(server.wait_for_requests(6, PATIENCE));
    interrupt(&child);
    let (code, stdout, stderr) = end(child);
    assert_eq!(code, Some(130), "{stderr}");
    assert!(stderr.contains("interrupted"), "{stderr}");
    let result: serde_json::Value = serde_json::from_str(&stdout).unwrap();
    let counts = &result["counts"]["127.0.0.1"];
    // What was asked was waited for: nothing in flight was thrown away.
    assert_eq!(
        counts["scored"].as_u64().unwrap() as usize,
        server.request_count()
    );
    assert_eq!(counts["planned"], 500);
    assert_eq!(result["interrupted"], true);
    assert!(server.request_count() < 500);
}

#[test]
fn twice_stops_now() {
    let server = ChatServer::start(|_| Reply::hang());
    let (_folder, path) = questions(50);
    let mut child = start(
        &server,
        arg(&path),
        &["--max-workers", "4", "--timeout", "600"],
    );
    assert!(server.wait_for_requests(4, PATIENCE));
    interrupt(&child);
    // Two signals that come together are one: the second is sent when the first was heard.
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut said = String::new();
    while !said.contains("interrupted: ") {
        assert_ne!(stderr.read_line(&mut said).unwrap(), 0, "{said}");
    }
    interrupt(&child);
    // Nobody ever answers: to wait for what is in flight would take ten minutes.
    let until = Instant::now() + PATIENCE;
    while child.try_wait().unwrap().is_none() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(5));
    }
    let status = child.try_wait().unwrap();
    let _ = child.kill();
    assert_eq!(status.and_then(|status| status.code()), Some(130), "{said}");
}

#[test]
fn a_part_of_a_run_stays_a_part_when_it_is_scored_anew() {
    let server = ChatServer::start(|_| Reply::text("Paris").after(Duration::from_millis(100)));
    let (folder, path) = questions(500);
    let cache = folder.path().join("cache");
    let child = start(&server, arg(&path), &["--cache-dir", arg(&cache), "-q"]);
    assert!(server.wait_for_requests(3, PATIENCE));
    interrupt(&child);
    assert_eq!(end(child).0, Some(130));
    for _ in 0..2 {
        let args = ["rescore", "last", "--cache-dir", arg(&cache)];
        let done = run(&[&args[..], &["--output", "json", "-q"]].concat());
        // This command was not interrupted itself, and its numbers are a part.
        assert_eq!(done.code, 3, "{done}");
        assert_eq!(done.json()["interrupted"], true);
        assert_eq!(done.json()["unfinished"]["how"], "was interrupted");
        let counts = &done.json()["counts"]["127.0.0.1"];
        let [planned, scored, not_begun] =
            ["planned", "scored", "not_begun"].map(|key| counts[key].as_u64().unwrap());
        assert_eq!((planned, scored + not_begun), (500, 500), "{done}");
        assert!(
            done.stderr
                .contains("was interrupted: examples that it did not reach"),
            "{done}"
        );
    }
}

/// Starts a run, closes its terminal for it, and lets it end.
fn hung_up(nohup: bool) -> (Option<i32>, serde_json::Value, String) {
    let go_on = Arc::new(AtomicBool::new(false));
    let may = Arc::clone(&go_on);
    let server = ChatServer::start(move |_| {
        // In flight until the signal is sent.
        while !may.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(2));
        }
        Reply::text("Paris")
    });
    let (folder, path) = questions(40);
    let cache = folder.path().join("cache");
    let script = match nohup {
        true => "trap '' HUP; exec \"$@\"",
        // The tests themselves may run under `nohup`.
        false => "exec env --default-signal=HUP \"$@\"",
    };
    let mut command = Command::new("sh");
    command.args(["-c", script, "sh", env!("CARGO_BIN_EXE_context-bench")]);
    command.args(["--proxy", &server.url(), "--dataset", arg(&path)]);
    command.args(["--cache-dir", arg(&cache), "--output", "json"]);
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    assert!(server.wait_for_requests(1, PATIENCE));
    signal(&child, "-HUP");
    let mut said = String::new();
    if !nohup {
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        while !said.contains("interrupted: ") {
            assert_ne!(stderr.read_line(&mut said).unwrap(), 0, "{said}");
        }
        child.stderr = Some(stderr.into_inner());
    }
    go_on.store(true, Ordering::Relaxed);
    let (code, stdout, stderr) = end(child);
    let json = serde_json::from_str(&stdout).unwrap_or_else(|error| panic!("{error}: {stderr}"));
    (code, json, said + &stderr)
}

#[test]
fn a_terminal_that_goes_away_ends_the_run_in_order() {
    let (code, result, stderr) = hung_up(false);
    assert_eq!(code, Some(130), "{stderr}");
    assert!(stderr.contains("stored as run"), "{stderr}");
    let counts = &result["counts"]["127.0.0.1"];
    assert_eq!(counts["planned"], 40);
    let (scored, not_begun) = (&counts["scored"], &counts["not_begun"]);
    assert!(scored.as_u64().unwrap() >= 1, "{counts}");
    assert_eq!(scored.as_u64().unwrap() + not_begun.as_u64().unwrap(), 40);
    let part = format!("part of a run that was stopped: {not_begun} of 40 rows not begun");
    assert_eq!(result["part_of"], part);
}

#[cfg(target_os = "linux")]
#[test]
fn a_run_that_shall_outlive_its_terminal_does() {
    let (code, result, stderr) = hung_up(true);
    assert_eq!(code, Some(0), "{stderr}");
    assert_eq!(result["counts"]["127.0.0.1"]["scored"], 40);
    assert!(result.get("part_of").is_none());
}
