//! Ctrl-C: once finishes what is in flight, twice stops now.
#![cfg(unix)]

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use context_bench_testkit::{ChatServer, Reply};

use crate::program::{arg, command, questions, run};

/// So long that no machine needs it.
const PATIENCE: Duration = Duration::from_secs(120);

fn interrupt(child: &Child) {
    let status = Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status();
    assert!(status.unwrap().success());
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
        assert_eq!(done.code, 130, "{done}");
        assert_eq!(done.json()["interrupted"], true);
        assert!(done.stderr.contains("the run was interrupted"), "{done}");
    }
}
