//! What would hold memory or lose count: slow readers, long bodies, floods of headers, requests
//! in advance, ten thousand calls.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use context_bench_tap::record::{CallBodies, CallRecord, CallSink, EndState, Stored};
use context_bench_tap::{Tap, TapSettings, Upstream};

use crate::support::{PATIENCE, RawUpstream, TestTap, answer, body_of, read_message};

#[test]
fn a_client_that_does_not_read_stops_the_upstream() {
    const LENGTH: usize = 200_000_000;
    let (stalled, has_stalled) = mpsc::channel();
    let stalled = std::sync::Mutex::new(stalled);
    let upstream = RawUpstream::start(move |mut stream| {
        read_message(&mut stream).unwrap();
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {LENGTH}\r\n\r\n");
        stream.write_all(head.as_bytes()).unwrap();
        // If the machine is slow this is said early, which is as good.
        stream
            .set_write_timeout(Some(Duration::from_secs(2)))
            .unwrap();
        let piece = vec![b'x'; 100_000];
        let (mut sent, mut is_told) = (0, false);
        while sent < LENGTH {
            let left = &piece[..piece.len().min(LENGTH - sent)];
            match stream.write(left) {
                Ok(written) => sent += written,
                Err(error) if !is_told => {
                    assert_eq!(error.kind(), std::io::ErrorKind::WouldBlock);
                    is_told = true;
                    stalled.lock().unwrap().send(sent).unwrap();
                    stream.set_write_timeout(Some(PATIENCE)).unwrap();
                }
                Err(error) => panic!("{error} after {sent} bytes"),
            }
        }
    });
    let tap = TestTap::start(upstream.url());
    let mut client = tap.connect();
    client
        .write_all(b"GET /v1/long HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
        .unwrap();
    // What fits into the buffers of four sockets, and no more.
    let sent = has_stalled.recv_timeout(PATIENCE).unwrap();
    assert!(sent < LENGTH / 2, "{sent} bytes were taken for nobody");
    let mut got = 0;
    let mut buffer = vec![0; 1_000_000];
    loop {
        match client.read(&mut buffer).unwrap() {
            0 => break,
            read => got += read,
        }
    }
    assert!(got > LENGTH);
    let (report, calls, _) = tap.finish();
    assert_eq!((report.calls, report.recorded), (1, 1));
    let response = calls[0].response.as_ref().unwrap();
    assert_eq!(response.body.bytes, LENGTH as u64);
    assert_eq!(calls[0].end, EndState::Complete);
}

#[test]
fn requests_sent_in_advance_are_answered_in_their_order() {
    let upstream = RawUpstream::start(|mut stream| {
        while let Some(request) = read_message(&mut stream) {
            let body = String::from_utf8_lossy(body_of(&request)).into_owned();
            let answer = answer("200 OK", "text/plain", &format!("to {body}"));
            stream.write_all(&answer).unwrap();
        }
    });
    let tap = TestTap::start(upstream.url());
    let mut client = tap.connect();
    // More than is read ahead, so that the rest waits in the socket.
    let long = "x".repeat(20_000);
    let requests: Vec<u8> = (0..100)
        .flat_map(|n| {
            let body = format!("{n} {long}");
            let length = body.len();
            let head = format!("POST /v1/x HTTP/1.1\r\nHost: h\r\nContent-Length: {length}\r\n");
            format!("{head}\r\n{body}").into_bytes()
        })
        .collect();
    let mut writer = client.try_clone().unwrap();
    let sending = std::thread::spawn(move || writer.write_all(&requests).unwrap());
    for n in 0..100 {
        let answered = read_message(&mut client).unwrap();
        assert_eq!(
            String::from_utf8_lossy(body_of(&answered)),
            format!("to {n} {long}")
        );
    }
    sending.join().unwrap();
    drop(client);
    let (report, calls, _) = tap.finish();
    assert_eq!((report.calls, report.recorded), (100, 100));
    assert!(calls.iter().all(|call| call.end == EndState::Complete));
}

/// Keeps the figures of calls and throws their bodies away, as one does with long ones.
#[derive(Clone, Default)]
struct Figures(Arc<std::sync::Mutex<Vec<CallRecord>>>);

impl CallSink for Figures {
    fn call(&mut self, call: Box<CallRecord>, _: CallBodies) -> std::io::Result<()> {
        self.0.lock().unwrap().push(*call);
        Ok(())
    }
}

#[test]
fn a_hundred_megabytes_wait_for_the_word_to_go_on() {
    const LENGTH: usize = 100_000_000;
    let seen = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&seen);
    let upstream = RawUpstream::start(move |mut stream| {
        let mut head = Vec::new();
        let mut byte = [0];
        while !head.ends_with(b"\r\n\r\n") {
            stream.read_exact(&mut byte).unwrap();
            head.push(byte[0]);
        }
        let mut buffer = vec![0; 1_000_000];
        while counted.load(Relaxed) < LENGTH {
            let read = stream.read(&mut buffer).unwrap();
            counted.fetch_add(read, Relaxed);
        }
        stream
            .write_all(&answer("200 OK", "text/plain", "ok"))
            .unwrap();
    });
    for (encoding, stored) in [("identity", Stored::Whole), ("zstd", Stored::LeftOut)] {
        seen.store(0, Relaxed);
        let figures = Figures::default();
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let settings = TapSettings::new(Upstream::new(upstream.url()));
        let tap = runtime
            .block_on(Tap::start(settings, Box::new(figures.clone())))
            .unwrap();
        let mut client = TcpStream::connect(tap.address()).unwrap();
        client.set_read_timeout(Some(PATIENCE)).unwrap();
        let head = format!(
            "POST /v1/x HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Encoding: {encoding}\r\n\
            Content-Length: {LENGTH}\r\nConnection: close\r\n\r\n"
        );
        client.write_all(head.as_bytes()).unwrap();
        let mut word = [0; 25];
        client.read_exact(&mut word).unwrap();
        assert_eq!(&word, b"HTTP/1.1 100 Continue\r\n\r\n");
        let piece = b"words of a long text, ".repeat(50_000);
        let mut left = LENGTH;
        while left > 0 {
            let now = left.min(piece.len());
            client.write_all(&piece[..now]).unwrap();
            left -= now;
        }
        let mut answered = String::new();
        client.read_to_string(&mut answered).unwrap();
        assert!(answered.ends_with("ok"), "{answered}");
        let report = runtime.block_on(tap.finish());
        assert_eq!((report.calls, report.recorded), (1, 1));
        assert_eq!(seen.load(Relaxed), LENGTH);
        let calls = figures.0.lock().unwrap();
        let body = &calls[0].request.body;
        assert_eq!((body.bytes, body.stored), (LENGTH as u64, stored));
    }
}

#[test]
fn floods_of_headers_are_refused_and_counted_nowhere() {
    let (upstream, got) = RawUpstream::answering(answer("200 OK", "text/plain", "ok"));
    let tap = TestTap::start(upstream.url());
    let many: String = (0..5000).map(|n| format!("X-{n}: {n}\r\n")).collect();
    let long = format!("X-Long: {}\r\n", "a".repeat(400_000));
    for headers in [many, long] {
        let mut client = tap.connect();
        let request = format!("GET /v1/x HTTP/1.1\r\nHost: h\r\n{headers}\r\n");
        // The answer may come before all of it was sent.
        let _ = client.write_all(request.as_bytes());
        let mut answered = Vec::new();
        let _ = client.read_to_end(&mut answered);
        let answered = String::from_utf8_lossy(&answered);
        assert!(answered.starts_with("HTTP/1.1 400 "), "{answered}");
    }
    // A long one that comes in small pieces is a request like any other.
    let mut client = tap.connect();
    let head = format!(
        "GET /v1/x HTTP/1.1\r\nHost: h\r\nX-Long: {}\r\nConnection: close\r\n\r\n",
        "a".repeat(60_000)
    );
    for piece in head.as_bytes().chunks(97) {
        client.write_all(piece).unwrap();
    }
    let mut answered = String::new();
    client.read_to_string(&mut answered).unwrap();
    assert!(answered.ends_with("ok"));
    assert_eq!(got.lock().unwrap().len(), 1);
    let (report, ..) = tap.finish();
    assert_eq!((report.calls, report.recorded), (1, 1));
}

#[test]
fn ten_thousand_calls_on_few_connections_and_on_one_each() {
    let served = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&served);
    let said = answer("200 OK", "application/json", r#"{"id":"c","choices":[]}"#);
    let upstream = RawUpstream::start(move |mut stream| {
        while read_message(&mut stream).is_some() {
            counted.fetch_add(1, Relaxed);
            if stream.write_all(&said).is_err() {
                return;
            }
        }
    });
    let tap = Arc::new(TestTap::start(upstream.url()));
    let threads: Vec<_> = (0..16)
        .map(|thread| {
            let tap = Arc::clone(&tap);
            std::thread::spawn(move || {
                // Every eighth client opens a connection for each of its calls.
                let (calls, keeps) = if thread % 8 == 7 { (100, false) } else { (700, true) };
                let end = if keeps { "keep-alive" } else { "close" };
                let request = format!(
                    "POST /a/arm{thread}/v1/chat/completions HTTP/1.1\r\nHost: h\r\nConnection: {end}\r\n\
                    Content-Length: 15\r\n\r\n{{\"messages\":[]}}"
                );
                let mut kept = None;
                for _ in 0..calls {
                    let mut client = kept.take().unwrap_or_else(|| tap.connect());
                    client.write_all(request.as_bytes()).unwrap();
                    assert!(read_message(&mut client).is_some());
                    kept = Some(client).filter(|_| keeps);
                }
            })
        })
        .collect();
    threads
        .into_iter()
        .for_each(|thread| thread.join().unwrap());
    let (report, calls, _) = Arc::into_inner(tap).unwrap().finish();
    assert_eq!(served.load(Relaxed), 10_000);
    assert_eq!(
        (report.calls, report.recorded, calls.len()),
        (10_000, 10_000, 10_000)
    );
    assert!(
        calls
            .iter()
            .enumerate()
            .all(|(at, call)| call.id == at as u64)
    );
}
