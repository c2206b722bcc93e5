//! Real proxies from PyPI, three arms each, in front of the test kit. `make test` installs them
//! into `target/proxies-venv`; one that cannot be installed is ignored.

use std::fmt::Write as _;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use context_bench::proxy::{LaunchSettings, LaunchedHost, ProxyCatalog};
use context_bench::sandbox::Launcher;
use context_bench::tap::{ArmHost as _, ArmRole, ProxyApi};
use context_bench_testkit::{ChatServer, Reply, needs_proxy, needs_shared, shared};
use serde_json::{Value, json};

use super::wait_until_gone;
use crate::program::{command, run_with};

const EXAMPLES: usize = 50;

/// One at a time: each has four processes of Python, and the machine may have two cores.
static TURN: Mutex<()> = Mutex::new(());

/// Long records of real datasets as plain questions, each with a number of its own.
fn long_questions(folder: &Path) -> PathBuf {
    let mut lines = String::new();
    let files = [
        "data/raw/multi-news.jsonl",
        "data/raw/qasper.jsonl",
        "data/raw/govreport.jsonl",
    ];
    let mut n = 0;
    while n < EXAMPLES {
        for file in files {
            let text = std::fs::read_to_string(shared::path(file)).expect("records");
            for line in text.lines() {
                if n == EXAMPLES {
                    break;
                }
                let record: Value = serde_json::from_str(line).expect("a record");
                let context: String = record.to_string().chars().take(24_000).collect();
                if context.len() < 6_000 {
                    continue;
                }
                let example = serde_json::json!({
                    "id": format!("long-{n}"),
                    "context": format!("Record {n} of the archive.\n{context}"),
                    "question": format!("What is record {n} about?"),
                    "answer": "Paris",
                });
                lines += &format!("{example}\n");
                n += 1;
            }
        }
    }
    let path = folder.join("long.jsonl");
    std::fs::write(&path, lines).expect("written");
    path
}

/// Where the programs of that folder of `target/proxies-venv` are.
fn programs(folder: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let root = root.canonicalize().expect("the repository");
    root.join("target/proxies-venv").join(folder).join("bin")
}

fn three_arms(proxy: &str, folder: &str) {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let bin = programs(folder);
    let scene = tempfile::tempdir().expect("a folder");
    let dataset = long_questions(scene.path());
    let provider = ChatServer::start(|_| Reply::text("Paris"));
    let path = format!(
        "{}:{}",
        bin.display(),
        std::env::var("PATH").unwrap_or_default()
    );
    let vocabularies = vocabularies(&bin);
    let mut line = command();
    line.env("PATH", path)
        .env("OPENAI_API_KEY", "sk-the-real-key-of-the-provider");
    line.env("TIKTOKEN_CACHE_DIR", vocabularies);
    line.args([
        "run",
        "--proxy",
        proxy,
        "--upstream",
        &provider.url(),
        "--output",
        "json",
    ]);
    line.args([
        "--model",
        "gpt-4-turbo",
        "--max-workers",
        "4",
        "--timeout",
        "600",
        "--dataset",
    ]);
    line.arg(&dataset)
        .arg("--cache-dir")
        .arg(scene.path().join("store"));
    let done = run_with(&mut line);
    assert_eq!(done.code, 0, "{done}");
    let result = done.json();
    let arms = [
        "direct".to_owned(),
        format!("{proxy}:passthrough"),
        proxy.to_owned(),
    ];
    // What the tap counted is what the provider got, call for call and byte for byte.
    let mut calls = 0;
    let mut bytes = 0;
    for arm in &arms {
        let wire = &result["wire"][arm];
        let probes = wire["by_class"]["probe"].as_u64().unwrap_or(0);
        assert_eq!(wire["by_class"]["primary"], EXAMPLES, "{arm}: {wire}");
        assert_eq!(wire["unattributed"]["calls"], 0, "{arm}: {wire}");
        calls += wire["calls"].as_u64().expect("calls") - probes;
        bytes += wire["bytes"].as_u64().expect("bytes");
        assert_eq!(result["counts"][arm]["failed"], 0, "{arm}");
    }
    let requests = provider.requests();
    assert_eq!(calls, requests.len() as u64);
    let length = |one: &context_bench_testkit::RecordedRequest| {
        let length = one.headers.get("content-length").expect("a length");
        length.parse::<u64>().expect("a number")
    };
    assert_eq!(bytes, requests.iter().map(length).sum::<u64>());
    // The proxy never had the key, and the provider always did.
    for request in &requests {
        let key = request.headers.get("authorization");
        assert_eq!(key, Some("Bearer sk-the-real-key-of-the-provider"));
    }
    for arm in &arms[1..] {
        let facts = &result["wire"][arm]["facts"];
        // Of its package, or as its program says it.
        let versions = [&facts["version"], &facts["version_told"]];
        assert!(versions.iter().any(|one| one.is_string()), "{facts}");
        assert_eq!(facts["carriers"]["status"], 200, "{facts}");
    }
    let marks = bin.join(proxy).display().to_string();
    wait_until_gone(&super::arms::processes_with(&marks));
}

/// The vocabularies that the package `litellm` brings along: nothing can be downloaded here.
fn vocabularies(bin: &Path) -> PathBuf {
    let library = bin.parent().expect("a folder").join("lib");
    let versions = std::fs::read_dir(library).into_iter().flatten().flatten();
    let tokenizers = "site-packages/litellm/litellm_core_utils/tokenizers";
    let mut folders = versions.map(|version| version.path().join(tokenizers));
    folders.find(|folder| folder.is_dir()).unwrap_or_default()
}

#[needs_shared("data/raw/multi-news.jsonl")]
#[needs_proxy("bin/kompact")]
#[test]
fn kompact() {
    three_arms("kompact", "");
}

#[needs_shared("data/raw/multi-news.jsonl")]
#[needs_proxy("bin/headroom")]
#[test]
fn headroom() {
    three_arms("headroom", "");
}

/// Its program comes from crates.io alone and takes long to compile, so `make test` does not
/// install it; who has it puts it there.
#[needs_shared("data/raw/multi-news.jsonl")]
#[needs_proxy("bin/llmtrim")]
#[test]
fn llmtrim() {
    three_arms("llmtrim", "");
}

#[needs_shared("data/raw/multi-news.jsonl")]
#[needs_proxy("litellm/bin/litellm")]
#[test]
fn litellm() {
    three_arms("litellm", "litellm");
}

/// A proxy of the catalog in front of a provider, for calls one after the other.
struct Talk {
    provider: ChatServer,
    host: LaunchedHost,
    base_url: String,
    runtime: tokio::runtime::Runtime,
}

impl Talk {
    fn with(proxy: &str) -> Self {
        let bin = programs("");
        let vocabularies = vocabularies(&bin);
        let provider = ChatServer::start(|_| Reply::text("Paris"));
        let catalog = ProxyCatalog::new(&[]).expect("profiles");
        let profile = catalog.find(proxy).expect("readable").expect("a profile");
        let settings = LaunchSettings {
            profile,
            role: ArmRole::Transform,
            name: proxy.to_owned(),
            model: "gpt-4-turbo".into(),
            api: ProxyApi::Chat,
            args: Vec::new(),
            launcher: Some(Launcher::new(env!("CARGO_BIN_EXE_context-bench"))),
            folder: None,
            secrets: Vec::new(),
        };
        let variable = |name: &str| match name {
            "PATH" => {
                let path = std::env::var(name).unwrap_or_default();
                Some(format!("{}:{path}", bin.display()))
            }
            "TIKTOKEN_CACHE_DIR" => Some(vocabularies.display().to_string()),
            other => std::env::var(other).ok(),
        };
        let host = LaunchedHost::new(settings, &variable).expect("installed");
        let runtime = tokio::runtime::Runtime::new().expect("threads");
        let base = provider.url();
        let base = base.trim_end_matches('/').trim_end_matches("/v1");
        let address = runtime.block_on(host.start(base)).expect("started");
        Self {
            provider,
            host,
            base_url: address.base_url,
            runtime,
        }
    }

    /// Asks, and gives the body that reached the provider.
    fn ask(&self, messages: &Value, headers: &str) -> Value {
        let before = self.provider.request_count();
        let body = json!({"model": "gpt-4-turbo", "messages": messages}).to_string();
        let address = self.base_url.trim_start_matches("http://");
        let address = address.split('/').next().unwrap_or_default();
        let mut stream = std::net::TcpStream::connect(address).expect("it listens");
        let request = format!(
            "POST /v1/chat/completions HTTP/1.1\r\nhost: h\r\ncontent-type: application/json\r\n\
             authorization: Bearer sk-cb-abcdefghijklmnopqrstuvwxyz\r\nconnection: close\r\n{headers}\
             content-length: {}\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(request.as_bytes()).expect("sent");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        // A proxy may ask on its own account before it passes ours on.
        let requests = self.provider.requests();
        assert!(requests.len() > before, "{answer}");
        requests.last().expect("a request").body.clone()
    }
}

impl Drop for Talk {
    fn drop(&mut self) {
        self.runtime.block_on(self.host.stop());
    }
}

/// Prose of so many sentences, few of which say the same.
fn prose(sentences: usize) -> String {
    const WHO: [&str; 7] = [
        "The harbour master",
        "A clerk of the archive",
        "The second engineer",
        "Her neighbour from the mill",
        "The committee for roads",
        "An old gardener",
        "The night watch",
    ];
    const WHAT: [&str; 6] = [
        "wrote down how many barrels had arrived from the northern islands",
        "doubted that the bridge would carry the new engines in spring",
        "asked for a copy of the map that shows the drained meadows",
        "remembered the flood by the height of the mark on the gate",
        "counted the lamps twice and found one fewer than the list says",
        "offered to mend the roof of the school before the first frost",
    ];
    let mut text = String::new();
    for n in 0..sentences {
        // Writing to a text cannot fail.
        let _ = write!(
            text,
            "{} {} on day {}, and page {} of the book has it. ",
            WHO[n % 7],
            WHAT[n * 5 % 6],
            n * 13 % 365,
            100 + n
        );
    }
    text
}

fn length(body: &Value) -> usize {
    body["messages"].to_string().len()
}

/// Why no proxy is warmed up or looked after with a short prompt, and why repeats have a process
/// each.
#[needs_proxy("bin/kompact")]
#[test]
fn kompact_stops_shortening_after_one_short_request() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let talk = Talk::with("kompact");
    // The newest messages of a user go through as they are.
    let long = json!([
        {"role": "system", "content": prose(250)},
        {"role": "user", "content": "What is this about?"},
        {"role": "assistant", "content": "It is a chronicle of a town."},
        {"role": "user", "content": "Who counted the lamps?"},
    ]);
    let before = length(&talk.ask(&long, ""));
    assert!(
        before < length(&json!({"messages": long})) * 9 / 10,
        "{before}"
    );
    talk.ask(&json!([{"role": "user", "content": "Hello"}]), "");
    let after = length(&talk.ask(&long, ""));
    assert!(after > before * 11 / 10, "{before}, then {after}");
}

/// Why its arm `passthrough` is a process of its own.
#[needs_proxy("bin/headroom")]
#[test]
fn headrooms_bypass_header_is_no_control() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let talk = Talk::with("headroom");
    let row = |n: usize| {
        json!({"order": n, "place": "the cold store", "status": "late", "days": n % 9,
            "note": "the carrier left it with a neighbour and asked for a receipt"})
    };
    let rows: Vec<Value> = (0..200).map(row).collect();
    let call = json!({"id": "call_1", "type": "function",
        "function": {"name": "find_orders", "arguments": "{}"}});
    let messages = json!([
        {"role": "system", "content": "You answer questions about orders, briefly."},
        {"role": "user", "content": "Which orders of the cold store came late?"},
        {"role": "assistant", "content": null, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "call_1", "content": json!(rows).to_string()},
    ]);
    let whole = length(&json!({"messages": messages}));
    let session = "x-headroom-session-id: one\r\n";
    let shortened = length(&talk.ask(&messages, session));
    assert!(shortened < whole * 9 / 10, "{shortened} of {whole}");
    let bypassed = format!("{session}x-headroom-bypass: true\r\n");
    let after = length(&talk.ask(&messages, &bypassed));
    assert!(after < whole * 9 / 10, "{after} of {whole}");
}
