//! Long bodies and many connections.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Instant;

use context_bench_tap::record::{CallBodies, CallRecord, CallSink, EndState, Stored};
use context_bench_tap::{Tap, TapSettings, Upstream};
use context_bench_testkit::{ChatServer, Fault, Reply, handlers};
use url::Url;

use crate::support::{PATIENCE, RawUpstream, TestTap, answer, body_of, chat, read_message};

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
    assert!(sink.body(&response.body).unwrap() == body.as_bytes());
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

/// A sink that takes nothing before it is told to.
struct SlowSink {
    go: std::sync::mpsc::Receiver<()>,
    has_started: bool,
    taken: Arc<AtomicUsize>,
}

impl CallSink for SlowSink {
    fn call(&mut self, _: Box<CallRecord>, _: CallBodies) -> std::io::Result<()> {
        if !std::mem::replace(&mut self.has_started, true) {
            self.go.recv_timeout(PATIENCE).unwrap();
        }
        self.taken.fetch_add(1, Relaxed);
        Ok(())
    }
}

#[test]
fn a_recorder_that_is_behind_holds_new_calls_back_and_loses_none() {
    let (upstream, got) = RawUpstream::answering(answer("200 OK", "text/plain", "ok"));
    let mut settings = TapSettings::new(Upstream::new(upstream.url()));
    settings.body_memory = 128 * 1024;
    let (go, waits) = std::sync::mpsc::channel();
    let taken = Arc::new(AtomicUsize::new(0));
    let sink = SlowSink {
        go: waits,
        has_started: false,
        taken: Arc::clone(&taken),
    };
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let tap = runtime
        .block_on(Tap::start(settings, Box::new(sink)))
        .unwrap();
    let address = tap.address();
    let asking = std::thread::spawn(move || {
        let mut client = TcpStream::connect(address).unwrap();
        client.set_read_timeout(Some(PATIENCE)).unwrap();
        let body = "x".repeat(4000);
        let request = format!("POST /v1/x HTTP/1.1\r\nContent-Length: 4000\r\n\r\n{body}");
        for _ in 0..50 {
            client.write_all(request.as_bytes()).unwrap();
            assert!(read_message(&mut client).is_some());
        }
    });
    let began = Instant::now();
    while tap.held_back() == 0 {
        assert!(began.elapsed() < PATIENCE, "nothing was held back");
        std::thread::yield_now();
    }
    // Some passed, and no more than there was room for.
    let passed = got.lock().unwrap().len();
    assert!((5..20).contains(&passed), "{passed}");
    go.send(()).unwrap();
    asking.join().unwrap();
    let report = runtime.block_on(tap.finish());
    assert_eq!(
        (report.calls, report.recorded, report.not_kept),
        (50, 50, 0)
    );
    assert!(report.held_back > 0);
    assert_eq!(taken.load(Relaxed), 50);
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
        .map(|call| sink.body(&call.request.body).unwrap())
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
