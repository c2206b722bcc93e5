//! No key reaches a file, wherever it stood.

use context_bench_tap::record::{CallLog, LogWriter};
use context_bench_tap::{Credential, Tap, TapSettings, Upstream};
use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use crate::support::{RawUpstream, read_message};

#[test]
fn no_secret_reaches_the_log() {
    let real = "real-key-0123456789";
    let own = "own-password-of-the-user";
    let client_key = "key-the-client-brought-42";
    let looks = "sk-proj-0123456789abcdefghij";
    let said = format!(
        r#"{{"error":{{"message":"Incorrect API key provided: {real}, {looks}","type":"{client_key}","code":"{own}"}},"id":"{real}","model":"{looks}"}}"#
    );
    let answer = format!(
        "HTTP/1.1 401 No\r\nSet-Cookie: {real}\r\nX-Session: {own}\r\nX-Note: {looks} {real}\r\n\
        Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{said}",
        said.len()
    );
    let upstream = RawUpstream::start(move |mut stream| {
        while let Some(request) = read_message(&mut stream) {
            // The upstream does get the real key.
            assert!(String::from_utf8_lossy(&request).contains("real-key-0123456789"));
            stream.write_all(answer.as_bytes()).unwrap();
        }
    });
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.jsonl");
    let mut settings = TapSettings::new(Upstream::new(upstream.url()).with_credential(real));
    settings.secrets = vec![Credential::new(own)];
    assert!(!format!("{settings:?}").contains(real));
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let log = LogWriter::create(&path).unwrap();
    let tap = runtime
        .block_on(Tap::start(settings, Box::new(log)))
        .unwrap();
    let body = format!(
        r#"{{"model":"{looks}","metadata":{{"{own}":"{client_key}"}},"tools":[{{"type":"function","function":{{"name":"{looks}"}}}}],
        "messages":[{{"role":"{client_key}","content":"my key is {looks} and {real}"}}]}}"#
    );
    // Long enough to go through a file on its way.
    let long = format!(
        r#"{{"messages":[{{"role":"user","content":"{} {real} {looks} {own}"}}]}}"#,
        "x ".repeat(700_000)
    );
    for body in [body, long] {
        let request = format!(
            "POST /a/x/v1/chat/completions?key={client_key}&access_token={own} HTTP/1.1\r\nHost: h\r\n\
            Authorization: Bearer {client_key}\r\nCookie: {own}\r\nX-Amz-Security-Token: {own}\r\n\
            X-Other: {looks}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
            body.len()
        );
        let mut client = TcpStream::connect(tap.address()).unwrap();
        client.write_all(request.as_bytes()).unwrap();
        let mut answered = String::new();
        client.read_to_string(&mut answered).unwrap();
        // On the wire nothing is touched.
        assert!(answered.contains(looks));
    }
    let report = runtime.block_on(tap.finish());
    assert_eq!((report.calls, report.not_kept), (2, 0));
    let text = std::fs::read_to_string(&path).unwrap();
    let log = CallLog::read(&path).unwrap();
    let bodies: String = log
        .bodies
        .values()
        .map(|body| String::from_utf8_lossy(body).into_owned())
        .collect();
    for secret in [real, own, client_key, looks] {
        assert!(!text.contains(secret), "{secret} in the log");
        assert!(!bodies.contains(secret), "{secret} in a body");
    }
    assert!(bodies.contains("my key is <redacted:key>"));
    let names: Vec<&str> = std::fs::read_dir(folder.path())
        .unwrap()
        .map(|_| "file")
        .collect();
    assert_eq!(names, ["file"]);
}
