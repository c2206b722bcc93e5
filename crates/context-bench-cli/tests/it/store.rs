//! Runs that survive: resumed, re-scored, shared, and honest about what is lost.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use context_bench::store::{Store, StoredOutcome};
use context_bench_testkit::{ChatServer, Fault, Reply, handlers};
use serde_json::Value;

use crate::program::{Done, answers_in, arg, command, questions, run, run_with, write_questions};

/// The ids of all examples for which the store holds an answer.
fn answered(cache: &Path) -> HashSet<String> {
    let store = Store::open(cache).unwrap().store;
    let mut ids = HashSet::new();
    for run in store.runs().unwrap() {
        for row in store.run_rows(&run) {
            let row = row.unwrap();
            if matches!(row.outcome, StoredOutcome::Response { .. }) {
                ids.insert(row.example_id.to_string());
            }
        }
    }
    ids
}

/// How often each example was asked, by the number in its question.
fn asked(server: &ChatServer) -> HashMap<String, usize> {
    let mut asked = HashMap::new();
    for request in server.requests() {
        let question = request.body["messages"][1]["content"].as_str().unwrap();
        let number = question["Number ".len()..].split(':').next().unwrap();
        *asked.entry(format!("q{number}")).or_default() += 1;
    }
    asked
}

fn without_times(result: &Value) -> Value {
    let mut result = result.clone();
    for row in result["rows"].as_array_mut().unwrap() {
        let row = row.as_object_mut().unwrap();
        for key in ["latency", "call", "cached"] {
            row.shift_remove(key);
        }
    }
    for summary in result["summary"].as_object_mut().unwrap().values_mut() {
        summary
            .as_object_mut()
            .unwrap()
            .retain(|key, _| !key.starts_with("latency") && !key.starts_with("connect"));
    }
    let keep = ["rows", "summary", "config"];
    result
        .as_object_mut()
        .unwrap()
        .retain(|key, _| keep.contains(&key.as_str()));
    result
}

#[test]
fn killed_fifty_times_a_run_ends_as_if_nothing_had_happened() {
    let server = ChatServer::start(|request| {
        // Some answers are wrong, so that the scores differ from row to row.
        let right = request.last_user_content().len() % 3 != 0;
        let text = if right {
            "Paris"
        } else {
            "It may be Paris or Rome"
        };
        Reply::text(text).after(Duration::from_millis(4))
    });
    let (folder, path) = questions(2000);
    let cache = folder.path().join("cache");
    let start = |output: &str, with_cache: bool| {
        let mut command = command();
        command.args([
            "--proxy",
            &server.url(),
            "--dataset",
            arg(&path),
            "--name",
            "p",
        ]);
        command.args(["--max-workers", "8", "--output", output, "-q"]);
        if with_cache {
            command.args(["--cache-dir", arg(&cache)]);
        }
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    };
    let mut seed = 0x9e37_79b9_u64;
    let mut answered_before: HashMap<String, usize> = HashMap::new();
    let mut moments = 0;
    for round in 0..50 {
        let sent = server.request_count();
        let stored = answers_in(&cache);
        // Nobody reads its pipes, so it gets none.
        let mut child = start("json", true)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        // A run that finds everything stored sends nothing and just ends.
        while server.request_count() == sent && child.try_wait().unwrap().is_none() {
            std::thread::sleep(Duration::from_millis(1));
        }
        seed = seed
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        std::thread::sleep(Duration::from_millis(seed >> 33 & 127));
        // Sometimes not before something new is stored, however long that takes.
        while round % 5 == 0 && answers_in(&cache) == stored && child.try_wait().unwrap().is_none()
        {
            std::thread::sleep(Duration::from_millis(1));
        }
        if child.try_wait().unwrap().is_none() {
            child.kill().unwrap();
            moments += 1;
        }
        child.wait().unwrap();
        let asked = asked(&server);
        for id in answered(&cache) {
            // Nothing that was finished before is asked for again.
            let count = asked.get(&id).copied().unwrap_or(0);
            let before = *answered_before.entry(id.clone()).or_insert(count);
            assert_eq!(before, count, "{id} was asked again");
        }
    }
    assert!(moments > 10, "only {moments} kills hit a running process");
    assert!(!answered_before.is_empty());
    let resumed = run_with(&mut start("json", true));
    assert_eq!(resumed.code, 0, "{}", resumed.stderr);
    let asked = asked(&server);
    assert!(
        answered_before
            .iter()
            .all(|(id, count)| asked[id] == *count)
    );
    let counts = &resumed.json()["counts"]["p"];
    assert_eq!(counts["scored"], 2000);
    assert!(counts["cached"].as_u64().unwrap() as usize >= answered_before.len());

    let whole = run_with(&mut start("json", false));
    assert_eq!(without_times(&resumed.json()), without_times(&whole.json()));
    let sent = server.request_count();
    let again = run_with(&mut start("json", true));
    assert_eq!(again.json()["counts"]["p"]["cached"], 2000);
    assert_eq!(
        server.request_count(),
        sent,
        "a finished run asks for nothing"
    );
}

#[test]
fn a_damaged_store_is_reported_and_nothing_wrong_is_served() {
    let server = ChatServer::start(handlers::echo_last_user());
    let (folder, path) = questions(60);
    let url = server.url();
    let args = |cache: &str| -> Vec<String> {
        [
            "--proxy",
            &url,
            "--dataset",
            arg(&path),
            "--name",
            "p",
            "--output",
            "json",
            "-q",
            "--cache-dir",
            cache,
        ]
        .map(str::to_owned)
        .to_vec()
    };
    let go = |cache: &str| {
        let args = args(cache);
        run(&args.iter().map(String::as_str).collect::<Vec<_>>())
    };
    let truth = without_times(&go(arg(&folder.path().join("whole"))).json());
    for seed in 0..6_usize {
        let cache = folder.path().join(format!("cache {seed}"));
        assert_eq!(go(arg(&cache)).code, 0);
        // One file holds everything. It is hurt: bits flipped, or the tail cut off.
        let log = fs::metadata(cache.join("store.sqlite-wal"));
        assert_eq!(log.map_or(0, |log| log.len()), 0, "the log is folded in");
        let file = cache.join("store.sqlite");
        let mut bytes = fs::read(&file).unwrap();
        if seed % 2 == 0 {
            for i in 0..40 {
                let at = 100 + (seed * 7919 + i * 104_729) % (bytes.len() - 100);
                bytes[at] ^= 1 << (i % 8);
            }
        } else {
            bytes.truncate(bytes.len() * (seed + 1) / 8);
        }
        fs::write(&file, bytes).unwrap();
        let done = go(arg(&cache));
        assert!(done.code == 0 || done.code == 3, "{done}");
        assert!(!done.stderr.contains("panicked"), "{done}");
        assert_eq!(without_times(&done.json()), truth, "seed {seed}");
    }
}

#[test]
fn a_fault_in_half_of_the_replies_leaves_every_row_scored_or_failed() {
    let faults = [
        Fault::RateLimited { retry_after: None },
        Fault::ServerError(500),
        Fault::Reset,
        Fault::Hang,
        Fault::Truncated,
    ];
    let server = ChatServer::start(handlers::flaky(3, 0.5, faults, handlers::constant("Paris")));
    let (_folder, path) = questions(100);
    let done = run(&[
        "--proxy",
        &server.url(),
        "--dataset",
        arg(&path),
        "--name",
        "p",
        "--max-workers",
        "25",
        "--max-retries",
        "2",
        "--timeout",
        "5",
        "--output",
        "json",
        "-q",
    ]);
    assert!(done.code == 0 || done.code == 3, "{done}");
    let result = done.json();
    let counts = &result["counts"]["p"];
    let count = |key: &str| counts[key].as_u64().unwrap();
    assert_eq!(count("planned"), 100);
    assert_eq!(count("scored") + count("failed") + count("unscored"), 100);
    assert!(count("scored") > 70 && count("failed") > 0, "{counts}");
    assert!(count("requests") <= 300, "{counts}");
    for row in result["rows"].as_array().unwrap() {
        let reason = row["error"]["message"].as_str();
        assert!(
            row["scores"]["f1"] == 1.0 || reason.is_some_and(|r| !r.is_empty()),
            "{row}"
        );
    }
}

#[test]
fn another_evaluator_or_threshold_calls_no_system() {
    let server = ChatServer::start(handlers::constant("Paris"));
    let judge = ChatServer::start(handlers::constant("4"));
    let (folder, path) = questions(10);
    let cache = folder.path().join("cache");
    let (url, judge_url) = (server.url(), judge.url());
    let base = [
        "--proxy",
        &url,
        "--dataset",
        arg(&path),
        "--name",
        "p",
        "--cache-dir",
        arg(&cache),
        "-q",
    ];
    assert_eq!(run(&base).code, 0);
    assert_eq!(server.request_count(), 10);
    let judged = [
        &base[..],
        &[
            "--judge-url",
            &judge_url,
            "--score-field",
            "judge_score",
            "--output",
            "json",
        ],
    ]
    .concat();
    let done = run(&judged);
    assert_eq!(done.json()["summary"]["p"]["mean_score"], 0.75, "{done}");
    assert_eq!((server.request_count(), judge.request_count()), (10, 10));
    // The judge's answers are kept as well.
    assert_eq!(run(&judged).json()["counts"]["p"]["cached"], 10);
    assert_eq!(judge.request_count(), 10);

    let store = ["--cache-dir", arg(&cache), "-q"];
    let rescored = run(&[
        &[
            "rescore",
            "last",
            "--score-field",
            "contains",
            "--threshold",
            "1",
            "--output",
            "json",
        ],
        &store[..],
    ]
    .concat());
    assert_eq!(rescored.code, 0, "{rescored}");
    assert_eq!(rescored.json()["summary"]["p"]["pass_rate"], 1.0);
    assert_eq!(server.request_count(), 10);

    let runs = run(&["runs", "--cache-dir", arg(&cache), "--output", "json"]).json();
    assert_eq!(runs.as_array().unwrap().len(), 4, "{runs}");
    let first = runs[0]["id"].as_str().unwrap();
    let shown = run(&["runs", "show", first, "--cache-dir", arg(&cache)]);
    assert!(
        shown.stdout.contains("openai_proxy") && shown.stdout.contains("finished"),
        "{shown}"
    );
    let exported = run(&[
        "export",
        first,
        "--cache-dir",
        arg(&cache),
        "--output",
        "json",
    ]);
    assert_eq!(exported.code, 0, "{exported}");
    let exported = exported.json();
    assert_eq!(exported["rows"].as_array().unwrap().len(), 10);
    assert_eq!(exported["summary"]["p"]["mean_score"], 1.0);
    let csv = run(&[
        "export",
        "last",
        "--cache-dir",
        arg(&cache),
        "--output",
        "csv",
    ]);
    assert_eq!(csv.stdout.lines().count(), 11, "{csv}");
    let removed = run(&["runs", "remove", first, "--cache-dir", arg(&cache)]);
    assert!(removed.stderr.contains("removed run"), "{removed}");
    let missing = run(&["runs", "show", "nonsense", "--cache-dir", arg(&cache)]);
    missing.is_error(&["nonsense"]);
    // Responses that other runs refer to are still there.
    assert_eq!(run(&base).code, 0);
    assert_eq!(server.request_count(), 10);
}

#[test]
fn two_processes_share_a_store() {
    let server = ChatServer::start(|_| Reply::text("Paris").after(Duration::from_millis(2)));
    let (folder, first) = questions(300);
    let second = folder.path().join("other.jsonl");
    write_questions(&second, 450);
    let cache = folder.path().join("cache");
    let start = |path: &Path| {
        let mut command = command();
        command.args([
            "--proxy",
            &server.url(),
            "--dataset",
            arg(path),
            "--name",
            "p",
        ]);
        command.args([
            "--cache-dir",
            arg(&cache),
            "--max-workers",
            "4",
            "--output",
            "json",
            "-q",
        ]);
        command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    };
    let (a, b) = (start(&first), start(&second));
    for (child, n) in [(a, 300), (b, 450)] {
        let output = child.wait_with_output().unwrap();
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        let result: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(result["counts"]["p"]["scored"], n);
        assert!(
            result["store"].get("failure").is_none(),
            "{}",
            result["store"]
        );
    }
}

#[test]
fn a_store_that_cannot_be_written_does_not_cost_the_results() {
    let (folder, path) = questions(20);
    let file = folder.path().join("a file");
    fs::write(&file, "not a folder").unwrap();
    let base = [
        "--system",
        "passthrough",
        "--dataset",
        arg(&path),
        "-q",
        "--cache-dir",
    ];
    let done = run(&[&base[..], &[arg(&file)]].concat());
    assert_eq!(done.code, 3, "{done}");
    assert!(done.stdout.contains("20/0"), "{done}");
    assert_eq!(
        done.stderr.matches("continues in memory").count(),
        1,
        "{done}"
    );
}

#[cfg(unix)]
#[test]
fn a_full_disk_does_not_cost_the_results() {
    let (folder, path) = questions(3000);
    let cache = folder.path().join("cache");
    // Files may grow to 200 KB only; writing more fails as on a full disk.
    let script = format!(
        "trap '' XFSZ; ulimit -f 200; exec '{}' --system passthrough --dataset '{}' -q --cache-dir '{}'",
        env!("CARGO_BIN_EXE_context-bench"),
        arg(&path),
        arg(&cache)
    );
    let output = Command::new("bash").args(["-c", &script]).output().unwrap();
    let done = Done {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
        took: Duration::ZERO,
    };
    assert_eq!(done.code, 3, "{done}");
    assert!(done.stdout.contains("3000/0"), "{done}");
    assert_eq!(
        done.stderr.matches("went on in memory").count(),
        1,
        "{done}"
    );
}

#[test]
fn no_file_holds_a_secret() {
    const SECRETS: [&str; 5] = ["hunter22", "sk-top-4711", "tok-9911", "hdr-66", "incmd-55"];
    let server = ChatServer::start(handlers::constant("Paris"));
    let (folder, path) = questions(3);
    let cache = folder.path().join("cache");
    let url = server.url().replace("http://", "http://someone:hunter22@");
    let mut with_secrets = command();
    with_secrets
        .args([
            "--proxy",
            &url,
            "--dataset",
            arg(&path),
            "--cache-dir",
            arg(&cache),
        ])
        .args([
            "--extra-body",
            r#"{"user_token": "tok-9911", "headers": {"Authorization": "Bearer hdr-66"}}"#,
        ])
        .args(["--command", "true --key sk-incmd-55 --name=x"])
        .args([
            "--output-file",
            arg(&folder.path().join("out.json")),
            "--output",
            "json",
        ])
        .env("OPENAI_API_KEY", "sk-top-4711");
    let done = run_with(&mut with_secrets);
    // The command answers nothing; its words are what matters here.
    assert_eq!(done.code, 3, "{done}");
    assert_eq!(server.requests()[0].body["user_token"], "tok-9911");
    let shown = run(&["runs", "show", "last", "--cache-dir", arg(&cache)]);
    assert!(shown.stdout.contains("user_token"), "{shown}");
    let mut files = vec![folder.path().join("out.json")];
    files.extend(
        fs::read_dir(&cache)
            .unwrap()
            .map(|entry| entry.unwrap().path()),
    );
    assert!(files.len() > 1);
    for file in files {
        let bytes = fs::read(&file).unwrap();
        for secret in SECRETS {
            let found = bytes
                .windows(secret.len())
                .any(|window| window == secret.as_bytes());
            assert!(!found, "{secret} is in {}", file.display());
        }
    }
    for said in [done, shown] {
        for secret in SECRETS {
            assert!(!said.to_string().contains(secret), "{said}");
        }
    }
}

#[test]
fn limits_of_time_and_rate_are_kept() {
    let server = ChatServer::start(handlers::constant("Paris"));
    let (_folder, path) = questions(400);
    let url = server.url();
    let base = [
        "--proxy",
        &url,
        "--dataset",
        arg(&path),
        "--name",
        "p",
        "-q",
        "--output",
        "json",
    ];
    let paced = run(&[
        &base[..],
        &["-n", "12", "--rps", "10", "--max-workers", "12"],
    ]
    .concat());
    assert_eq!(paced.code, 0, "{paced}");
    assert!(paced.took > Duration::from_millis(900), "{:?}", paced.took);

    let slow = ChatServer::start(|_| Reply::text("Paris").after(Duration::from_millis(400)));
    let slow_url = slow.url();
    let base = [
        "--proxy",
        &slow_url,
        "--dataset",
        arg(&path),
        "--name",
        "p",
        "-q",
        "--output",
        "json",
    ];
    let done = run(&[&base[..], &["--max-time", "1", "--max-workers", "2"]].concat());
    assert_eq!(done.code, 75, "{done}");
    let counts = &done.json()["counts"]["p"];
    assert!(counts["scored"].as_u64().unwrap() < 50, "{counts}");
    assert_eq!(counts["planned"], 400);

    let silent = ChatServer::start(|_| Reply::hang());
    let silent_url = silent.url();
    let late = run(&[
        "--proxy",
        &silent_url,
        "--dataset",
        arg(&path),
        "--name",
        "p",
        "-n",
        "2",
        "--max-workers",
        "2",
        "--example-timeout",
        "3",
        "-q",
        "--output",
        "json",
    ]);
    assert_eq!(late.json()["rows"][0]["error"]["kind"], "timeout", "{late}");
    // The endpoint was asked all the same.
    assert_eq!(late.json()["counts"]["p"]["requests"], 2, "{late}");
    assert_eq!(silent.request_count(), 2);
}

#[test]
fn waiting_for_our_own_rate_is_never_too_late_and_ends_with_the_run() {
    let server = ChatServer::start(handlers::constant("Paris"));
    let (_folder, path) = questions(20);
    let url = server.url();
    let base = [
        "--proxy",
        &url,
        "--dataset",
        arg(&path),
        "--name",
        "p",
        "-q",
        "--output",
        "json",
        "--max-workers",
        "20",
    ];
    // The last ones wait for longer than they may take.
    let paced = run(&[&base[..], &["--rps", "3", "--example-timeout", "4"]].concat());
    assert_eq!(paced.code, 0, "{paced}");
    assert_eq!(paced.json()["counts"]["p"]["scored"], 20, "{paced}");
    let stopped = run(&[&base[..], &["--rps", "0.2", "--max-time", "1"]].concat());
    assert_eq!(stopped.code, 75, "{stopped}");
    let counts = &stopped.json()["counts"]["p"];
    assert_eq!(
        (&counts["planned"], &counts["failed"]),
        (&20.into(), &0.into())
    );
    assert_eq!(counts["scored"], counts["requests"], "{stopped}");
    // Nobody was asked whose turn would have come later.
    let asked = counts["requests"].as_u64().unwrap();
    assert!(asked < 20, "{stopped}");
    assert_eq!(server.request_count() as u64, 20 + asked, "{stopped}");
}

#[test]
fn the_number_of_workers_finds_itself() {
    let server = ChatServer::start(|_| Reply::text("Paris").after(Duration::from_millis(300)));
    let (_folder, path) = questions(200);
    let done = run(&[
        "--proxy",
        &server.url(),
        "--dataset",
        arg(&path),
        "--max-workers",
        "auto",
        "-q",
        "--output",
        "json",
    ]);
    assert_eq!(done.code, 0, "{done}");
    assert_eq!(done.json()["config"]["max_workers"], "auto");
    // It begins with 8; how far it goes depends on what they bring, and so on the machine.
    assert!(server.peak_in_flight() > 8, "{}", server.peak_in_flight());
}

/// An endpoint that refuses the first five questions, once all sixty are asked.
fn refuses_the_first_five() -> ChatServer {
    ChatServer::builder().together(60).start(|request| {
        let question = request.last_user_content();
        match (0..5).any(|i| question.contains(&format!("Number {i}:"))) {
            true => Reply::status(403).after(Duration::from_millis(300)),
            false => Reply::text("Paris"),
        }
    })
}

/// The rows of a run. How long a call took to connect is not stored where it failed.
fn rows_as_stored(done: &Done) -> Value {
    let mut rows = done.json()["rows"].clone();
    let failed = rows.as_array_mut().unwrap().iter_mut();
    for row in failed.filter(|row| row["error"].is_object()) {
        let call = row["call"].as_object_mut().unwrap();
        call.shift_remove("connect");
    }
    rows
}

#[test]
fn a_run_with_failures_is_exported_rescored_and_resumed_whole() {
    let server = refuses_the_first_five();
    let (folder, path) = questions(60);
    let cache = folder.path().join("cache");
    let url = server.url();
    let base = [
        "--proxy",
        &url,
        "--dataset",
        arg(&path),
        "--name",
        "p",
        "--cache-dir",
        arg(&cache),
        "-q",
        "--output",
        "json",
    ];
    let counts = |done: &Done| {
        let counts = done.json()["counts"]["p"].clone();
        ["planned", "scored", "failed", "cached", "requests"]
            .map(|key| counts[key].as_u64().unwrap())
    };
    let fresh = run(&[&base[..], &["--max-workers", "60"]].concat());
    assert_eq!(counts(&fresh), [60, 55, 5, 0, 60], "{fresh}");
    let store = ["--cache-dir", arg(&cache), "--output", "json"];
    let exported = run(&[&["export", "last"], &store[..]].concat());
    assert_eq!(exported.code, 0, "{exported}");
    // As the run was: nothing is reused, latency and failures are its own.
    assert_eq!(rows_as_stored(&fresh), rows_as_stored(&exported));
    assert_eq!(fresh.json()["summary"], exported.json()["summary"]);
    assert_eq!(counts(&exported), [60, 55, 5, 0, 60], "{exported}");
    assert_eq!(
        fresh.json()["datasets"][0]["sha256"],
        exported.json()["datasets"][0]["sha256"]
    );
    let table = run(&["export", "last", "--cache-dir", arg(&cache)]);
    assert!(!table.stdout.contains("reused"), "{table}");

    let rescored = run(&[&["rescore", "last", "-q"], &store[..]].concat());
    assert_eq!(counts(&rescored), [60, 55, 5, 60, 0], "{rescored}");
    assert_eq!(rescored.code, 3, "{rescored}");
    let error = |done: &Done| done.json()["rows"][0]["error"].clone();
    assert_eq!(error(&rescored), error(&fresh));
    assert!(error(&fresh)["message"].as_str().unwrap().contains("403"));
    assert_eq!(server.request_count(), 60);

    // The breaker opens at once; what is stored is served all the same.
    let resumed = run(&[&base[..], &["--max-workers", "1"]].concat());
    assert_eq!(counts(&resumed), [60, 55, 5, 55, 5], "{resumed}");
    assert!(!resumed.stderr.contains("cannot work"), "{resumed}");
    assert_eq!(resumed.code, 3, "{resumed}");
}

#[test]
fn a_damaged_example_costs_its_row_only() {
    let server = ChatServer::start(handlers::constant("Paris"));
    let (folder, path) = questions(5);
    let cache = folder.path().join("cache");
    let url = server.url();
    let done = run(&[
        "--proxy",
        &url,
        "--dataset",
        arg(&path),
        "--name",
        "p",
        "--cache-dir",
        arg(&cache),
        "-q",
    ]);
    assert_eq!(done.code, 0, "{done}");
    let database = rusqlite::Connection::open(cache.join("store.sqlite")).unwrap();
    database
        .execute("UPDATE examples SET body = x'00' WHERE id = 3", ())
        .unwrap();
    drop(database);
    let store = ["--cache-dir", arg(&cache), "--output", "json"];
    // The scores are all there; what was asked is not.
    let exported = run(&[&["export", "last"], &store[..]].concat());
    assert_eq!(exported.code, 3, "{exported}");
    assert_eq!(exported.json()["counts"]["p"]["scored"], 5, "{exported}");
    assert!(exported.stderr.contains("damaged"), "{exported}");
    let rescored = run(&[&["rescore", "last", "-q"], &store[..]].concat());
    assert_eq!(rescored.code, 3, "{rescored}");
    let counts = &rescored.json()["counts"]["p"];
    assert_eq!(
        (&counts["scored"], &counts["failed"]),
        (&4.into(), &1.into())
    );
    let rows = rescored.json()["rows"].clone();
    let failed = rows.as_array().unwrap().iter();
    let failed: Vec<&Value> = failed.filter(|row| row["error"].is_object()).collect();
    assert_eq!(failed[0]["error"]["kind"], "bad_example");
    assert!(failed[0]["example_id"].as_str().unwrap().starts_with('q'));
}

#[test]
fn what_is_stored_needs_no_endpoint() {
    let server = ChatServer::start(handlers::constant("Paris"));
    let judge = ChatServer::start(handlers::constant("4"));
    let (folder, path) = questions(6);
    let cache = folder.path().join("cache");
    let (url, judge_url) = (server.url(), judge.url());
    let base = [
        "--proxy",
        &url,
        "--dataset",
        arg(&path),
        "--name",
        "p",
        "--judge-url",
        &judge_url,
        "--cache-dir",
        arg(&cache),
        "-q",
        "--output",
        "json",
    ];
    assert_eq!(run(&base).code, 0);
    drop((server, judge));
    let again = run(&base);
    assert_eq!(again.code, 0, "{again}");
    assert_eq!(again.json()["counts"]["p"]["cached"], 6, "{again}");
    assert!(again.json().get("gave_up").is_none(), "{again}");
    // What is missing is said once, and what is there is shown.
    write_questions(&path, 8);
    let more = run(&base);
    assert_eq!(more.code, 3, "{more}");
    assert_eq!(
        more.stderr.matches("cannot connect to").count(),
        2,
        "{more}"
    );
    assert!(more.stderr.contains("\nhint: "), "{more}");
    let counts = &more.json()["counts"]["p"];
    assert_eq!(
        (&counts["planned"], &counts["scored"]),
        (&8.into(), &6.into())
    );
    // Another model has no answers here: the address is all that matters then.
    let other = run(&[&base[..], &["--model", "other"]].concat());
    other.is_not_now(&["cannot connect"]);
    // Answers that no judge has seen stay unscored, and nothing is tried.
    let judged = run(&[&base[..], &["-n", "6", "--judge-model", "other"]].concat());
    assert_eq!(judged.json()["counts"]["p"]["unscored"], 6, "{judged}");
    for row in judged.json()["rows"].as_array().unwrap() {
        let reason = row["unscored"]["judge_score"].as_str().unwrap();
        assert!(!reason.contains("attempts"), "{reason}");
    }
}

#[test]
fn one_dead_endpoint_does_not_end_the_others() {
    let server = ChatServer::start(handlers::constant("Paris"));
    let (_folder, path) = questions(4);
    let url = server.url();
    let done = run(&[
        "--proxy",
        &url,
        "--proxy",
        "http://127.0.0.1:1",
        "--name",
        "alive",
        "--name",
        "dead",
        "--dataset",
        arg(&path),
        "-q",
        "--output",
        "json",
    ]);
    assert_eq!(done.code, 3, "{done}");
    let counts = &done.json()["counts"];
    assert_eq!(counts["alive"]["scored"], 4, "{done}");
    let dead = &counts["dead"];
    assert_eq!((&dead["planned"], &dead["failed"]), (&4.into(), &0.into()));
    assert_eq!(dead["requests"], 0, "nothing was tried: {done}");
    assert_eq!(
        done.stderr.matches("cannot connect to").count(),
        1,
        "{done}"
    );
}

#[test]
fn a_store_that_becomes_unreadable_is_said_once_and_nothing_is_paid_twice() {
    let n = 3000;
    let (folder, path) = questions(n);
    let cache = folder.path().join("cache");
    let file = cache.join("store.sqlite");
    // The first question of the second run is new, and breaks the store.
    let server = ChatServer::start(move |request| {
        if request.last_user_content().contains("Number 9999:") {
            let other = rusqlite::Connection::open(&file).unwrap();
            let rename = "ALTER TABLE responses RENAME TO gone";
            other.execute_batch(rename).unwrap();
        }
        Reply::text("Paris")
    });
    let start = || {
        run(&[
            "--proxy",
            &server.url(),
            "--dataset",
            arg(&path),
            "--name",
            "p",
            "--cache-dir",
            arg(&cache),
            "--max-workers",
            "1",
            "--output",
            "json",
        ])
    };
    assert_eq!(start().code, 0);
    assert_eq!(server.request_count(), n);

    let known = fs::read_to_string(&path).unwrap();
    let first = known.lines().next().unwrap();
    let new = first.replace("Number 0:", "Number 9999:");
    let new = new.replace("\"q0\"", "\"q9999\"");
    assert_ne!(new, first);
    fs::write(&path, format!("{new}\n{known}")).unwrap();
    let done = start();
    assert_eq!(server.request_count(), n + 1, "asked again: {done}");
    assert_eq!(done.code, 3, "{done}");
    let json = done.json();
    let failed = json["counts"]["p"]["failed"].as_u64().unwrap();
    assert!(failed > 0, "{done}");
    assert_eq!(json["store"]["unread"], failed);
    for row in json["rows"].as_array().unwrap() {
        let kind = row.pointer("/error/kind");
        assert!(kind.is_none_or(|kind| kind == "store"), "{row}");
    }
    let said = format!("could not be read for {failed} of the examples (a query of the store");
    assert_eq!(done.stderr.matches(&said).count(), 1, "{done}");
    assert!(done.stderr.contains("no such table: responses"), "{done}");
    assert!(done.stderr.contains("hint: check the store"), "{done}");
    assert!(
        !done.stderr.contains("results above are complete"),
        "{done}"
    );
}
