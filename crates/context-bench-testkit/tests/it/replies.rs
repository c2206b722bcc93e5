//! Each kind of reply to a request that does not stream.

use std::io::{ErrorKind, Read as _};
use std::time::{Duration, Instant, SystemTime};

use context_bench_testkit::{ChatServer, Fault, Reply, handlers};
use serde_json::{Value, json};

use crate::client::{CHAT, Client, question};

fn one_reply(reply: Reply) -> (ChatServer, Client) {
    let server = ChatServer::start(handlers::sequence(vec![reply]));
    let client = Client::new(server.addr());
    (server, client)
}

#[test]
fn text_is_a_chat_completion() {
    let (_server, mut client) = one_reply(Reply::text("Paris, of course"));
    let response = client.ask("What is the capital?");
    assert_eq!(response.status, 200);
    assert_eq!(response.header("content-type"), Some("application/json"));
    let body = response.json();
    assert_eq!(body["id"], "chatcmpl-mock-0");
    assert_eq!(body["object"], "chat.completion");
    assert_eq!(body["model"], "m1");
    assert!(body["created"].as_u64().unwrap() > 1_700_000_000);
    let choice = &body["choices"][0];
    let message = json!({"role": "assistant", "content": "Paris, of course"});
    assert_eq!(choice["message"], message);
    assert_eq!(choice["finish_reason"], "stop");
    let usage = json!({"prompt_tokens": 4, "completion_tokens": 3, "total_tokens": 7});
    assert_eq!(body["usage"], usage);
}

#[test]
fn details_of_a_completion_can_be_set() {
    let reply = Reply::text("x")
        .usage(100, 20)
        .finish_reason("length")
        .model("other")
        .header("X-Request-Id", "r1");
    let (_server, mut client) = one_reply(reply);
    let response = client.ask("q");
    assert_eq!(response.header("x-request-id"), Some("r1"));
    let body = response.json();
    assert_eq!(body["usage"]["total_tokens"], 120);
    assert_eq!(body["choices"][0]["finish_reason"], "length");
    assert_eq!(body["model"], "other");

    let (_server, mut client) = one_reply(Reply::text("x").null_content().without_usage());
    let body = client.ask("q").json();
    assert_eq!(body["choices"][0]["message"]["content"], Value::Null);
    assert_eq!(body.get("usage"), None);
}

#[test]
fn plain_completions_have_a_text() {
    let (_server, mut client) = one_reply(Reply::text("Paris"));
    let body = json!({"model": "m", "prompt": "capital of France"});
    let body = client.post("/v1/completions", &body).json();
    assert_eq!(body["object"], "text_completion");
    assert_eq!(body["choices"][0]["text"], "Paris");
    assert_eq!(body["usage"]["prompt_tokens"], 3);
}

#[test]
fn json_and_raw_bodies_are_sent_as_given() {
    let (_server, mut client) = one_reply(Reply::json(json!({"z": 1, "a": 2})));
    assert_eq!(client.ask("q").body, br#"{"z":1,"a":2}"#);

    let (_server, mut client) = one_reply(Reply::raw(502, "text/html", "<h1>502</h1>"));
    let response = client.ask("q");
    assert_eq!(response.status, 502);
    assert_eq!(response.header("content-type"), Some("text/html"));
    assert_eq!(response.body, b"<h1>502</h1>");
}

#[test]
fn errors_look_like_those_of_openai() {
    let reply = Reply::status(429)
        .message("slow down")
        .retry_after_seconds(7);
    let (_server, mut client) = one_reply(reply.error_code("rate_limit_exceeded"));
    let response = client.ask("q");
    assert_eq!(response.status, 429);
    assert_eq!(response.header("retry-after"), Some("7"));
    let error = &response.json()["error"];
    assert_eq!(error["message"], "slow down");
    assert_eq!(error["type"], "rate_limit_error");
    assert_eq!(error["code"], "rate_limit_exceeded");
    // An error leaves the connection usable.
    assert_eq!(client.ask("q").status, 429);
}

#[test]
fn retry_after_may_be_a_date() {
    let (_server, mut client) = one_reply(Reply::status(503).retry_after_date(60));
    let before = SystemTime::now();
    let response = client.ask("q");
    let date = response.header("retry-after").unwrap();
    let date = httpdate::parse_http_date(date).unwrap();
    // A minute from the moment it was said, which is between these two; dates have seconds.
    let minute = Duration::from_secs(60);
    let second = Duration::from_secs(1);
    assert!(date >= before + minute, "{date:?}");
    assert!(date <= SystemTime::now() + minute + second, "{date:?}");
}

#[test]
fn hang_keeps_the_socket_open() {
    let (server, mut client) = one_reply(Reply::hang());
    client.send(CHAT, &question("q"), "");
    assert!(server.wait_for_requests(1, Duration::from_secs(120)));
    let short = Some(Duration::from_millis(100));
    client.0.get_ref().set_read_timeout(short).unwrap();
    let error = client.receive().unwrap_err();
    assert!(matches!(
        error.kind(),
        ErrorKind::WouldBlock | ErrorKind::TimedOut
    ));
    assert_eq!(server.in_flight(), 1);
    drop(client);
    let until = Instant::now() + Duration::from_secs(120);
    while server.in_flight() > 0 && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(
        server.in_flight(),
        0,
        "a client that leaves ends its request"
    );
    assert_eq!(server.latencies(), []);
}

#[test]
fn drip_sends_all_of_it_slowly() {
    let (_server, mut client) = one_reply(Reply::drip("Paris", 50, Duration::from_millis(5)));
    let start = Instant::now();
    assert_eq!(client.ask("q").content(), "Paris");
    assert!(start.elapsed() >= Duration::from_millis(20));
    assert_eq!(client.ask("q").content(), "Paris");
}

#[test]
fn reset_is_a_connection_reset() {
    let (_server, mut client) = one_reply(Reply::reset());
    client.send(CHAT, &question("q"), "");
    let error = client.receive().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionReset);
}

#[test]
fn close_is_a_clean_end() {
    let (_server, mut client) = one_reply(Reply::close());
    client.send(CHAT, &question("q"), "");
    let mut rest = Vec::new();
    assert_eq!(client.0.read_to_end(&mut rest).unwrap(), 0);
}

#[test]
fn truncated_promises_more_than_it_sends() {
    let (server, mut client) = one_reply(Reply::truncated("Paris"));
    client.send(CHAT, &question("q"), "");
    let head = client.receive_head().unwrap();
    let promised: usize = head.header("content-length").unwrap().parse().unwrap();
    let mut sent = Vec::new();
    client.0.read_to_end(&mut sent).unwrap();
    assert!(!sent.is_empty() && sent.len() < promised);
    assert!(serde_json::from_slice::<Value>(&sent).is_err());
    assert_eq!(server.requests()[0].replied_in, None);
}

#[test]
fn broken_successes_have_status_200() {
    let (_server, mut client) = one_reply(Reply::invalid_json());
    let response = client.ask("q");
    assert_eq!(response.status, 200);
    assert!(serde_json::from_slice::<Value>(&response.body).is_err());

    let (_server, mut client) = one_reply(Reply::empty_choices());
    let response = client.ask("q");
    assert_eq!(response.status, 200);
    assert_eq!(response.json()["choices"], json!([]));
}

#[test]
fn after_delays_any_reply() {
    let delay = Duration::from_millis(50);
    for reply in [Reply::text("x"), Reply::status(500), Reply::reset()] {
        let (_server, mut client) = one_reply(reply.after(delay));
        let start = Instant::now();
        client.send(CHAT, &question("q"), "");
        let _ = client.receive();
        assert!(start.elapsed() >= delay);
    }
}

#[test]
fn and_close_closes_after_the_reply() {
    let (_server, mut client) = one_reply(Reply::text("x").and_close());
    let response = client.ask("q");
    assert_eq!(response.header("connection"), Some("close"));
    assert_eq!(
        client.receive().unwrap_err().kind(),
        ErrorKind::UnexpectedEof
    );
}

#[test]
fn a_sequence_repeats_its_last_reply() {
    let replies = vec![Reply::status(500), Reply::text("a"), Reply::text("b")];
    let server = ChatServer::start(handlers::sequence(replies));
    let mut client = Client::new(server.addr());
    assert_eq!(client.ask("q").status, 500);
    for expected in ["a", "b", "b"] {
        assert_eq!(client.ask("q").content(), expected);
    }
}

#[test]
fn scripts_see_the_request() {
    let server = ChatServer::start(|request| {
        assert_eq!(
            request.headers.get("CONTENT-length").is_some(),
            request.index < 9
        );
        Reply::json(json!({
            "index": request.index,
            "attempt": request.attempt,
            "model": request.model(),
            "path": request.path,
            "query": request.query,
            "last": request.last_user_content(),
            "messages": request.messages().len(),
        }))
    });
    let mut client = Client::new(server.addr());
    let first = client
        .post("/chat/completions?a=b", &question("one"))
        .json();
    let expected = json!({
        "index": 0, "attempt": 0, "model": "m1", "path": "/chat/completions",
        "query": "a=b", "last": "one", "messages": 1,
    });
    assert_eq!(first, expected);
    assert_eq!(client.ask("two").json()["attempt"], 0);
    let again = client.ask("one").json();
    assert_eq!((&again["index"], &again["attempt"]), (&json!(2), &json!(1)));
    let parts = json!({"messages": [
        {"role": "user", "content": [{"type": "text", "text": "parts"}]},
        {"role": "assistant", "content": "no"},
    ]});
    assert_eq!(client.post(CHAT, &parts).json()["last"], "parts");
}

#[test]
fn a_panicking_script_is_a_500() {
    let server = ChatServer::start(|request| {
        assert_ne!(
            request.last_user_content(),
            "bad",
            "this panic is part of the test"
        );
        Reply::text("fine")
    });
    let mut client = Client::new(server.addr());
    assert_eq!(client.ask("bad").status, 500);
    assert_eq!(client.ask("good").content(), "fine");
}

#[test]
fn a_key_can_be_required() {
    let server = ChatServer::start(handlers::require_key("sk-1", handlers::echo_last_user()));
    let mut client = Client::new(server.addr());
    assert_eq!(client.ask("q").status, 401);
    client.send(CHAT, &question("q"), "authorization: Bearer sk-2\r\n");
    let refused = client.receive().unwrap();
    assert_eq!(refused.json()["error"]["code"], "invalid_api_key");
    client.send(CHAT, &question("q"), "authorization: Bearer sk-1\r\n");
    assert_eq!(client.receive().unwrap().content(), "q");
}

#[test]
fn flaky_faults_reach_the_socket() {
    let limited = Fault::RateLimited {
        retry_after: Some(3),
    };
    let server = ChatServer::start(handlers::flaky(1, 1.0, [limited], handlers::noop()));
    let response = Client::new(server.addr()).ask("q");
    assert_eq!(response.status, 429);
    assert_eq!(response.header("retry-after"), Some("3"));
}
