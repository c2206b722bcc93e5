//! Runs behind a tap from the command line: a proxy that already runs, pointed at the tap.

use std::fs;
use std::net::TcpListener;
use std::process::Command;

use context_bench_testkit::proxy::TestProxy;
use context_bench_testkit::{ChatServer, Reply};
use serde_json::Value;

use crate::program::{arg, command, questions, run, run_with};

const KEY: &str = "sk-real-key-of-the-provider-0123456789";

/// An address that nobody listens on.
pub(crate) fn free_address() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().to_string()
}

fn provider() -> ChatServer {
    ChatServer::start(|request| Reply::text("Paris").usage(request.prompt_words(), 1))
}

fn with_key(args: &[&str]) -> Command {
    let mut command = command();
    command.env("OPENAI_API_KEY", KEY).args(args);
    command
}

#[test]
fn a_running_proxy_is_measured_beside_the_direct_arm() {
    let (server, proxy) = (provider(), TestProxy::compressor());
    let listen = free_address();
    proxy.point_at(&format!("http://{listen}/a/kompact"));
    let (folder, path) = questions(6);
    let log = folder.path().join("a log.jsonl").display().to_string();
    let cache = folder.path().join("cache").display().to_string();
    let (url, named) = (server.url(), format!("kompact={}", proxy.url()));
    let args = [
        "--proxy",
        &named,
        "--upstream",
        &url,
        "--tap-listen",
        &listen,
        "--tap-log",
        &log,
        "--dataset",
        arg(&path),
        "--cache-dir",
        &cache,
        "--max-workers",
        "4",
        "--output",
        "json",
    ];
    let done = run_with(&mut with_key(&args));
    assert_eq!(done.code, 0, "{done}");
    assert!(
        done.stderr.contains(&format!("http://{listen}/a/kompact")),
        "{done}"
    );
    let report = done.json();
    assert_eq!(report["wire"]["kompact"]["verdict"], "engaged", "{done}");
    assert_eq!(report["wire"]["direct"]["verdict"], "transparent");
    assert_eq!(report["wire"]["kompact"]["calls"], 6);
    assert_eq!(report["provenance"]["tap"]["calls"], 12);
    let saved = report["summary"]["kompact"]["tokens_saved"]
        .as_f64()
        .unwrap();
    assert!(saved > 0.0, "{saved}");
    assert_eq!(report["summary"]["direct"]["tokens_saved"], 0.0);
    for request in server.requests() {
        let sent = request.headers.get("authorization");
        assert_eq!(sent, Some(format!("Bearer {KEY}").as_str()));
    }
    // Everything is in the log, and the key is nowhere.
    let log = fs::read_to_string(&log).unwrap();
    let calls = log.lines().filter(|line| {
        let line: Value = serde_json::from_str(line).unwrap();
        line["kind"] == "call"
    });
    assert_eq!(calls.count(), 12);
    for text in [&log, &done.stdout, &done.stderr] {
        assert!(!text.contains(KEY));
    }
    let store = fs::read_dir(&cache).unwrap();
    for file in store
        .map(|file| file.unwrap().path())
        .filter(|path| path.is_file())
    {
        let bytes = fs::read(&file).unwrap();
        let found = bytes.windows(KEY.len()).any(|part| part == KEY.as_bytes());
        assert!(!found, "{}", file.display());
    }
    // A stored run says the same, and asks nobody.
    let again = run(&["export", "last", "--cache-dir", &cache, "--output", "json"]);
    assert_eq!(again.code, 0, "{again}");
    let again = again.json();
    assert_eq!(again["wire"], report["wire"]);
    assert_eq!(again["rows"][7]["wire"], report["rows"][7]["wire"]);
    let saving = |report: &Value| report["summary"]["kompact"]["wire_saved"].clone();
    assert_eq!(saving(&again), saving(&report));
    assert_eq!(server.request_count(), 12);
    let table = run(&["export", "last", "--cache-dir", &cache, "--output", "table"]);
    assert!(table.stdout.contains("On the Wire"), "{table}");
}

#[test]
fn a_proxy_that_bypasses_the_tap_is_noticed() {
    let (server, proxy) = (provider(), TestProxy::pass_through());
    proxy.point_at(&server.url());
    let listen = free_address();
    let (_folder, path) = questions(2);
    let (url, named) = (server.url(), format!("p={}", proxy.url()));
    let args = [
        "--proxy",
        &named,
        "--upstream",
        &url,
        "--tap-listen",
        &listen,
        "--dataset",
        arg(&path),
    ];
    let done = run(&args);
    assert_eq!(done.code, 0, "{done}");
    assert!(done.stderr.contains("made none to the tap"), "{done}");
}

#[test]
fn settings_of_a_tap_that_is_not_there_are_mistakes() {
    let (_folder, path) = questions(1);
    let data = ["--dataset", arg(&path)];
    let alone = ["--proxy", "http://localhost:9", "--tap-exclusive"];
    run(&[&alone[..], &data].concat()).is_error(&["`tap.exclusive` has no effect"]);
    let wrong = ["--upstream", "http://localhost:9", "--tap-listen", "here"];
    run(&[&wrong[..], &data].concat()).is_error(&["`here` is no address to listen on"]);
    let limit = [
        "--upstream",
        "http://localhost:9",
        "--tap-unattributed",
        "3",
    ];
    run(&[&limit[..], &data].concat()).is_error(&["between 0 and 1"]);
}
