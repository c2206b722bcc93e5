//! Counts, recorded requests, latencies, and the end of a server.

use std::io::ErrorKind;
use std::time::Duration;

use context_bench_testkit::{ChatServer, Reply, handlers};
use serde_json::Value;

use crate::client::{CHAT, Client, question};

#[test]
fn requests_are_recorded() {
    let server = ChatServer::start(|request| match request.index {
        1 => Reply::close(),
        _ => Reply::text("x"),
    });
    let mut client = Client::new(server.addr());
    client.send(CHAT, &question("one"), "X-Test: yes\r\n");
    client.receive().unwrap();
    client.send(CHAT, &question("one"), "");
    client.receive().unwrap_err();

    let requests = server.requests();
    assert_eq!(requests.len(), 2);
    assert_eq!(requests[0].method, "POST");
    assert_eq!(requests[0].path, CHAT);
    assert_eq!(requests[0].body, question("one"));
    assert_eq!(requests[0].headers.get("x-test"), Some("yes"));
    assert!(requests[0].replied_in.is_some());
    assert!(requests[0].at <= requests[1].at);
    assert_eq!(requests[1].attempt, 1);
    assert_eq!(requests[1].replied_in, None);
    assert_eq!(server.latencies().len(), 1);
}

#[test]
fn bodies_can_be_left_out() {
    let server = ChatServer::builder()
        .record_bodies(false)
        .start(handlers::echo_last_user());
    assert_eq!(Client::new(server.addr()).ask("q").content(), "q");
    assert_eq!(server.requests()[0].body, Value::Null);
    assert_eq!(server.latencies().len(), 1);

    let server = ChatServer::builder()
        .counts_only()
        .start(handlers::echo_last_user());
    assert_eq!(Client::new(server.addr()).ask("q").content(), "q");
    assert!(server.requests().is_empty());
    assert_eq!((server.request_count(), server.latencies().len()), (1, 1));
}

#[test]
fn noop_counts_without_keeping() {
    let latency = Duration::from_millis(5);
    let server = ChatServer::builder()
        .latency(latency)
        .start(handlers::noop());
    let mut client = Client::new(server.addr());
    for _ in 0..10 {
        assert_eq!(client.ask(&"long ".repeat(50_000)).content(), "ok");
    }
    assert_eq!(client.post("/v1/nothing", &Value::Null).status, 404);
    assert_eq!(server.request_count(), 10);
    assert!(server.requests().is_empty());
    assert_eq!(server.latencies().len(), 10);
    assert!(server.latencies().iter().all(|took| *took >= latency));
}

#[test]
fn the_peak_counts_requests_at_once() {
    let server = ChatServer::start(|_| Reply::hang());
    let mut clients: Vec<Client> = (0..8).map(|_| Client::new(server.addr())).collect();
    for client in &mut clients {
        client.send(CHAT, &question("q"), "");
    }
    assert!(server.wait_for_requests(8, Duration::from_secs(120)));
    assert_eq!((server.in_flight(), server.peak_in_flight()), (8, 8));
}

#[test]
fn requests_can_be_gathered() {
    let server = ChatServer::builder()
        .together(6)
        .start(handlers::constant("x"));
    std::thread::scope(|scope| {
        for _ in 0..6 {
            scope.spawn(|| assert_eq!(Client::new(server.addr()).ask("q").content(), "x"));
        }
    });
    assert_eq!(server.peak_in_flight(), 6);
    // Those that come later wait for nobody.
    assert_eq!(Client::new(server.addr()).ask("q").content(), "x");
}

#[test]
fn the_peak_never_exceeds_the_clients() {
    let server = ChatServer::builder()
        .workers(2)
        .start(handlers::constant("x"));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                // A new connection each time, so that workers are changed.
                for _ in 0..200 {
                    assert_eq!(Client::new(server.addr()).ask("q").status, 200);
                }
            });
        }
    });
    assert_eq!(server.request_count(), 800);
    assert!((1..=4).contains(&server.peak_in_flight()));
    assert_eq!(server.latencies().len(), 800);
    assert_eq!(server.in_flight(), 0);
}

#[test]
fn many_connections_are_accepted() {
    let server = ChatServer::start(handlers::noop());
    let mut clients: Vec<Client> = (0..400).map(|_| Client::new(server.addr())).collect();
    for client in &mut clients {
        client.send(CHAT, &question("q"), "");
    }
    for client in &mut clients {
        assert_eq!(client.receive().unwrap().content(), "ok");
    }
    assert_eq!(server.request_count(), 400);
    assert_eq!(server.connection_count(), 400);
}

#[test]
fn a_dropped_server_lets_go_of_everything() {
    for workers in [1, 2] {
        let server = ChatServer::builder()
            .workers(workers)
            .start(|_| Reply::hang());
        let mut client = Client::new(server.addr());
        client.send(CHAT, &question("q"), "");
        assert!(server.wait_for_requests(1, Duration::from_secs(120)));
        // It waits for nobody; the client hears of it.
        server.shutdown();
        let error = client.receive().unwrap_err();
        assert!(!matches!(
            error.kind(),
            ErrorKind::WouldBlock | ErrorKind::TimedOut
        ));
    }
}

#[test]
fn an_async_test_may_start_and_drop_a_server() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    runtime.block_on(async {
        let server = ChatServer::start(handlers::constant("x"));
        assert!(server.base_url_v1().ends_with("/v1"));
        assert!(!server.wait_for_requests(1, Duration::ZERO));
    });
}
