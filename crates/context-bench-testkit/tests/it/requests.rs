//! Framing of requests: keep-alive, pipelining, chunked bodies, refusals.

use std::io::ErrorKind;

use context_bench_testkit::{ChatServer, Reply, handlers};
use serde_json::json;

use crate::client::{CHAT, Client, question};

#[test]
fn a_connection_is_reused() {
    let server = ChatServer::start(handlers::echo_last_user());
    let mut client = Client::new(server.addr());
    for text in ["one", "two", "three"] {
        assert_eq!(client.ask(text).content(), text);
    }
    assert_eq!(server.connection_count(), 1);
    assert_eq!(server.request_count(), 3);
}

#[test]
fn connection_close_is_honoured() {
    for handler_is_fixed in [false, true] {
        let server = if handler_is_fixed {
            ChatServer::start(handlers::noop())
        } else {
            ChatServer::start(handlers::constant("ok"))
        };
        let mut client = Client::new(server.addr());
        client.send(CHAT, &question("q"), "Connection: close\r\n");
        assert_eq!(client.receive().unwrap().content(), "ok");
        assert_eq!(
            client.receive().unwrap_err().kind(),
            ErrorKind::UnexpectedEof
        );
    }
}

#[test]
fn pipelined_requests_are_answered_in_order() {
    let server = ChatServer::start(|request| {
        let delay = std::time::Duration::from_millis(if request.index == 0 { 30 } else { 0 });
        Reply::text(request.last_user_content()).after(delay)
    });
    let mut client = Client::new(server.addr());
    let texts: Vec<String> = (0..50).map(|i| format!("question {i}")).collect();
    for text in &texts {
        client.send(CHAT, &question(text), "");
    }
    for text in &texts {
        assert_eq!(client.receive().unwrap().content(), *text);
    }
}

#[test]
fn a_request_may_come_byte_by_byte() {
    let server = ChatServer::start(handlers::echo_last_user());
    let mut client = Client::new(server.addr());
    let body = question("slow").to_string();
    let head = format!(
        "POST {CHAT} HTTP/1.1\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    for byte in head.bytes().chain(body.bytes()) {
        client.write(&[byte]);
    }
    assert_eq!(client.receive().unwrap().content(), "slow");
}

#[test]
fn chunked_bodies_are_joined() {
    for server in [
        ChatServer::start(handlers::echo_last_user()),
        ChatServer::builder().start_fixed(&Reply::text("chunks")),
    ] {
        let mut client = Client::new(server.addr());
        let body = question("chunks").to_string();
        client.write(
            format!("POST {CHAT} HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n").as_bytes(),
        );
        for chunk in body.as_bytes().chunks(7) {
            client.write(format!("{:X};ext=1\r\n", chunk.len()).as_bytes());
            client.write(chunk);
            client.write(b"\r\n");
        }
        client.write(b"0\r\nX-Trailer: 1\r\n\r\n");
        assert_eq!(client.receive().unwrap().content(), "chunks");
        assert_eq!(client.ask("chunks").content(), "chunks");
    }
}

#[test]
fn expect_continue_is_met() {
    let server = ChatServer::start(handlers::echo_last_user());
    let mut client = Client::new(server.addr());
    let body = question("waited").to_string();
    let length = body.len();
    let head =
        format!("POST {CHAT} HTTP/1.1\r\nContent-Length: {length}\r\nExpect: 100-continue\r\n\r\n");
    client.write(head.as_bytes());
    assert_eq!(client.receive().unwrap().status, 100);
    client.write(body.as_bytes());
    assert_eq!(client.receive().unwrap().content(), "waited");
}

#[test]
fn large_bodies_are_taken_and_larger_ones_refused() {
    let server = ChatServer::start(|request| Reply::text(request.body.len().to_string()));
    let mut client = Client::new(server.addr());
    let body = question(&"x".repeat(20 << 20));
    let length = body.to_string().len().to_string();
    assert_eq!(client.post(CHAT, &body).content(), length);
    assert_eq!(client.ask("q").status, 200);

    let too_long = (64 << 20) + 1;
    client
        .write(format!("POST {CHAT} HTTP/1.1\r\nContent-Length: {too_long}\r\n\r\nabc").as_bytes());
    let refused = client.receive().unwrap();
    assert_eq!(refused.status, 413);
    assert_eq!(refused.header("connection"), Some("close"));
}

#[test]
fn nonsense_is_refused() {
    let server = ChatServer::start(handlers::constant("x"));
    for nonsense in [
        "not http at all\r\n\r\n",
        "POST /v1/chat/completions HTTP/1.1\r\nContent-Length: many\r\n\r\n",
        "POST /v1/chat/completions HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    ] {
        let mut client = Client::new(server.addr());
        client.write(nonsense.as_bytes());
        let refused = client.receive().unwrap();
        assert_eq!(refused.status, 400);
        assert_eq!(refused.json()["error"]["type"], "invalid_request_error");
    }
    assert_eq!(server.request_count(), 0);
}

#[test]
fn other_paths_do_not_reach_the_script() {
    let server = ChatServer::builder()
        .models(["alpha", "beta"])
        .start(|_| panic!("never asked"));
    let mut client = Client::new(server.addr());
    client.write(b"GET /v1/models HTTP/1.1\r\n\r\n");
    let models = client.receive().unwrap().json();
    assert_eq!(models["data"][1]["id"], "beta");

    let unknown = client.post("/v1/embeddings", &json!({}));
    assert_eq!(unknown.status, 404);
    let message = unknown.json()["error"]["message"].clone();
    assert_eq!(message, "unknown path /v1/embeddings");

    client.write(format!("GET {CHAT} HTTP/1.1\r\n\r\n").as_bytes());
    assert_eq!(client.receive().unwrap().status, 405);

    assert_eq!(server.request_count(), 0);
    let paths: Vec<String> = server
        .other_requests()
        .into_iter()
        .map(|r| r.path)
        .collect();
    assert_eq!(paths, ["/v1/models", "/v1/embeddings", CHAT]);
}
