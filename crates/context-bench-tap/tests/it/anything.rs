//! Whatever is sent: nothing panics, and bytes pass as they are.

use std::io::Write as _;

use context_bench_tap::attribution::Fingerprint;
use context_bench_tap::figures::{DeclaredChanges, canonical_json, engagement, request_changes};
use context_bench_tap::record::Scrubber;
use context_bench_tap::wire::{
    EventReader, ReplyReader, ReplySummary, RequestSummary, Route, WireRequest,
};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::support::{RawUpstream, TestTap, body_of, read_message};

const PATHS: [&str; 7] = [
    "/v1/chat/completions",
    "/v1/responses",
    "/v1/completions",
    "/v1/embeddings",
    "/v1/messages",
    "/v1beta/models/g:generateContent",
    "/v1/models",
];

/// Names that the formats know, so that what is made up gets somewhere.
const NAMES: [&str; 40] = [
    "messages",
    "role",
    "content",
    "type",
    "text",
    "tool_calls",
    "function",
    "name",
    "arguments",
    "tools",
    "input",
    "prompt",
    "system",
    "usage",
    "choices",
    "delta",
    "index",
    "id",
    "model",
    "error",
    "message",
    "output",
    "contents",
    "parts",
    "candidates",
    "usageMetadata",
    "stream",
    "content_block",
    "cache_control",
    "prompt_tokens",
    "input_tokens",
    "output_tokens",
    "response",
    "item",
    "tool_use_id",
    "tool_call_id",
    "promptTokenCount",
    "finish_reason",
    "echo",
    "logprobs",
];
const WORDS: [&str; 14] = [
    "user",
    "assistant",
    "tool",
    "text",
    "tool_use",
    "tool_result",
    "message_start",
    "content_block_start",
    "content_block_delta",
    "message_delta",
    "text_delta",
    "response.output_text.delta",
    "response.completed",
    "function_call",
];

fn made_up() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        prop::sample::select(&WORDS[..]).prop_map(Value::from),
        ".{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 48, 6, |inner| {
        let member = (prop::sample::select(&NAMES[..]), inner.clone());
        prop_oneof![
            prop::collection::vec(inner, 0..4).prop_map(Value::from),
            prop::collection::vec(member, 0..6).prop_map(|members| {
                let members = members
                    .into_iter()
                    .map(|(name, value)| (name.to_owned(), value));
                Value::Object(members.collect())
            }),
        ]
    })
}

/// A request that has a conversation, of whatever kind.
fn asked() -> impl Strategy<Value = Value> {
    prop::collection::vec(made_up(), 0..5).prop_map(|list| {
        json!({"model": "m", "messages": list, "input": list, "contents": list, "tools": list, "system": list})
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn any_json_is_read_without_harm(one in asked(), two in asked(), events in prop::collection::vec(made_up(), 0..6)) {
        for path in PATHS {
            let route = Route::of("POST", path);
            let (one, two) = (one.to_string(), two.to_string());
            if let Some(request) = WireRequest::read(&route, one.as_bytes()) {
                RequestSummary::of(&request);
            }
            request_changes(&route, one.as_bytes(), two.as_bytes(), &DeclaredChanges::default());
            let same = engagement(&route, one.as_bytes(), one.as_bytes(), &DeclaredChanges::default());
            prop_assert!(!same.is_changed());
            let unchanged = request_changes(&route, one.as_bytes(), one.as_bytes(), &DeclaredChanges::default());
            prop_assert!(unchanged.is_empty(), "{:?}", unchanged);
            let mut reader = ReplyReader::new(route.format, None);
            let mut stream = EventReader::default();
            for event in &events {
                reader.whole(event.to_string().as_bytes());
                stream.feed(format!("data: {event}\n\n").as_bytes(), |event| { reader.event(&event); });
            }
            ReplySummary::of(&reader.finish());
        }
    }

    #[test]
    fn any_bytes_are_read_without_harm(bytes in prop::collection::vec(any::<u8>(), 0..300), text in ".{0,200}") {
        for path in PATHS {
            WireRequest::read(&Route::of("POST", path), &bytes);
            let mut reader = ReplyReader::new(Route::of("POST", path).format, None);
            reader.whole(&bytes);
            EventReader::default().finish(|event| { reader.event(&event); });
        }
        Route::of(&text, &text);
        let _ = canonical_json(&bytes);
        let _ = canonical_json(text.as_bytes());
        Fingerprint::of(&text);
        let scrubber = Scrubber::new([&text]);
        scrubber.bytes(&bytes);
        scrubber.query(&text);
        scrubber.header(&text, &bytes);
    }
}

/// A body in chunks, or with its length.
fn framed(body: &[u8], chunks: Option<&[usize]>) -> Vec<u8> {
    let Some(sizes) = chunks else {
        return [
            format!("Content-Length: {}\r\n\r\n", body.len()).as_bytes(),
            body,
        ]
        .concat();
    };
    let mut out = b"Transfer-Encoding: chunked\r\n\r\n".to_vec();
    let mut rest = body;
    let mut sizes = sizes.iter().cycle();
    while !rest.is_empty() {
        let size = sizes
            .next()
            .map_or(rest.len(), |size| *size)
            .clamp(1, rest.len());
        out.extend_from_slice(format!("{size:x}\r\n").as_bytes());
        out.extend_from_slice(&rest[..size]);
        out.extend_from_slice(b"\r\n");
        rest = &rest[size..];
    }
    out.extend_from_slice(b"0\r\n\r\n");
    out
}

#[test]
fn any_body_in_any_pieces_passes_as_it_is() {
    // The upstream gives back what it got, framed as it was, in writes of odd sizes.
    let upstream = RawUpstream::start(|mut stream| {
        while let Some(request) = read_message(&mut stream) {
            let text = String::from_utf8_lossy(&request);
            let framing = match text.contains("chunked") {
                true => "Transfer-Encoding: chunked\r\n".to_owned(),
                false => format!("Content-Length: {}\r\n", body_of(&request).len()),
            };
            let head = format!("HTTP/1.1 200 OK\r\n{framing}\r\n");
            let answer = [head.as_bytes(), body_of(&request)].concat();
            for piece in answer.chunks(997) {
                stream.write_all(piece).unwrap();
            }
        }
    });
    let tap = TestTap::start(upstream.url());
    let mut sent = Vec::new();
    let config = ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(40)
    };
    let mut runner = proptest::test_runner::TestRunner::new(config);
    let bodies = (
        // Letters, so that no body ends like a chunked one.
        prop::collection::vec(97u8..123, 1..20_000),
        prop::option::of(prop::collection::vec(1usize..5000, 1..6)),
        prop::collection::vec(1usize..4000, 1..6),
    );
    let sent_ref = std::cell::RefCell::new(&mut sent);
    let result = runner.run(&bodies, |(body, chunks, cuts)| {
        let framed = framed(&body, chunks.as_deref());
        let head = b"POST /v1/x HTTP/1.1\r\nHost: h\r\n";
        let request = [&head[..], &framed].concat();
        let mut client = tap.connect();
        let mut rest = request.as_slice();
        for cut in cuts.iter().cycle() {
            let (piece, later) = rest.split_at((*cut).min(rest.len()));
            client.write_all(piece).unwrap();
            rest = later;
            if rest.is_empty() {
                break;
            }
        }
        let answer = read_message(&mut client).unwrap();
        prop_assert_eq!(body_of(&answer), body_of(&framed));
        sent_ref.borrow_mut().push(body);
        Ok(())
    });
    result.unwrap();
    let (report, calls, sink) = tap.finish();
    assert_eq!(
        (report.calls, report.recorded),
        (sent.len() as u64, sent.len() as u64)
    );
    for (call, body) in calls.iter().zip(&sent) {
        assert_eq!(sink.body(&call.request.body).as_ref(), Some(body));
        let response = call.response.as_ref().unwrap();
        assert_eq!(response.body.digest, call.request.body.digest);
    }
}
