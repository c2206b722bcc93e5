//! Tasks that ask for likelihoods, over an endpoint that echoes its prompts.

use context_bench_testkit::likelihood::{EchoStyle, TokenScore, likelihood, tokens};
use context_bench_testkit::{ChatServer, Reply, Request};
use serde_json::{Value, json};

use super::{Tasks, body, lines};

const CHOICE: &str = r#"
task: colours
dataset_path: json
dataset_kwargs: {data_files: {test: docs.jsonl}}
test_split: test
output_type: multiple_choice
doc_to_text: "The {{thing}} is"
doc_to_choice: [red, dark blue]
doc_to_target: answer
metric_list:
  - {metric: acc, aggregation: mean, higher_is_better: true}
  - {metric: acc_norm, aggregation: mean, higher_is_better: true}
  - {metric: acc_mutual_info, aggregation: mean, higher_is_better: true}
"#;

fn documents() -> String {
    let record = |(thing, answer): (&str, usize)| json!({"thing": thing, "answer": answer});
    lines(&[("rose", 0), ("sky", 1), ("sea", 1), ("blood", 1)].map(record))
}

/// After a rose and after blood, red is likely; all else is about as likely.
fn likely(before: &str, token: &str) -> TokenScore {
    let logprob = match (token, before) {
        (" red", before) if before.contains("rose") || before.contains("blood") => -0.5,
        (" red", "") => -1.0,
        (" red", _) => -3.0,
        (" dark", "") => -3.5,
        (" dark" | " blue", _) => -1.25,
        _ => -2.0,
    };
    TokenScore {
        logprob,
        best: logprob.max(-1.0),
    }
}

fn server() -> ChatServer {
    let inner = |_: &Request| Reply::text("no");
    ChatServer::start(likelihood(EchoStyle::default(), likely, inner))
}

#[test]
fn choices_are_compared_by_their_likelihood() {
    let tasks = Tasks::new(&[("colours.yaml", CHOICE), ("docs.jsonl", &documents())]);
    let server = server();
    let (proxy, cache) = (server.base_url_v1(), tasks.path("cache"));
    let args = ["--proxy", &proxy, "--model", "m", "--cache-dir", &cache];
    let done = tasks.run("colours", &[&args[..], &["--output", "json"]].concat());
    assert_eq!(done.code, 0, "{done}");
    let results = super::only(&done);
    let colours = &results["results"]["colours"];
    // red: rose -0.5, sky -3, sea -3, blood -0.5; dark blue: -2.5 everywhere.
    assert_eq!(colours["acc,none"], json!(0.75));
    // By characters: red -0.17 -1 -1 -0.17, dark blue -0.28.
    assert_eq!(colours["acc_norm,none"], json!(0.75));
    // Against an empty context (red -1, dark blue -4.75): 0.5 and 2.25, -2 and 2.25.
    assert_eq!(colours["acc_mutual_info,none"], json!(0.75));
    let rows = done.json()["rows"].as_array().unwrap().clone();
    let accs: Vec<&Value> = rows.iter().map(|row| &row["scores"]["acc"]).collect();
    assert_eq!(accs, [&json!(1.0), &json!(1.0), &json!(1.0), &json!(0.0)]);
    // Two choices after the context and two after nothing, one request each.
    assert_eq!(server.request_count(), 16);
    let body = body(&server.requests()[0]);
    assert_eq!(
        body,
        json!({"model": "m", "prompt": "The rose is red", "temperature": 0, "max_tokens": 1,
               "logprobs": 1, "seed": 1234, "echo": true})
    );
    tasks.results("colours", &args);
    assert_eq!(server.request_count(), 16, "stored likelihoods are used");
    let batched = ["--proxy", &proxy, "--model", "m", "--batch_size", "2"];
    assert_eq!(
        tasks.results("colours", &batched)["results"]["colours"],
        *colours
    );
    assert_eq!(server.request_count(), 24, "two texts per request");
}

#[test]
fn one_continuation_is_likely_and_greedy() {
    let task = r#"
task: last_word
dataset_path: json
dataset_kwargs: {data_files: {test: docs.jsonl}}
test_split: test
output_type: loglikelihood
doc_to_text: "The {{thing}} is"
doc_to_target: " red"
"#;
    let tasks = Tasks::new(&[("task.yaml", task), ("docs.jsonl", &documents())]);
    let server = server();
    let proxy = server.base_url_v1();
    let results = tasks.results("last_word", &["--proxy", &proxy]);
    let found = &results["results"]["last_word"];
    // Greedy where -0.5 beats the best of all others, -1.
    assert_eq!(found["acc,none"], json!(0.5));
    let expected = ((0.5 + 3.0 + 3.0 + 0.5) / 4.0_f64).exp();
    assert!((found["perplexity,none"].as_f64().unwrap() - expected).abs() < 1e-12);
    assert!(found["perplexity_stderr,none"].as_f64().unwrap() > 0.0);
}

const ROLLING: &str = r#"
task: pages
dataset_path: json
dataset_kwargs: {data_files: {test: docs.jsonl}}
test_split: test
output_type: loglikelihood_rolling
doc_to_target: page
"#;

#[test]
fn whole_texts_are_rolled_over() {
    let long = "one two three four five six seven eight nine ten";
    let pages = lines(&[json!({"page": "one two"}), json!({"page": long})]);
    let tasks = Tasks::new(&[("pages.yaml", ROLLING), ("docs.jsonl", &pages)]);
    let score = |before: &str, token: &str| {
        let logprob = -((token.trim().len() + tokens(before).len().min(3)) as f64) / 8.0;
        TokenScore { logprob, best: 0.0 }
    };
    // Each token once: from the mark on, with all that came before.
    let sum = |text: &str, most: usize| -> f64 {
        let words = tokens(text);
        let lp = |i: usize| {
            let before = if i < most { i } else { (i + 1).min(most) - 1 };
            -((words[i].trim().len() + before.min(3)) as f64) / 8.0
        };
        (0..words.len()).map(lp).sum()
    };
    let server = ChatServer::start(likelihood(EchoStyle::default(), score, |_| {
        Reply::text("no")
    }));
    let proxy = server.base_url_v1();
    let found = tasks.results("pages", &["--proxy", &proxy]);
    let total = sum("one two", 99) + sum(long, 99);
    let bytes = ("one two".len() + long.len()) as f64;
    let expected = -total / bytes / std::f64::consts::LN_2;
    let bits = found["results"]["pages"]["bits_per_byte,none"]
        .as_f64()
        .unwrap();
    assert!((bits - expected).abs() < 1e-12, "{bits} {expected}");
    assert_eq!(server.request_count(), 2);

    // Texts that are too long go in windows, when the server tells its tokens.
    let style = EchoStyle {
        mark: None,
        tokenizer: true,
        ..EchoStyle::default()
    };
    let counted = |_: &str, token: &str| TokenScore {
        logprob: -(token.trim().len() as f64),
        best: 0.0,
    };
    let server = ChatServer::start(likelihood(style, counted, |_| Reply::text("no")));
    let proxy = server.base_url_v1();
    let args = [
        "--proxy",
        &proxy,
        "--model-args",
        "max_length=5,prefix=<|start|>",
    ];
    let found = tasks.results("pages", &args);
    let letters = |text: &str| text.chars().filter(|c| *c != ' ').count() as f64;
    let total = letters("one two") + letters(long);
    let bits = found["results"]["pages"]["bits_per_byte,none"]
        .as_f64()
        .unwrap();
    assert!(
        (bits - total / bytes / std::f64::consts::LN_2).abs() < 1e-12,
        "{bits}"
    );
    let prompts: Vec<usize> = server
        .requests()
        .iter()
        .filter_map(|request| Some(body(request)["prompt"].as_array()?.len()))
        .collect();
    // Ten tokens in windows of four, the last with what fits before it.
    assert_eq!(prompts, [5, 5, 5]);
}

#[test]
fn an_endpoint_without_likelihoods_is_told_at_once() {
    let mut documents = documents();
    for _ in 0..6 {
        documents = format!("{documents}{documents}");
    }
    let tasks = Tasks::new(&[("colours.yaml", CHOICE), ("docs.jsonl", &documents)]);
    let no_first = EchoStyle {
        mark: None,
        ..EchoStyle::default()
    };
    let cases: [(ChatServer, &str); 4] = [
        (
            ChatServer::start(|_| Reply::text("red")),
            "no log-probabilities",
        ),
        (
            ChatServer::start(|_| {
                let logprobs = json!({"tokens": [" ."], "token_logprobs": [-1.0],
                                      "top_logprobs": [{" .": -1.0}], "text_offset": [0]});
                Reply::json(json!({"choices": [{"index": 0, "text": " .", "logprobs": logprobs}]}))
            }),
            "does not echo the prompt",
        ),
        (
            ChatServer::start(|_| Reply::status(400).message("echo is not supported")),
            "echo is not supported",
        ),
        (
            ChatServer::start(likelihood(no_first, likely, |_| Reply::text("no"))),
            "first token of a text",
        ),
    ];
    for (server, expected) in cases {
        let proxy = server.base_url_v1();
        let done = tasks.run("colours", &["--proxy", &proxy, "--max-workers", "4"]);
        assert_eq!(done.code, 2, "{done}");
        assert!(
            done.stderr.contains("cannot work as it is configured"),
            "{done}"
        );
        assert!(done.stderr.contains(expected), "no `{expected}` in {done}");
        assert!(done.stderr.contains("TASK@generate"), "{done}");
        assert!(server.request_count() < 30, "{}", server.request_count());
    }
    let server = server();
    let chat = format!("{}/chat/completions", server.base_url_v1());
    let done = tasks.run("colours", &["--proxy", &chat]);
    done.is_error(&["task `colours` asks for likelihoods", "`colours@generate`"]);
    let done = tasks.run(
        "colours",
        &["--proxy", &server.url(), "--apply-chat-template"],
    );
    done.is_error(&["`colours@generate`"]);
    assert_eq!(server.request_count(), 0);
}

/// A task about passages, and what its prompts must keep.
const PASSAGES: &str = "task: mills\ndataset_path: json\n\
                        dataset_kwargs: {data_files: {test: passages.jsonl}}\ntest_split: test\n";

fn passages(output: &str) -> Tasks {
    let record = |i: usize| {
        json!({
            "passage": format!("The mill number {i} is old. It burned down in 1844. A lamp did it."),
            "question": "Which year?",
            "answer": "1844",
        })
    };
    let lines: Vec<String> = (0..3).map(|i| record(i).to_string()).collect();
    let task = format!(
        "{PASSAGES}{output}doc_to_text: 'Read: {{{{passage}}}}\n\nQ: {{{{question}}}}\n\nA:'\n\
         doc_to_target: '{{{{answer}}}}'\n"
    );
    Tasks::new(&[("mills.yaml", &task), ("passages.jsonl", &lines.join("\n"))])
}

#[test]
fn a_context_layer_changes_the_passage_and_nothing_else() {
    for (output, field) in [
        ("output_type: generate_until\n", "messages"),
        (
            "output_type: multiple_choice\ndoc_to_choice: ['1844', '1845']\n",
            "prompt",
        ),
    ] {
        let tasks = passages(output);
        let server = server();
        let relay = server.base_url_v1();
        let args = [
            "--system",
            "passthrough",
            "--system",
            "truncate:tokens=4",
            "--relay",
            &relay,
        ];
        let dry = tasks.run("mills", &[&args[..], &["--dry-run"]].concat());
        assert!(dry.stdout.contains("layers change `passage`"), "{dry}");
        assert_eq!(server.request_count(), 0);
        let done = tasks.run("mills", &[&args[..], &["--output", "json"]].concat());
        assert!(
            done.json()["tasks"].as_object().unwrap().len() == 2,
            "{done}"
        );
        let sent: Vec<String> = server
            .requests()
            .iter()
            .map(|r| r.body[field].to_string())
            .collect();
        assert!(!sent.is_empty());
        for text in &sent {
            assert!(text.contains("Read: The mill"), "{text}");
            assert!(text.contains("\\nQ: Which year?\\nA:"), "{text}");
        }
        let short = sent
            .iter()
            .filter(|text| !text.contains("1844. A lamp"))
            .count();
        assert_eq!(2 * short, sent.len(), "{sent:?}");
    }
    // The same in messages.
    let tasks = passages("output_type: generate_until\n");
    let server = server();
    let relay = server.base_url_v1();
    let args = [
        "--system",
        "truncate:tokens=4",
        "--relay",
        &relay,
        "--apply-chat-template",
    ];
    let done = tasks.run("mills", &args);
    assert!(server.request_count() > 0, "{done}");
    for request in server.requests() {
        let text = request.body["messages"].to_string();
        assert!(
            text.contains("Which year?") && !text.contains("A lamp"),
            "{text}"
        );
    }
}

#[test]
fn a_context_layer_before_a_task_without_a_context_is_refused() {
    let tasks = Tasks::new(&[("colours.yaml", CHOICE), ("docs.jsonl", &documents())]);
    let server = server();
    let relay = server.base_url_v1();
    let layers = |layer: &str| {
        let args = ["--system", layer, "--relay", &relay, "--output", "json"];
        tasks.run("colours", &args)
    };
    layers("truncate:tokens=2").is_error(&[
        "`truncate:tokens=2` changes the context, and the prompts of task `colours` have none",
        "passage",
    ]);
    assert_eq!(server.request_count(), 0);
    let done = layers("passthrough");
    assert_eq!(done.code, 0, "{done}");
    let found = &done.json()["tasks"]["passthrough"]["results"]["colours"];
    assert_eq!(found["acc,none"], json!(0.75));
}
