//! Runs whose proxy misbehaves: its rows fail with a reason, and nothing is left of it.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use context_bench_testkit::{ChatServer, Reply};
use serde_json::Value;

use super::{fake_profile, is_alive, wait_until_gone};
use crate::program::{Done, command, questions, run_with};

/// What no proxy, file or message may hold.
const KEY: &str = "sk-real-0123456789abcdefghijklmnopqrstuvwxyz";

struct Scene {
    folder: tempfile::TempDir,
    _questions: tempfile::TempDir,
    dataset: PathBuf,
    provider: ChatServer,
}

impl Scene {
    fn new(examples: usize) -> Self {
        let (kept, dataset) = questions(examples);
        Self {
            folder: tempfile::tempdir().expect("a folder"),
            _questions: kept,
            dataset,
            provider: ChatServer::start(|_| Reply::text("Paris")),
        }
    }

    fn profile(&self, mode: &str) -> PathBuf {
        let path = self.folder.path().join(format!("{mode}.yaml"));
        // Its command line names the folder, by which its processes are found.
        let marked = format!("{mode}, {:?}]", self.folder.path());
        let text = fake_profile(mode).replace(&format!("{mode}]"), &marked);
        std::fs::write(&path, text).expect("written");
        path
    }

    fn command(&self, mode: &str, more: &[&str]) -> Command {
        self.command_of(&self.profile(mode), more)
    }

    fn command_of(&self, profile: &Path, more: &[&str]) -> Command {
        let mut line = command();
        line.env("OPENAI_API_KEY", KEY)
            .arg("run")
            .arg("--proxy")
            .arg(profile);
        line.args([
            "--upstream",
            &self.provider.url(),
            "--output",
            "json",
            "--dataset",
        ]);
        line.arg(&self.dataset)
            .arg("--cache-dir")
            .arg(self.store())
            .args(more);
        line
    }

    fn run(&self, mode: &str, more: &[&str]) -> Done {
        run_with(&mut self.command(mode, more))
    }

    fn store(&self) -> PathBuf {
        self.folder.path().join("sto re")
    }

    /// The texts of the logs of its proxies.
    fn logs(&self) -> String {
        let folder = self.store().join("proxies");
        let files = std::fs::read_dir(folder).into_iter().flatten().flatten();
        let logs = files
            .map(|file| file.path())
            .filter(|path| path.extension().is_some_and(|end| end == "log"));
        let texts = logs.map(|path| std::fs::read_to_string(path).unwrap_or_default());
        texts.collect()
    }

    /// Fails if a process of its proxies is there.
    fn nothing_is_left(&self) {
        let folder = self.folder.path().to_string_lossy().into_owned();
        wait_until_gone(&processes_with(&folder));
    }
}

/// Processes with this text in their environment or command line.
pub(super) fn processes_with(text: &str) -> Vec<u32> {
    let entries = std::fs::read_dir("/proc").expect("processes").flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let holds = |pid: &u32| {
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).contains(text)
    };
    pids.filter(holds).collect()
}

fn rows<'a>(done: &'a Value, system: &str) -> Vec<&'a Value> {
    let rows = done["rows"].as_array().expect("rows").iter();
    rows.filter(|row| row["system"] == system).collect()
}

#[test]
fn three_arms_are_measured_and_what_they_sent_is_what_the_provider_got() {
    let scene = Scene::new(6);
    let done = scene.run("shortens", &[]);
    assert_eq!(done.code, 0, "{done}");
    let result = done.json();
    let requests = scene.provider.requests();
    // A process of its own was probed, and the provider knows nothing of that.
    assert_eq!(requests.len(), 18);
    let total: u64 = ["direct", "fake:passthrough", "fake"]
        .iter()
        .map(|arm| {
            let wire = &result["wire"][arm];
            assert_eq!(wire["calls"], 6, "{wire}");
            assert_eq!(wire["unattributed"]["calls"], 0, "{wire}");
            wire["bytes"].as_u64().expect("bytes")
        })
        .sum();
    let received: u64 = requests
        .iter()
        .map(|one| {
            one.headers
                .get("content-length")
                .expect("a length")
                .parse::<u64>()
                .expect("a number")
        })
        .sum();
    assert_eq!(total, received);
    for request in &requests {
        let key = request.headers.get("authorization");
        assert_eq!(key, Some(format!("Bearer {KEY}").as_str()));
        assert_eq!(request.headers.get("x-cb-call"), None);
    }
    let facts = &result["wire"]["fake"]["facts"];
    assert_eq!(facts["proxy"], "fake");
    assert_eq!(facts["carriers"]["carriers"]["header"], true, "{facts}");
    assert_eq!(facts["stats"]["mode"], "shortens");
    scene.nothing_is_left();

    // A second run has everything and starts nothing.
    std::fs::remove_dir_all(scene.store().join("proxies")).expect("removed");
    let again = scene.run("shortens", &[]);
    assert_eq!(again.code, 0, "{again}");
    assert_eq!(scene.provider.requests().len(), 18);
    assert_eq!(scene.logs(), "");
}

#[test]
fn arms_can_be_chosen_and_a_dry_run_starts_nothing() {
    let scene = Scene::new(2);
    let dry = scene.run("relays", &["--dry-run"]);
    assert_eq!(dry.code, 0, "{dry}");
    let printed = scene.run("relays", &["--print-config", "--arms", "direct,transform"]);
    assert!(printed.stdout.contains("arms:"), "{printed}");
    assert!(!scene.store().join("proxies").exists());
    let done = scene.run("relays", &["--arms", "transform"]);
    assert_eq!(done.code, 0, "{done}");
    let result = done.json();
    assert_eq!(rows(&result, "fake").len(), 2);
    assert_eq!(result["rows"].as_array().map(Vec::len), Some(2));
    scene
        .run("relays", &["--arms", "transfrom"])
        .is_error(&["there is no arm `transfrom`"]);
}

#[test]
fn rows_of_a_proxy_that_dies_fail_with_its_last_words() {
    let scene = Scene::new(6);
    let done = scene.run(
        "dies",
        &["--arms", "direct,transform", "--max-retries", "0"],
    );
    assert_eq!(done.code, 3, "{done}");
    let result = done.json();
    assert_eq!(result["counts"]["direct"]["failed"], 0);
    let failed: Vec<&Value> = rows(&result, "fake")
        .into_iter()
        .filter(|row| !row["error"].is_null())
        .collect();
    assert_eq!(failed.len(), 4, "{done}");
    // The call during which it died may have failed before its end was known.
    for row in &failed[1..] {
        let error = row["error"].to_string();
        assert!(
            error.contains("ended during the run (exit code 3)") && error.contains("out of ideas"),
            "{error}"
        );
    }
    scene.nothing_is_left();
}

#[test]
fn a_proxy_that_hangs_or_lies_costs_its_rows_and_nothing_else() {
    for mode in ["hangs", "lies"] {
        let scene = Scene::new(2);
        let more = [
            "--arms",
            "direct,transform",
            "--max-retries",
            "0",
            "--timeout",
            "10",
        ];
        let done = scene.run(mode, &more);
        assert_eq!(done.code, 3, "{mode}: {done}");
        let result = done.json();
        assert_eq!(result["counts"]["direct"]["failed"], 0, "{mode}: {done}");
        // Its second call, and nothing but that.
        assert_eq!(result["counts"]["fake"]["failed"], 1, "{mode}: {done}");
        assert_eq!(result["counts"]["fake"]["scored"], 1, "{mode}: {done}");
        scene.nothing_is_left();
    }
}

/// What the proxy `counts` says of its state in the requests that reached the provider, by
/// process: the numbers of its calls, and the questions that they asked, both sorted.
fn seen_by_process(scene: &Scene) -> Vec<(Vec<u32>, Vec<String>)> {
    let mut seen: HashMap<String, (Vec<u32>, Vec<String>)> = HashMap::new();
    for request in scene.provider.requests() {
        let messages = request.body["messages"].as_array().expect("messages");
        let text = messages.last().expect("a message")["content"].to_string();
        let (_, state) = text
            .split_once("[process ")
            .expect("the state of the proxy");
        let (process, call) = state.split_once(" call ").expect("a call");
        let call = call.trim_end_matches(['"', ']']).parse().expect("a number");
        let question = text
            .split("Number ")
            .nth(1)
            .and_then(|rest| rest.split(':').next());
        let (calls, questions) = seen.entry(process.to_owned()).or_default();
        calls.push(call);
        questions.push(question.expect("a question").to_owned());
    }
    let mut seen: Vec<_> = seen.into_values().collect();
    for (calls, questions) in &mut seen {
        calls.sort_unstable();
        questions.sort_unstable();
    }
    seen.sort();
    seen
}

#[test]
fn every_repeat_of_a_proxy_that_keeps_state_has_a_process_of_its_own() {
    let more = ["--arms", "transform", "--repeats", "3"];
    let asked = |times: usize| -> Vec<String> {
        let questions = ["0", "1"]
            .iter()
            .flat_map(|one| vec![(*one).to_owned(); times]);
        questions.collect()
    };
    for (is_stateful, processes) in [(true, 3), (false, 1)] {
        let scene = Scene::new(2);
        let path = scene.profile("counts");
        let text = std::fs::read_to_string(&path).expect("a profile");
        std::fs::write(&path, format!("{text}stateful: {is_stateful}\n")).expect("written");
        let mut line = scene.command_of(&path, &more);
        let done = run_with(&mut line);
        assert_eq!(done.code, 0, "{done}");
        let result = done.json();
        assert_eq!(result["counts"]["fake"]["scored"], 6, "{done}");
        let wire = &result["wire"]["fake"];
        assert_eq!(wire["calls"], 6, "{wire}");
        assert_eq!(wire["unattributed"]["calls"], 0, "{wire}");
        // No process answers two attempts at one example, and none begins with the calls of
        // another.
        let each = 3 / processes;
        let calls: Vec<u32> = (1..=2 * each as u32).collect();
        let expected = vec![(calls, asked(each)); processes];
        assert_eq!(seen_by_process(&scene), expected, "stateful: {is_stateful}");
        scene.nothing_is_left();
    }
}

#[test]
fn what_a_proxy_prints_is_kept_without_keys() {
    let scene = Scene::new(2);
    let done = scene.run("prints-secrets", &["--arms", "transform"]);
    assert_eq!(done.code, 0, "{done}");
    let logs = scene.logs();
    assert!(logs.contains("environment: "), "{logs}");
    for secret in [KEY, "swordfish-of-the-environment"] {
        assert!(!logs.contains(secret), "{logs}");
        assert!(!done.stdout.contains(secret) && !done.stderr.contains(secret));
    }
    let store = std::fs::read(scene.store().join("store.sqlite")).expect("a store");
    assert!(!String::from_utf8_lossy(&store).contains(KEY));
}

#[test]
fn nothing_is_left_when_the_program_is_killed() {
    let scene = Scene::new(400);
    for signal in ["INT", "KILL"] {
        let mut line = scene.command("grandchildren", &["--arms", "transform", "--rps", "5"]);
        let mut child = line
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("started");
        let pids = wait_for_pids(&scene);
        assert!(pids.iter().all(|pid| is_alive(*pid)), "{pids:?}");
        let pid = child.id().to_string();
        let sent = Command::new("kill").args(["-s", signal, &pid]).status();
        assert!(sent.expect("kill").success());
        child.wait().expect("ended");
        wait_until_gone(&pids);
        std::fs::remove_dir_all(scene.store()).expect("removed");
    }
}

/// The processes of the proxy of a run, once it has begun to ask.
fn wait_for_pids(scene: &Scene) -> Vec<u32> {
    let before = scene.provider.request_count();
    let begun = Instant::now();
    while scene.provider.request_count() == before {
        assert!(begun.elapsed() < Duration::from_secs(300), "no call came");
        std::thread::sleep(Duration::from_millis(20));
    }
    let logs = scene.logs();
    let pids = logs.lines().filter_map(|line| line.strip_prefix("pids "));
    let pids = pids.flat_map(|line| line.split(' ').map(|pid| pid.parse().expect("a number")));
    let pids: Vec<u32> = pids.collect();
    assert_eq!(pids.len(), 3, "{logs}");
    pids
}

#[test]
fn mistakes_are_told_before_anything_is_started() {
    let scene = Scene::new(1);
    let dataset = scene.dataset.to_string_lossy().into_owned();
    let run = |args: &[&str]| {
        let mut line = command();
        line.arg("run").args(args).args(["--dataset", &dataset]);
        run_with(&mut line)
    };
    run(&["--proxy", "kompact"]).is_error(&["starts a proxy", "--upstream URL"]);
    let upstream = ["--upstream", "http://127.0.0.1:9"];
    let unknown = [&["--proxy", "kompct"], &upstream[..]].concat();
    run(&unknown).is_error(&["there is no proxy `kompct`", "did you mean `kompact`?"]);
    let mut missing = command();
    missing
        .env("PATH", "/nowhere")
        .args(["run", "--proxy", "kompact", "--dataset", &dataset]);
    let missing = run_with(missing.args(upstream));
    missing.is_error(&[
        "`kompact` is not installed",
        "hint: pip install 'kompact==0.4.0'",
    ]);
    let bad = scene.folder.path().join("bad.yaml");
    std::fs::write(&bad, "proxy: bad\ncomand: [x]\n").expect("written");
    let bad = bad.to_string_lossy().into_owned();
    let wrong = [&["--proxy", bad.as_str()], &upstream[..]].concat();
    run(&wrong).is_error(&["unknown key `comand` in the proxy profile", "bad.yaml:2:1"]);
    assert!(Path::new(&bad).exists());
}
