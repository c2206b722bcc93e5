//! Results of runs in every format: the built-in reader answers, or an endpoint on loopback.

use context_bench_testkit::{ChatServer, Reply, handlers};

use super::session::Session;

#[test]
fn the_demo() {
    let mut session = Session::new();
    session.run_all(&["demo", "demo -n 12 --output markdown"]);
    session.approve("demo");
}

#[test]
fn two_layers_in_every_format() {
    let run = "--system passthrough --system truncate:ratio=0.5 --dataset questions.jsonl";
    for format in ["table", "markdown", "json", "jsonl", "csv"] {
        let mut session = Session::with_questions();
        session.run(&format!("{run} --output {format}"));
        session.approve(&format!("report_{format}"));
    }
}

#[test]
fn endpoints_side_by_side() {
    let good = ChatServer::start(handlers::by_question([
        ("capital of France", "Paris"),
        ("capital of Italy", "Rome"),
        ("capital of Spain", "Madrid"),
    ]));
    // One wrong answer, one empty answer and one refused request.
    let bad = ChatServer::start(|request| match request.last_user_content() {
        asked if asked.contains("Italy") => Reply::text("Milan"),
        asked if asked.contains("Spain") => Reply::text(""),
        _ => Reply::status(400).message("the context holds a forbidden word"),
    });
    let mut session = Session::with_questions();
    session.serve("[GOOD]", &good);
    session.serve("[BAD]", &bad);
    let run = "--proxy good=[GOOD] --proxy bad=[BAD] --dataset questions.jsonl";
    session.run(run);
    session.run(&format!(
        "{run} --max-error-rate 0.5 --threshold 0.2 --output markdown"
    ));
    session.run(&format!("{run} --judge-url [GOOD]"));
    session.approve("endpoints");
}

#[test]
fn before_a_run() {
    let mut session = Session::with_questions();
    let run = "--proxy http://localhost:8000 --system dedup --relay http://localhost:8000/v1 \
               --dataset questions.jsonl --model small --max-workers 4";
    session.run(&format!("{run} --dry-run"));
    session.run(&format!("{run} --print-config"));
    session.run(&format!("render {run} --id italy"));
    session.approve("before_a_run");
}
