//! [`TestProxy`]: a loopback proxy in front of an upstream, which does what a test tells it to.
//! Real sockets, HTTP/1.1 by hand, a thread for each connection.

use std::collections::HashMap;
use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use serde_json::{Value, json};

/// A request or an answer, as it passes.
#[derive(Debug, Clone, Default)]
pub struct ProxyMessage {
    /// The status, of an answer.
    pub status: u16,
    /// The path, of a request.
    pub path: String,
    /// The headers, in order.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

impl ProxyMessage {
    /// The value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        let found = headers.find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }

    /// The same without a header.
    #[must_use]
    pub fn without(mut self, name: &str) -> Self {
        self.headers
            .retain(|(known, _)| !known.eq_ignore_ascii_case(name));
        self
    }

    /// The same with a header.
    #[must_use]
    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// The body as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    /// The same with another body.
    #[must_use]
    pub fn with_json(mut self, body: &Value) -> Self {
        self.body = body.to_string().into_bytes();
        self
    }
}

/// The way from a proxy to its upstream.
pub struct ProxyUpstream {
    state: Arc<State>,
}

impl ProxyUpstream {
    /// Sends a request on and waits for the answer; 502 if there is none.
    pub fn send(&self, request: &ProxyMessage) -> ProxyMessage {
        let broken = ProxyMessage {
            status: 502,
            headers: vec![("content-type".to_owned(), "application/json".to_owned())],
            body: br#"{"error":{"message":"no answer from upstream"}}"#.to_vec(),
            ..ProxyMessage::default()
        };
        self.state.forward(request).unwrap_or(broken)
    }

    /// Does something in the background, which [`TestProxy::settle`] waits for.
    pub fn later(&self, work: impl FnOnce(&ProxyUpstream) + Send + 'static) {
        let upstream = Self {
            state: Arc::clone(&self.state),
        };
        *self.state.background.0.lock().unwrap() += 1;
        std::thread::spawn(move || {
            work(&upstream);
            *upstream.state.background.0.lock().unwrap() -= 1;
            upstream.state.background.1.notify_all();
        });
    }
}

type Handler = dyn Fn(ProxyMessage, &ProxyUpstream) -> ProxyMessage + Send + Sync;

struct State {
    upstream: Mutex<String>,
    background: (Mutex<usize>, Condvar),
    requests: AtomicUsize,
    handler: Box<Handler>,
}

/// A loopback proxy. It lives as long as the process.
pub struct TestProxy {
    address: SocketAddr,
    state: Arc<State>,
}

impl TestProxy {
    /// A proxy that answers every request as `handler` says.
    pub fn start(
        handler: impl Fn(ProxyMessage, &ProxyUpstream) -> ProxyMessage + Send + Sync + 'static,
    ) -> Arc<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let state = Arc::new(State {
            upstream: Mutex::default(),
            background: (Mutex::new(0), Condvar::new()),
            requests: AtomicUsize::new(0),
            handler: Box::new(handler),
        });
        let shared = Arc::clone(&state);
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let state = Arc::clone(&shared);
                std::thread::spawn(move || state.serve(stream));
            }
        });
        Arc::new(Self { address, state })
    }

    /// Where it listens.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Points it at an upstream: a base address without `/v1`.
    pub fn point_at(&self, base: &str) {
        *self.state.upstream.lock().unwrap() = base.trim_end_matches('/').to_owned();
    }

    /// How many requests it got.
    pub fn request_count(&self) -> usize {
        self.state.requests.load(SeqCst)
    }

    /// Waits until nothing goes on in the background.
    pub fn settle(&self) {
        let (running, ended) = &self.state.background;
        let mut left = running.lock().unwrap();
        while *left > 0 {
            left = ended.wait(left).unwrap();
        }
    }

    /// Passes everything on as it is.
    pub fn pass_through() -> Arc<Self> {
        Self::start(|request, upstream| upstream.send(&request))
    }

    /// Keeps the first half of the words of every message, and says so in its headers.
    pub fn compressor() -> Arc<Self> {
        Self::start(|request, upstream| {
            let mut body = request.json();
            each_message(&mut body, |message| {
                if let Some(Value::String(text)) = message.get_mut("content") {
                    let words: Vec<&str> = text.split(' ').collect();
                    *text = words[..words.len().div_ceil(2)].join(" ");
                }
            });
            let answer = upstream.send(&request.with_json(&body));
            answer.with("x-test-tokens-saved", "7")
        })
    }

    /// Asks again, up to twice, after a 429 or an error of the server.
    pub fn retrying() -> Arc<Self> {
        Self::start(|request, upstream| {
            let mut answer = upstream.send(&request);
            for _ in 0..2 {
                if answer.status != 429 && answer.status < 500 {
                    break;
                }
                answer = upstream.send(&request);
            }
            answer
        })
    }

    /// Answers what it was asked before out of its own memory.
    pub fn caching() -> Arc<Self> {
        let known: Mutex<HashMap<Vec<u8>, ProxyMessage>> = Mutex::default();
        Self::start(move |request, upstream| {
            if let Some(answer) = known.lock().unwrap().get(&request.body) {
                return answer.clone();
            }
            let answer = upstream.send(&request);
            if answer.status == 200 {
                let mut known = known.lock().unwrap();
                known.insert(request.body, answer.clone());
            }
            answer
        })
    }

    /// Makes every role `user`.
    pub fn user_only() -> Arc<Self> {
        Self::start(|request, upstream| {
            let mut body = request.json();
            each_message(&mut body, |message| message["role"] = json!("user"));
            upstream.send(&request.with_json(&body))
        })
    }

    /// Asks a model for a summary before it passes a request on.
    pub fn helped() -> Arc<Self> {
        Self::start(|request, upstream| {
            let mut helper = request.json();
            helper["messages"] = json!([{"role": "user", "content": "summarise this for me"}]);
            upstream.send(&request.clone().with_json(&helper));
            upstream.send(&request)
        })
    }

    /// Makes another call when the client has its answer already.
    pub fn late(pause: Duration) -> Arc<Self> {
        Self::start(move |request, upstream| {
            let answer = upstream.send(&request);
            upstream.later(move |upstream| {
                std::thread::sleep(pause);
                upstream.send(&request);
            });
            answer
        })
    }

    /// Lets nothing through by which a call could be known, and has a key of its own.
    pub fn bare() -> Arc<Self> {
        Self::start(|request, upstream| {
            let request = request.without("authorization").without("x-cb-call");
            upstream.send(&request.with("authorization", "Bearer own-key-of-the-proxy"))
        })
    }
}

fn each_message(body: &mut Value, change: impl Fn(&mut Value)) {
    let messages = body.get_mut("messages").and_then(Value::as_array_mut);
    messages.into_iter().flatten().for_each(change);
}

impl State {
    fn serve(self: Arc<Self>, mut stream: TcpStream) {
        let upstream = ProxyUpstream {
            state: Arc::clone(&self),
        };
        let mut surplus = Vec::new();
        while let Ok(Some(request)) = read(&mut stream, &mut surplus) {
            self.requests.fetch_add(1, SeqCst);
            let answer = (self.handler)(request, &upstream);
            let line = format!("HTTP/1.1 {} -", answer.status);
            if write(&mut stream, &line, &answer).is_err() {
                return;
            }
        }
    }

    fn forward(&self, request: &ProxyMessage) -> io::Result<ProxyMessage> {
        let base = self.upstream.lock().unwrap().clone();
        let rest = base.strip_prefix("http://").unwrap_or(&base);
        let (host, prefix) = match rest.split_once('/') {
            Some((host, prefix)) => (host, format!("/{prefix}")),
            None => (rest, String::new()),
        };
        let mut stream = TcpStream::connect(host)?;
        let line = format!("POST {prefix}{} HTTP/1.1", request.path);
        let request = request.clone().without("host").with("host", host);
        write(&mut stream, &line, &request)?;
        let answer = read(&mut stream, &mut Vec::new())?;
        answer.ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    }
}

/// Reads a message with a length, in chunks, or up to the end of the connection.
fn read(stream: &mut TcpStream, surplus: &mut Vec<u8>) -> io::Result<Option<ProxyMessage>> {
    let mut buffer = [0; 16 * 1024];
    let mut more = |surplus: &mut Vec<u8>| -> io::Result<bool> {
        let read = stream.read(&mut buffer)?;
        surplus.extend_from_slice(&buffer[..read]);
        Ok(read > 0)
    };
    let head_end = loop {
        if let Some(at) = surplus.windows(4).position(|four| four == b"\r\n\r\n") {
            break at + 4;
        }
        if !more(surplus)? {
            return Ok(None);
        }
    };
    let head = String::from_utf8_lossy(&surplus[..head_end]).into_owned();
    surplus.drain(..head_end);
    let mut lines = head.lines();
    let first: Vec<&str> = lines.next().unwrap_or_default().split(' ').collect();
    let mut message = ProxyMessage {
        status: first.get(1).and_then(|word| word.parse().ok()).unwrap_or(0),
        path: first.get(1).unwrap_or(&"/").to_string(),
        ..ProxyMessage::default()
    };
    for line in lines {
        if let Some((name, value)) = line.split_once(':') {
            let header = (name.to_owned(), value.trim().to_owned());
            message.headers.push(header);
        }
    }
    let length = message.header("content-length");
    let length: Option<usize> = length.and_then(|length| length.parse().ok());
    let is_chunked = message.header("transfer-encoding").is_some();
    let is_answer = first.first().is_some_and(|word| word.starts_with("HTTP/"));
    match length {
        Some(length) => {
            while surplus.len() < length {
                if !more(surplus)? {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
            }
            message.body = surplus.drain(..length).collect();
        }
        None if is_chunked => loop {
            let end = loop {
                if let Some(at) = surplus.windows(2).position(|two| two == b"\r\n") {
                    break at;
                }
                if !more(surplus)? {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
            };
            let size = String::from_utf8_lossy(&surplus[..end]).trim().to_owned();
            let size = usize::from_str_radix(&size, 16).map_err(|_| io::ErrorKind::InvalidData)?;
            while surplus.len() < end + 2 + size + 2 {
                if !more(surplus)? {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
            }
            message
                .body
                .extend_from_slice(&surplus[end + 2..end + 2 + size]);
            surplus.drain(..end + 2 + size + 2);
            if size == 0 {
                break;
            }
        },
        None if is_answer => {
            while more(surplus)? {}
            message.body = std::mem::take(surplus);
        }
        None => {}
    }
    Ok(Some(message))
}

/// Writes a message with its length.
fn write(stream: &mut TcpStream, line: &str, message: &ProxyMessage) -> io::Result<()> {
    let mut out = format!("{line}\r\n");
    let own = ["content-length", "transfer-encoding", "connection"];
    for (name, value) in &message.headers {
        if !own.contains(&name.to_ascii_lowercase().as_str()) {
            out += &format!("{name}: {value}\r\n");
        }
    }
    out += &format!("content-length: {}\r\n\r\n", message.body.len());
    let mut bytes = out.into_bytes();
    bytes.extend_from_slice(&message.body);
    stream.write_all(&bytes)
}
