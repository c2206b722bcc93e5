//! Processes that are lost, and runs that go on elsewhere: what is stored is never asked for again.

use std::fs;
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use context_bench_testkit::{ChatServer, Reply, Request};

use super::kit::{Chance, Published, decided_answer};
use super::{merge, results, shard};
use crate::program::{arg, command, questions, run};

fn start(args: &[&str]) -> Child {
    let mut command = command();
    command.args(args).stdout(Stdio::null());
    command.stderr(Stdio::null()).spawn().unwrap()
}

/// Twenty rounds of `kill -9` at random times. A second hand could not hold on a slow machine, so
/// the endpoint keeps to the bound instead: it answers no more than `INTERVAL` requests beyond what
/// is published. A shard that did not publish would wait for ever, and one that asked again for what
/// it published would go beyond the bound.
#[test]
fn a_killed_process_loses_calls_in_flight_and_one_interval() {
    const ROWS: usize = 300;
    const ROUNDS: usize = 20;
    const WORKERS: usize = 4;
    const INTERVAL: usize = 16;
    let allowed = Arc::new(AtomicUsize::new(INTERVAL));
    let answered = Arc::new(AtomicUsize::new(0));
    let gate = (Arc::clone(&allowed), Arc::clone(&answered));
    let server = ChatServer::builder()
        // Those of processes that are gone wait too.
        .workers(WORKERS * 4)
        .start(move |request: &Request| {
            let (allowed, answered) = &gate;
            let may = |n: usize| (n < allowed.load(Ordering::SeqCst)).then_some(n + 1);
            while answered
                .fetch_update(Ordering::SeqCst, Ordering::SeqCst, may)
                .is_err()
            {
                std::thread::sleep(Duration::from_millis(1));
            }
            Reply::text(decided_answer(request))
        });
    let (folder, path) = questions(ROWS);
    let dir = folder.path().join("bench");
    let (url, workers) = (server.url(), WORKERS.to_string());
    let with = ["--proxy", &url, "--name", "p", "-q", "--timeout", "3600"];
    let more = ["--max-workers", &workers, "--publish-every", "0.05"];
    let with = [&with[..], &more, &["--dataset", arg(&path)]].concat();
    let args = [&["--shard", "0/1", "--cache-dir", arg(&dir)][..], &with].concat();
    let mut published = Published::default();
    let mut chance = Chance::new(4);
    let mut killed = 0;
    for _ in 0..ROUNDS {
        let before = published.count(&dir);
        // What was answered and not published is lost, and counts no longer.
        answered.store(before, Ordering::SeqCst);
        allowed.store(before + INTERVAL, Ordering::SeqCst);
        let mut child = start(&args);
        let until = (before + chance.below(25)).min(ROWS - 1);
        let asked = server.request_count() + chance.below(3);
        loop {
            let now = published.count(&dir);
            allowed.store(now + INTERVAL, Ordering::SeqCst);
            if now >= until && server.request_count() >= asked {
                break;
            }
            if child.try_wait().unwrap().is_some() {
                break;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        std::thread::sleep(Duration::from_millis(chance.below(40) as u64));
        killed += usize::from(child.try_wait().unwrap().is_none());
        let _ = child.kill();
        let _ = child.wait();
    }
    assert!(killed >= ROUNDS / 2, "{killed} of {ROUNDS} were killed");
    allowed.store(usize::MAX, Ordering::SeqCst);
    let done = run(&args);
    assert_eq!(done.code, 0, "{done}");
    let (sent, bound) = (server.request_count(), ROWS + ROUNDS * (WORKERS + INTERVAL));
    assert!(sent <= bound, "{sent} requests, at most {bound}");
    let merged = merge(&dir, &[]);
    assert_eq!(merged.code, 0, "{merged}");
    assert_eq!(results(&dir, "merged")["counts"]["p"]["scored"], ROWS);
    // No row differs from those of a process that nobody killed.
    let single = folder.path().join("single");
    let done = run(&[
        &with[..9],
        &["--dataset", arg(&path), "--cache-dir", arg(&single)],
    ]
    .concat());
    assert_eq!(done.code, 0, "{done}");
    let (found, expected) = (results(&dir, "merged"), results(&single, "last"));
    assert!(found["rows"] == expected["rows"]);
    assert!(found["summary"] == expected["summary"]);
}

/// Four shards, each ended in the middle; the folder is moved, and six go on.
#[cfg(unix)]
#[test]
fn half_done_shards_go_on_in_another_folder_with_another_number() {
    const ROWS: usize = 240;
    let server = ChatServer::start(|request: &Request| {
        Reply::text(decided_answer(request)).after(Duration::from_millis(10))
    });
    let (folder, path) = questions(ROWS);
    let url = server.url();
    let with = ["--proxy", &url, "--name", "p", "-q", "--max-workers", "2"];
    let here = folder.path().join("here");
    for index in 0..4 {
        let which = format!("{index}/4");
        let before = server.request_count();
        let args = ["--shard", &which, "--cache-dir", arg(&here)];
        let mut child = start(&[&args[..], &with, &["--dataset", arg(&path)]].concat());
        // A shard has about 60.
        assert!(server.wait_for_requests(before + 15, Duration::from_secs(600)));
        crate::program::signal(&child, "-TERM");
        let ended = child.wait().unwrap();
        assert_eq!(ended.code(), Some(130), "shard {which}");
    }
    let paid = server.request_count();
    assert!(paid < ROWS, "{paid}");
    let there = folder.path().join("elsewhere").join("there");
    fs::create_dir_all(there.parent().unwrap()).unwrap();
    fs::rename(&here, &there).unwrap();
    let moved = there.with_file_name(path.file_name().unwrap());
    fs::rename(&path, &moved).unwrap();
    let merged = merge(&there, &[]);
    assert_eq!(merged.code, 3, "{merged}");
    assert!(merged.stdout.contains("0 of 4 shards"), "{merged}");
    // What is merged need not be there as segments any more.
    fs::remove_dir_all(there.join("shards")).unwrap();
    for index in 0..6 {
        let which = format!("{index}/6");
        let done = shard(
            &which,
            &there,
            &[&with[..], &["--dataset", arg(&moved)]].concat(),
        );
        assert_eq!(done.code, 0, "{done}");
    }
    assert_eq!(server.request_count(), ROWS, "{paid} were paid for before");
    let merged = merge(&there, &[]);
    assert_eq!(merged.code, 0, "{merged}");
    assert!(merged.stdout.contains("6 of 6 shards, 100 % of rows"));
    assert_eq!(results(&there, "merged")["counts"]["p"]["scored"], ROWS);
}
