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

/// A secret of its own for every place, so that a find says where it was.
struct Canaries(std::cell::RefCell<Vec<(String, String)>>);

impl Canaries {
    /// A value that nothing but its place gives away.
    fn plain(&self, place: &str) -> String {
        let number = self.0.borrow().len();
        let canary = format!("canary{number:03}Zq7Kp93mW5tBx1");
        self.0.borrow_mut().push((place.to_owned(), canary.clone()));
        canary
    }

    /// A value that looks like a key.
    fn key(&self, place: &str) -> String {
        let number = self.0.borrow().len();
        let canary = format!("sk-proj-canary{number:03}Zq7Kp93mW5tBx1");
        self.0.borrow_mut().push((place.to_owned(), canary.clone()));
        canary
    }
}

fn compressed(kind: &str, bytes: &[u8]) -> Vec<u8> {
    match kind {
        "gzip" => {
            let level = flate2::Compression::default();
            let mut encoder = flate2::write::GzEncoder::new(Vec::new(), level);
            encoder.write_all(bytes).unwrap();
            encoder.finish().unwrap()
        }
        "zstd" => zstd::encode_all(bytes, 3).unwrap(),
        _ => bytes.to_vec(),
    }
}

#[test]
fn no_canary_reaches_a_file_from_any_place() {
    let canaries = Canaries(Vec::new().into());
    let c = &canaries;
    let real = c.plain("credential of the upstream");
    let user_password = c.plain("password of a basic authorization");
    let basic = {
        use base64::Engine as _;
        let text = format!("me:{user_password}");
        base64::engine::general_purpose::STANDARD.encode(text)
    };
    let (bearer, cookie) = (c.plain("bearer of the client"), c.plain("cookie"));
    let said = format!(
        r#"{{"id":"{}","model":"{}","error":{{"message":"bad key {real}, {bearer}, {user_password}, {cookie} {}","type":"{}","code":"{}"}},"usage":{{"prompt_tokens":1,"note":"{}"}}}}"#,
        c.key("id of the answer"),
        c.key("model of the answer"),
        c.key("message of the error"),
        c.key("type of the error"),
        c.key("code of the error"),
        c.key("raw usage"),
    );
    let answer_heads = format!(
        "HTTP/1.1 401 {}\r\nSet-Cookie: s={}; Path=/\r\nX-Auth-Token: {}\r\nX-Note: {}\r\n\
        Location: http://me:{}@host/x\r\nOpenAI-Organization: {}\r\nContent-Type: application/json\r\n",
        c.plain("reason of the answer"),
        c.plain("set-cookie"),
        c.plain("header with a secret name"),
        c.key("header of the answer"),
        c.plain("user-info of a location"),
        c.plain("organization"),
    );
    let stream = format!("data: {said}\n\n");
    let upstream = RawUpstream::start(move |mut stream_to| {
        for round in 0.. {
            let Some(_) = read_message(&mut stream_to) else {
                return;
            };
            let body = if round % 2 == 0 { &said } else { &stream };
            let kind = ["identity", "gzip", "zstd"][round % 3];
            let body = compressed(kind, body.as_bytes());
            let head = format!(
                "{answer_heads}Content-Encoding: {kind}\r\nContent-Length: {}\r\n\r\n",
                body.len()
            );
            stream_to.write_all(head.as_bytes()).unwrap();
            stream_to.write_all(&body).unwrap();
        }
    });
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.jsonl");
    let settings = TapSettings::new(Upstream::new(upstream.url()).with_credential(real.clone()));
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let log = LogWriter::create(&path).unwrap();
    let tap = runtime
        .block_on(Tap::start(settings, Box::new(log)))
        .unwrap();
    let body = format!(
        r#"{{"model":"{}","user":"{}","metadata":{{"{}":"{}"}},"tools":[{{"type":"function","function":{{"name":"{}"}}}}],
        "messages":[{{"role":"{}","content":"see https://me:{}@host/ and {} or {bearer} {real}"}}]}}"#,
        c.key("model"),
        c.key("user"),
        c.key("name of a member"),
        c.key("metadata"),
        c.key("name of a tool"),
        c.key("role"),
        c.plain("user-info in a text"),
        c.key("text"),
    );
    let absolute = c.plain("user-info of the target");
    let mut client = TcpStream::connect(tap.address()).unwrap();
    client
        .set_read_timeout(Some(crate::support::PATIENCE))
        .unwrap();
    for kind in ["identity", "gzip", "zstd", "identity", "gzip", "zstd"] {
        let body = compressed(kind, body.as_bytes());
        let head = format!(
            "POST http://me:{absolute}@h/a/x/v1/chat/completions?key={}&access_token={}&client_secret={}&sig={}&cb={}&q={} HTTP/1.1\r\n\
            Host: h\r\nAuthorization: Bearer {bearer}\r\nProxy-Authorization: Basic {basic}\r\n\
            Cookie: a=1; s={cookie}\r\nX-Api-Key: {}\r\nX-Amz-Security-Token: {}\r\nX-Other: {}\r\n\
            Referer: https://me:{}@host/\r\nX-Cb-Call: {}\r\nContent-Encoding: {kind}\r\n\
            Content-Length: {}\r\n\r\n",
            c.plain("?key"),
            c.plain("?access_token"),
            c.plain("?client_secret"),
            c.plain("?sig"),
            c.key("?cb"),
            c.key("other parameter"),
            c.plain("x-api-key"),
            c.plain("x-amz-security-token"),
            c.key("other header"),
            c.plain("user-info of a referer"),
            c.key("x-cb-call"),
            body.len()
        );
        client.write_all(head.as_bytes()).unwrap();
        client.write_all(&body).unwrap();
        assert!(read_message(&mut client).is_some());
    }
    // Refused ones are written down too.
    let tunnel = c.key("target of CONNECT");
    client
        .write_all(format!("CONNECT {tunnel}:443 HTTP/1.1\r\nHost: h\r\n\r\n").as_bytes())
        .unwrap();
    client.read_to_end(&mut Vec::new()).unwrap();
    let report = runtime.block_on(tap.finish());
    assert_eq!((report.calls, report.not_kept), (7, 0));
    let text = std::fs::read_to_string(&path).unwrap();
    let log = CallLog::read(&path).unwrap();
    let bodies = log
        .bodies
        .values()
        .map(|body| String::from_utf8_lossy(body));
    let all = bodies.fold(text, |all, body| all + &body);
    assert!(
        log.calls
            .iter()
            .filter(|call| call.answered.is_some())
            .count()
            == 6
    );
    let found: Vec<String> =
        c.0.borrow()
            .iter()
            .filter(|(_, canary)| all.contains(canary.as_str()))
            .map(|(place, _)| place.clone())
            .collect();
    assert!(found.is_empty(), "canaries from {found:?}");
    assert!(!all.contains("Zq7Kp93mW5tBx1"), "a part of one");
}
