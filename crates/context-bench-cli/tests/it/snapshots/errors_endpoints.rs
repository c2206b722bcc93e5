//! Endpoints that cannot work: said before many requests are wasted on them.

use context_bench_testkit::{ChatServer, Reply, handlers};

use super::session::Session;

#[test]
fn addresses_that_cannot_work() {
    let mut session = Session::with_questions();
    session.nobody_at("[NOBODY]");
    session.run_all(&[
        "--proxy localhost:8080 --dataset questions.jsonl",
        "--proxy ftp://localhost --dataset questions.jsonl",
        "--proxy '' --dataset questions.jsonl",
        "--proxy 'http://' --dataset questions.jsonl",
        "--proxy [NOBODY] --dataset questions.jsonl",
        "--system passthrough --relay [NOBODY] --dataset questions.jsonl",
        "--system passthrough --dataset questions.jsonl --judge-url [NOBODY]",
        "--system passthrough --dataset questions.jsonl --judge-url localhost",
    ]);
    session.approve("errors_addresses");
}

#[test]
fn endpoints_that_refuse() {
    let locked = ChatServer::start(handlers::require_key(
        "sk-right",
        handlers::constant("Paris"),
    ));
    let refusing = ChatServer::start(|_| Reply::status(404).message("model `nope` does not exist"));
    let broken = ChatServer::start(|_| Reply::status(500).message("out of memory"));
    let mut session = Session::with_questions();
    session.serve("[LOCKED]", &locked);
    session.serve("[REFUSING]", &refusing);
    session.serve("[BROKEN]", &broken);
    let data = "--dataset questions.jsonl --max-retries 0";
    session.run(&format!("--proxy [LOCKED] {data}"));
    session.run_in(
        &format!("--proxy [LOCKED] {data}"),
        &[("OPENAI_API_KEY", "sk-wrong-4711")],
    );
    session.run(&format!("--proxy [REFUSING] {data} --model nope"));
    session.run(&format!("--proxy [BROKEN] {data}"));
    session.approve("errors_endpoints");
}
