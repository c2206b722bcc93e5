//! `tap`: a relay for any client, as a real process.
#![cfg(unix)]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use context_bench_testkit::{ChatServer, Reply, handlers};
use serde_json::{Value, json};

use crate::program::{arg, command, questions, run, run_with, signal};

const PATIENCE: Duration = Duration::from_secs(120);
const KEY: &str = "sk-real-0123456789abcdef";
const CLIENT_KEY: &str = "sk-client-0123456789abcdef";

/// A tap that listens.
struct RunningTap {
    child: Child,
    stdout: BufReader<ChildStdout>,
    /// What it said before it was ready.
    greeting: String,
    base: String,
}

impl RunningTap {
    fn start(args: &[&str]) -> Self {
        let mut command = command();
        command.arg("tap").args(args).env("MY_KEY", KEY);
        Self::spawn(command)
    }

    fn spawn(mut command: Command) -> Self {
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut greeting = String::new();
        while !greeting.contains("Ctrl-C ends") {
            if stdout.read_line(&mut greeting).unwrap() == 0 {
                let mut stderr = String::new();
                child
                    .stderr
                    .take()
                    .unwrap()
                    .read_to_string(&mut stderr)
                    .unwrap();
                panic!("the tap did not start: {greeting}{stderr}");
            }
        }
        let base = greeting.split("listening on ").nth(1).unwrap();
        let base = base.split(',').next().unwrap().to_owned();
        Self {
            child,
            stdout,
            greeting,
            base,
        }
    }

    fn interrupt(&self) {
        signal(&self.child, "-INT");
    }

    /// Waits for the end: exit code, the rest of stdout, stderr.
    fn end(mut self) -> (Option<i32>, String, String) {
        let mut stderr = String::new();
        let mut stdout = String::new();
        self.child
            .stderr
            .take()
            .unwrap()
            .read_to_string(&mut stderr)
            .unwrap();
        self.stdout.read_to_string(&mut stdout).unwrap();
        (self.child.wait().unwrap().code(), stdout, stderr)
    }

    fn address(&self) -> &str {
        self.base.strip_prefix("http://").unwrap()
    }
}

impl Drop for RunningTap {
    fn drop(&mut self) {
        // Only where a test failed: a tap that ended does not mind.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Asks once with bare bytes and gives the whole answer.
fn ask(address: &str, path: &str, headers: &str, body: &Value) -> String {
    let body = body.to_string();
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    write!(
        stream,
        "POST {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: {}\r\n{headers}\r\n{body}",
        body.len()
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

fn lines(log: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(log).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn message(text: &str) -> Value {
    json!({"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": text}]})
}

#[test]
fn any_client_is_relayed_counted_and_kept_without_keys() {
    let server = ChatServer::start(|request| match request.attempt {
        1 => Reply::status(429).message("slow down"),
        _ => Reply::text("héllo Paris").usage(100, 4).cached(60, 30),
    });
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("mein Lauf – ☃.jsonl");
    let tap = RunningTap::start(&[
        "--upstream",
        &server.url(),
        "--log",
        arg(&log),
        "--api-key-env",
        "MY_KEY",
        "--verbose",
        "--arm",
        "direct",
        "--arm",
        "other",
    ]);
    assert!(
        tap.greeting
            .contains(&format!("ANTHROPIC_BASE_URL={}/a/direct\n", tap.base)),
        "{}",
        tap.greeting
    );
    assert!(
        tap.greeting
            .contains(&format!("OPENAI_BASE_URL={}/a/other/v1\n", tap.base)),
        "{}",
        tap.greeting
    );
    let key = format!("x-api-key: {CLIENT_KEY}\r\nauthorization: Bearer {CLIENT_KEY}\r\n");
    let whole = ask(
        tap.address(),
        "/a/direct/v1/messages",
        &key,
        &message("eins"),
    );
    assert!(
        whole.starts_with("HTTP/1.1 200") && whole.contains("héllo Paris"),
        "{whole}"
    );
    let mut streamed = message("zwei");
    streamed["stream"] = json!(true);
    let streamed = ask(
        tap.address(),
        "/a/other/v1/chat/completions",
        &key,
        &streamed,
    );
    assert!(streamed.contains("[DONE]"), "{streamed}");
    // The same again, which is refused.
    let refused = ask(
        tap.address(),
        "/a/direct/v1/messages",
        &key,
        &message("eins"),
    );
    assert!(refused.starts_with("HTTP/1.1 429"), "{refused}");
    tap.interrupt();
    let (code, stdout, stderr) = tap.end();
    assert_eq!(code, Some(0), "{stdout}{stderr}");
    for text in [
        "calls     3: 3 generation\n",
        "statuses  2 x 200, 1 x 429\n",
        "ends      2 complete, 1 bad status\n",
        // A stream of chat completions has no usage unless that is asked for.
        "tokens    100 in, 4 out (of the input, 60 read from a cache and 30 written to one); unknown for 1 call\n",
        "\narm direct\ncalls     2: 2 generation\n",
        "\narm other\ncalls     1: 1 generation\n",
    ] {
        assert!(stdout.contains(text), "no `{text}` in {stdout}");
    }
    assert!(
        stderr.contains("direct  POST /v1/messages  200"),
        "{stderr}"
    );
    assert!(stderr.contains("100 + 4 tokens"), "{stderr}");
    assert!(
        !stderr.contains("Paris") && !stderr.contains("eins"),
        "{stderr}"
    );
    // The provider got the real key, and nobody else.
    for request in server.requests() {
        let sent = ["authorization", "x-api-key"]
            .map(|name| request.headers.get(name).unwrap_or_default());
        assert!(sent.iter().all(|value| value.ends_with(KEY)), "{sent:?}");
    }
    let kept = std::fs::read_to_string(&log).unwrap();
    for text in [&kept, &stdout, &stderr] {
        assert!(!text.contains(KEY) && !text.contains(CLIENT_KEY), "{text}");
    }
    let lines = lines(&log);
    assert_eq!(lines[0], json!({"kind": "tap_log", "version": 1}));
    let calls: Vec<&Value> = lines.iter().filter(|line| line["kind"] == "call").collect();
    assert_eq!(calls.len(), 3);
    assert!(kept.contains("héllo Paris"), "bodies are kept");
    // The log says the same again.
    let done = run(&["tap", "--summary", arg(&log)]);
    assert_eq!((done.code, &done.stdout), (0, &stdout), "{done}");
    let done = run(&["tap", "--summary", arg(&log), "--output", "json"]);
    assert_eq!(done.json()["calls"], 3, "{done}");
    assert_eq!(done.json()["tokens"]["cache_read"], 60, "{done}");
    assert_eq!(
        done.json()["arms"]["direct"]["statuses"],
        json!({"200": 1, "429": 1}),
        "{done}"
    );
}

#[test]
fn a_run_of_this_program_passes_too() {
    let server = ChatServer::start(handlers::echo_last_user());
    let tap = RunningTap::start(&["--upstream", &server.base_url_v1()]);
    let (_folder, path) = questions(20);
    for api in ["openai", "responses", "anthropic"] {
        let args = [
            "--proxy",
            &tap.base,
            "--api",
            api,
            "--dataset",
            arg(&path),
            "--max-workers",
            "8",
            "-q",
        ];
        let done = run_with(command().args(args).args(["--output", "json", "--stream"]));
        assert_eq!(done.code, 0, "{done}");
    }
    tap.interrupt();
    let (code, stdout, stderr) = tap.end();
    assert_eq!(code, Some(0), "{stderr}");
    // Each run also asks which models there are.
    assert!(stdout.contains("60 generation"), "{stdout}");
    assert!(stdout.contains("3 probe"), "{stdout}");
    assert!(!stdout.contains("unknown"), "{stdout}");
    assert!(
        !stderr.contains("POST"),
        "lines only for terminals: {stderr}"
    );
}

#[test]
fn the_first_interrupt_waits_and_the_second_does_not() {
    let server = ChatServer::start(|request| match request.last_user_content() {
        "slow" => Reply::text("at last").after(Duration::from_millis(800)),
        _ => Reply::hang(),
    });
    let folder = tempfile::tempdir().unwrap();
    for (asked, code) in [("slow", 0), ("hang", 130)] {
        let log = folder.path().join(format!("{asked}.jsonl"));
        let mut tap = RunningTap::start(&["--upstream", &server.url(), "--log", arg(&log)]);
        let address = tap.address().to_owned();
        let before = server.request_count();
        let client = std::thread::spawn(move || {
            let mut stream = TcpStream::connect(&address).unwrap();
            let body = message(asked).to_string();
            let length = body.len();
            write!(
                stream,
                "POST /v1/messages HTTP/1.1\r\nhost: x\r\ncontent-length: {length}\r\n\r\n{body}"
            )
            .unwrap();
            let mut answer = Vec::new();
            // A call that is broken off ends with a reset.
            let _ = stream.read_to_end(&mut answer);
            String::from_utf8(answer).unwrap()
        });
        assert!(server.wait_for_requests(before + 1, PATIENCE));
        tap.interrupt();
        let mut stderr = BufReader::new(tap.child.stderr.take().unwrap());
        let mut said = String::new();
        while !said.contains("calls in flight") {
            assert_ne!(stderr.read_line(&mut said).unwrap(), 0, "{said}");
        }
        // Nobody new is let in.
        let late = TcpStream::connect(tap.address());
        drop(late);
        if asked == "hang" {
            tap.interrupt();
        }
        let mut stdout = String::new();
        tap.stdout.read_to_string(&mut stdout).unwrap();
        assert_eq!(tap.child.wait().unwrap().code(), Some(code), "{stdout}");
        let answer = client.join().unwrap();
        assert_eq!(answer.contains("at last"), asked == "slow", "{answer}");
        assert!(stdout.contains("calls     1: 1 generation"), "{stdout}");
        let calls = lines(&log);
        let end = &calls.last().unwrap()["end"];
        assert_eq!(
            end,
            if asked == "slow" {
                "complete"
            } else {
                "aborted_by_proxy"
            }
        );
    }
}

#[test]
fn a_client_that_hangs_up_is_counted_and_not_in_the_way() {
    let server = ChatServer::start(|request| match request.index {
        0 => Reply::text("a b c d").between_tokens(PATIENCE),
        _ => Reply::text("ok"),
    });
    let tap = RunningTap::start(&["--upstream", &server.url(), "--verbose"]);
    let mut body = message("x");
    body["stream"] = json!(true);
    let body = body.to_string();
    let mut stream = TcpStream::connect(tap.address()).unwrap();
    let length = body.len();
    write!(
        stream,
        "POST /v1/messages HTTP/1.1\r\nhost: x\r\ncontent-length: {length}\r\n\r\n{body}"
    )
    .unwrap();
    let mut some = [0; 64];
    stream.read_exact(&mut some).unwrap();
    drop(stream);
    let whole = ask(tap.address(), "/v1/messages", "", &message("y"));
    assert!(whole.contains("ok"), "{whole}");
    tap.interrupt();
    let (code, stdout, stderr) = tap.end();
    assert_eq!(code, Some(0), "{stderr}");
    assert!(stdout.contains("1 aborted by proxy"), "{stdout}");
    assert!(stdout.contains("1 complete"), "{stdout}");
}

#[test]
fn a_full_disk_never_stops_the_relay() {
    let server = ChatServer::start(handlers::echo_last_user());
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("a log.jsonl");
    // Files of this process end after a few kilobytes, as if the disk were full.
    let program = env!("CARGO_BIN_EXE_context-bench");
    let script = "trap '' XFSZ; ulimit -f 16; exec \"$0\" \"$@\"";
    let mut command = command();
    let mut limited = Command::new("sh");
    limited.args([
        "-c",
        script,
        program,
        "tap",
        "--upstream",
        &server.url(),
        "--log",
        arg(&log),
    ]);
    std::mem::swap(&mut command, &mut limited);
    let tap = RunningTap::spawn(command);
    for n in 0..30 {
        let text = format!("{n} {}", "word ".repeat(400));
        let answer = ask(tap.address(), "/v1/messages", "", &message(&text));
        assert!(answer.contains(text.trim_end()), "{answer}");
    }
    tap.interrupt();
    let (code, stdout, stderr) = tap.end();
    assert_eq!(code, Some(3), "{stdout}{stderr}");
    assert!(stdout.contains("calls     30: 30 generation"), "{stdout}");
    assert!(stderr.contains("cannot be written to the log"), "{stderr}");
    assert!(
        stderr.contains(" of 30 calls are not in the log"),
        "{stderr}"
    );
    // What is there can be read.
    let done = run(&["tap", "--summary", arg(&log), "--output", "json"]);
    assert_eq!(done.code, 0, "{done}");
    let kept = done.json()["calls"].as_u64().unwrap();
    assert!(kept > 0 && kept < 30, "{kept}");
}

#[test]
fn an_upstream_that_is_not_there_is_an_answer_and_not_the_end() {
    let closed = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let tap = RunningTap::start(&["--upstream", &format!("http://{closed}")]);
    let answer = ask(tap.address(), "/v1/messages", "", &message("x"));
    assert!(answer.starts_with("HTTP/1.1 502"), "{answer}");
    tap.interrupt();
    let (code, stdout, _) = tap.end();
    assert_eq!(code, Some(0));
    assert!(stdout.contains("1 unreachable"), "{stdout}");
    assert!(stdout.contains("tokens    none reported\n"), "{stdout}");
}

#[test]
fn what_is_wrong_is_said_before_anything_listens() {
    let folder = tempfile::tempdir().unwrap();
    let there = folder.path().join("there.jsonl");
    std::fs::write(&there, "{\"kind\":\"tap_log\",\"version\":1}\n").unwrap();
    let nowhere = folder.path().join("no folder/x.jsonl");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap().to_string();
    let good = ["tap", "--upstream", "http://127.0.0.1:9"];
    for (args, texts) in [
        (
            vec!["tap", "--upstream", "ftp://u:hunter2@h"],
            ["neither http nor https", "https://HOST"],
        ),
        (
            vec!["tap", "--upstream", "nothing"],
            ["relative URL", "https://HOST"],
        ),
        (
            [&good[..], &["--log", arg(&there)]].concat(),
            ["exists already", "another file"],
        ),
        (
            [&good[..], &["--log", arg(&nowhere)]].concat(),
            ["cannot open the log", "folder"],
        ),
        (
            [&good[..], &["--api-key-env", "NOT_SET"]].concat(),
            ["NOT_SET", "export"],
        ),
        (
            [&good[..], &["--listen", &taken]].concat(),
            ["cannot listen", "port 0"],
        ),
        (
            vec!["tap", "--summary", arg(&nowhere)],
            ["cannot open the log", "folder"],
        ),
    ] {
        let done = run(&args);
        done.is_error(&texts);
        assert!(!done.stderr.contains("hunter2"), "{done}");
    }
    let done = run(&["tap"]);
    assert_eq!(done.code, 2, "{done}");
    assert!(done.stderr.contains("--upstream"), "{done}");
}
