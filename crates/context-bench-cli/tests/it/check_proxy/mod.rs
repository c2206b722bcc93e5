//! `check-proxy`: a proxy in order, one that is not, and those that cannot be asked.

mod real;

use std::net::TcpListener;
use std::path::Path;

use context_bench_tap::record::MemorySink;
use context_bench_tap::{Tap, TapSettings, Upstream};
use context_bench_testkit::{ChatServer, Reply};
use serde_json::Value;

use crate::program::{Done, arg, run};

/// A port that was free a moment ago.
fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("an address").port()
}

/// The verdicts of an arm by the code of the defect; that of what it is for is ``.
fn verdicts(done: &Done, arm: usize) -> Vec<(String, String)> {
    let report = done.json();
    let arm = &report["arms"][arm];
    let properties = arm["properties"].as_array().expect("a list").iter();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    properties
        .chain([&arm["purpose"]])
        .map(|property| (text(&property["defect"]), text(&property["verdict"])))
        .collect()
}

/// The defects that do not hold.
fn found(done: &Done, arm: usize) -> Vec<String> {
    let verdicts = verdicts(done, arm).into_iter();
    let found = verdicts.filter(|(_, verdict)| verdict == "does_not_hold");
    found.map(|(defect, _)| defect).collect()
}

/// Patience that is never used up where all is in order, however slow the machine is.
const PATIENT: [&str; 4] = ["--patience", "240", "--hang-up-within", "240"];

#[test]
fn our_own_tap_has_no_defect() {
    let runtime = tokio::runtime::Runtime::new().expect("threads");
    let port = free_port();
    let upstream = format!("http://127.0.0.1:{port}")
        .parse()
        .expect("an address");
    let settings = TapSettings::new(Upstream::new(upstream));
    let sink = Box::new(MemorySink::default());
    let tap = runtime.block_on(Tap::start(settings, sink)).expect("a tap");
    let (address, listen) = (tap.base_url("tap"), format!("127.0.0.1:{port}"));
    let mut args = vec!["check-proxy", &address, "--listen", &listen, "-q"];
    args.extend(["--arm", "passthrough", "--output", "json"]);
    args.extend(PATIENT);
    let done = run(&args);
    assert_eq!(done.code, 0, "{done}");
    for (defect, verdict) in verdicts(&done, 0) {
        assert_eq!(verdict, "holds", "{defect}: {done}");
    }
    assert_eq!(done.json()["passed"], true);
}

/// The profile of a proxy that turns every role into `user`.
fn profile() -> String {
    let script = Path::new(env!("CARGO_MANIFEST_DIR"));
    let script = script.join("tests/it/check_proxy/roles_proxy.py");
    format!(
        "proxy: roles\nabout: turns roles into user\ninstall: it comes with the tests\n\
         command: [python3, {script:?}, '{{port}}', '{{tap}}']\n\
         ready: {{url: 'http://127.0.0.1:{{port}}/ready', timeout: 300}}\n"
    )
}

#[test]
fn what_does_not_hold_is_shown_from_both_sides() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("my proxy.yaml");
    std::fs::write(&file, profile()).expect("written");
    let args = ["check-proxy", arg(&file), "--api", "openai", "-q"];
    let args = [&args[..], &["--patience", "0.2", "--hang-up-within", "0.2"]].concat();
    let done = run(&args);
    assert_eq!(done.code, 4, "{done}");
    for text in [
        "proxy roles, arm passthrough",
        "proxy roles, arm transform",
        "T02  DOES NOT HOLD   messages keep their role",
        "T01  holds",
        "message 0: `system` became `user`",
        "--- what the client sent",
        "-       \"role\": \"system\"",
        "+       \"role\": \"user\"",
        // It has no streams: it reads to the end and then writes.
        "T09  DOES NOT HOLD",
    ] {
        assert!(done.stdout.contains(text), "no `{text}` in {done}");
    }
    let widest = done.stdout.lines().map(|line| line.chars().count()).max();
    assert!(widest <= Some(80), "{done}");
    assert!(!done.stdout.contains('\u{1b}'), "{done}");

    let done = run(&[&args[..], &["--arm", "transform", "--output", "markdown"]].concat());
    assert_eq!(done.code, 4, "{done}");
    for text in [
        "| T02 | messages keep their role | **does not hold** |",
        "````diff\n--- what",
    ] {
        assert!(done.stdout.contains(text), "no `{text}` in {done}");
    }
    let out = folder.path().join("report.json");
    let more = [
        "--arm",
        "transform",
        "--output",
        "json",
        "--output-file",
        arg(&out),
    ];
    let done = run(&[&args[..], &more].concat());
    assert_eq!((done.code, done.stdout.as_str()), (4, ""), "{done}");
    let report: Value = serde_json::from_slice(&std::fs::read(out).expect("a file")).expect("JSON");
    assert_eq!(
        report["arms"][0]["properties"][1]["verdict"],
        "does_not_hold"
    );
}

#[test]
fn a_proxy_that_cannot_be_asked_is_an_error() {
    let port = free_port().to_string();
    let (address, listen) = (format!("http://127.0.0.1:{port}"), "127.0.0.1:0");
    run(&["check-proxy", &address, "--listen", listen, "-q"]).is_error(&["cannot be reached"]);
    run(&["check-proxy", &address]).is_error(&["`--listen` is missing"]);
    run(&["check-proxy", "kompakt"]).is_error(&["no profile `kompakt`", "kompact"]);
    run(&["check-proxy", "kompact", "--listen", listen]).is_error(&["`--listen` is for"]);
    let busy = TcpListener::bind("127.0.0.1:0").expect("a port");
    let taken = busy.local_addr().expect("an address").to_string();
    let done = run(&["check-proxy", &address, "--listen", &taken, "-q"]);
    done.is_error(&["cannot listen on"]);
}

#[test]
fn nothing_is_asked_of_a_provider_that_is_not_ours() {
    let provider = ChatServer::start(|_| Reply::text("That will be one dollar."));
    let done = run(&[
        "check-proxy",
        &provider.url(),
        "--listen",
        "127.0.0.1:0",
        "-q",
    ]);
    done.is_error(&["answers, but nothing reaches `http://127.0.0.1:"]);
    // Once is needed to find out.
    assert_eq!(provider.requests().len(), 1);
}

#[test]
fn nothing_that_could_be_tested_is_no_success() {
    let provider = ChatServer::start(|_| Reply::status(503));
    let done = run(&[
        "check-proxy",
        &provider.url(),
        "--listen",
        "127.0.0.1:0",
        "-q",
    ]);
    assert_eq!(done.code, 2, "{done}");
    assert!(done.stderr.contains("nothing could be tested"), "{done}");
}
