//! What is said about answers beside their scores: tokens, endings, who answered, what was
//! asked and came back, and whose time it was.

use std::time::Duration;

use context_bench_testkit::{ChatServer, Reply, handlers};
use serde_json::{Value, json};

use crate::program::{Done, arg, questions, run};

fn json_of(done: &Done) -> Value {
    assert_eq!(done.code, 0, "{done}");
    done.json()
}

#[test]
fn token_columns_say_what_proxies_did_not_what_our_example_is() {
    // The same answer for half the prompt: only `usage` knows.
    let direct = ChatServer::start(|_| Reply::text("Paris").usage(100, 2));
    let proxy = ChatServer::start(|_| Reply::text("Paris").usage(59, 2));
    let silent = ChatServer::start(|_| Reply::text("Paris").without_usage());
    let (_folder, path) = questions(4);
    let proxies = [
        format!("direct={}", direct.url()),
        format!("kompact={}", proxy.url()),
        format!("silent={}", silent.url()),
    ];
    let mut args = vec!["--dataset", arg(&path), "--threshold", "0.5"];
    for one in &proxies {
        args.extend(["--proxy", one]);
    }
    let json = json_of(&run(&[&args[..], &["--output", "json"]].concat()));
    let summary = &json["summary"];
    assert_eq!(summary["direct"]["mean_prompt_tokens"], 100.0);
    assert_eq!(summary["kompact"]["mean_prompt_tokens"], 59.0);
    assert_eq!(summary["direct"]["tokens_saved"], 0.0);
    let saved = summary["kompact"]["tokens_saved"].as_f64().unwrap();
    assert!((saved - 0.41).abs() < 1e-9, "{saved}");
    assert_eq!(summary["kompact"]["tokens_per_pass"], 61.0);
    // Nothing is known of it, so it has no number and no rank, and is not the best.
    for key in [
        "mean_prompt_tokens",
        "tokens_saved",
        "tokens_per_pass",
        "pareto_rank",
    ] {
        assert_eq!(summary["silent"][key], Value::Null, "{key}");
    }
    assert_eq!(summary["kompact"]["pareto_rank"], 1.0);
    assert_eq!(summary["direct"]["pareto_rank"], 2.0);

    let table = run(&args).stdout;
    let line = |name: &str| {
        table
            .lines()
            .find(|l| l.starts_with(name))
            .unwrap()
            .to_owned()
    };
    assert!(line("kompact").contains("41%"), "{table}");
    assert!(line("silent").contains('—'), "{table}");
    assert!(table.contains("saved against direct"), "{table}");

    let named = run(&[&args[..], &["--baseline", "kompact", "--output", "json"]].concat());
    let summary = &json_of(&named)["summary"];
    assert_eq!(summary["kompact"]["tokens_saved"], 0.0);
    let saved = summary["direct"]["tokens_saved"].as_f64().unwrap();
    assert!((saved - (1.0 - 100.0 / 59.0)).abs() < 1e-9, "{saved}");
    let unknown = run(&[&args[..], &["--baseline", "kompakt"]].concat());
    assert_eq!(unknown.code, 2, "{unknown}");
    assert!(
        unknown.stderr.contains("did you mean `kompact`"),
        "{unknown}"
    );
}

#[test]
fn cached_prompt_tokens_stand_apart() {
    let server = ChatServer::start(|_| {
        Reply::json(json!({
            "choices": [{"message": {"content": "Paris"}, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 100, "completion_tokens": 1, "total_tokens": 101,
                      "prompt_tokens_details": {"cached_tokens": 64}},
        }))
    });
    let (_folder, path) = questions(2);
    let url = server.url();
    let args = ["--proxy", &url, "--dataset", arg(&path)];
    let json = json_of(&run(&[&args[..], &["--output", "json"]].concat()));
    assert_eq!(json["summary"]["127.0.0.1"]["mean_cached_tokens"], 64.0);
    assert_eq!(json["rows"][0]["cached_tokens"], 64);
    let table = run(&args).stdout;
    assert!(table.contains("cached") && table.contains("64"), "{table}");
}

#[test]
fn what_a_layer_is_given_holds_neither_answer_nor_id() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("q.jsonl");
    let example = json!({
        "id": "a very long id of many words that no system is given",
        "context": "one two three four", "question": "five six?",
        "answer": "a long gold answer that no system is given either",
    });
    std::fs::write(&path, format!("{example}\n")).unwrap();
    let done = run(&[
        "--system",
        "passthrough",
        "--system",
        "half=truncate:ratio=0.5",
        "--dataset",
        arg(&path),
        "--tokenizer",
        "whitespace",
        "--output",
        "json",
    ]);
    let json = json_of(&done);
    let row = |name: &str| {
        let rows = json["rows"].as_array().unwrap();
        rows.iter()
            .find(|row| row["system"] == name)
            .unwrap()
            .clone()
    };
    assert_eq!(row("passthrough")["given_tokens"], 6);
    assert_eq!(row("passthrough")["prompt_tokens"], 6);
    assert_eq!(row("half")["prompt_tokens"], 4);
    assert_eq!(row("half")["tokens_from"], "counted");
    let saved = json["summary"]["half"]["tokens_saved"].as_f64().unwrap();
    assert!((saved - 1.0 / 3.0).abs() < 1e-9, "{saved}");
    assert_eq!(json["summary"]["passthrough"]["tokens_saved"], 0.0);
}

#[test]
fn answers_that_are_no_whole_text_are_counted_and_told() {
    let replies = [
        Reply::text("Paris"),
        Reply::text(""),
        Reply::text("Par").finish_reason("length"),
        Reply::text("").finish_reason("content_filter"),
        Reply::json(
            json!({"choices": [{"finish_reason": "tool_calls", "message": {
            "content": null, "tool_calls": [{"id": "1", "type": "function",
            "function": {"name": "search", "arguments": "{}"}}]}}]}),
        ),
        Reply::text("<think>Is it London? No.</think>\n\nParis"),
    ];
    let server = ChatServer::start(handlers::sequence(replies.to_vec()));
    let (_folder, path) = questions(6);
    let store = tempfile::tempdir().unwrap();
    let url = server.url();
    let args = [
        "--proxy",
        &url,
        "--dataset",
        arg(&path),
        "--cache-dir",
        arg(store.path()),
        "--output",
        "json",
    ];
    let done = run(&args);
    let check = |json: &Value| {
        let counts = &json["counts"]["127.0.0.1"];
        for key in ["empty", "cut", "filtered", "tool_calls", "reasoned"] {
            assert_eq!(counts[key], 1, "{key}: {counts}");
        }
        assert_eq!(counts["scored"], 6, "they are scored all the same");
        let rows = json["rows"].as_array().unwrap();
        let endings: Vec<&str> = rows
            .iter()
            .map(|row| row["ending"].as_str().unwrap_or("whole"))
            .collect();
        assert_eq!(
            endings,
            ["whole", "empty", "cut", "filtered", "tool_calls", "whole"]
        );
        assert_eq!(rows[2]["finish_reason"], "length");
        let thought = &rows[5];
        assert_eq!(thought["response"], "Paris");
        assert_eq!(thought["reasoning"], "Is it London? No.");
        assert_eq!(
            thought["scores"]["exact_match"], 1.0,
            "reasoning is not scored"
        );
    };
    check(&json_of(&done));
    for said in [
        "1 of 6 answers are empty",
        "1 of 6 answers were cut",
        "1 of 6 answers were ended by a filter",
        "1 of 6 answers are calls of tools",
        "came with reasoning, which is kept and not scored",
    ] {
        assert!(done.stderr.contains(said), "{said}: {done}");
    }
    // The same from the store, and without the run.
    let again = run(&args);
    assert_eq!(server.request_count(), 6);
    check(&json_of(&again));
    let exported = run(&["export", "last", "--cache-dir", arg(store.path())]);
    check(&json_of(&exported));
}

#[test]
fn every_output_says_who_answered() {
    let (_folder, path) = questions(2);
    let layer = ["--system", "passthrough", "--dataset", arg(&path)];
    let table = run(&layer);
    assert_eq!(table.code, 0, "{table}");
    assert!(
        table.stdout.contains("answered by baseline-reader"),
        "{table}"
    );
    assert!(table.stderr.contains("not a language model"), "{table}");
    let markdown = run(&[&layer[..], &["--output", "markdown"]].concat());
    assert!(markdown.stdout.contains("baseline-reader"), "{markdown}");
    let json = json_of(&run(&[&layer[..], &["--output", "json"]].concat()));
    assert_eq!(
        json["provenance"]["answered_by"]["passthrough"],
        "baseline-reader"
    );
    for format in ["csv", "jsonl"] {
        let rows = run(&[&layer[..], &["--output", format]].concat());
        assert!(rows.stdout.contains("baseline-reader"), "{format}: {rows}");
    }
    let server = ChatServer::start(handlers::constant("Paris"));
    let url = server.url();
    let relay = ["--relay", &url, "--model", "tiny-1"];
    let table = run(&[&layer[..], &relay[..]].concat());
    assert!(table.stdout.contains("answered by tiny-1"), "{table}");
    assert!(!table.stderr.contains("not a language model"), "{table}");
}

#[test]
fn answers_that_hold_the_gold_text_are_not_called_wrong_without_a_word() {
    let chatty = "The capital that you ask about is, as far as I can tell, the city of Paris.";
    let server = ChatServer::start(handlers::constant(chatty));
    let (_folder, path) = questions(4);
    let url = server.url();
    let args = ["--proxy", &url, "--dataset", arg(&path)];
    let done = run(&args);
    assert_eq!(done.code, 0, "{done}");
    assert!(done.stderr.contains("--score-field contains"), "{done}");
    let asked = run(&[&args[..], &["--score-field", "contains"]].concat());
    assert!(!asked.stderr.contains("--score-field"), "{asked}");
    let percent = run(&[&args[..], &["--threshold", "70"]].concat());
    assert_eq!(percent.code, 2, "{percent}");
    assert!(percent.stderr.contains("0.7"), "{percent}");
}

#[test]
fn waiting_before_the_next_attempt_is_no_latency() {
    let replies = vec![
        Reply::status(503).retry_after_seconds(1),
        Reply::text("Paris"),
    ];
    let server = ChatServer::start(handlers::sequence(replies));
    let (_folder, path) = questions(1);
    let url = server.url();
    let args = ["--proxy", &url, "--dataset", arg(&path), "--output", "json"];
    let json = json_of(&run(&args));
    let row = &json["rows"][0];
    let (latency, waited) = (&row["latency"], &row["call"]["retry_wait"]);
    assert!(waited.as_f64().unwrap() >= 0.9, "{row}");
    // However slow the machine is: what was waited is not in it.
    let elapsed = json["timing"]["127.0.0.1"].as_f64().unwrap();
    assert!(
        latency.as_f64().unwrap() <= elapsed - waited.as_f64().unwrap(),
        "{row} {elapsed}"
    );
    assert_eq!(json["counts"]["127.0.0.1"]["retries"], 1);
    assert!(row["call"]["connect"].as_f64().is_some(), "{row}");
    assert_eq!(json["provenance"]["max_workers"], "1");
}

#[test]
fn time_outs_and_answers_from_caches_are_told() {
    let replies = vec![
        Reply::hang(),
        Reply::text("Paris"),
        Reply::text("Paris").header("X-Cache", "HIT from proxy"),
    ];
    let server = ChatServer::start(handlers::sequence(replies));
    let (_folder, path) = questions(2);
    let url = server.url();
    let done = run(&[
        "--proxy",
        &url,
        "--dataset",
        arg(&path),
        "--timeout",
        "3",
        "--output",
        "json",
    ]);
    let json = json_of(&done);
    let counts = &json["counts"]["127.0.0.1"];
    assert_eq!(counts["timeouts"], 1, "{counts}");
    assert_eq!(counts["from_cache"], 1, "{counts}");
    assert_eq!(json["rows"][1]["from_cache"], "x-cache: HIT from proxy");
    assert!(done.stderr.contains("came from a cache"), "{done}");
}

#[test]
fn a_temperature_of_zero_is_sent_and_left_out_where_it_is_refused() {
    let (_folder, path) = questions(3);
    let ask = |url: &str, more: &[&str]| {
        let args = ["--proxy", url, "--dataset", arg(&path), "--output", "json"];
        json_of(&run(&[&args[..], more].concat()))
    };
    let usual = ChatServer::start(handlers::constant("Paris"));
    ask(&usual.url(), &[]);
    let body = usual.requests()[0].body.clone();
    assert_eq!(body["temperature"], 0.0);
    assert_eq!(body.get("max_tokens"), None);

    let set = ChatServer::start(handlers::constant("Paris"));
    ask(
        &set.url(),
        &[
            "--temperature",
            "0.7",
            "--max-tokens",
            "12",
            "--header",
            "x-mode: fast",
        ],
    );
    let request = &set.requests()[0];
    assert_eq!(request.body["temperature"], 0.7);
    assert_eq!(request.body["max_tokens"], 12);
    assert_eq!(request.headers.get("x-mode"), Some("fast"));

    let strict = ChatServer::start(|request| match request.json().get("temperature") {
        Some(_) => Reply::status(400).message("Unsupported value: 'temperature' must be 1"),
        None => Reply::text("Paris"),
    });
    let json = ask(&strict.url(), &[]);
    assert_eq!(json["counts"]["127.0.0.1"]["without_temperature"], 3);
    // Refused once; from then on it is known.
    assert_eq!(strict.request_count(), 4);
    let args = [
        "--proxy",
        &strict.url(),
        "--dataset",
        arg(&path),
        "--temperature",
        "0.3",
    ];
    assert_eq!(run(&args).code, 3, "what was chosen is not left out");
}

#[test]
fn every_endpoint_may_have_its_own_model_and_headers() {
    let (a, b) = (
        ChatServer::start(handlers::constant("Paris")),
        ChatServer::start(handlers::constant("Paris")),
    );
    let (_folder, path) = questions(1);
    let first = format!("big={},model=m-1,header=x-arm: one", a.url());
    let second = format!("small={},model=m-2,temperature=0.5", b.url());
    let done = run(&[
        "--proxy",
        &first,
        "--proxy",
        &second,
        "--dataset",
        arg(&path),
        "--output",
        "json",
    ]);
    let json = json_of(&done);
    assert_eq!(json["config"]["systems"], json!(["big", "small"]));
    let answered = &json["provenance"]["answered_by"];
    assert_eq!(answered, &json!({"big": "m-1", "small": "m-2"}));
    assert_eq!(a.requests()[0].body["model"], "m-1");
    assert_eq!(a.requests()[0].headers.get("x-arm"), Some("one"));
    assert_eq!(b.requests()[0].body["temperature"], 0.5);
    let unknown = run(&["--proxy", "http://h,modle=x", "--dataset", arg(&path)]);
    assert_eq!(unknown.code, 2, "{unknown}");
    assert!(unknown.stderr.contains("did you mean `model`"), "{unknown}");
}

#[test]
fn repeats_are_told_apart_from_examples() {
    let server = ChatServer::start(handlers::constant("Paris"));
    let (_folder, path) = questions(4);
    let url = server.url();
    let done = run(&["--proxy", &url, "--dataset", arg(&path), "--repeats", "3"]);
    assert!(done.stdout.contains("3 × 4 examples"), "{done}");
}

#[test]
fn rows_carry_what_was_asked_and_answered() {
    let server = ChatServer::start(|_| Reply::text("Paris").after(Duration::from_millis(1)));
    let (_folder, path) = questions(2);
    let url = server.url();
    let args = ["--proxy", &url, "--dataset", arg(&path)];
    let with = |more: &[&str]| run(&[&args[..], more].concat());
    let json = json_of(&with(&["--output", "json"]));
    let row = &json["rows"][0];
    assert!(row["question"].as_str().unwrap().contains("0"), "{row}");
    assert_eq!(row["response"], "Paris");
    assert_eq!(row["finish_reason"], "stop");
    assert!(row["answer"].is_string(), "{row}");
    let csv = with(&["--output", "csv"]).stdout;
    let mut reader = csv::Reader::from_reader(csv.as_bytes());
    let headings = reader.headers().unwrap().clone();
    let at = headings.iter().position(|h| h == "response").unwrap();
    assert_eq!(&reader.records().next().unwrap().unwrap()[at], "Paris");
    for format in ["json", "jsonl", "csv"] {
        let without = with(&["--output", format, "--no-text"]).stdout;
        assert!(
            !without.contains("\"response\"") && !without.contains(",response"),
            "{without}"
        );
        assert!(
            without.contains("finish_reason") || format == "csv",
            "{without}"
        );
    }
}
