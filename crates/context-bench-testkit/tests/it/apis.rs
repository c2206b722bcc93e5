//! The APIs beside chat completions: whole, streamed, with errors and usage of a cache.

use context_bench_testkit::{ChatServer, Reply, handlers};
use serde_json::{Value, json};

use crate::client::{Client, Response};

const MESSAGES: &str = "/v1/messages";
const RESPONSES: &str = "/v1/responses";

fn asked(reply: Reply, path: &str, body: &Value) -> Response {
    let server = ChatServer::start(handlers::sequence(vec![reply]));
    Client::new(server.addr()).post(path, body)
}

/// The events of a stream, each with its name.
fn events(response: &Response) -> Vec<(String, Value)> {
    let text = String::from_utf8(response.body.clone()).expect("UTF-8 events");
    let events = text.split_terminator("\n\n").map(|event| {
        let (name, data) = event.split_once('\n').expect("a named event");
        let name = name.strip_prefix("event: ").expect("a name");
        let data = data.strip_prefix("data: ").expect("data");
        (name.to_owned(), serde_json::from_str(data).expect("JSON"))
    });
    events.collect()
}

#[test]
fn messages_come_whole_and_streamed() {
    let reply = Reply::text("the  city ").usage(100, 2).cached(60, 30);
    let mut body = json!({"model": "m", "max_tokens": 9, "system": "a b",
        "messages": [{"role": "user", "content": [{"type": "text", "text": "c"}]}]});
    let whole = asked(reply.clone(), MESSAGES, &body).json();
    assert_eq!(
        whole["content"],
        json!([{"type": "text", "text": "the  city "}])
    );
    assert_eq!(
        (&whole["type"], &whole["stop_reason"]),
        (&json!("message"), &json!("end_turn"))
    );
    let usage = &whole["usage"];
    let counts = [
        "input_tokens",
        "cache_read_input_tokens",
        "cache_creation_input_tokens",
        "output_tokens",
    ];
    assert_eq!(
        counts.map(|name| &usage[name]),
        [&json!(10), &json!(60), &json!(30), &json!(2)]
    );

    body["stream"] = json!(true);
    let response = asked(reply.finish_reason("length"), MESSAGES, &body);
    assert_eq!(response.header("content-type"), Some("text/event-stream"));
    let events = events(&response);
    let names: Vec<&str> = events.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(
        names,
        [
            "message_start",
            "content_block_start",
            "ping",
            "content_block_delta",
            "content_block_delta",
            "content_block_stop",
            "message_delta",
            "message_stop"
        ]
    );
    let text: String = events
        .iter()
        .filter_map(|(_, data)| data["delta"]["text"].as_str())
        .collect();
    assert_eq!(text, "the  city ");
    assert_eq!(
        events[0].1["message"]["usage"]["cache_read_input_tokens"],
        60
    );
    assert_eq!(events[6].1["delta"]["stop_reason"], "max_tokens");
    assert_eq!(events[6].1["usage"]["output_tokens"], 2);
}

#[test]
fn responses_come_whole_and_streamed() {
    let reply = Reply::text("the city");
    let mut body = json!({"model": "m", "instructions": "a b", "input": [
        {"role": "user", "content": "c"},
        {"type": "function_call_output", "call_id": "x", "output": "d e"}]});
    let whole = asked(reply.clone().cached(1, 0), RESPONSES, &body).json();
    assert_eq!(whole["status"], "completed");
    assert_eq!(whole["output"][0]["content"][0]["text"], "the city");
    assert_eq!(whole["usage"]["input_tokens"], 5);
    assert_eq!(whole["usage"]["input_tokens_details"]["cached_tokens"], 1);

    body["stream"] = json!(true);
    let events = events(&asked(reply.finish_reason("length"), RESPONSES, &body));
    let text: String = events
        .iter()
        .filter_map(|(_, data)| data["delta"].as_str())
        .collect();
    assert_eq!(text, "the city");
    let (name, last) = events.last().expect("events");
    assert_eq!(name, "response.incomplete");
    assert_eq!(
        last["response"]["incomplete_details"]["reason"],
        "max_output_tokens"
    );
    assert_eq!(last["response"]["usage"]["output_tokens"], 2);
}

#[test]
fn errors_have_the_shape_of_the_api() {
    let body = json!({"model": "m", "stream": true, "messages": []});
    let busy = asked(Reply::status(529).message("Overloaded"), MESSAGES, &body);
    assert_eq!(busy.status, 529);
    let error = busy.json();
    assert_eq!(error["type"], "error");
    assert_eq!(
        error["error"],
        json!({"type": "overloaded_error", "message": "Overloaded"})
    );

    let broken = events(&asked(
        Reply::text("a b").error_after_tokens(1, "sorry"),
        MESSAGES,
        &body,
    ));
    let (name, data) = broken.last().expect("events");
    assert_eq!(
        (name.as_str(), &data["error"]["message"]),
        ("error", &json!("sorry"))
    );

    let broken = asked(
        Reply::text("a b").error_after_tokens(1, "sorry"),
        RESPONSES,
        &body,
    );
    let (name, data) = events(&broken).pop().expect("events");
    assert_eq!(
        (name.as_str(), &data["code"]),
        ("error", &json!("server_error"))
    );
}

#[test]
fn keys_may_come_in_the_header_of_either() {
    let server = ChatServer::start(handlers::require_key("k", |_| Reply::text("ok")));
    let body = json!({"messages": []});
    let refused = Client::new(server.addr()).post(MESSAGES, &body);
    assert_eq!(refused.json()["error"]["type"], "authentication_error");
    let mut client = Client::new(server.addr());
    client.send(MESSAGES, &body, "x-api-key: k\r\n");
    let known = client.receive().expect("a response");
    assert_eq!(known.json()["content"][0]["text"], "ok");
}
