//! An upstream that answers with the bytes it is told, a client that sends the bytes it is told,
//! and a tap between them.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use context_bench_tap::record::{CallRecord, MemorySink};
use context_bench_tap::{Tap, TapReport, TapSettings, Upstream};
use tokio::runtime::Runtime;
use url::Url;

/// Long enough for any machine; a test that waits so long has failed.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

/// An upstream that runs a script for every connection.
pub(crate) struct RawUpstream {
    address: SocketAddr,
}

impl RawUpstream {
    pub(crate) fn start(script: impl Fn(TcpStream) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let script = Arc::new(script);
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let script = Arc::clone(&script);
                std::thread::spawn(move || script(stream));
            }
        });
        Self { address }
    }

    /// One that answers every request on a connection with the same bytes and keeps what it got.
    pub(crate) fn answering(answer: impl Into<Vec<u8>>) -> (Self, Arc<Mutex<Vec<Vec<u8>>>>) {
        let answer = answer.into();
        let got = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&got);
        let upstream = Self::start(move |mut stream| {
            while let Some(request) = read_message(&mut stream) {
                kept.lock().unwrap().push(request);
                if stream.write_all(&answer).is_err() {
                    return;
                }
            }
        });
        (upstream, got)
    }

    pub(crate) fn url(&self) -> Url {
        Url::parse(&format!("http://{}", self.address)).unwrap()
    }
}

/// A tap with its runtime.
pub(crate) struct TestTap {
    pub(crate) runtime: Runtime,
    pub(crate) tap: Tap,
    pub(crate) sink: MemorySink,
}

impl TestTap {
    pub(crate) fn start(upstream: Url) -> Self {
        Self::with(TapSettings::new(
            Upstream::new(upstream).with_credential("the-real-key"),
        ))
    }

    pub(crate) fn with(settings: TapSettings) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .unwrap();
        let sink = MemorySink::default();
        let tap = runtime.block_on(Tap::start(settings, Box::new(sink.clone())));
        Self {
            runtime,
            tap: tap.unwrap(),
            sink,
        }
    }

    pub(crate) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.tap.address()).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream
    }

    /// Sends bytes on a new connection and reads until the tap closes it.
    pub(crate) fn send(&self, bytes: &[u8]) -> Vec<u8> {
        let mut stream = self.connect();
        stream.write_all(bytes).unwrap();
        let mut answer = Vec::new();
        // A reset ends the answer too.
        let _ = stream.read_to_end(&mut answer);
        answer
    }

    /// Ends the tap; gives back what it reports and what it recorded, in order of arrival.
    pub(crate) fn finish(self) -> (TapReport, Vec<CallRecord>, MemorySink) {
        let report = self.runtime.block_on(self.tap.finish());
        let mut calls = self.sink.calls();
        calls.sort_by_key(|call| call.id);
        (report, calls, self.sink)
    }
}

/// A request for a chat, after which the connection closes.
pub(crate) fn chat(arm: &str, body: &str) -> Vec<u8> {
    format!(
        "POST /a/{arm}/v1/chat/completions HTTP/1.1\r\nHost: tap\r\nContent-Type: application/json\r\n\
        Authorization: Bearer sk-cb-aaaaaaaaaaaaaaaaaaaaaaaaaa\r\nContent-Length: {}\r\n\
        Connection: close\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

/// A whole answer with a length.
pub(crate) fn answer(status: &str, kind: &str, body: &str) -> Vec<u8> {
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

/// The next message of a connection, head and body; none once it is closed.
pub(crate) fn read_message(stream: &mut TcpStream) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut byte = [0];
    while !bytes.ends_with(b"\r\n\r\n") {
        match stream.read(&mut byte) {
            Ok(1) => bytes.push(byte[0]),
            _ => return None,
        }
    }
    let head = String::from_utf8_lossy(&bytes).to_ascii_lowercase();
    if head.contains("transfer-encoding: chunked") {
        while !bytes.ends_with(b"0\r\n\r\n") {
            match stream.read(&mut byte) {
                Ok(1) => bytes.push(byte[0]),
                _ => return None,
            }
        }
        return Some(bytes);
    }
    let length = head.split("content-length: ").nth(1);
    let length = length.and_then(|rest| rest.split("\r\n").next()?.parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    stream.read_exact(&mut body).ok()?;
    bytes.extend(body);
    Some(bytes)
}

/// What follows the head of a message.
pub(crate) fn body_of(message: &[u8]) -> &[u8] {
    let end = message.windows(4).position(|four| four == b"\r\n\r\n");
    &message[end.map_or(message.len(), |at| at + 4)..]
}
