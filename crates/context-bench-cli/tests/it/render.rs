//! `render`: what would be sent, compared with what is sent; and where contexts go.

use std::fs;
use std::path::Path;

use context_bench_testkit::likelihood::{EchoStyle, TokenScore, likelihood};
use context_bench_testkit::{ChatServer, RecordedRequest, Reply, Request, handlers};
use serde_json::{Value, json};

use crate::program::{arg, questions, run};

/// Bodies as `render --output jsonl` writes them, with where they would go.
fn rendered(args: &[&str]) -> Vec<(String, String)> {
    let done = run(&[&["render", "--output", "jsonl"], args].concat());
    assert_eq!(done.code, 0, "{done}");
    let line = |line: &str| {
        let (_, body) = line.split_once(",\"body\":").unwrap();
        let whole: Value = serde_json::from_str(line).unwrap();
        let url = whole["url"].as_str().unwrap_or_default().to_owned();
        (url, body.strip_suffix('}').unwrap().to_owned())
    };
    done.stdout.lines().map(line).collect()
}

/// Checks that requests are these, to the byte.
fn same(requests: &[RecordedRequest], expected: &[(String, String)]) {
    assert_eq!(requests.len(), expected.len());
    for (request, (url, body)) in requests.iter().zip(expected) {
        assert_eq!(request.body.to_string(), *body);
        let length = request.headers.get("content-length").unwrap();
        assert_eq!(length, body.len().to_string(), "{body}");
        assert!(url.ends_with(&request.path), "{url} {}", request.path);
    }
}

/// Three records of GSM8K, and of MMLU.
fn copies(folder: &Path) -> (String, String) {
    let gsm8k: String = (0..3)
        .map(|i| {
            format!(
                "{}\n",
                json!({"question": format!("{i}+1?"), "answer": "#### 1"})
            )
        })
        .collect();
    let mmlu: String = (0..3)
        .map(|i| {
            let row = json!({
                "question": format!("which {i}?"), "choices": ["w", "x", "y", "z"],
                "answer": 0, "subject": "anatomy",
            });
            format!("{row}\n")
        })
        .collect();
    let (first, second) = (folder.join("g.jsonl"), folder.join("mmlu.all.test.jsonl"));
    fs::write(&first, gsm8k).unwrap();
    fs::write(&second, mmlu).unwrap();
    (
        format!("gsm8k={}", first.display()),
        format!("mmlu:anatomy={}", second.display()),
    )
}

#[test]
fn what_is_rendered_of_datasets_is_sent_to_the_byte() {
    let (folder, path) = questions(3);
    let (gsm8k, mmlu) = copies(folder.path());
    for layout in ["system", "user", "tool"] {
        let server = ChatServer::start(handlers::constant("Paris"));
        let url = server.base_url_v1();
        let args = [
            "--proxy",
            &url,
            "--system",
            "head=truncate:tokens=3",
            "--relay",
            &url,
            "--dataset",
            arg(&path),
            "--dataset",
            &gsm8k,
            "--dataset",
            &mmlu,
            "--limit",
            "2",
            "--repeats",
            "2",
            "--model",
            "my \"model\" é",
            "--system-prompt",
            "Be\nbrief.",
            "--extra-body",
            r#"{"temperature": 0.1, "top_p": 1e-7, "a": {"b": [1, 2.0, null, "ü"]}, "max_tokens": 9}"#,
            "--layout",
            layout,
            "--stream",
        ];
        let expected = rendered(&args);
        assert_eq!(expected.len(), 3 * 2 * 2 * 2);
        assert_eq!(server.connection_count(), 0, "nobody is asked");
        let done = run(&args);
        assert_eq!(done.code, 0, "{done}");
        same(&server.requests(), &expected);
    }
}

#[test]
fn what_is_rendered_of_tasks_is_sent_to_the_byte() {
    let folder = tempfile::tempdir().unwrap();
    let docs: String = ["rose", "sky"]
        .map(|thing| format!("{}\n", json!({"thing": thing, "answer": 0})))
        .concat();
    fs::write(folder.path().join("docs.jsonl"), docs).unwrap();
    let common = format!(
        "dataset_path: json\ndataset_kwargs: {{data_files: {{test: {}}}}}\ntest_split: test\n\
         doc_to_text: 'The {{{{thing}}}} is'\n",
        folder.path().join("docs.jsonl").display()
    );
    let choice = "task: colours\noutput_type: multiple_choice\ndoc_to_choice: [red, blue]\n\
                  doc_to_target: answer\nmetric_list: [{metric: acc}, {metric: acc_mutual_info}]\n";
    let said = "task: said\noutput_type: generate_until\ndoc_to_target: red\n\
                generation_kwargs: {until: [x], max_gen_toks: 7}\nmetric_list: [{metric: exact_match}]\n";
    fs::write(
        folder.path().join("colours.yaml"),
        format!("{choice}{common}"),
    )
    .unwrap();
    fs::write(folder.path().join("said.yaml"), format!("{said}{common}")).unwrap();
    let even = |_: &str, _: &str| TokenScore {
        logprob: -1.0,
        best: -1.0,
    };
    let inner = |_: &Request| Reply::text("no");
    let server = ChatServer::start(likelihood(EchoStyle::default(), even, inner));
    let url = server.base_url_v1();
    let args = [
        "--tasks",
        "colours,said",
        "--include-path",
        arg(folder.path()),
        "--proxy",
        &url,
        "--model",
        "m",
    ];
    let expected = rendered(&args);
    assert_eq!(expected.len(), 2 * 4 + 2);
    assert_eq!(server.connection_count(), 0, "nobody is asked");
    let done = run(&args);
    assert_eq!(done.code, 0, "{done}");
    same(&server.requests(), &expected);
}

#[test]
fn the_question_of_a_catalog_dataset_is_sent_once() {
    let folder = tempfile::tempdir().unwrap();
    let (gsm8k, mmlu) = copies(folder.path());
    for (dataset, text) in [
        (&gsm8k, "0+1?"),
        (&mmlu, "which 0?\n\nA) w  B) x  C) y  D) z"),
    ] {
        for more in [&[][..], &["--system", "passthrough", "--relay", "http://h"]] {
            let plain = ["--dataset", dataset, "-n", "1", "--prompt", "plain"];
            let args = [&plain, more].concat();
            let body: Value = serde_json::from_str(&rendered(&args)[0].1).unwrap();
            let expected = json!([{"role": "user", "content": text}]);
            assert_eq!(body["messages"], expected, "{dataset} {more:?}");
        }
    }
}

#[test]
fn the_context_goes_where_the_layout_says_and_answers_are_not_mixed() {
    let server = ChatServer::start(handlers::constant("Paris"));
    let (folder, path) = questions(2);
    let (url, cache) = (server.url(), folder.path().join("cache"));
    let file = folder.path().join("bench.yaml");
    let asked = |layout: &str| {
        let before = server.request_count();
        let text = format!(
            "systems: [{{proxy: '{url}'{layout}}}]\nbenchmarks: [{{dataset: '{}'}}]\n",
            path.display()
        );
        fs::write(&file, text).unwrap();
        let done = run(&["run", arg(&file), "--cache-dir", arg(&cache)]);
        assert_eq!(done.code, 0, "{done}");
        server.request_count() - before
    };
    // What is stored without a word about it stays usable.
    assert_eq!(asked(""), 2);
    assert_eq!(asked(", layout: system"), 0);
    assert_eq!(asked(", layout: user"), 2);
    assert_eq!(asked(", layout: tool"), 2);
    assert_eq!((asked(", layout: user"), asked("")), (0, 0));
    let sent = server.requests();
    let of = |at: usize| sent[at].body["messages"].clone();
    let context = "Document 0. Paris is the capital of France. It is large.";
    let question = "Number 0: what is the capital of France?";
    assert_eq!(
        of(0),
        json!([
            {"role": "system", "content": context},
            {"role": "user", "content": question},
        ])
    );
    assert_eq!(
        of(2),
        json!([{"role": "user", "content": format!("{context}\n\n{question}")}])
    );
    let tool = of(4);
    let roles = tool.as_array().unwrap().iter().map(|one| &one["role"]);
    assert_eq!(roles.collect::<Vec<_>>(), ["user", "assistant", "tool"]);
    assert_eq!(tool[0]["content"], question);
    assert_eq!(tool[1]["tool_calls"][0]["id"], tool[2]["tool_call_id"]);
    assert_eq!(tool[2]["content"], context);

    fs::write(&file, "systems: [{proxy: h, layout: sytem}]\n").unwrap();
    run(&["run", arg(&file)]).is_error(&["layout", "bench.yaml:1:"]);
    let bad = run(&[
        "--proxy",
        &url,
        "--dataset",
        arg(&path),
        "--layout",
        "sytem",
    ]);
    assert_eq!(bad.code, 2, "{bad}");
    assert!(bad.stderr.contains("system, user or tool"), "{bad}");
    let plain = format!("{url}/v1/completions");
    run(&[
        "--proxy",
        &plain,
        "--dataset",
        arg(&path),
        "--layout",
        "tool",
    ])
    .is_error(&["`--layout tool` needs an endpoint for chats"]);
}

#[test]
fn one_example_is_rendered_by_its_id_and_for_people() {
    let (_folder, path) = questions(30);
    let args = ["render", "--dataset", arg(&path), "--proxy", "http://h:1"];
    let done = run(&[
        &args[..],
        &["--id", "q7", "--extra-body", "{\"api_key\": \"hunter22\"}"],
    ]
    .concat());
    assert_eq!(done.code, 0, "{done}");
    for text in [
        "example q7, h\n",
        "POST http://h:1/v1/chat/completions\n",
        "Number 7:",
    ] {
        assert!(done.stdout.contains(text), "{done}");
    }
    assert!(!done.stdout.contains("Number 8:"), "{done}");
    assert!(!done.stdout.contains("hunter22"), "{done}");
    run(&[&args[..], &["--id", "q77"]].concat())
        .is_error(&["there is no example `q77`", "did you mean `q7`"]);
    run(&[&args[..], &["--output", "json"]].concat())
        .is_error(&["`render` has no output format `json`"]);
    // What a run file says about results is not about requests.
    let folder = tempfile::tempdir().unwrap();
    let (file, results) = (folder.path().join("b.yaml"), folder.path().join("r.json"));
    fs::write(&results, "results").unwrap();
    let text = format!(
        "systems: [{{proxy: 'http://h:1'}}]\nbenchmarks: [{{dataset: '{}'}}]\n\
         output: {{format: json, file: '{}'}}\n",
        path.display(),
        results.display()
    );
    fs::write(&file, text).unwrap();
    let done = run(&["render", arg(&file), "--id", "q7"]);
    assert!(done.stdout.contains("Number 7:"), "{done}");
    assert_eq!(fs::read_to_string(&results).unwrap(), "results");
    let done = run(&["render", arg(&file), "--output-file", arg(&results)]);
    assert_eq!((done.code, done.stdout.as_str()), (0, ""), "{done}");
    let written = fs::read_to_string(&results).unwrap();
    assert_eq!(written.matches("=== ").count(), 30);
    // What is meant for a judge needs none here, and no key.
    let alpaca = folder.path().join("a.jsonl");
    fs::write(
        &alpaca,
        "{\"instruction\": \"Say hi\", \"output\": \"hi\"}\n",
    )
    .unwrap();
    let alpaca = format!("alpaca-eval={}", alpaca.display());
    let done = run(&["render", "--dataset", &alpaca, "--api-key-env", "NOT_SET"]);
    assert!(done.stdout.contains("Say hi"), "{done}");
    assert_eq!((done.code, done.stderr.as_str()), (0, ""), "{done}");
    // Without anybody to ask, and to people who ask for a program.
    let done = run(&["render", "--dataset", arg(&path), "-n", "1"]);
    assert!(done.stdout.contains("\"model\": \"claude-"), "{done}");
    let done = run(&[
        "render",
        "--dataset",
        arg(&path),
        "-n",
        "1",
        "--command",
        "cat",
    ]);
    assert_eq!(done.code, 0, "{done}");
    assert!(done.stdout.contains("(posts nothing"), "{done}");
}
