//! Tasks that ask for answers: over chats and plain text, stored, repeated, failing.

use context_bench_testkit::{ChatServer, Reply, Request};
use serde_json::{Value, json};

use super::{Tasks, body, files, sum_in, sums};
use crate::program::{arg, run};

const SUMS: &str = r#"
task: sums
dataset_path: json
dataset_kwargs: {data_files: {test: docs.jsonl, train: shots.jsonl}}
test_split: test
training_split: train
doc_to_text: "Q: {{q}}\nA:"
doc_to_target: a
generation_kwargs: {until: ["\n"], max_gen_toks: 8}
metric_list:
  - {metric: exact_match, aggregation: mean, higher_is_better: true}
metadata: {version: 2.0}
"#;

fn tasks() -> Tasks {
    Tasks::new(&[
        ("sums.yaml", SUMS),
        ("docs.jsonl", &sums()),
        ("shots.jsonl", &sums()),
    ])
}

/// Answers sums below six right, with more behind the stop.
fn clerk(request: &Request) -> Reply {
    let sum = sum_in(request.last_user_content());
    let said = if sum < 12 {
        sum.to_string()
    } else {
        "?".into()
    };
    Reply::text(format!("{said}\nQ: 9+9?"))
}

#[test]
fn answers_over_chat_are_cut_scored_and_shown() {
    let tasks = tasks();
    let server = ChatServer::start(clerk);
    let proxy = server.url();
    let args = ["--proxy", &proxy, "--model", "m"];
    let done = tasks.run("sums", &args);
    assert_eq!(done.code, 0, "{done}");
    for part in ["|sums |", "exact_match", "0.6000", "0.1633", "↑", "scored/"] {
        assert!(done.stdout.contains(part), "no `{part}` in {done}");
    }
    let first = body(&server.requests()[0]);
    assert_eq!(
        first,
        json!({"model": "m", "messages": [{"role": "user", "content": "Q: 0+0?\nA:"}],
               "max_tokens": 8, "temperature": 0.0, "stop": ["\n"]})
    );
    let results = tasks.results("sums", &args);
    assert_eq!(results["results"]["sums"]["exact_match,none"], json!(0.6));
    assert_eq!(results["versions"]["sums"], json!(2.0));
    assert_eq!(
        results["n-samples"]["sums"],
        json!({"original": 10, "effective": 10})
    );
    assert_eq!(results["counts"]["sums"]["scored"], json!(10));
}

#[test]
fn two_systems_stand_side_by_side_in_one_table() {
    let tasks = tasks();
    let (knows, guesses) = (
        ChatServer::start(clerk),
        ChatServer::start(|_| Reply::text("?")),
    );
    let args = [
        format!("knows={}", knows.url()),
        format!("guesses={}", guesses.url()),
    ];
    let done = tasks.run("sums", &["--proxy", &args[0], "--proxy", &args[1]]);
    assert_eq!(done.code, 0, "{done}");
    let tables = done.stdout.lines().filter(|line| line.contains("n-shot"));
    let headings: Vec<&str> = tables.collect();
    assert_eq!(headings.len(), 1, "{done}");
    assert!(headings[0].contains("knows") && headings[0].contains("guesses"));
    let line = done.stdout.lines().find(|line| line.starts_with("|sums"));
    let line = line.unwrap_or_default();
    assert!(line.contains("0.6000 ± 0.1633"), "{done}");
    assert!(line.contains("0.0000"), "{done}");
}

/// A limit reads no further than its documents, so how many there are is not known, nor
/// what is broken behind them.
#[test]
fn a_limit_reads_what_its_documents_need() {
    let broken = sums() + "{\"q\": \n";
    let tasks = Tasks::new(&[
        ("sums.yaml", SUMS),
        ("docs.jsonl", &broken),
        ("shots.jsonl", &sums()),
    ]);
    let server = ChatServer::start(clerk);
    let args = ["--proxy", &server.url(), "--model", "m"];
    let results = tasks.results("sums", &[&args[..], &["--limit", "4"]].concat());
    assert_eq!(
        results["n-samples"]["sums"],
        json!({"original": null, "effective": 4})
    );
    assert_eq!(results["counts"]["sums"]["scored"], json!(4));
    let done = tasks.run("sums", &args);
    assert_ne!(done.code, 0, "{done}");
    assert!(done.stderr.contains("docs.jsonl:11"), "{done}");
}

#[test]
fn the_words_of_lm_evaluation_harness_mean_the_same() {
    let tasks = tasks();
    let server = ChatServer::start(clerk);
    let model_args = format!(
        "base_url={}/v1/completions,model=m,num_concurrent=4",
        server.url()
    );
    let args = [
        "--model",
        "local-completions",
        "--model_args",
        &model_args,
        "--num_fewshot",
        "1",
    ];
    let more = [
        "--limit",
        "0.5",
        "--gen_kwargs",
        "temperature=0.5,top_p=0.9",
    ];
    let results = tasks.results("sums", &[&args[..], &more].concat());
    assert_eq!(results["results"]["sums"]["exact_match,none"], json!(1.0));
    assert_eq!(
        results["n-samples"]["sums"],
        json!({"original": 10, "effective": 5})
    );
    assert_eq!(results["config"]["model"], json!("local-completions"));
    let request = &server.requests()[0];
    assert_eq!(request.path, "/v1/completions");
    let body = body(request);
    assert_eq!(body["temperature"], json!(0.5));
    assert_eq!((&body["top_p"], &body["seed"]), (&json!(0.9), &json!(1234)));
    let prompt = body["prompt"].as_str().unwrap();
    assert_eq!(prompt.matches("\nA:").count(), 2, "{prompt}");
    assert!(body.get("messages").is_none());
}

#[test]
fn messages_come_with_the_switch() {
    let tasks = tasks();
    let server = ChatServer::start(clerk);
    let proxy = server.url();
    let args = ["--proxy", &proxy, "--num-fewshot", "1", "--limit", "1"];
    let chat = ["--apply_chat_template", "--system_instruction", "Be brief."];
    tasks.results("sums", &[&args[..], &chat].concat());
    let roles = |request: &context_bench_testkit::RecordedRequest| -> Vec<String> {
        let messages = body(request)["messages"].as_array().unwrap().clone();
        messages
            .iter()
            .map(|m| m["role"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(
        roles(&server.requests()[0]),
        ["system", "user", "assistant", "user"]
    );
    let single = ["--apply-chat-template", "--fewshot-as-multiturn", "false"];
    tasks.results("sums", &[&args[..], &single].concat());
    assert_eq!(roles(&server.requests()[1]), ["user"]);
    // Text cannot be made of messages without a template.
    let plain = format!("{}/v1/completions", server.url());
    let done = tasks.run("sums", &["--proxy", &plain, "--apply-chat-template"]);
    done.is_error(&["needs an endpoint for chats"]);
    let chat_only = [
        "--model",
        "local-chat-completions",
        "--model_args",
        "base_url=http://h,model=m",
    ];
    tasks
        .run("sums", &chat_only)
        .is_error(&["takes chat messages", "--apply-chat-template"]);
}

#[test]
fn stored_answers_are_reused_until_something_else_is_asked() {
    let tasks = tasks();
    let server = ChatServer::start(clerk);
    let (proxy, cache) = (server.url(), tasks.path("cache"));
    let args = ["--proxy", &proxy, "--cache-dir", &cache];
    let value = |results: &Value| results["results"]["sums"]["exact_match,none"].clone();
    assert_eq!(value(&tasks.results("sums", &args)), json!(0.6));
    assert_eq!(server.request_count(), 10);
    let again = tasks.results("sums", &args);
    assert_eq!(value(&again), json!(0.6));
    assert_eq!(server.request_count(), 10, "the second run sends nothing");
    let exported = run(&["export", "last", "--cache-dir", &cache]);
    let summary = exported.json()["summary"].as_object().unwrap().clone();
    let summary = summary.values().next().unwrap();
    assert_eq!(summary["mean_score"], json!(0.6), "{exported}");
    let exported = super::only(&exported);
    for key in ["results", "counts", "configs", "n-samples", "config"] {
        assert_eq!(exported[key], again[key], "{key}");
    }
    // Another way to score asks nothing anew.
    let lenient = SUMS.replace(
        "metric_list:",
        "filter_list: [{name: any, filter: [{function: map, mapping_dict: {\"?\": \"12\"}, default_value: \"12\"}, {function: take_first}]}]\nmetric_list:",
    );
    std::fs::write(tasks.path("sums.yaml"), lenient).unwrap();
    let line = ["rescore", "last", "--cache-dir", &cache, "--output", "json"];
    let rescored = super::only(&run(&line));
    assert_eq!(rescored["results"]["sums"]["exact_match,any"], json!(0.1));
    // What was found before is still there as it was.
    let id = run(&["runs", "--cache-dir", &cache, "--output", "json"]);
    let id = id.json()[1]["id"].as_str().unwrap().to_owned();
    let exported = super::only(&run(&["export", &id, "--cache-dir", &cache]));
    assert_eq!(value(&exported), json!(0.6));
    let results = tasks.results("sums", &args);
    assert_eq!(results["results"]["sums"]["exact_match,any"], json!(0.1));
    assert_eq!(server.request_count(), 10, "a changed metric sends nothing");
    // Another prompt does.
    tasks.results("sums", &[&args[..], &["--num-fewshot", "2"]].concat());
    assert_eq!(server.request_count(), 20, "other prompts are all sent");
    tasks.results(
        "sums",
        &[&args[..], &["--gen-kwargs", "temperature=1.0"]].concat(),
    );
    assert_eq!(server.request_count(), 30, "so are other settings");
}

#[test]
fn a_failed_document_is_neither_zero_nor_gone() {
    let tasks = tasks();
    let server = ChatServer::start(|request| match sum_in(request.last_user_content()) {
        6 => Reply::status(400).message("no threes"),
        sum => Reply::text(sum.to_string()),
    });
    let proxy = server.url();
    let out = tasks.path("out");
    let args = [
        "--proxy",
        &proxy,
        "--output-path",
        &out,
        "--log-samples",
        "--output",
        "json",
    ];
    let done = tasks.run("sums", &args);
    assert_eq!(done.code, 3, "{done}");
    for part in [
        "9 of 10 documents are in the scores; 1 failed",
        "document 3: ",
        "no threes",
    ] {
        assert!(done.stderr.contains(part), "no `{part}` in {done}");
    }
    let results = super::only(&done);
    assert_eq!(results["results"]["sums"]["exact_match,none"], json!(1.0));
    assert_eq!(results["results"]["sums"]["sample_len"], json!(9));
    let counts = &results["counts"]["sums"];
    assert_eq!(
        (&counts["planned"], &counts["scored"], &counts["failed"]),
        (&json!(10), &json!(9), &json!(1))
    );
    assert_eq!(counts["first"][0], json!("3"));
    let files = files(&tasks.folder.path().join("out"));
    assert_eq!(files.len(), 2, "{files:?}");
    let samples = std::fs::read_to_string(&files[1]).unwrap();
    assert_eq!(samples.lines().count(), 9);
    let sample: Value = serde_json::from_str(samples.lines().next().unwrap()).unwrap();
    assert_eq!(
        sample["arguments"]["gen_args_0"]["arg_0"],
        json!("Q: 0+0?\nA:")
    );
    assert_eq!(sample["exact_match"], json!(1.0));
    let written: Value = serde_json::from_slice(&std::fs::read(&files[0]).unwrap()).unwrap();
    assert_eq!(written["results"], results["results"]);
    assert!(written["task_hashes"]["sums"].as_str().unwrap().len() == 64);
}

#[test]
fn several_answers_give_pass_at_k() {
    let repeated = SUMS.replace(
        "task: sums",
        "task: sums\nrepeats: 3\nfilter_list: [{name: all, filter: [{function: noop}]}]",
    );
    let tasks = Tasks::new(&[
        ("sums.yaml", &repeated),
        ("docs.jsonl", &sums()),
        ("shots.jsonl", ""),
    ]);
    // Right the first time only, and never for large sums.
    let server = ChatServer::start(|request| {
        let sum = sum_in(request.last_user_content());
        let is_right = request.json()["seed"] == 7 && sum < 10;
        Reply::text(if is_right {
            sum.to_string()
        } else {
            "x".into()
        })
    });
    let (proxy, cache) = (server.url(), tasks.path("cache"));
    let args = [
        "--proxy",
        &proxy,
        "--cache-dir",
        &cache,
        "--gen-kwargs",
        "seed=7",
    ];
    let results = tasks.results("sums", &args);
    let sums = &results["results"]["sums"];
    // One of three tries is right for half of the documents.
    assert!(
        (sums["pass@1(exact_match),all"].as_f64().unwrap() - 0.5 / 3.0).abs() < 1e-12,
        "{sums}"
    );
    assert_eq!(sums["pass@3(exact_match),all"], json!(0.5));
    assert_eq!(server.request_count(), 30);
    tasks.results("sums", &args);
    assert_eq!(
        server.request_count(),
        30,
        "each answer is stored for itself"
    );
}

#[test]
fn groups_tags_and_datasets_of_the_catalog_in_one_table() {
    let group = "group: both\ngroup_alias: Both\ntask: [sums, {task: gsm8k, task_alias: grade school}]\naggregate_metric_list: [{metric: exact_match}]\nmetadata: {version: 3}\n";
    let gsm8k = "{\"question\": \"2+2?\", \"answer\": \"2+2\\n#### 4\"}\n{\"question\": \"3+3?\", \"answer\": \"3+3\\n#### 6\"}\n";
    let tasks = Tasks::new(&[
        ("sums.yaml", SUMS),
        ("both.yaml", group),
        ("docs.jsonl", &sums()),
        ("shots.jsonl", &sums()),
        ("gsm8k.jsonl", gsm8k),
    ]);
    let server = ChatServer::start(
        |request| match request.last_user_content().starts_with("Q:") {
            true => clerk(request),
            false => Reply::text("#### 4"),
        },
    );
    let proxy = server.url();
    let copy = format!("gsm8k={}", tasks.path("gsm8k.jsonl"));
    let args = ["--proxy", &proxy, "--data-from", &copy];
    let done = tasks.run("both", &args);
    assert_eq!(done.code, 0, "{done}");
    assert!(done.stdout.contains("|Both"), "{done}");
    assert!(done.stdout.contains("| - grade school"), "{done}");
    let results = tasks.results("both", &args);
    let native = &results["results"]["gsm8k"];
    assert_eq!(native["sample_len"], json!(2));
    let scores: Vec<_> = native
        .as_object()
        .unwrap()
        .iter()
        .filter(|(_, v)| **v == json!(0.5))
        .collect();
    assert!(!scores.is_empty(), "{native}");
    assert_eq!(results["group_subtasks"]["both"], json!(["sums", "gsm8k"]));
}

#[test]
fn what_is_wrong_is_said_before_anything_is_sent() {
    let tasks = tasks();
    let server = ChatServer::start(clerk);
    let proxy = server.url();
    let with =
        |task: &str, args: &[&str]| tasks.run(task, &[&["--proxy", &proxy][..], args].concat());
    with("sum", &[]).is_error(&["unknown task, group or tag `sum`", "sums"]);
    with("sums", &["--metadata", "[]"]).is_error(&["`--metadata` must be a JSON object"]);
    with("sums", &["--gen-kwargs", "x"]).is_error(&["has no `=`"]);
    with("sums", &["--dataset", "x.jsonl"]).is_error(&["no dataset file `x.jsonl`"]);
    let done = with("sums", &["--limit", "0"]);
    assert!(
        done.code == 2 && done.stderr.contains("leaves no documents"),
        "{done}"
    );
    let broken = SUMS.replace("{{q}}", "{{nothing}}");
    std::fs::write(tasks.path("sums.yaml"), &broken).unwrap();
    let done = with("sums", &[]);
    assert!(
        done.stderr.contains("nothing") && done.stderr.contains("document 0"),
        "{done}"
    );
    let dangerous = format!("{SUMS}unsafe_code: true\n");
    std::fs::write(tasks.path("sums.yaml"), dangerous).unwrap();
    with("sums", &[]).is_error(&[
        "runs code that the model writes",
        "--confirm-run-unsafe-code",
    ]);
    assert_eq!(server.request_count(), 0);
    assert_eq!(with("sums", &["--confirm_run_unsafe_code"]).code, 0);
    run(&["--tasks", arg(&tasks.folder.path().join("sums.yaml"))]).is_error(&["no system given"]);
}
