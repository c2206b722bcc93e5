//! `--api`: endpoints that are asked by other APIs than chat completions.

use context_bench_testkit::{ChatServer, Reply, handlers};
use serde_json::{Value, json};

use crate::program::{arg, command, questions, run, run_with};

#[test]
fn one_run_compares_the_same_proxy_by_three_apis() {
    let reply = |_: &_| Reply::text("Paris").usage(100, 4).cached(60, 30);
    let server = ChatServer::start(handlers::require_key("sk-0123456789", reply));
    let (folder, path) = questions(6);
    let cache = folder.path().join("cache");
    let url = server.url();
    let proxies = ["openai", "responses", "anthropic"].map(|api| format!("{api}={url},api={api}"));
    let mut args = vec![
        "--dataset",
        arg(&path),
        "--cache-dir",
        arg(&cache),
        "-q",
        "--output",
        "json",
    ];
    args.extend(proxies.iter().flat_map(|proxy| ["--proxy", proxy]));
    let mut first = command();
    first.args(&args).env("OPENAI_API_KEY", "sk-0123456789");
    first.env("ANTHROPIC_API_KEY", "sk-0123456789");
    let done = run_with(&mut first);
    assert_eq!(done.code, 0, "{done}");
    let result = done.json();
    let rows = result["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 18, "{done}");
    for row in rows {
        let usage = &row["metadata"]["api_usage"];
        let known = [&row["prompt_tokens"], &usage["prompt_tokens"]];
        assert!(known.contains(&&json!(100)), "{row}");
    }
    let paths: Vec<String> = server
        .requests()
        .iter()
        .map(|request| request.path.clone())
        .collect();
    for path in ["/v1/chat/completions", "/v1/responses", "/v1/messages"] {
        assert_eq!(paths.iter().filter(|one| *one == path).count(), 6, "{path}");
    }
    // Everything is in the store, each under its API.
    let again = run_with(command().args(&args));
    assert_eq!(again.code, 0, "{again}");
    assert_eq!(server.request_count(), 18);
    let shown = run(&["show", "last", "q0", "--cache-dir", arg(&cache)]);
    assert!(shown.stdout.contains("/v1/messages"), "{shown}");
    for text in [
        "  max_tokens: 4096\n",
        "/v1/responses\n",
        "  [user] Number 0",
        "api: anthropic",
    ] {
        assert!(shown.stdout.contains(text), "no `{text}`: {shown}");
    }
}

#[test]
fn render_and_dry_run_show_what_would_be_sent() {
    let (_folder, path) = questions(1);
    let args = [
        "--dataset",
        arg(&path),
        "--proxy",
        "http://localhost:1",
        "--api",
        "anthropic",
    ];
    let done = run(&[&["render"], &args[..], &["--output", "jsonl"]].concat());
    assert_eq!(done.code, 0, "{done}");
    let line: Value = serde_json::from_str(done.stdout.lines().next().unwrap()).unwrap();
    assert_eq!(line["url"], "http://localhost:1/v1/messages", "{done}");
    let body: Value = match &line["body"] {
        Value::String(text) => serde_json::from_str(text).unwrap(),
        other => other.clone(),
    };
    assert_eq!(body["max_tokens"], 4096, "{done}");
    let done = run(&[&args[..], &["--dry-run"]].concat());
    assert_eq!(done.code, 0, "{done}");
    let done = run(&[&args[..], &["--print-config"]].concat());
    assert!(done.stdout.contains("api: anthropic"), "{done}");
}

#[test]
fn mistakes_are_told_before_anything_is_sent() {
    let (_folder, path) = questions(1);
    let dataset = ["--dataset", arg(&path)];
    let done = run(&[&dataset[..], &["--proxy", "http://localhost:1/v1/messages"]].concat());
    done.is_error(&["is for `anthropic`", "--api anthropic"]);
    let done = run(&[&dataset[..], &["--proxy", "http://localhost:1,api=claude"]].concat());
    done.is_error(&["openai, responses or anthropic"]);
    for api in ["responses", "anthropic"] {
        let server = ChatServer::start(handlers::constant("A"));
        let folder = tempfile::tempdir().unwrap();
        let task = folder.path().join("choose.yaml");
        let record = json!({"q": "2 + 2?", "options": ["3", "4"], "label": 1});
        std::fs::write(folder.path().join("data.jsonl"), format!("{record}\n")).unwrap();
        std::fs::write(
            &task,
            "task: choose\ndataset_path: json\ntest_split: test\n\
            dataset_kwargs: {data_files: {test: data.jsonl}}\noutput_type: multiple_choice\n\
            doc_to_text: '{{q}}'\ndoc_to_choice: '{{options}}'\ndoc_to_target: '{{label}}'\n",
        )
        .unwrap();
        let args = [
            "--tasks",
            arg(&task),
            "--proxy",
            &server.url(),
            "--api",
            api,
        ];
        let done = run_with(command().args(args).current_dir(folder.path()));
        done.is_error(&["asks for likelihoods", "`--api openai`"]);
        assert_eq!(server.request_count(), 0);
    }
}
