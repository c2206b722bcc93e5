//! A tap that relays on threads of its own.

use std::collections::BTreeSet;
use std::io::{Read as _, Write as _};
use std::sync::mpsc;

use context_bench_tap::record::EndState;
use context_bench_tap::{TapSettings, Upstream};
use url::Url;

use crate::support::{RawUpstream, TestTap, answer, body_of, chat, read_message};

fn tap(upstream: Url) -> TestTap {
    let mut settings = TapSettings::new(Upstream::new(upstream));
    settings.threads = 2;
    TestTap::with(settings)
}

#[test]
fn connections_are_dealt_out_and_every_call_is_recorded() {
    let (upstream, got) = RawUpstream::answering(answer("200 OK", "application/json", "{}"));
    let tap = tap(upstream.url());
    let mut clients: Vec<_> = (0..8).map(|_| tap.connect()).collect();
    for round in 0..3 {
        for (n, client) in clients.iter_mut().enumerate() {
            let body = format!(r#"{{"messages":[],"user":"{n} {round}"}}"#);
            let request = String::from_utf8(chat("x", &body)).unwrap();
            let request = request.replace("Connection: close\r\n", "");
            client.write_all(request.as_bytes()).unwrap();
        }
        for client in &mut clients {
            assert_eq!(body_of(&read_message(client).unwrap()), b"{}");
        }
    }
    let (report, calls, _) = tap.finish();
    assert_eq!((report.calls, report.recorded), (24, 24));
    assert!(calls.iter().all(|call| call.end == EndState::Complete));
    let connections: BTreeSet<u64> = calls.iter().map(|call| call.connection).collect();
    assert_eq!(connections.len(), 8);
    assert_eq!(got.lock().unwrap().len(), 24);
}

/// An upstream that says when it was asked, and never answers.
fn silent() -> (RawUpstream, mpsc::Receiver<()>) {
    let (asked, was_asked) = mpsc::channel();
    let upstream = RawUpstream::start(move |mut stream| {
        read_message(&mut stream).unwrap();
        asked.send(()).unwrap();
        // Until the tap goes away.
        let _ = stream.read_to_end(&mut Vec::new());
    });
    (upstream, was_asked)
}

#[test]
fn calls_that_are_broken_off_are_recorded_all_the_same() {
    let (upstream, was_asked) = silent();
    let tap = tap(upstream.url());
    let mut clients: Vec<_> = (0..6).map(|_| tap.connect()).collect();
    for client in &mut clients {
        client.write_all(&chat("x", "{}")).unwrap();
    }
    (0..6).for_each(|_| was_asked.recv().unwrap());
    let report = tap
        .runtime
        .block_on(tap.tap.finish_before(std::future::ready(())));
    assert_eq!((report.calls, report.recorded), (6, 6));
    let ends: Vec<EndState> = tap.sink.calls().iter().map(|call| call.end).collect();
    assert_eq!(ends, [EndState::AbortedByProxy; 6]);
}

#[test]
fn its_threads_end_with_it() {
    let (upstream, was_asked) = silent();
    let TestTap { runtime, tap, .. } = tap(upstream.url());
    let mut client = std::net::TcpStream::connect(tap.address()).unwrap();
    client.write_all(&chat("x", "{}")).unwrap();
    was_asked.recv().unwrap();
    {
        let _inside = runtime.enter();
        drop(tap);
    }
    // A thread that went on would keep the connection open, and this would never end.
    let mut rest = Vec::new();
    let _ = client.read_to_end(&mut rest);
    assert!(rest.is_empty());
}
