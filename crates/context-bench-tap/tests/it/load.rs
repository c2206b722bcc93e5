//! Long bodies and many connections.

use std::io::{Read as _, Write as _};
use std::sync::Arc;

use context_bench_tap::record::{EndState, Stored};
use context_bench_testkit::{ChatServer, Fault, Reply, handlers};
use url::Url;

use crate::support::{PATIENCE, RawUpstream, TestTap, body_of, chat};

#[test]
fn bodies_of_ten_megabytes_pass_both_ways() {
    let upstream = RawUpstream::start(|mut stream| {
        let request = crate::support::read_message(&mut stream).unwrap();
        let body = body_of(&request);
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len());
        stream.write_all(head.as_bytes()).unwrap();
        stream.write_all(body).unwrap();
    });
    let tap = TestTap::start(upstream.url());
    let text: String = (0..1_000_000_u64)
        .map(|n| format!("word{:06}", n * 7919 % 999_983))
        .collect();
    let body = format!(r#"{{"model":"m","messages":[{{"role":"user","content":"{text}"}}]}}"#);
    let request = chat("x", &body);
    let mut client = tap.connect();
    let mut writer = client.try_clone().unwrap();
    let sending = std::thread::spawn(move || writer.write_all(&request).unwrap());
    let mut answered = Vec::new();
    client.read_to_end(&mut answered).unwrap();
    sending.join().unwrap();
    assert!(body_of(&answered) == body.as_bytes());
    let (_, calls, sink) = tap.finish();
    let call = &calls[0];
    assert_eq!(call.request.body.bytes, body.len() as u64);
    let response = call.response.as_ref().unwrap();
    assert_eq!(call.request.body.digest, response.body.digest);
    assert_eq!(response.body.stored, Stored::Whole);
    let total: u64 = response.frames.iter().map(|frame| frame.length()).sum();
    assert_eq!(total, body.len() as u64);
    assert!(sink.body(&response.body.digest).unwrap() == body.as_bytes());
    // Long ones are read too.
    assert_eq!(call.asked.as_ref().unwrap().messages[0].bytes, text.len());
}

#[test]
fn a_thousand_connections_at_once() {
    let server = ChatServer::builder()
        .together(1000)
        .workers(2)
        .start(handlers::constant("ok"));
    let tap = Arc::new(TestTap::start(Url::parse(&server.url()).unwrap()));
    // All are open and have asked before the first is answered.
    let mut clients: Vec<_> = (0..1000).map(|_| tap.connect()).collect();
    for (n, client) in clients.iter_mut().enumerate() {
        let body =
            format!(r#"{{"model":"m","messages":[{{"role":"user","content":"question {n}"}}]}}"#);
        client.write_all(&chat("x", &body)).unwrap();
        // Servers have room for so many that knock at once; who finds none tries again after
        // seconds.
        if n % 50 == 49 {
            assert!(server.wait_for_requests(n + 1, PATIENCE));
        }
    }
    for client in &mut clients {
        let mut answered = Vec::new();
        client.read_to_end(&mut answered).unwrap();
        assert!(
            answered.starts_with(b"HTTP/1.1 200 OK"),
            "{}",
            String::from_utf8_lossy(&answered)
        );
    }
    assert_eq!(server.request_count(), 1000);
    let (report, calls, _) = Arc::into_inner(tap).unwrap().finish();
    assert_eq!((report.calls, report.recorded), (1000, 1000));
    assert!(calls.iter().all(|call| call.is_success()));
}

#[test]
fn counts_and_bytes_are_what_the_provider_saw() {
    let kinds = vec![
        Fault::ServerError(500),
        Fault::Reset,
        Fault::Truncated,
        Fault::InvalidJson,
    ];
    let answers =
        |request: &context_bench_testkit::Request| Reply::text(request.last_user_content());
    let server = ChatServer::start(handlers::flaky(7, 0.2, kinds, answers));
    let tap = Arc::new(TestTap::start(Url::parse(&server.url()).unwrap()));
    let threads: Vec<_> = (0..8)
        .map(|thread| {
            let tap = Arc::clone(&tap);
            std::thread::spawn(move || {
                for n in 0..25 {
                    let streams = n % 2 == 0;
                    let body = format!(
                        r#"{{"model":"m","stream":{streams},"messages":[{{"role":"user","content":"{thread} asks {n}"}}]}}"#
                    );
                    tap.send(&chat(&format!("arm{thread}"), &body));
                }
            })
        })
        .collect();
    threads
        .into_iter()
        .for_each(|thread| thread.join().unwrap());
    let seen = server.requests();
    let (report, calls, sink) = Arc::into_inner(tap).unwrap().finish();
    assert_eq!((report.calls, seen.len(), calls.len()), (200, 200, 200));
    let mut of_provider: Vec<Vec<u8>> = seen
        .iter()
        .map(|request| request.body.to_string().into_bytes())
        .collect();
    let mut of_tap: Vec<Vec<u8>> = calls
        .iter()
        .map(|call| sink.body(&call.request.body.digest).unwrap())
        .collect();
    of_provider.sort();
    of_tap.sort();
    assert_eq!(of_tap, of_provider);
    let failed = calls
        .iter()
        .filter(|call| call.end != EndState::Complete)
        .count();
    assert!(failed > 10, "{failed}");
    for arm in 0..8 {
        let name = format!("arm{arm}");
        assert_eq!(
            calls
                .iter()
                .filter(|call| call.arm.as_deref() == Some(&name))
                .count(),
            25
        );
    }
}
