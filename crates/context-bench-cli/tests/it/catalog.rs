//! Datasets by name, from a hub on loopback and from local copies.

use std::path::{Path, PathBuf};
use std::process::Command;

use context_bench_testkit::hub::{FakeHub, FakeRepo, HubFault};
use context_bench_testkit::{ChatServer, handlers};
use serde_json::Value;

use crate::program::{Done, arg, command, run_with};

const GSM8K: &str = "{\"question\": \"2+2?\", \"answer\": \"2+2\\n#### 4\"}\n\
                     {\"question\": \"3+3?\", \"answer\": \"3+3\\n#### 6\"}\n";
const BBH: &str = "{\"input\": \"not True is\", \"target\": \"False\"}\n";
const GPQA: &str = "Question,Correct Answer,Incorrect Answer 1,Incorrect Answer 2,Incorrect Answer 3\n\
                    Which?,right,b,c,d\n";

/// Some of the repositories that the catalog names, with data of our own.
fn repos() -> Vec<FakeRepo> {
    vec![
        FakeRepo::new("openai/gsm8k")
            .file("main/test.jsonl", GSM8K.as_bytes())
            .file("socratic/test.jsonl", GSM8K.as_bytes()),
        FakeRepo::new("lukaemon/bbh")
            .file("boolean_expressions/test.jsonl", BBH.as_bytes())
            .file("navigate/test.jsonl", BBH.as_bytes()),
        FakeRepo::new("Idavidrein/gpqa")
            .file("gpqa_diamond.csv", GPQA.as_bytes())
            .gated(),
    ]
}

struct Place {
    hub: FakeHub,
    cache: tempfile::TempDir,
    server: ChatServer,
}

impl Place {
    fn new() -> Self {
        Self {
            hub: FakeHub::start(repos()),
            cache: tempfile::tempdir().unwrap(),
            server: ChatServer::start(handlers::constant("The answer is 4.")),
        }
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = command();
        command.env("HF_ENDPOINT", self.hub.url());
        command.env("HF_HOME", self.cache.path());
        command.args(args);
        command
    }

    fn run(&self, args: &[&str]) -> Done {
        run_with(&mut self.command(args))
    }

    fn offline(&self, args: &[&str]) -> Done {
        run_with(self.command(args).env("HF_HUB_OFFLINE", "1"))
    }

    /// Runs datasets with the JSON result.
    fn json(&self, datasets: &[&str]) -> Value {
        let done = self.run(&self.args(datasets));
        assert_eq!(done.code, 0, "{done}");
        done.json()
    }

    fn args<'a>(&self, datasets: &[&'a str]) -> Vec<&'a str> {
        let url: &'static str = Box::leak(self.server.url().into_boxed_str());
        let mut args = vec!["--proxy", url, "--name", "p", "--output", "json", "--quiet"];
        for dataset in datasets {
            args.extend(["--dataset", dataset]);
        }
        args
    }
}

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../context-bench/tests/fixtures/datasets")
        .join(name)
}

#[test]
fn a_dataset_comes_from_the_hub_is_scored_its_own_way_and_works_offline() {
    let place = Place::new();
    let result = place.json(&["gsm8k"]);
    let scores = &result["rows"][0]["scores"];
    assert_eq!(scores["math_equiv"], 1.0, "{result}");
    assert_eq!(result["summary"]["p"]["mean_score"], 0.5);
    assert_eq!(result["provenance"]["score_field"], "math_equiv");
    let dataset = &result["datasets"][0];
    assert_eq!(dataset["name"], "gsm8k");
    assert_eq!(dataset["source"], "hf://datasets/openai/gsm8k");
    assert_eq!(
        dataset["revision"],
        place.hub.commit("openai/gsm8k", "main").as_str()
    );
    assert_eq!(dataset["examples"], 2);
    assert_eq!(dataset["sha256"].as_str().map(str::len), Some(64));

    place.hub.forget_requests();
    let again = place.offline(&place.args(&["gsm8k"]));
    assert_eq!(again.code, 0, "{again}");
    assert_eq!(again.json()["datasets"], result["datasets"]);
    assert_eq!(place.hub.requests().len(), 0);

    let never = place.offline(&place.args(&["gsm8k:socratic"]));
    assert_eq!(never.code, 2, "{never}");
    assert!(never.stderr.contains("hint: "), "{never}");
}

#[test]
fn each_example_is_scored_by_the_evaluators_of_its_own_dataset() {
    let place = Place::new();
    let result = place.json(&["gsm8k", "bbh:boolean_expressions,navigate"]);
    let rows = result["rows"].as_array().unwrap();
    let told: Vec<(&str, bool, bool)> = rows
        .iter()
        .map(|row| {
            let scores = row["scores"].as_object().unwrap();
            let has = |name| scores.contains_key(name);
            (
                row["dataset"].as_str().unwrap(),
                has("math_equiv"),
                has("score"),
            )
        })
        .collect();
    assert_eq!(
        told,
        [
            ("gsm8k", true, true),
            ("gsm8k", true, true),
            ("bbh:boolean_expressions", false, true),
            ("bbh:navigate", false, true),
        ]
    );
    // 4 is right once in gsm8k; nothing is in bbh.
    assert_eq!(result["summary"]["p"]["mean_score"], 0.25, "{result}");
    assert_eq!(result["summary"]["p"]["dataset:gsm8k"], 0.5);
    assert_eq!(result["provenance"]["score_field"], "score");

    // What the user names replaces the choice of the datasets.
    let mut args = place.args(&["gsm8k"]);
    args.extend(["--evaluator", "answer_quality"]);
    let done = place.run(&args);
    let scores = &done.json()["rows"][0]["scores"];
    assert!(
        scores["f1"].is_number() && scores["math_equiv"].is_null(),
        "{done}"
    );
}

#[test]
fn a_stored_run_is_exported_and_rescored_as_it_was_scored() {
    let place = Place::new();
    let store = tempfile::tempdir().unwrap();
    let mut args = place.args(&["gsm8k", "bbh"]);
    args.extend(["--cache-dir", arg(store.path())]);
    let first = place.run(&args);
    assert_eq!(first.code, 0, "{first}");
    for command in ["export", "rescore"] {
        let again = place.run(&[
            command,
            "last",
            "--cache-dir",
            arg(store.path()),
            "--output",
            "json",
        ]);
        assert_eq!(again.code, 0, "{again}");
        let scores = |done: &Done| -> Vec<Value> {
            let result = done.json();
            let rows = result["rows"].as_array().unwrap();
            rows.iter().map(|row| row["scores"].clone()).collect()
        };
        assert_eq!(scores(&again), scores(&first), "{command}");
        let mean = |done: &Done| done.json()["summary"]["p"]["mean_score"].clone();
        assert_eq!(mean(&again), mean(&first), "{command}");
    }
}

#[test]
fn what_the_hub_refuses_is_told_with_advice() {
    let place = Place::new();
    let fails = |dataset: &str, texts: &[&str]| {
        let done = place.run(&place.args(&[dataset]));
        done.is_error(texts);
        assert_eq!(place.server.request_count(), 0);
    };
    fails("gpqa", &["gpqa", "HF_TOKEN"]);
    fails("gsm8k:mian", &["no config `mian`", "did you mean `main`?"]);
    fails("gsm8k@dev", &["dev", "test"]);
    fails("drop", &["EleutherAI/drop"]);
    fails(
        "gsm9k",
        &["unknown dataset `gsm9k`", "did you mean `gsm8k`?"],
    );
    fails("locomo=x.json", &["memory", "`locomo:qa`"]);
    place.hub.fault("test.jsonl", HubFault::Corrupt(5));
    place.hub.fault("test.jsonl", HubFault::Corrupt(5));
    fails("gsm8k", &["main/test.jsonl"]);
}

#[test]
fn no_network_is_told_with_advice() {
    let mut command = command();
    command.args(["--proxy", "http://127.0.0.1:9", "--dataset", "gsm8k"]);
    // Whatever the hub client waits for must be bounded.
    command.env("HF_HUB_ETAG_TIMEOUT", "1");
    let done = run_with(&mut command);
    assert_eq!(done.code, 2, "{done}");
    assert!(done.stderr.contains("127.0.0.1:9"), "{done}");
    assert!(done.stderr.contains("hint: "), "{done}");
}

#[test]
fn ls_show_and_fetch() {
    let place = Place::new();
    let listed = place.run(&["ls", "datasets", "--output", "json"]).json();
    let datasets = listed["datasets"].as_array().unwrap();
    assert_eq!(datasets.len(), 45);
    let gsm8k = |listed: &Value| {
        let all = listed["datasets"].as_array().unwrap();
        all.iter().find(|d| d["name"] == "gsm8k").unwrap().clone()
    };
    assert_eq!(gsm8k(&listed)["cached"], "no");
    assert_eq!(gsm8k(&listed)["licence"], "MIT");

    let shown = place.run(&["show", "gsm8k"]);
    assert_eq!(shown.code, 0, "{shown}");
    for text in [
        "hub: openai/gsm8k",
        "question: 2+2?",
        "user: 2+2?",
        "score: math_equiv",
    ] {
        assert!(shown.stdout.contains(text), "{text}: {shown}");
    }

    let fetched = place.run(&["fetch", "gsm8k", "bbh:*", "--quiet"]);
    // The fake hub has two of the tasks only.
    assert_eq!(fetched.code, 2, "{fetched}");
    let fetched = place.run(&["fetch", "gsm8k", "bbh:navigate", "--quiet"]);
    assert_eq!(fetched.code, 0, "{fetched}");
    assert!(
        fetched
            .stdout
            .contains(&format!("gsm8k:main: {} bytes in 1 file at ", GSM8K.len())),
        "{fetched}"
    );
    let listed = place.run(&["ls", "datasets", "--output", "json"]).json();
    assert_eq!(gsm8k(&listed)["cached"], "yes");
    place.run(&["fetch"]).code_is_two();
    let table = place.run(&["ls", "datasets"]);
    assert!(table.stdout.contains("hotpotqa"), "{table}");
}

impl Done {
    fn code_is_two(&self) {
        assert_eq!(self.code, 2, "{self}");
    }
}

#[test]
fn local_copies_own_files_and_repeated_ids() {
    let place = Place::new();
    let folder = fixture("mgsm");
    let typed = format!("mgsm:*={}", folder.display());
    let done = place.run(&place.args(&[&typed]));
    assert_eq!(done.code, 2, "only two languages are there: {done}");
    let typed = format!("mgsm:de,en={}", folder.display());
    let result = place.json(&[&typed]);
    assert_eq!(result["datasets"].as_array().map(Vec::len), Some(2));
    assert_eq!(place.hub.requests().len(), 0);

    let own = tempfile::tempdir().unwrap();
    let spec = "name: own\ncategory: qa\nsource:\n  files: own.jsonl\nfields:\n  id: id\n  \
                context: text\n  answer: gold\nevaluators: [answer_quality]\nscore_field: f1\n";
    std::fs::write(own.path().join("own.yaml"), spec).unwrap();
    let records = "{\"id\": 1, \"text\": \"a\", \"gold\": \"x\"}\n".repeat(3);
    std::fs::write(own.path().join("own.jsonl"), records).unwrap();
    let mut args = place.args(&["own"]);
    args.extend(["--include-path", arg(own.path())]);
    let done = place.run(&args);
    assert_eq!(done.code, 0, "{done}");
    assert!(
        done.stderr
            .contains("2 examples have an id that another one has"),
        "{done}"
    );
    let result = done.json();
    let ids: Vec<&Value> = result["rows"]
        .as_array()
        .unwrap()
        .iter()
        .map(|r| &r["example_id"])
        .collect();
    assert_eq!(
        ids,
        [&Value::from(1), &Value::from("1#2"), &Value::from("1#3")]
    );

    let shown = place.run(&[
        "show",
        "own",
        "--include-path",
        arg(own.path()),
        "--output",
        "json",
    ]);
    assert_eq!(shown.json()["example"]["context"], "a", "{shown}");
    std::fs::write(
        own.path().join("own.yaml"),
        spec.replace("fields", "feilds"),
    )
    .unwrap();
    let done = place.run(&args);
    done.is_error(&["own.yaml:5:1", "did you mean `fields`?"]);
}

#[test]
fn a_few_examples_of_a_large_dataset_are_read_in_place() {
    let line = |n: usize| {
        let text = "x".repeat(1000);
        format!("{{\"input\": \"{n} {text}\", \"target\": \"{n}\"}}\n")
    };
    let large: String = (0..8000).map(line).collect();
    let mut place = Place::new();
    let repo = FakeRepo::new("lukaemon/bbh");
    let repo = repo.large("boolean_expressions/test.jsonl", large.as_bytes());
    place.hub = FakeHub::start([repo]);
    let mut args = place.args(&["bbh"]);
    args.extend(["-n", "5"]);
    let done = place.run(&args);
    assert_eq!(done.code, 0, "{done}");
    assert_eq!(done.json()["datasets"][0]["examples"], 5);
    let sent = place.hub.bytes_sent("test.jsonl");
    let share = sent as f64 / large.len() as f64;
    assert!(sent > 0 && share < 0.1, "{sent} of {} bytes", large.len());

    // All of them: the file is fetched, once.
    let done = place.run(&["fetch", "bbh", "--quiet"]);
    assert_eq!(done.code, 0, "{done}");
    place.hub.forget_requests();
    let again = place.offline(&args);
    assert_eq!(again.code, 0, "{again}");
    assert_eq!(again.json()["datasets"], done_datasets(&place, &args));
}

fn done_datasets(place: &Place, args: &[&str]) -> Value {
    place.run(args).json()["datasets"].clone()
}
