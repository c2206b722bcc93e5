//! The log: what is written comes back, repeats are cheap, a full disk does no harm.

use std::io::Write as _;
use std::sync::{Arc, Mutex};

use context_bench_error::Hint as _;
use context_bench_tap::record::{
    BodyRef, CallBodies, CallLog, CallRecord, CallSink, LogWriter, Stored, StoredBody,
};
use context_bench_tap::{Tap, TapSettings, Upstream};

use crate::support::{RawUpstream, TestTap, answer, chat};

/// Records of real calls, with their bodies.
fn calls(bodies: &[&str]) -> Vec<(CallRecord, CallBodies)> {
    let said = r#"{"id":"c","choices":[{"message":{"content":"hi"}}],"usage":{"prompt_tokens":1,"completion_tokens":1}}"#;
    let (upstream, _) = RawUpstream::answering(answer("200 OK", "application/json", said));
    let tap = TestTap::start(upstream.url());
    bodies
        .iter()
        .for_each(|body| drop(tap.send(&chat("x", body))));
    let (_, calls, sink) = tap.finish();
    let stored = |body: &BodyRef| sink.body(body).map(StoredBody::Bytes);
    calls
        .into_iter()
        .map(|call| {
            let bodies = CallBodies {
                request: stored(&call.request.body),
                response: stored(&call.response.as_ref().unwrap().body),
                said: None,
            };
            assert!(bodies.request.is_some() && bodies.response.is_some());
            (call, bodies)
        })
        .collect()
}

#[test]
fn what_is_written_comes_back_and_repeats_are_cheap() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.jsonl");
    let long = format!(
        r#"{{"messages":[{{"role":"user","content":"{}"}}]}}"#,
        "word ".repeat(10_000)
    );
    let mut log = LogWriter::create(&path).unwrap();
    let mut written = Vec::new();
    let mut sizes = Vec::new();
    for (call, bodies) in calls(&[&long, &long, &long]) {
        log.call(Box::new(call.clone()), bodies).unwrap();
        written.push(call);
        sizes.push(std::fs::metadata(&path).unwrap().len());
    }
    let read = CallLog::read(&path).unwrap();
    assert_eq!(read.calls, written);
    assert_eq!(read.bodies.len(), 2);
    assert_eq!(
        read.bodies[written[0].request.body.digest.as_ref().unwrap()],
        long.as_bytes()
    );
    assert!(sizes[2] - sizes[1] < 5000 && sizes[0] > 50_000, "{sizes:?}");
    // As a kill leaves it: half of a line more.
    let mut file = std::fs::OpenOptions::new()
        .append(true)
        .open(&path)
        .unwrap();
    file.write_all(b"{\"kind\":\"call\",\"id\":").unwrap();
    assert_eq!(CallLog::read(&path).unwrap().calls.len(), 3);
    file.write_all(b"\n").unwrap();
    let error = CallLog::read(&path).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("run.jsonl:7: not a line of a tap log"),
        "{error}"
    );
    assert!(error.hint().is_some());
    assert!(LogWriter::create(&folder.path().join("no/such/folder")).is_err());
}

#[test]
fn bodies_that_are_no_text_and_long_ones_come_back() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.jsonl");
    let (mut call, _) = calls(&["{}"]).remove(0);
    call.request.body.digest = Some("sha256:1".to_owned());
    call.response.as_mut().unwrap().body.digest = Some("sha256:2".to_owned());
    let bytes: Vec<u8> = (0..200_000_u32).map(|n| (n * 7 % 256) as u8).collect();
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(&bytes).unwrap();
    std::io::Seek::rewind(&mut file).unwrap();
    let bodies = CallBodies {
        request: Some(StoredBody::Bytes(vec![0xff, 0xfe])),
        response: Some(StoredBody::File(file)),
        said: None,
    };
    LogWriter::create(&path)
        .unwrap()
        .call(Box::new(call), bodies)
        .unwrap();
    let read = CallLog::read(&path).unwrap();
    assert_eq!(read.bodies["sha256:1"], [0xff, 0xfe]);
    assert!(read.bodies["sha256:2"] == bytes);
}

#[test]
fn a_line_that_cannot_be_written_leaves_no_trace() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.jsonl");
    let mut log = LogWriter::create(&path).unwrap();
    let made = calls(&["{}", r#"{"model":"m"}"#, "{}"]);
    let mut written = Vec::new();
    for (at, (mut call, mut bodies)) in made.into_iter().enumerate() {
        if at == 1 {
            // A long body that cannot be read breaks off in the midst of its line.
            let path = folder.path().join("unreadable");
            std::fs::write(&path, "x").unwrap();
            let file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
            call.response.as_mut().unwrap().body.digest = Some("sha256:broken".to_owned());
            bodies.response = Some(StoredBody::File(file));
            assert!(log.call(Box::new(call), bodies).is_err());
            assert_eq!(
                CallLog::read(&path.with_file_name("run.jsonl"))
                    .unwrap()
                    .calls,
                written
            );
            continue;
        }
        log.call(Box::new(call.clone()), bodies).unwrap();
        written.push(call);
    }
    let read = CallLog::read(&path).unwrap();
    assert_eq!(read.calls, written);
    // The first call and the last have the same bodies; those of the one between are gone.
    assert_eq!(read.bodies.len(), 2);
}

#[test]
fn a_full_disk_is_counted_and_the_calls_go_on() {
    // Linux has a file that is always full.
    if !std::path::Path::new("/dev/full").exists() {
        return;
    }
    struct Full(std::fs::File);
    impl CallSink for Full {
        fn call(&mut self, call: Box<CallRecord>, _: CallBodies) -> std::io::Result<()> {
            self.0.write_all(call.request.path.as_bytes())
        }
    }
    let (upstream, _) = RawUpstream::answering(answer("200 OK", "text/plain", "fine"));
    let url = upstream.url();
    let settings = context_bench_tap::TapSettings::new(context_bench_tap::Upstream::new(url));
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let full = Full(
        std::fs::OpenOptions::new()
            .write(true)
            .open("/dev/full")
            .unwrap(),
    );
    let tap = runtime
        .block_on(context_bench_tap::Tap::start(settings, Box::new(full)))
        .unwrap();
    for _ in 0..3 {
        let mut client = std::net::TcpStream::connect(tap.address()).unwrap();
        client.write_all(&chat("x", "{}")).unwrap();
        let mut answered = String::new();
        std::io::Read::read_to_string(&mut client, &mut answered).unwrap();
        assert!(answered.ends_with("fine"));
    }
    let report = runtime.block_on(tap.finish());
    assert_eq!((report.calls, report.recorded, report.not_kept), (3, 0, 3));
    assert!(report.first_failure.unwrap().contains("No space left"));
}

#[test]
fn who_writes_nothing_down_gets_calls_as_they_were_but_for_secrets_in_names() {
    #[derive(Clone, Default)]
    struct Counting(Arc<Mutex<Vec<(CallRecord, CallBodies)>>>);
    impl CallSink for Counting {
        fn call(&mut self, call: Box<CallRecord>, bodies: CallBodies) -> std::io::Result<()> {
            self.0.lock().unwrap().push((*call, bodies));
            Ok(())
        }
        fn writes_down(&self) -> bool {
            false
        }
    }
    let said = r#"{"id":"c","model":"m the-real-key","choices":[{"message":{"content":"the-real-key"}}],"usage":{"prompt_tokens":3,"completion_tokens":1}}"#;
    let (upstream, _) = RawUpstream::answering(answer("200 OK", "application/json", said));
    let upstream = Upstream::new(upstream.url()).with_credential("the-real-key");
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let sink = Counting::default();
    let started = Tap::start(TapSettings::new(upstream), Box::new(sink.clone()));
    let tap = runtime.block_on(started).unwrap();
    let mut client = std::net::TcpStream::connect(tap.address()).unwrap();
    let asked = r#"{"messages":[{"role":"user","content":"the-real-key"}]}"#;
    client.write_all(&chat("x", asked)).unwrap();
    std::io::Read::read_to_end(&mut client, &mut Vec::new()).unwrap();
    runtime.block_on(tap.finish());
    let (call, bodies) = sink.0.lock().unwrap().remove(0);
    let bytes = |body: Option<StoredBody>| match body {
        Some(StoredBody::Bytes(bytes)) => bytes,
        other => panic!("{other:?}"),
    };
    assert_eq!(bytes(bodies.request), asked.as_bytes());
    assert_eq!(bytes(bodies.response), said.as_bytes());
    assert_eq!(bodies.said.unwrap().text(), "the-real-key");
    assert_eq!(
        (call.request.body.digest, call.request.body.stored),
        (None, Stored::Whole)
    );
    let authorization = call.request.headers.text("authorization").unwrap();
    assert!(authorization.starts_with("Bearer sk-cb-"));
    // What rows may show has no secret in it all the same.
    let answered = call.answered.unwrap();
    assert_eq!(answered.model.as_deref(), Some("m <redacted:credential>"));
    assert_eq!(answered.usage.unwrap().input(), 3);
}
