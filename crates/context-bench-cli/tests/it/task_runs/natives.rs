//! Datasets of the catalog, run as tasks.

use std::time::Duration;

use context_bench_testkit::{ChatServer, Reply};
use serde_json::{Value, json};

use super::{Tasks, body, lines};

const DATASET: &str = r#"
name: NAME
about: Questions about ferries
category: qa
licence: CC-BY-4.0
source: {files: NAME.jsonl}
fields: {id: key, question: ask, answers: golds}
evaluators: [answer_quality]
score_field: f1
"#;
const GROUP: &str = "group: both\ntask: [ferry, boat]\naggregate_metric_list: [{metric: f1, weight_by_size: true}]\n";

/// `n` records, of which the first `gold` have an answer.
fn records(n: usize, gold: usize, answer: &str) -> String {
    let record = |i: usize| {
        let golds = if i < gold { vec![answer] } else { Vec::new() };
        json!({"key": format!("k{i}"), "ask": format!("where {i}?"), "golds": golds})
    };
    lines(&(0..n).map(record).collect::<Vec<_>>())
}

fn tasks() -> Tasks {
    Tasks::new(&[
        ("ferry.yaml", &DATASET.replace("NAME", "ferry")),
        ("boat.yaml", &DATASET.replace("NAME", "boat")),
        ("both.yaml", GROUP),
        ("ferry.jsonl", &records(5, 4, "here")),
        ("boat.jsonl", &records(20, 2, "elsewhere")),
    ])
}

#[test]
fn scores_rest_on_the_documents_that_have_them() {
    let tasks = tasks();
    let server = ChatServer::start(|_| Reply::text("here"));
    let results = tasks.results("both", &["--proxy", &server.url()]);
    let group = &results["results"]["both"];
    // Four of ferry are right, two of boat are wrong; the others have no gold answer.
    assert!((group["f1,none"].as_f64().unwrap() - 4.0 / 6.0).abs() < 1e-12);
    assert_eq!(group["sample_count"]["f1,none"], json!(6));
    for (task, planned, scored) in [("ferry", 5, 4), ("boat", 20, 2)] {
        let counts = &results["counts"][task];
        assert_eq!(counts["planned"], json!(planned));
        assert_eq!(counts["scored"], json!(scored));
        assert_eq!(counts["not_applicable"], json!(planned - scored));
        assert_eq!(results["results"][task]["sample_len"], json!(scored));
    }
}

#[test]
fn a_score_counts_though_another_one_is_missing() {
    let judged = DATASET
        .replace("NAME", "ferry")
        .replace("[answer_quality]", "[answer_quality, llm_judge]");
    let tasks = Tasks::new(&[
        ("ferry.yaml", &judged),
        ("ferry.jsonl", &records(2, 2, "here")),
    ]);
    let server = ChatServer::start(|_| Reply::text("here"));
    let url = server.url();
    let done = tasks.run(
        "ferry",
        &["--proxy", &url, "--judge-url", &url, "--output", "json"],
    );
    assert_eq!(done.code, 3, "{done}");
    let results = super::only(&done);
    assert_eq!(results["results"]["ferry"]["f1,none"], json!(1.0));
    assert_eq!(results["results"]["ferry"]["sample_len"], json!(2));
    assert_eq!(results["counts"]["ferry"]["unscored"], json!(2));
}

#[test]
fn what_can_be_asked_for_is_sent_and_what_cannot_is_told() {
    let tasks = tasks();
    let server = ChatServer::start(|_| Reply::text("here"));
    let proxy = server.url();
    let args = [
        "--proxy",
        &proxy,
        "--gen-kwargs",
        "temperature=0.5,max_gen_toks=7",
        "--system-instruction",
        "Be brief",
        "--num-fewshot",
        "5",
    ];
    let done = tasks.run("ferry", &args);
    assert_eq!(done.code, 0, "{done}");
    assert!(
        done.stderr
            .contains("`--num-fewshot` has no effect on `ferry`"),
        "{done}"
    );
    assert!(done.stdout.contains("num_fewshot: None"), "{done}");
    let sent = body(&server.requests()[0]);
    assert_eq!(sent["temperature"], json!(0.5));
    assert_eq!(sent["max_tokens"], json!(7));
    assert_eq!(
        sent["messages"][0],
        json!({"role": "system", "content": "Be brief"})
    );
}

#[test]
fn files_replace_the_split_and_names_must_mean_something() {
    let tasks = tasks();
    let server = ChatServer::start(|_| Reply::text("here"));
    let proxy = server.url();
    let file = tasks.path("boat.jsonl");
    let planned = |given: &[&str]| -> Value {
        let results = tasks.results("ferry", &[&["--proxy", &proxy][..], given].concat());
        results["counts"]["ferry"]["planned"].clone()
    };
    assert_eq!(planned(&["--data", &format!("test={file}")]), json!(20));
    assert_eq!(
        planned(&["--data-from", &format!("ferry={file}")]),
        json!(20)
    );
    let asked = server.request_count();
    let with = |flag: &str, value: &str| {
        let value = format!("{value}={file}");
        tasks.run("ferry", &["--proxy", &proxy, flag, &value])
    };
    with("--data", "train").is_error(&["not `train`", "--data test=FILE"]);
    with("--data-from", "fery").is_error(&["`--data-from fery=…`", "`ferry`"]);
    let both = tasks.run("ferry", &["--proxy", &proxy, "-n", "2", "-L", "3"]);
    both.is_error(&["`--limit` and `--max-examples` cannot be used together"]);
    assert_eq!(server.request_count(), asked);
}

#[test]
fn several_answers_are_asked_for_and_averaged_by_document() {
    let tasks = tasks();
    let server = ChatServer::start(|request| {
        Reply::text(if request.index % 2 == 0 { "here" } else { "no" })
    });
    let args = ["--proxy", &server.url(), "--repeats", "2"];
    let results = tasks.results("ferry", &args);
    assert_eq!(server.request_count(), 10);
    assert_eq!(results["results"]["ferry"]["f1,none"], json!(0.5));
    assert_eq!(results["results"]["ferry"]["sample_len"], json!(4));
    assert_eq!(results["counts"]["ferry"]["planned"], json!(5));
}

#[test]
fn documents_that_nobody_was_asked_about_are_counted() {
    let tasks = tasks();
    let server = ChatServer::start(|_| Reply::text("here").after(Duration::from_millis(400)));
    let done = tasks.run(
        "boat",
        &[
            "--proxy",
            &server.url(),
            "--max-time",
            "1",
            "--output",
            "json",
        ],
    );
    assert_eq!(done.code, 75, "{done}");
    let counts = super::only(&done)["counts"]["boat"].clone();
    let n = |name: &str| counts[name].as_u64().unwrap();
    assert_eq!(n("planned"), 20);
    assert!(n("not_run") > 10, "{counts}");
    assert_eq!(n("scored") + n("not_applicable") + n("not_run"), 20);
}

#[test]
fn samples_of_datasets_are_logged_for_each_system() {
    let tasks = tasks();
    let server = ChatServer::start(|_| Reply::text("here"));
    let other = ChatServer::start(|_| Reply::text("there"));
    let out = tasks.path("out/r.json");
    let args = [
        "--proxy",
        &server.url(),
        "--name",
        "one",
        "--proxy",
        &other.url(),
        "--name",
        "two",
        "--output-path",
        &out,
        "--log-samples",
    ];
    let done = tasks.run("ferry", &args);
    assert_eq!(done.code, 0, "{done}");
    let files = super::files(&tasks.folder.path().join("out"));
    assert_eq!(files.len(), 4, "{files:?}");
    let of = |system: &str| -> Vec<Value> {
        let name = format!("samples_{system}_ferry_");
        let file = files.iter().find(|file| file.contains(&name)).unwrap();
        let text = std::fs::read_to_string(file).unwrap();
        text.lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    };
    let (one, two) = (of("one"), of("two"));
    // The fifth has no gold answer and no score.
    assert_eq!((one.len(), two.len()), (4, 4));
    assert_eq!(one[0]["resps"], json!(["here"]));
    assert_eq!(two[0]["resps"], json!(["there"]));
    assert_eq!(one[0]["target"], json!("['here']"));
    assert_eq!(one[0]["f1"], json!(1.0));
    assert_eq!(one[0]["doc"]["question"], json!("where 0?"));
    assert_eq!(one[0]["doc_hash"].as_str().unwrap().len(), 64);
    let asked = &one[0]["arguments"]["gen_args_0"]["arg_0"];
    assert_eq!(
        asked.as_array().unwrap().last().unwrap()["content"],
        json!("where 0?")
    );
}
