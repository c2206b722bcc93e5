//! A provider that stands for the real one while a proxy is probed: it answers every call
//! with the same text and keeps what it received. HTTP as far as proxies need it.

use std::sync::{Arc, Mutex, PoisonError};

use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// Larger requests are none of ours.
const MAX_REQUEST: usize = 16 * 1024 * 1024;

/// A request as it arrived: the head and the body.
#[derive(Debug, Clone)]
pub(super) struct Received {
    pub(super) head: String,
    pub(super) body: String,
}

/// Listens until it is dropped.
#[derive(Debug)]
pub(super) struct ProbeUpstream {
    base_url: String,
    received: Arc<Mutex<Vec<Received>>>,
    server: JoinHandle<()>,
}

impl ProbeUpstream {
    /// Listens on this machine.
    pub(super) async fn start() -> std::io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let port = listener.local_addr()?.port();
        let received = Arc::new(Mutex::new(Vec::new()));
        let shared = Arc::clone(&received);
        let server = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, Arc::clone(&shared)));
            }
        });
        Ok(Self {
            base_url: format!("http://127.0.0.1:{port}/a/probe"),
            received,
            server,
        })
    }

    /// The base address, with a path such as arms have.
    pub(super) fn base_url(&self) -> &str {
        &self.base_url
    }

    /// What has arrived by now, but for probes of the proxy itself.
    pub(super) fn received(&self) -> Vec<Received> {
        let all = self.received.lock().unwrap_or_else(PoisonError::into_inner);
        let posted = all.iter().filter(|one| one.head.starts_with("POST "));
        posted.cloned().collect()
    }
}

impl Drop for ProbeUpstream {
    fn drop(&mut self) {
        self.server.abort();
    }
}

async fn serve(mut stream: TcpStream, received: Arc<Mutex<Vec<Received>>>) {
    let mut buffer = Vec::new();
    while let Some(request) = read_request(&mut stream, &mut buffer).await {
        let is_head = request.head.starts_with("HEAD ");
        let is_posted = request.head.starts_with("POST ");
        let is_connect = request.head.starts_with("CONNECT ");
        let answer = answer(&request.head);
        keep(&received, request);
        let (status, body) = match (is_posted, is_connect) {
            (_, true) => ("502 Bad Gateway", String::new()),
            (true, _) => ("200 OK", answer),
            (false, _) => ("200 OK", json!({"object": "list", "data": []}).to_string()),
        };
        let head = format!(
            "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        let body = if is_head { "" } else { &body };
        if stream.write_all((head + body).as_bytes()).await.is_err() {
            return;
        }
    }
}

fn keep(received: &Mutex<Vec<Received>>, request: Received) {
    let mut all = received.lock().unwrap_or_else(PoisonError::into_inner);
    all.push(request);
}

/// An answer in the API of the route; proxies take it apart, so nothing is missing.
fn answer(head: &str) -> String {
    const SAID: &str = "The probe arrived.";
    let target = head.split(' ').nth(1).unwrap_or_default();
    let path = target.split('?').next().unwrap_or_default();
    if path.ends_with("/messages") {
        let reply = json!({
            "id": "msg_probe",
            "type": "message",
            "role": "assistant",
            "model": "probe",
            "content": [{"type": "text", "text": SAID}],
            "stop_reason": "end_turn",
            "stop_sequence": null,
            "usage": {"input_tokens": 4000, "output_tokens": 5},
        });
        return reply.to_string();
    }
    if path.ends_with("enerateContent") {
        let reply = json!({
            "candidates": [{
                "content": {"parts": [{"text": SAID}], "role": "model"},
                "finishReason": "STOP",
                "index": 0,
            }],
            "usageMetadata": {
                "promptTokenCount": 4000,
                "candidatesTokenCount": 5,
                "totalTokenCount": 4005,
            },
            "modelVersion": "probe",
            "responseId": "gemini-probe",
        });
        return reply.to_string();
    }
    if path.ends_with("/responses") {
        let text = json!({"type": "output_text", "text": SAID, "annotations": []});
        let reply = json!({
            "id": "resp_probe",
            "object": "response",
            "created_at": 1,
            "status": "completed",
            "model": "probe",
            "output": [{
                "id": "msg_probe",
                "type": "message",
                "role": "assistant",
                "status": "completed",
                "content": [text],
            }],
            "parallel_tool_calls": true,
            "tool_choice": "auto",
            "tools": [],
            "usage": {
                "input_tokens": 4000,
                "input_tokens_details": {"cached_tokens": 0},
                "output_tokens": 5,
                "output_tokens_details": {"reasoning_tokens": 0},
                "total_tokens": 4005,
            },
        });
        return reply.to_string();
    }
    let reply = json!({
        "id": "chatcmpl-probe",
        "object": "chat.completion",
        "created": 1,
        "model": "probe",
        "choices": [{
            "index": 0,
            "message": {"role": "assistant", "content": SAID},
            "finish_reason": "stop",
        }],
        "usage": {"prompt_tokens": 4000, "completion_tokens": 5, "total_tokens": 4005},
    });
    reply.to_string()
}

/// The next request of a connection; `None` at its end, or when it is not HTTP.
async fn read_request(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> Option<Received> {
    let end = loop {
        if let Some(at) = find(buffer, b"\r\n\r\n") {
            break at;
        }
        fill(stream, buffer).await?;
    };
    let head = String::from_utf8_lossy(&buffer[..end]).into_owned();
    buffer.drain(..end + 4);
    let header = |wanted: &str| {
        head.lines().skip(1).find_map(|line| {
            let (name, value) = line.split_once(':')?;
            name.eq_ignore_ascii_case(wanted).then(|| value.trim())
        })
    };
    let is_chunked =
        header("transfer-encoding").is_some_and(|value| value.eq_ignore_ascii_case("chunked"));
    let body = if is_chunked {
        read_chunks(stream, buffer).await?
    } else {
        let length = header("content-length").map_or(Some(0), |text| text.parse().ok())?;
        take(stream, buffer, length).await?
    };
    Some(Received {
        body: String::from_utf8_lossy(&body).into_owned(),
        head,
    })
}

async fn read_chunks(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> Option<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let end = loop {
            match find(buffer, b"\r\n") {
                Some(at) => break at,
                None => fill(stream, buffer).await?,
            }
        };
        let line = String::from_utf8_lossy(&buffer[..end]).into_owned();
        buffer.drain(..end + 2);
        let size = line.split(';').next().unwrap_or_default().trim();
        let size = usize::from_str_radix(size, 16).ok()?;
        body.extend(take(stream, buffer, size).await?);
        take(stream, buffer, 2).await?;
        if size == 0 {
            return Some(body);
        }
        if body.len() > MAX_REQUEST {
            return None;
        }
    }
}

async fn take(stream: &mut TcpStream, buffer: &mut Vec<u8>, length: usize) -> Option<Vec<u8>> {
    if length > MAX_REQUEST {
        return None;
    }
    while buffer.len() < length {
        fill(stream, buffer).await?;
    }
    Some(buffer.drain(..length).collect())
}

async fn fill(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> Option<()> {
    if buffer.len() > MAX_REQUEST {
        return None;
    }
    let mut piece = [0; 16 * 1024];
    match stream.read(&mut piece).await {
        Ok(count @ 1..) => buffer.extend_from_slice(&piece[..count]),
        _ => return None,
    }
    Some(())
}

fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes
        .windows(wanted.len())
        .position(|found| found == wanted)
}
