//! Bytes pass as they are, both ways.

use std::io::{Read as _, Write as _};
use std::sync::mpsc;

use context_bench_tap::record::{EndState, Purpose, Stored};
use context_bench_tap::wire::WireFormat;
use context_bench_tap::{TapEncoding, TapSettings, Upstream, Vendor};

use crate::support::{RawUpstream, TestTap, answer, body_of, chat, read_message};

#[test]
fn requests_arrive_byte_for_byte_with_the_real_key() {
    let (upstream, got) = RawUpstream::answering(answer("200 OK", "application/json", "{}"));
    let tap = TestTap::start(upstream.url());
    // Odd spacing, an escaped letter, a number with zeros: nothing is written anew.
    let body = "{ \"model\":\"m\",\t\"messages\":[{\"role\":\"user\",\"content\":\"\\u00e9 é\"}],\"temperature\":1.00 }\n";
    let answered = tap.send(&chat("direct", body));
    assert_eq!(body_of(&answered), b"{}");
    let request = got.lock().unwrap()[0].clone();
    assert_eq!(body_of(&request), body.as_bytes());
    let head = String::from_utf8_lossy(&request).into_owned();
    assert!(
        head.starts_with("POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1:"),
        "{head}"
    );
    assert!(
        head.contains("Authorization: Bearer the-real-key\r\n"),
        "{head}"
    );
    assert!(
        !head.contains("sk-cb-") && !head.contains("Connection"),
        "{head}"
    );
    let (report, calls, sink) = tap.finish();
    assert_eq!((report.calls, report.recorded, report.not_kept), (1, 1, 0));
    let call = &calls[0];
    assert_eq!(call.arm.as_deref(), Some("direct"));
    assert_eq!(
        (call.format, call.purpose),
        (WireFormat::OpenaiChat, Purpose::Generation)
    );
    assert_eq!(call.end, EndState::Complete);
    assert_eq!(
        call.carriers.credential.as_deref(),
        Some("aaaaaaaaaaaaaaaaaaaaaaaaaa")
    );
    assert_eq!(call.request.body.bytes, body.len() as u64);
    assert_eq!(
        sink.body(&call.request.body).as_deref(),
        Some(body.as_bytes())
    );
    assert_eq!(call.asked.as_ref().unwrap().messages[0].role, "user");
    let times = call.timeline;
    let stages = [
        Some(times.accepted),
        times.request_complete,
        times.connect_done,
        times.request_sent,
        times.response_head,
        times.first_byte,
    ];
    assert!(stages.iter().all(Option::is_some), "{times:?}");
    assert!(stages[2..].is_sorted(), "{times:?}");
    assert_eq!(times.first_byte, times.last_byte);
}

#[test]
fn answers_pass_as_they_are() {
    let chunked = "HTTP/1.1 200 Fine\r\nX-Odd: 1\r\nset-cookie: a\r\nSet-Cookie: b\r\n\
        Transfer-Encoding: chunked\r\n\r\n5;ext=1\r\nhello\r\n1\r\n!\r\n0\r\n\r\n";
    let (upstream, _) = RawUpstream::answering(chunked);
    let tap = TestTap::start(upstream.url());
    let answered = String::from_utf8(tap.send(&chat("x", "{}"))).unwrap();
    // Sizes, extensions and boundaries of chunks too.
    let expected = chunked.replace(
        "Transfer-Encoding: chunked\r\n",
        "Transfer-Encoding: chunked\r\nConnection: close\r\n",
    );
    assert_eq!(answered, expected);
    // A client of HTTP/1.0 knows no chunks.
    let old = tap.send(b"GET /v1/models HTTP/1.0\r\n\r\n");
    assert_eq!(body_of(&old), b"hello!");
    assert!(!String::from_utf8_lossy(&old).contains("chunked"));
    let (_, calls, sink) = tap.finish();
    let response = calls[0].response.as_ref().unwrap();
    assert_eq!(sink.body(&response.body).as_deref(), Some(&b"hello!"[..]));
    let frames: Vec<(u64, u64)> = response
        .frames
        .iter()
        .map(|f| (f.offset(), f.length()))
        .collect();
    assert_eq!(frames, [(0, 5), (5, 1)]);
    assert_eq!(calls[1].purpose, Purpose::Probe);
}

#[test]
fn frames_are_passed_on_when_they_come() {
    // The upstream sends its next event only when the client says that it has the one before:
    // a tap that waits for more would hang here.
    let (allow, allowed) = mpsc::channel::<()>();
    let allowed = std::sync::Mutex::new(allowed);
    let event = |data: &str| format!("data: {data}\n\n");
    let events = [
        event(r#"{"id":"c1","choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}"#),
        event(r#"{"choices":[{"index":0,"delta":{"content":"Hi"}}]}"#),
        event(r#"{"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":1}}"#)
            + &event("[DONE]"),
    ];
    let sent = events.clone();
    let upstream = RawUpstream::start(move |mut stream| {
        read_message(&mut stream).unwrap();
        let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
        stream.write_all(head.as_bytes()).unwrap();
        for event in &sent {
            let chunk = format!("{:x}\r\n{event}\r\n", event.len());
            stream.write_all(chunk.as_bytes()).unwrap();
            allowed.lock().unwrap().recv().unwrap();
        }
        stream.write_all(b"0\r\n\r\n").unwrap();
    });
    let tap = TestTap::start(upstream.url());
    let mut client = tap.connect();
    client
        .write_all(&chat("x", r#"{"model":"m","stream":true}"#))
        .unwrap();
    let mut seen = Vec::new();
    for event in &events {
        let mut buffer = [0; 4096];
        while !seen.ends_with(format!("{event}\r\n").as_bytes()) {
            let read = client.read(&mut buffer).unwrap();
            assert!(read > 0);
            seen.extend_from_slice(&buffer[..read]);
        }
        allow.send(()).unwrap();
    }
    client.read_to_end(&mut seen).unwrap();
    drop(client);
    assert!(seen.ends_with(b"0\r\n\r\n"));
    let (_, calls, _) = tap.finish();
    let call = &calls[0];
    let frames = &call.response.as_ref().unwrap().frames;
    let lengths: Vec<usize> = frames.iter().map(|frame| frame.length() as usize).collect();
    assert_eq!(lengths, events.iter().map(String::len).collect::<Vec<_>>());
    let answered = call.answered.as_ref().unwrap();
    assert_eq!(
        (answered.id.as_deref(), answered.is_ended),
        (Some("c1"), true)
    );
    assert_eq!(answered.usage.as_ref().unwrap().input(), 9);
    // A frame that only names the role opens the stream and is no output.
    let times = call.timeline;
    assert_eq!(times.first_event, times.first_byte);
    assert!(times.first_output > times.first_event && times.first_output < times.last_byte);
}

#[test]
fn connections_are_kept_and_requests_may_follow_each_other() {
    let (upstream, got) = RawUpstream::answering(answer("200 OK", "text/plain", "ok"));
    let tap = TestTap::start(upstream.url());
    let one = "POST /v1/a HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\n\r\n1";
    let two =
        "POST /v1/b HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n2\r\n0\r\n\r\n";
    let last = "GET /v1/c HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n";
    // All at once: the second arrives before the first is answered.
    let answered = tap.send([one, two, last].concat().as_bytes());
    let answered = String::from_utf8(answered).unwrap();
    assert_eq!(answered.matches("HTTP/1.1 200 OK").count(), 3);
    assert_eq!(answered.matches("Connection: close").count(), 1);
    assert_eq!(body_of(&got.lock().unwrap()[1]), b"1\r\n2\r\n0\r\n\r\n");
    let (_, calls, _) = tap.finish();
    let paths: Vec<&str> = calls
        .iter()
        .map(|call| call.request.path.as_str())
        .collect();
    assert_eq!(paths, ["/v1/a", "/v1/b", "/v1/c"]);
    assert!(
        calls
            .iter()
            .all(|call| call.connection == calls[0].connection)
    );
    assert_eq!(calls[1].request.body.bytes, 1);
}

#[test]
fn heads_without_bodies_stay_without() {
    let (upstream, _) = RawUpstream::answering("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n");
    let tap = TestTap::start(upstream.url());
    let head = "HEAD / HTTP/1.1\r\nHost: h\r\n\r\n".repeat(2);
    let last = "HEAD / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n";
    let answered = String::from_utf8(tap.send((head + last).as_bytes())).unwrap();
    assert_eq!(answered.matches("Content-Length: 5\r\n").count(), 3);
    let (_, calls, _) = tap.finish();
    assert_eq!(calls.len(), 3);
    let stored = calls[0].response.as_ref().unwrap().body.stored;
    assert_eq!(stored, Stored::Empty);
}

#[test]
fn what_is_not_relayed_is_refused_and_counted() {
    let (upstream, got) = RawUpstream::answering(answer("200 OK", "text/plain", "ok"));
    let tap = TestTap::start(upstream.url());
    for (request, status) in [
        (
            "CONNECT api.openai.com:443 HTTP/1.1\r\nHost: api.openai.com:443\r\n\r\n",
            "502",
        ),
        (
            "GET /v1/realtime HTTP/1.1\r\nHost: h\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n",
            "426",
        ),
        (
            "POST / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
            "400",
        ),
        (
            "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
            "400",
        ),
        ("no HTTP at all\r\n\r\n", "400"),
    ] {
        let answered = String::from_utf8(tap.send(request.as_bytes())).unwrap();
        assert!(
            answered.starts_with(&format!("HTTP/1.1 {status} ")),
            "{request}: {answered}"
        );
    }
    // The whole address, as forward proxies send it.
    let absolute = "POST http://api.example.com/a/x/v1/messages HTTP/1.1\r\nHost: api.example.com\r\n\
        Content-Length: 2\r\nExpect: 100-continue\r\nConnection: close\r\n\r\n";
    let mut client = tap.connect();
    client.write_all(absolute.as_bytes()).unwrap();
    let mut greeting = [0; 25];
    client.read_exact(&mut greeting).unwrap();
    assert_eq!(&greeting, b"HTTP/1.1 100 Continue\r\n\r\n");
    client.write_all(b"{}").unwrap();
    let mut rest = Vec::new();
    client.read_to_end(&mut rest).unwrap();
    drop(client);
    assert_eq!(body_of(&rest), b"ok");
    let seen = String::from_utf8(got.lock().unwrap()[0].clone()).unwrap();
    assert!(
        seen.starts_with("POST /v1/messages HTTP/1.1\r\nHost: 127.0.0.1:"),
        "{seen}"
    );
    assert!(
        seen.contains("x-api-key: the-real-key\r\n") && !seen.contains("Expect"),
        "{seen}"
    );
    let (report, calls, _) = tap.finish();
    let kinds: Vec<(Purpose, EndState)> =
        calls.iter().map(|call| (call.purpose, call.end)).collect();
    assert_eq!(kinds[0], (Purpose::TlsAttempt, EndState::Refused));
    assert_eq!(kinds[1], (Purpose::Unsupported, EndState::Refused));
    assert_eq!(
        kinds.last(),
        Some(&(Purpose::Generation, EndState::Complete))
    );
    // What is no HTTP is no call.
    assert_eq!((report.calls, calls.len()), (5, 5));
}

#[test]
fn compressed_bodies_pass_as_they_are_and_are_read() {
    let zipped = |text: &str| {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(text.as_bytes()).unwrap();
        encoder.finish().unwrap()
    };
    let said =
        zipped(r#"{"id":"c9","choices":[],"usage":{"prompt_tokens":3,"completion_tokens":1}}"#);
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: {}\r\n\r\n",
        said.len()
    );
    let (upstream, got) = RawUpstream::answering([head.as_bytes(), &said].concat());
    let mut settings = TapSettings::new(Upstream::new(upstream.url()));
    settings.encoding = TapEncoding::Passthrough;
    let tap = TestTap::with(settings);
    let asked = zipped(r#"{"model":"m","messages":[{"role":"user","content":"hi"}]}"#);
    let head = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nAccept-Encoding: gzip\r\nContent-Encoding: gzip\r\n\
        Content-Length: {}\r\nConnection: close\r\n\r\n",
        asked.len()
    );
    let answered = tap.send(&[head.as_bytes(), &asked].concat());
    assert_eq!(body_of(&answered), said);
    let seen = got.lock().unwrap()[0].clone();
    assert_eq!(body_of(&seen), asked);
    assert!(String::from_utf8_lossy(&seen).contains("Accept-Encoding: gzip"));
    let (_, calls, _) = tap.finish();
    assert_eq!(calls[0].asked.as_ref().unwrap().model.as_deref(), Some("m"));
    assert_eq!(
        calls[0].answered.as_ref().unwrap().id.as_deref(),
        Some("c9")
    );
    assert_eq!(calls[0].request.body.bytes, asked.len() as u64);
    assert_eq!(calls[0].request.body.stored, Stored::Scrubbed);
}

#[test]
fn vendors_have_their_own_upstream() {
    let (openai, of_openai) = RawUpstream::answering(answer("200 OK", "text/plain", "o"));
    let (anthropic, of_anthropic) = RawUpstream::answering(answer("200 OK", "text/plain", "a"));
    let mut settings =
        TapSettings::new(Upstream::new(openai.url()).with_credential("key-of-openai"));
    let other = Upstream::new(anthropic.url()).with_credential("key-of-anthropic");
    settings.by_vendor = vec![(Vendor::Anthropic, other)];
    let tap = TestTap::with(settings);
    let request = |path: &str, key: &str| {
        format!("POST {path} HTTP/1.1\r\nHost: h\r\n{key}: none\r\nContent-Length: 2\r\n\r\n{{}}")
    };
    // On one connection, in turn.
    let all = [
        request("/v1/messages", "x-api-key"),
        request("/v1/chat/completions", "api-key"),
        request("/v1/messages", "Authorization"),
        "GET /v1/models HTTP/1.1\r\nConnection: close\r\n\r\n".to_owned(),
    ];
    let answered = String::from_utf8(tap.send(all.concat().as_bytes())).unwrap();
    let bodies: Vec<char> = answered
        .split("\r\n\r\n")
        .skip(1)
        .filter_map(|part| part.chars().next())
        .collect();
    assert_eq!(bodies, ['a', 'o', 'a', 'o']);
    let text = |got: &std::sync::Mutex<Vec<Vec<u8>>>| {
        String::from_utf8(got.lock().unwrap().concat()).unwrap()
    };
    let (openai, anthropic) = (text(&of_openai), text(&of_anthropic));
    assert!(
        openai.contains("api-key: key-of-openai")
            && openai.contains("authorization: Bearer key-of-openai")
    );
    assert!(
        anthropic.contains("x-api-key: key-of-anthropic")
            && anthropic.contains("Bearer key-of-anthropic")
    );
    assert!(!openai.contains("key-of-anthropic") && !anthropic.contains("key-of-openai"));
}
