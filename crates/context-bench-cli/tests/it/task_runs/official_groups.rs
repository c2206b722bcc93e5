//! Groups that come with the program, summed up as the authors of the benchmarks do.

use context_bench_testkit::{ChatServer, Reply, Request};
use serde_json::{Value, json};

use super::{Tasks, lines};

/// Says what the question wants to hear, as BBH's answers end.
fn obeys(request: &Request) -> Reply {
    let asked = request.last_user_content();
    let (_, wish) = asked.rsplit_once("Say ").unwrap();
    let word = wish.split(['\n', '!']).next().unwrap();
    Reply::text(format!("So the answer is {word}."))
}

/// The ROUGE of LongBench is short of 1 by some billionths.
fn close(found: &Value, expected: f64) {
    let found = found.as_f64().unwrap();
    assert!((found - expected).abs() < 1e-7, "{found}, not {expected}");
}

#[test]
fn bbh_is_the_mean_of_23_tasks() {
    let configs = include_str!("../../../../context-bench/catalog/datasets/bbh.yaml");
    let configs = configs
        .lines()
        .filter_map(|line| line.strip_suffix('}')?.split_once(": {examples"));
    let configs: Vec<&str> = configs.map(|(name, _)| name.trim()).collect();
    assert_eq!(configs.len(), 27);
    let files: Vec<(String, String)> = configs
        .iter()
        .map(|name| {
            // What is right of each, else all of one.
            let right: &[bool] = match *name {
                "navigate" => &[true, false],
                "logical_deduction_three_objects" => &[false, false, false],
                "tracking_shuffled_objects_five_objects" => &[false],
                "tracking_shuffled_objects_seven_objects" => &[false, false],
                _ => &[true],
            };
            let record = |right: &bool| {
                let said = if *right { "yes" } else { "no" };
                json!({"input": format!("Say {said}!"), "target": "yes"})
            };
            let records: Vec<Value> = right.iter().map(record).collect();
            (format!("bbh/{name}/test.jsonl"), lines(&records))
        })
        .collect();
    let files: Vec<(&str, &str)> = files
        .iter()
        .map(|(a, b)| (a.as_str(), b.as_str()))
        .collect();
    let tasks = Tasks::new(&files);
    let server = ChatServer::start(obeys);
    let copy = format!("bbh={}", tasks.path("bbh"));
    let args = ["--proxy", &server.url(), "--data-from", &copy];
    let results = tasks.results("bbh", &args);
    let scores = &results["results"];
    close(&scores["bbh_navigate"]["bbh,none"], 0.5);
    close(&scores["bbh_logical_deduction"]["bbh,none"], 2.0 / 3.0);
    close(
        &scores["bbh_tracking_shuffled_objects"]["bbh,none"],
        1.0 / 3.0,
    );
    close(&scores["bbh"]["bbh,none"], (20.0 + 0.5 + 1.0) / 23.0);
}

#[test]
fn longbench_is_the_mean_of_six_categories() {
    // Prompts show the context or the question, or both.
    let of = |name: &str, wishes: &[&str]| {
        let record = |wish: &&str| {
            let said = format!("Say {wish}!");
            json!({"input": said, "context": said, "answers": ["5"],
                   "length": 1, "dataset": name, "language": "en", "all_classes": ["5"], "_id": wish})
        };
        let records: Vec<Value> = wishes.iter().map(record).collect();
        (format!("longbench/{name}.jsonl"), lines(&records))
    };
    let mut files = vec![of("narrativeqa", &["5", "6"]), of("lcc", &["6", "6", "6"])];
    for name in [
        "qasper",
        "multifieldqa_en",
        "multifieldqa_zh",
        "hotpotqa",
        "2wikimqa",
        "musique",
        "dureader",
        "gov_report",
        "qmsum",
        "multi_news",
        "vcsum",
        "trec",
        "triviaqa",
        "samsum",
        "lsht",
        "passage_count",
        "passage_retrieval_en",
        "passage_retrieval_zh",
        "repobench-p",
    ] {
        files.push(of(name, &["5"]));
    }
    let files: Vec<(&str, &str)> = files
        .iter()
        .map(|(a, b)| (a.as_str(), b.as_str()))
        .collect();
    let tasks = Tasks::new(&files);
    // The number alone: every rule of LongBench takes it for what it is.
    let server = ChatServer::start(|request: &Request| {
        let asked = request.last_user_content();
        let (_, wish) = asked.rsplit_once("Say ").unwrap();
        Reply::text(&wish[..1])
    });
    let copy = format!("longbench={}", tasks.path("longbench"));
    let url = server.url();
    let args = ["--proxy", &url, "--data-from", &copy];
    let results = tasks.results("longbench,longbench_zh", &args);
    let scores = &results["results"];
    let single = (0.5 + 1.0 + 1.0) / 3.0;
    close(
        &scores["longbench_single_document_qa"]["longbench,none"],
        single,
    );
    let code = (0.0 + 1.0) / 2.0;
    close(&scores["longbench_code"]["longbench,none"], code);
    close(
        &scores["longbench"]["longbench,none"],
        (single + 4.0 + code) / 6.0,
    );
    close(
        &scores["longbench_zh"]["longbench,none"],
        (5.0 + code) / 6.0,
    );
}
