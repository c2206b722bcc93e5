//! Streamed replies and their faults.

use std::io::ErrorKind;
use std::time::{Duration, Instant};

use context_bench_testkit::{ChatServer, Reply, handlers};
use serde_json::{Value, json};

use crate::client::{CHAT, Client, Response};

fn streamed(usage: bool) -> Value {
    let mut body = json!({
        "model": "m1",
        "stream": true,
        "messages": [{"role": "user", "content": "two words"}],
    });
    if usage {
        body["stream_options"] = json!({"include_usage": true});
    }
    body
}

fn stream(reply: Reply, usage: bool) -> Response {
    let server = ChatServer::start(handlers::sequence(vec![reply]));
    Client::new(server.addr()).post(CHAT, &streamed(usage))
}

fn parsed(event: &str) -> Value {
    serde_json::from_str(event).unwrap()
}

fn joined(events: &[String]) -> String {
    let chunks = events.iter().filter(|event| *event != "[DONE]");
    chunks
        .filter_map(|event| {
            let content = parsed(event)["choices"][0]["delta"]["content"].clone();
            content.as_str().map(str::to_owned)
        })
        .collect()
}

#[test]
fn text_comes_word_by_word() {
    let response = stream(Reply::text("the city\nof  Paris"), true);
    assert_eq!(response.header("content-type"), Some("text/event-stream"));
    let events = response.events();
    assert_eq!(events.len(), 8, "{events:?}");
    let role = parsed(&events[0]);
    assert_eq!(role["object"], "chat.completion.chunk");
    assert_eq!(role["choices"][0]["delta"]["role"], "assistant");
    assert_eq!(parsed(&events[1])["choices"][0]["delta"]["content"], "the");
    assert_eq!(joined(&events), "the city\nof  Paris");
    assert_eq!(parsed(&events[5])["choices"][0]["finish_reason"], "stop");
    let usage = parsed(&events[6]);
    assert_eq!(usage["choices"], json!([]));
    assert_eq!(usage["usage"]["prompt_tokens"], 2);
    assert_eq!(usage["usage"]["completion_tokens"], 4);
    assert_eq!(events[7], "[DONE]");
}

#[test]
fn usage_comes_only_if_asked_for_and_known() {
    assert_eq!(stream(Reply::text("a b"), false).events().len(), 5);
    assert_eq!(
        stream(Reply::text("a b").without_usage(), true)
            .events()
            .len(),
        5
    );
}

#[test]
fn plain_completions_stream_texts() {
    let server = ChatServer::start(handlers::constant("a b"));
    let body = json!({"prompt": "p", "stream": true});
    let events = Client::new(server.addr())
        .post("/v1/completions", &body)
        .events();
    assert_eq!(parsed(&events[1])["choices"][0]["text"], " b");
    assert_eq!(events.len(), 4);
}

#[test]
fn the_connection_survives_a_stream() {
    let server = ChatServer::start(handlers::constant("a b"));
    let mut client = Client::new(server.addr());
    for _ in 0..3 {
        assert_eq!(joined(&client.post(CHAT, &streamed(false)).events()), "a b");
    }
    assert_eq!(client.ask("whole").content(), "a b");
    assert_eq!(server.connection_count(), 1);
    assert_eq!(server.latencies().len(), 4);
}

#[test]
fn tokens_can_be_slow() {
    let reply = Reply::text("a b c")
        .first_token_after(Duration::from_millis(60))
        .between_tokens(Duration::from_millis(30));
    let server = ChatServer::start(handlers::sequence(vec![reply]));
    let mut client = Client::new(server.addr());
    let start = Instant::now();
    client.send(CHAT, &streamed(false), "");
    let mut response = client.receive_head().unwrap();
    assert!(client.receive_chunk(&mut response.body).unwrap());
    assert_eq!(response.events().len(), 1, "the role comes first, alone");
    assert!(client.receive_chunk(&mut response.body).unwrap());
    assert!(start.elapsed() >= Duration::from_millis(60));
    while client.receive_chunk(&mut response.body).unwrap() {}
    assert!(start.elapsed() >= Duration::from_millis(120));
    assert_eq!(joined(&response.events()), "a b c");
}

#[test]
fn a_stream_can_be_cut() {
    for (reply, tokens) in [
        (Reply::text("a b c d").cut_after_tokens(3), 3),
        (Reply::text("a b c d").cut_after_tokens(0), 0),
        (Reply::truncated("a b c d"), 2),
    ] {
        let server = ChatServer::start(handlers::sequence(vec![reply]));
        let mut client = Client::new(server.addr());
        client.send(CHAT, &streamed(false), "");
        let mut response = client.receive_head().unwrap();
        let error = loop {
            match client.receive_chunk(&mut response.body) {
                Ok(more) => assert!(more, "the last chunk must not come"),
                Err(error) => break error,
            }
        };
        assert_eq!(error.kind(), ErrorKind::UnexpectedEof);
        assert_eq!(response.events().len(), tokens + 1);
        assert_eq!(server.latencies(), []);
    }
}

#[test]
fn an_error_can_come_in_mid_stream() {
    let events = stream(
        Reply::text("a b c").error_after_tokens(2, "overloaded"),
        true,
    )
    .events();
    assert_eq!(events.len(), 4);
    assert_eq!(parsed(&events[3])["error"]["message"], "overloaded");
}

#[test]
fn other_kinds_stream_or_do_not() {
    let broken = stream(Reply::invalid_json(), false).events();
    assert!(serde_json::from_str::<Value>(&broken[0]).is_err());
    let empty = stream(Reply::empty_choices(), false).events();
    assert_eq!(parsed(&empty[0])["choices"], json!([]));
    let null = stream(Reply::text("").null_content(), false).events();
    assert_eq!(null.len(), 3);
    let drip = stream(Reply::drip("a b", 100, Duration::from_millis(1)), false);
    assert_eq!(joined(&drip.events()), "a b");
    let error = stream(Reply::status(500), false);
    assert_eq!(
        (error.status, error.header("content-type")),
        (500, Some("application/json"))
    );
}
