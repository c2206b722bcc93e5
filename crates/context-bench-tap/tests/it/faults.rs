//! Upstreams and proxies that break off, hang or lie: the other side sees what it would have
//! seen without a tap, and every call is counted.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::TcpStream;
use std::sync::mpsc;
use std::time::Duration;

use context_bench_tap::record::EndState;
use context_bench_tap::{TapSettings, Upstream};
use url::Url;

use crate::support::{PATIENCE, RawUpstream, TestTap, answer, body_of, chat, read_message};

/// What a client sees: the bytes, and whether the connection ended cleanly.
fn seen(tap: &TestTap, request: &[u8]) -> (String, Option<ErrorKind>) {
    let mut client = tap.connect();
    client.write_all(request).unwrap();
    let mut bytes = Vec::new();
    let end = client.read_to_end(&mut bytes);
    (
        String::from_utf8_lossy(&bytes).into_owned(),
        end.err().map(|error| error.kind()),
    )
}

#[test]
fn upstreams_that_break_off_are_relayed_as_a_reset() {
    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n";
    for (sent, expected) in [
        (String::new(), ""),
        (
            format!("{head}Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"),
            "hello\r\n",
        ),
        (
            format!("{head}Transfer-Encoding: chunked\r\n\r\n5\r\nhel"),
            "hel",
        ),
        (format!("{head}Content-Length: 100\r\n\r\nhello"), "hello"),
        ("HTTP/1.1 2".to_owned(), ""),
        ("this is no HTTP\r\n\r\n".to_owned(), ""),
        (
            format!("{head}Transfer-Encoding: chunked\r\n\r\nnonsense"),
            "",
        ),
        (
            format!("{head}Content-Length: 1\r\nContent-Length: 2\r\n\r\nx"),
            "",
        ),
    ] {
        let upstream = RawUpstream::start(move |mut stream| {
            read_message(&mut stream);
            let _ = stream.write_all(sent.as_bytes());
        });
        let tap = TestTap::start(upstream.url());
        let (bytes, end) = seen(&tap, &chat("x", "{}"));
        assert!(bytes.ends_with(expected), "{bytes}");
        assert_eq!(end, Some(ErrorKind::ConnectionReset), "{bytes}");
        let (report, calls, _) = tap.finish();
        assert_eq!(calls[0].end, EndState::UpstreamReset);
        assert!(calls[0].problem.is_some());
        assert_eq!((report.calls, report.recorded), (1, 1));
    }
}

#[test]
fn an_answer_until_the_end_of_the_connection_ends_cleanly() {
    let upstream = RawUpstream::start(|mut stream| {
        read_message(&mut stream);
        stream
            .write_all(b"HTTP/1.1 200 OK\r\nX: 1\r\n\r\nall of it")
            .unwrap();
    });
    let tap = TestTap::start(upstream.url());
    let (bytes, end) = seen(&tap, &chat("x", "{}"));
    assert_eq!(end, None);
    assert!(bytes.ends_with("all of it") && bytes.contains("Connection: close"));
    assert_eq!(tap.finish().1[0].end, EndState::Complete);
}

#[test]
fn errors_of_the_provider_pass_with_their_bodies() {
    for (status, end) in [
        ("429 Too Many Requests", EndState::BadStatus),
        ("529 Overloaded", EndState::BadStatus),
    ] {
        let body = r#"{"error":{"message":"slow down","type":"rate_limit","code":"x"}}"#;
        let (upstream, _) = RawUpstream::answering(answer(status, "application/json", body));
        let tap = TestTap::start(upstream.url());
        let (bytes, _) = seen(&tap, &chat("x", "{}"));
        assert!(bytes.starts_with(&format!("HTTP/1.1 {status}\r\n")) && bytes.ends_with(body));
        let (_, calls, _) = tap.finish();
        assert_eq!(calls[0].end, end);
        let answered = calls[0].answered.as_ref().unwrap();
        assert_eq!(answered.error_kind.as_deref(), Some("rate_limit"));
        assert!(answered.usage.is_none());
    }
}

#[test]
fn upstreams_that_are_not_there_or_silent_are_told_apart() {
    // A port that was free a moment ago.
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = Url::parse(&format!("http://{}", free.local_addr().unwrap())).unwrap();
    drop(free);
    let tap = TestTap::start(url);
    let (bytes, _) = seen(&tap, &chat("x", "{}"));
    assert!(
        bytes.starts_with("HTTP/1.1 502 ") && bytes.contains("connection refused"),
        "{bytes}"
    );
    assert_eq!(tap.finish().1[0].end, EndState::Unreachable);

    for (sent, status) in [
        ("", "HTTP/1.1 504 "),
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc",
            "HTTP/1.1 200 ",
        ),
    ] {
        let upstream = RawUpstream::start(move |mut stream| {
            read_message(&mut stream);
            stream.write_all(sent.as_bytes()).unwrap();
            let _ = stream.read(&mut [0]);
        });
        let mut settings = TapSettings::new(Upstream::new(upstream.url()));
        settings.silence_timeout = Duration::from_millis(100);
        let tap = TestTap::with(settings);
        let (bytes, _) = seen(&tap, &chat("x", "{}"));
        assert!(bytes.starts_with(status), "{bytes}");
        assert_eq!(tap.finish().1[0].end, EndState::Timeout);
    }
}

/// An upstream that tells when its connection ends.
fn watched(sent: &'static str) -> (RawUpstream, mpsc::Receiver<()>) {
    let (ended, end) = mpsc::channel();
    let ended = std::sync::Mutex::new(ended);
    let upstream = RawUpstream::start(move |mut stream: TcpStream| {
        let mut buffer = [0; 4096];
        let mut has_answered = false;
        while matches!(stream.read(&mut buffer), Ok(read) if read > 0) {
            if !std::mem::replace(&mut has_answered, true) {
                stream.write_all(sent.as_bytes()).unwrap();
            }
        }
        let _ = ended.lock().unwrap().send(());
    });
    (upstream, end)
}

#[test]
fn proxies_that_go_away_end_the_call_upstream() {
    let stream = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n";
    let promised = b"POST /v1/x HTTP/1.1\r\nHost: h\r\nContent-Length: 100\r\n\r\nonly this";
    for (request, sent) in [
        // In the midst of the answer, before it, and in the midst of its own body.
        (chat("x", "{}"), stream),
        (chat("x", "{}"), ""),
        (promised.to_vec(), ""),
    ] {
        let (upstream, ended) = watched(sent);
        let tap = TestTap::start(upstream.url());
        let mut client = tap.connect();
        client.write_all(&request).unwrap();
        let mut first = [0; 1];
        match sent.is_empty() {
            true => {
                while tap.tap.calls() == 0 {
                    std::thread::sleep(Duration::from_millis(1))
                }
            }
            false => client.read_exact(&mut first).unwrap(),
        }
        drop(client);
        // The call may end before there is a connection to the upstream; then nothing is to end.
        let _ = ended.recv_timeout(if sent.is_empty() {
            Duration::from_secs(1)
        } else {
            PATIENCE
        });
        let (report, calls, _) = tap.finish();
        assert_eq!((report.calls, report.recorded), (1, 1));
        assert_eq!(
            calls[0].end,
            EndState::AbortedByProxy,
            "{:?}",
            calls[0].problem
        );
    }
}

#[test]
fn an_early_answer_arrives_while_the_request_is_still_sent() {
    let upstream = RawUpstream::start(|mut stream| {
        // It reads the head and no more, as servers do that refuse a body.
        let mut head = Vec::new();
        let mut byte = [0];
        while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).is_ok_and(|read| read == 1) {
            head.push(byte[0]);
        }
        stream
            .write_all(&answer("413 Too Large", "text/plain", "too large"))
            .unwrap();
        // Until the tap has gone, so that this is no reset.
        let _ = stream.read_to_end(&mut Vec::new());
    });
    let tap = TestTap::start(upstream.url());
    let mut client = tap.connect();
    let head = "POST /v1/x HTTP/1.1\r\nHost: h\r\nContent-Length: 50000000\r\n\r\n";
    client.write_all(head.as_bytes()).unwrap();
    let mut bytes = Vec::new();
    let mut buffer = [0; 4096];
    while !body_of(&bytes).ends_with(b"too large") {
        let read = client.read(&mut buffer).unwrap();
        assert!(read > 0, "{}", String::from_utf8_lossy(&bytes));
        bytes.extend_from_slice(&buffer[..read]);
    }
    drop(client);
    let (_, calls, _) = tap.finish();
    assert_eq!(
        (calls[0].status(), calls[0].end),
        (Some(413), EndState::BadStatus)
    );
    assert_eq!(calls[0].timeline.request_complete, None);
}

#[test]
fn a_tap_that_ends_counts_what_was_in_flight() {
    let (upstream, _ended) = watched("");
    let mut settings = TapSettings::new(Upstream::new(upstream.url()));
    settings.grace = Duration::from_millis(50);
    let tap = TestTap::with(settings);
    let mut clients: Vec<TcpStream> = (0..5).map(|_| tap.connect()).collect();
    clients
        .iter_mut()
        .for_each(|client| client.write_all(&chat("x", "{}")).unwrap());
    while tap.tap.calls() < 5 {
        std::thread::sleep(Duration::from_millis(1));
    }
    let (report, calls, _) = tap.finish();
    assert_eq!((report.calls, report.recorded, calls.len()), (5, 5, 5));
    assert!(
        calls
            .iter()
            .all(|call| call.end == EndState::AbortedByProxy)
    );
}
