//! Runs through proxies behind a tap, when everything around it goes wrong: a provider of which
//! a fifth of the answers is faulty, proxies that hang, die and lie, a full disk, kills.
//!
//! Whatever happens, every row that was planned is scored or failed, the calls of the tap are
//! those that the provider saw, no example has the calls of another, no file holds the key, and
//! no process of a proxy is left.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use context_bench_testkit::{ChatServer, Reply};
use serde_json::{Value, json};

use crate::program::{Done, answers_in, arg, command, signal};
use crate::siege::Siege;
use crate::stores::{PATIENCE, run_for};

/// Examples of a run here.
const N: usize = 20;
/// What no file may hold.
const KEY: &str = "sk-real-0123456789abcdefghijklmnopqrstuvwxyz";
/// A proxy that ends at its first call, so that every call through it fails.
const ONLY_FAILS: &str = "dies-first";
/// How a proxy behaves, as `tests/it/proxy/fake_proxy.py` knows it, and for which arms.
const MODES: [(&str, &str); 8] = [
    ("relays", "direct,passthrough,transform"),
    ("shortens", "direct,passthrough,transform"),
    ("hangs", "direct,transform"),
    (ONLY_FAILS, "direct,transform"),
    ("dies", "direct,transform"),
    ("dies-inside", "direct,transform"),
    ("lies", "direct,transform"),
    ("lies-short", "direct,transform"),
];

pub(crate) fn attack(siege: &mut Siege) {
    for round in 0..siege.times(1, 6) {
        for (mode, arms) in MODES {
            for retries in ["0", "1"] {
                // A part of `make test` tries each once, and not always with the same patience.
                if !siege.whole() && siege.below(2) == usize::from(retries == "0") {
                    continue;
                }
                let scene = Scene::new(siege.below(5));
                let more = ["--arms", arms, "--max-retries", retries];
                let done = run_for(&mut scene.command(mode, &more));
                let held = done.and_then(|done| {
                    scene.holds(&done)?;
                    match mode == ONLY_FAILS {
                        true => only_failed(&done.json()),
                        false => Ok(()),
                    }
                });
                siege.tried(
                    format!(
                        "a faulty provider and a proxy that {mode}, {retries} retries ({round})"
                    ),
                    held,
                );
            }
        }
    }
    let rooms: &[usize] = if siege.whole() {
        &[0, 4, 40, 100, 200, 400]
    } else {
        &[0, 40]
    };
    for kilobytes in rooms {
        let scene = Scene::new(siege.below(5));
        siege.tried(
            format!("files of {kilobytes} KB at the most"),
            scene.full(*kilobytes),
        );
    }
    let (kills, mut hit, mut tries) = (siege.times(2, 12), 0, 0);
    while hit < kills && tries < 4 * kills {
        tries += 1;
        let scene = Scene::new(siege.below(5));
        let after = 1 + siege.below(3 * N / 2);
        match scene.killed(after) {
            Ok(false) => {}
            Ok(true) => {
                hit += 1;
                siege.tried(format!("killed after {after} calls"), Ok(()));
            }
            Err(problem) => {
                hit += 1;
                siege.tried(format!("killed after {after} calls"), Err(problem));
            }
        }
    }
    siege.tried(
        "enough kills that hit",
        match hit >= kills {
            true => Ok(()),
            false => Err(format!("only {hit} of {tries} were still there")),
        },
    );
}

/// A provider with faults, questions, and a folder that everything is written below.
struct Scene {
    folder: tempfile::TempDir,
    provider: ChatServer,
}

impl Scene {
    fn new(first: usize) -> Self {
        let provider = ChatServer::start(move |request| {
            let usage = request.prompt_words();
            // Faults that the client sees at once, and in the middle of an answer.
            match (request.index % 5 == first, request.index / 5 % 6) {
                (false, _) => Reply::text("Paris").usage(usage, 1),
                (true, 0) => Reply::status(500),
                (true, 1) => Reply::status(429).retry_after_seconds(0),
                (true, 2) => Reply::reset(),
                (true, 3) => Reply::truncated("Paris, which is cut"),
                (true, 4) => Reply::invalid_json(),
                (true, _) => Reply::close(),
            }
        });
        let folder = tempfile::tempdir().unwrap();
        // Bodies of different lengths tell whose they are.
        let line = |at: usize| {
            let example = json!({
                "id": format!("q{at}"),
                "context": format!("Paris is the capital of France. {}", "And so on. ".repeat(30 + 7 * at)),
                "question": format!("Number {at}: what is the capital of France?"),
                "answer": "Paris",
            });
            format!("{example}\n")
        };
        let lines: String = (0..N).map(line).collect();
        fs::write(folder.path().join("questions.jsonl"), lines).unwrap();
        Self { folder, provider }
    }

    fn store(&self) -> PathBuf {
        self.folder.path().join("sto re")
    }

    /// A run of the arms of a proxy in that mode.
    fn command(&self, mode: &str, more: &[&str]) -> Command {
        let mut line = command();
        self.ask(&mut line, mode, more);
        line
    }

    fn ask(&self, line: &mut Command, mode: &str, more: &[&str]) {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/proxy/fake_proxy.py");
        let profile = self.folder.path().join(format!("{mode}.yaml"));
        // The command line names the folder, by which its processes are found.
        let text = format!(
            "proxy: fake\nabout: a proxy for tests\ninstall: it comes with the tests\n\
             command: [python3, {script:?}, '{{port}}', '{{tap}}', {mode}, {:?}]\n\
             ready: {{url: 'http://127.0.0.1:{{port}}/ready', timeout: 300}}\n\
             session_header: x-fake-session\n",
            self.folder.path()
        );
        fs::write(&profile, text).unwrap();
        line.env("OPENAI_API_KEY", KEY);
        line.args([
            "run",
            "--proxy",
            arg(&profile),
            "--upstream",
            &self.provider.url(),
        ]);
        line.args([
            "--dataset",
            arg(&self.folder.path().join("questions.jsonl")),
        ]);
        line.args(["--cache-dir", arg(&self.store()), "--max-workers", "4"]);
        line.args(["--tap-log", arg(&self.folder.path().join("tap.jsonl"))]);
        // Rows are looked at, however much is nobody's.
        line.args([
            "--tap-unattributed",
            "1",
            "--timeout",
            "3",
            "--output",
            "json",
            "-q",
        ]);
        line.args(more);
    }

    /// What must hold of every run.
    fn holds(&self, done: &Done) -> Result<(), String> {
        if !matches!(done.code, 0 | 3) {
            return Err(format!("the run ended otherwise: {done}"));
        }
        let result = done.json();
        let arms = result["wire"]
            .as_object()
            .ok_or_else(|| format!("no wire: {done}"))?;
        for name in arms.keys() {
            adds_up(&result, name)?;
        }
        self.is_what_the_provider_saw(&result, 0)?;
        self.is_nobody_elses(&result)?;
        self.nothing_is_left()?;
        self.no_key(done)
    }

    /// Calls and bytes of the tap in this run are those that came since then.
    fn is_what_the_provider_saw(&self, result: &Value, since: usize) -> Result<(), String> {
        let arms = || result["wire"].as_object().into_iter().flatten();
        // What a proxy begins to ask and is ended before it is out, the provider does not see.
        let sent = |arm: &Value, key: &str| {
            let unsent = arm["unsent"][key].as_u64().unwrap_or(0);
            arm[key].as_u64().map(|all| all - unsent)
        };
        let sum = |key: &str| {
            let sent = arms().filter_map(|(_, arm)| sent(arm, key));
            sent.sum::<u64>()
        };
        let requests = self.provider.requests();
        let bytes: u64 = requests[since..].iter().map(length).sum();
        let seen = ((requests.len() - since) as u64, bytes);
        match (sum("calls"), sum("bytes")) == seen {
            true => Ok(()),
            false => Err(format!(
                "the provider saw {seen:?}, the tap {}",
                result["wire"]
            )),
        }
    }

    /// No example has more than the provider got for it, and all of it where nothing is
    /// unattributed.
    fn is_nobody_elses(&self, result: &Value) -> Result<(), String> {
        let mut sent: BTreeMap<String, u64> = BTreeMap::new();
        for request in self.provider.requests() {
            let asked = request.body["messages"].to_string();
            let number = asked
                .split("Number ")
                .nth(1)
                .and_then(|rest| rest.split(':').next());
            // A proxy that shortens leaves less.
            if let Some(number) = number {
                *sent.entry(format!("q{number}")).or_default() += length(&request);
            }
        }
        if sent.is_empty() {
            return Err("no request names its example".into());
        }
        let unattributed: u64 = result["wire"]
            .as_object()
            .into_iter()
            .flatten()
            .filter_map(|(_, arm)| arm["unattributed"]["calls"].as_u64())
            .sum();
        let mut told: BTreeMap<String, u64> = BTreeMap::new();
        for row in result["rows"].as_array().into_iter().flatten() {
            let id = row["example_id"].as_str().unwrap_or_default().to_owned();
            let bytes = row["wire"]["all_upstream_bytes"].as_u64().unwrap_or(0);
            let unsent = row["wire"]["unsent"]["bytes"].as_u64().unwrap_or(0);
            *told.entry(id).or_default() += bytes - unsent;
        }
        for (id, told) in &told {
            let sent = sent.get(id).copied().unwrap_or(0);
            if *told > sent || unattributed == 0 && *told != sent {
                return Err(format!(
                    "{id} has {told} bytes, and the provider got {sent}: {result}"
                ));
            }
        }
        Ok(())
    }

    /// Waits until no process of its proxies is there.
    fn nothing_is_left(&self) -> Result<(), String> {
        let begun = Instant::now();
        loop {
            let left = processes_with(&self.folder.path().to_string_lossy());
            match left.is_empty() {
                true => return Ok(()),
                false if begun.elapsed() > PATIENCE => return Err(format!("{left:?} are left")),
                false => std::thread::sleep(Duration::from_millis(5)),
            }
        }
    }

    /// The key is in no file and in nothing that was said.
    fn no_key(&self, done: &Done) -> Result<(), String> {
        let mut folders = vec![self.folder.path().to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap().flatten() {
                let path = entry.path();
                match path.is_dir() {
                    true => folders.push(path),
                    false => {
                        let bytes = fs::read(&path).unwrap_or_default();
                        if bytes.windows(KEY.len()).any(|part| part == KEY.as_bytes()) {
                            return Err(format!("the key is in {}", path.display()));
                        }
                    }
                }
            }
        }
        match done.stdout.contains(KEY) || done.stderr.contains(KEY) {
            true => Err("the key was printed".into()),
            false => Ok(()),
        }
    }

    /// A disk without room for store, log of the tap and logs of proxies.
    fn full(&self, kilobytes: usize) -> Result<(), String> {
        let mut limited = Command::new("bash");
        // Files may grow so far only; writing more fails as on a full disk.
        let script = format!("trap '' XFSZ; ulimit -f {kilobytes}; exec \"$@\"");
        limited.args(["-c", &script, "bash", env!("CARGO_BIN_EXE_context-bench")]);
        limited.env("XDG_CACHE_HOME", self.folder.path().join("tasks"));
        limited.stdin(Stdio::null());
        self.ask(&mut limited, "shortens", &["--max-retries", "0"]);
        let done = run_for(&mut limited)?;
        if done.code == 2 {
            // Not even the folder of the proxies: said before anything was asked.
            let said = done.stderr.contains("error: ");
            return match said && self.provider.request_count() == 0 {
                true => self.nothing_is_left(),
                false => Err(format!("an end without a word: {done}")),
            };
        }
        self.holds(&done)
    }

    /// Kills the program without mercy after some calls, looks at what is left of the run, and
    /// runs it again; whether there was something to kill.
    fn killed(&self, after: usize) -> Result<bool, String> {
        let mut line = self.command("relays", &["--max-retries", "0"]);
        let mut child = line
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        while self.provider.request_count() < after && child.try_wait().unwrap().is_none() {
            std::thread::sleep(Duration::from_millis(1));
        }
        if child.try_wait().unwrap().is_some() {
            return Ok(false);
        }
        signal(&child, "-KILL");
        child.wait().unwrap();
        self.nothing_is_left()?;
        let kept = answers_in(&self.store());
        let mut export = command();
        export.args([
            "export",
            "last",
            "--output",
            "json",
            "--cache-dir",
            arg(&self.store()),
        ]);
        let export = run_for(&mut export)?;
        let part = export.json();
        for (name, arm) in part["wire"].as_object().into_iter().flatten() {
            let calls: u64 = rows(&part, name).filter_map(calls_of).sum();
            if arm["partial"] != true || arm["calls"] != calls {
                return Err(format!("{calls} calls of {name} are in the store: {arm}"));
            }
        }
        if part["wire"].as_object().is_none_or(|arms| arms.len() != 3) {
            return Err(format!("a killed run without its arms: {export}"));
        }
        let since = self.provider.request_count();
        let done = run_for(&mut self.command("relays", &["--max-retries", "0"]))?;
        let result = done.json();
        let mut reused = 0;
        for name in ["direct", "fake:passthrough", "fake"] {
            adds_up(&result, name)?;
            let arm = &result["wire"][name];
            let earlier = arm["earlier"]["calls"].as_u64().unwrap_or(0);
            reused += arm["earlier"]["rows"].as_u64().unwrap_or(0);
            let cached = rows(&result, name).filter(|row| row["cached"] == true);
            let of_rows: u64 = cached.filter_map(calls_of).sum();
            if earlier != of_rows {
                return Err(format!("{of_rows} calls of rows of before: {arm}"));
            }
        }
        if i64::try_from(reused) != Ok(kept) {
            return Err(format!(
                "{kept} answers were kept, and {reused} reused: {done}"
            ));
        }
        self.is_what_the_provider_saw(&result, since)?;
        self.nothing_is_left()?;
        self.no_key(&done)?;
        Ok(true)
    }
}

fn rows<'a>(result: &'a Value, system: &'a str) -> impl Iterator<Item = &'a Value> {
    let rows = result["rows"].as_array().into_iter().flatten();
    rows.filter(move |row| row["system"] == system)
}

/// Calls upstream that a row caused.
fn calls_of(row: &Value) -> Option<u64> {
    let calls = row["wire"]["calls"].as_object()?;
    Some(calls.values().filter_map(Value::as_u64).sum())
}

/// Everything planned was scored or failed, and rows with what is nobody's are the whole arm. No
/// row is left out, also behind a proxy that has died: that is no wrong address, for which a run
/// gives a system up, and is known before the first row fails for it.
fn adds_up(result: &Value, name: &str) -> Result<(), String> {
    let counts = &result["counts"][name];
    let count = |key: &str| counts[key].as_u64().unwrap_or(0);
    let (planned, scored, failed) = (count("planned"), count("scored"), count("failed"));
    let n_rows = rows(result, name).count() as u64;
    if planned != N as u64 || scored + failed + count("unscored") != planned || n_rows != planned {
        return Err(format!("{name}: {n_rows} rows, {counts}"));
    }
    let errors = rows(result, name)
        .filter(|row| !row["error"].is_null())
        .count();
    if errors as u64 != failed {
        return Err(format!("{name}: {errors} rows have an error, {counts}"));
    }
    let arm = &result["wire"][name];
    let fresh = rows(result, name).filter(|row| row["cached"] != true);
    let told: u64 = fresh.filter_map(calls_of).sum();
    let probes = arm["by_class"]["probe"].as_u64().unwrap_or(0);
    let unattributed = arm["unattributed"]["calls"].as_u64().unwrap_or(0);
    match told + unattributed + probes == arm["calls"].as_u64().unwrap_or(u64::MAX) {
        true => Ok(()),
        false => Err(format!("{name}: rows caused {told} calls: {arm}")),
    }
}

/// Nothing came through the proxy: no score, no call of the provider, and every row says that it
/// has ended. What goes around it is none the worse.
fn only_failed(result: &Value) -> Result<(), String> {
    let counts = &result["counts"];
    if counts["fake"]["failed"] != N || counts["fake"]["scored"] != 0 {
        return Err(format!("a proxy that only fails: {}", counts["fake"]));
    }
    if result["wire"]["fake"]["calls"] != 0 || counts["direct"]["scored"] == 0 {
        return Err(format!("{counts}, {}", result["wire"]));
    }
    let is_told = |row: &Value| row["error"].to_string().contains("ended during the run");
    match rows(result, "fake").find(|row| !is_told(row)) {
        Some(row) => Err(format!("a row that does not say why: {row}")),
        None => Ok(()),
    }
}

fn length(request: &context_bench_testkit::RecordedRequest) -> u64 {
    let length = request.headers.get("content-length").unwrap_or_default();
    length.parse().unwrap_or(0)
}

/// Processes with this text in their command line that have not ended.
fn processes_with(text: &str) -> Vec<u32> {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let is_one = |pid: &u32| {
        // Those that only wait to be noticed have no command line.
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        *pid != std::process::id() && String::from_utf8_lossy(&line).contains(text)
    };
    pids.filter(is_one).collect()
}
