//! Reads HTTP/1.1 requests from a socket through one reused buffer.
//!
//! Bytes of a following pipelined request stay in the buffer. It knows framing
//! only: routes are recognised here (to spare copies), answered elsewhere.

use std::mem::MaybeUninit;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::io::AsyncReadExt as _;
use tokio::net::TcpStream;

use crate::alarm::Alarm;
use crate::completion::Shape;
use crate::headers::Headers;
use crate::request::Details;

/// The largest body accepted, in bytes.
pub(crate) const MAX_BODY: usize = 64 * 1024 * 1024;

const MAX_HEAD: usize = 64 * 1024;
const MAX_HEADERS: usize = 100;
const READ_STEP: usize = 4 * 1024;
const DISCARD_STEP: usize = 64 * 1024;
/// An empty buffer larger than this is given back, for thousands of connections.
const KEEP_CAPACITY: usize = 256 * 1024;

/// What a request line asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Route {
    Completion(Shape),
    Models,
    WrongMethod,
    Unknown,
}

/// How a request body is delimited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Body {
    Bytes(usize),
    Chunked,
}

/// A parsed request head.
#[derive(Debug)]
pub(crate) struct Head {
    pub(crate) route: Route,
    pub(crate) body: Body,
    pub(crate) keep_alive: bool,
    pub(crate) expects_continue: bool,
    /// Left empty for a reader without details.
    pub(crate) details: Details,
}

/// Why no request could be read.
#[derive(Debug)]
pub(crate) enum ReadError {
    /// The client closed or broke the connection.
    Gone,
    /// The client must be refused with this status.
    Bad(u16, String),
}

/// The reading half of one connection.
#[derive(Debug)]
pub(crate) struct Reader {
    buffer: Vec<u8>,
    start: usize,
    details: bool,
}

impl Reader {
    /// A reader that keeps method, path and headers of each request, or not.
    pub(crate) fn new(details: bool) -> Self {
        Self {
            buffer: Vec::with_capacity(READ_STEP),
            start: 0,
            details,
        }
    }

    fn pending(&self) -> &[u8] {
        &self.buffer[self.start..]
    }

    /// Whether a body of this kind is sure to be in the buffer already.
    pub(crate) fn holds(&self, body: Body) -> bool {
        matches!(body, Body::Bytes(length) if self.pending().len() >= length)
    }

    /// Reads the next request head.
    pub(crate) async fn head(&mut self, stream: &mut TcpStream) -> Result<Head, ReadError> {
        loop {
            if !self.pending().is_empty() {
                if let Some((head, used)) = parse_head(self.pending(), self.details)? {
                    self.start += used;
                    return Ok(head);
                }
                if self.pending().len() > MAX_HEAD {
                    return Err(bad(431, "the request head is too large"));
                }
            }
            self.fill(stream, READ_STEP).await?;
        }
    }

    /// Reads a whole body.
    pub(crate) async fn body(
        &mut self,
        stream: &mut TcpStream,
        body: Body,
    ) -> Result<Arc<[u8]>, ReadError> {
        match body {
            Body::Bytes(length) => {
                self.need(stream, length).await?;
                let bytes = self.pending()[..length].into();
                self.start += length;
                Ok(bytes)
            }
            Body::Chunked => self.chunked_body(stream).await,
        }
    }

    /// Reads a whole body and keeps nothing of it.
    pub(crate) async fn skip_body(
        &mut self,
        stream: &mut TcpStream,
        body: Body,
    ) -> Result<(), ReadError> {
        let Body::Bytes(mut left) = body else {
            return self.chunked_body(stream).await.map(drop);
        };
        loop {
            let here = left.min(self.pending().len());
            self.start += here;
            left -= here;
            if left == 0 {
                return Ok(());
            }
            self.fill(stream, left.min(DISCARD_STEP)).await?;
        }
    }

    /// Waits, taking in what the client may already send next; false if the
    /// client closes the connection in the meantime.
    pub(crate) async fn wait(
        &mut self,
        stream: &mut TcpStream,
        alarm: &Alarm,
        pause: Duration,
    ) -> bool {
        let over = alarm.wait_until(Instant::now() + pause);
        tokio::pin!(over);
        loop {
            if self.pending().len() > KEEP_CAPACITY {
                over.await;
                return true;
            }
            tokio::select! {
                biased;
                read = self.fill(stream, READ_STEP) => if read.is_err() { return false },
                () = &mut over => return true,
            }
        }
    }

    /// Reads and drops bytes until the client closes the connection.
    pub(crate) async fn drain(&mut self, stream: &mut TcpStream) {
        loop {
            self.start = self.buffer.len();
            if self.fill(stream, DISCARD_STEP).await.is_err() {
                return;
            }
        }
    }

    async fn chunked_body(&mut self, stream: &mut TcpStream) -> Result<Arc<[u8]>, ReadError> {
        let mut body = Vec::new();
        loop {
            let (used, size) = loop {
                match httparse::parse_chunk_size(self.pending()) {
                    Ok(httparse::Status::Complete(found)) => break found,
                    Ok(httparse::Status::Partial) => self.fill(stream, READ_STEP).await?,
                    Err(_) => return Err(bad(400, "the chunk size is invalid")),
                }
            };
            self.start += used;
            let size = usize::try_from(size).unwrap_or(usize::MAX);
            if size == 0 {
                self.skip_trailers(stream).await?;
                return Ok(body.into());
            }
            if size > MAX_BODY - body.len() {
                return Err(too_large());
            }
            self.need(stream, size + 2).await?;
            if &self.pending()[size..size + 2] != b"\r\n" {
                return Err(bad(400, "a chunk does not end where it should"));
            }
            body.extend_from_slice(&self.pending()[..size]);
            self.start += size + 2;
        }
    }

    async fn skip_trailers(&mut self, stream: &mut TcpStream) -> Result<(), ReadError> {
        loop {
            while let Some(end) = self.pending().windows(2).position(|two| two == b"\r\n") {
                self.start += end + 2;
                if end == 0 {
                    return Ok(());
                }
            }
            self.fill(stream, READ_STEP).await?;
        }
    }

    async fn need(&mut self, stream: &mut TcpStream, length: usize) -> Result<(), ReadError> {
        while self.pending().len() < length {
            let missing = length - self.pending().len();
            self.fill(stream, missing).await?;
        }
        Ok(())
    }

    /// Reads once, with room for at least `room` bytes. Safe to cancel.
    async fn fill(&mut self, stream: &mut TcpStream, room: usize) -> Result<(), ReadError> {
        if self.start == self.buffer.len() {
            self.buffer.clear();
            self.start = 0;
            if self.buffer.capacity() > KEEP_CAPACITY.max(room) {
                self.buffer.shrink_to(READ_STEP);
            }
        } else if self.start > 0 && self.buffer.capacity() - self.buffer.len() < room {
            self.buffer.drain(..self.start);
            self.start = 0;
        }
        self.buffer.reserve(room);
        match stream.read_buf(&mut self.buffer).await {
            Ok(0) | Err(_) => Err(ReadError::Gone),
            Ok(_) => Ok(()),
        }
    }
}

fn parse_head(bytes: &[u8], details: bool) -> Result<Option<(Head, usize)>, ReadError> {
    let mut storage = [const { MaybeUninit::uninit() }; MAX_HEADERS];
    let mut parsed = httparse::Request::new(&mut []);
    let used = match parsed.parse_with_uninit_headers(bytes, &mut storage) {
        Ok(httparse::Status::Complete(used)) => used,
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(error) => return Err(bad(400, &format!("the request head is invalid: {error}"))),
    };
    let method = parsed.method.unwrap_or_default();
    let target = parsed.path.unwrap_or_default();
    let (path, query) = target.split_once('?').unwrap_or((target, ""));

    let mut body = Body::Bytes(0);
    let mut keep_alive = parsed.version == Some(1);
    let mut expects_continue = false;
    for header in parsed.headers.iter() {
        let value = header.value;
        if header.name.eq_ignore_ascii_case("content-length") && body != Body::Chunked {
            let length = std::str::from_utf8(value)
                .ok()
                .and_then(|text| text.trim().parse().ok())
                .ok_or_else(|| bad(400, "the content length is invalid"))?;
            if length > MAX_BODY {
                return Err(too_large());
            }
            body = Body::Bytes(length);
        } else if header.name.eq_ignore_ascii_case("transfer-encoding") {
            if !value.eq_ignore_ascii_case(b"chunked") {
                return Err(bad(400, "the transfer encoding is not supported"));
            }
            body = Body::Chunked;
        } else if header.name.eq_ignore_ascii_case("connection") {
            if value.eq_ignore_ascii_case(b"close") {
                keep_alive = false;
            } else if value.eq_ignore_ascii_case(b"keep-alive") {
                keep_alive = true;
            }
        } else if header.name.eq_ignore_ascii_case("expect") {
            expects_continue = value.eq_ignore_ascii_case(b"100-continue");
        }
    }
    let details = if details {
        Details {
            method: method.to_owned(),
            path: path.to_owned(),
            query: query.to_owned(),
            headers: Headers::from_parsed(parsed.headers),
        }
    } else {
        Details::default()
    };
    let head = Head {
        route: route(method, path),
        body,
        keep_alive,
        expects_continue,
        details,
    };
    Ok(Some((head, used)))
}

fn route(method: &str, path: &str) -> Route {
    match (method, path) {
        ("POST", "/v1/chat/completions" | "/chat/completions") => Route::Completion(Shape::Chat),
        ("POST", "/v1/completions" | "/completions" | "/tokenize") => {
            Route::Completion(Shape::Plain)
        }
        ("POST", "/v1/responses" | "/responses") => Route::Completion(Shape::Responses),
        ("POST", "/v1/messages" | "/messages") => Route::Completion(Shape::Messages),
        ("GET", "/v1/models" | "/models") => Route::Models,
        (
            _,
            "/v1/chat/completions"
            | "/chat/completions"
            | "/v1/completions"
            | "/completions"
            | "/v1/responses"
            | "/responses"
            | "/v1/messages"
            | "/messages"
            | "/v1/models"
            | "/models",
        ) => Route::WrongMethod,
        _ => Route::Unknown,
    }
}

fn bad(status: u16, message: &str) -> ReadError {
    ReadError::Bad(status, message.to_owned())
}

fn too_large() -> ReadError {
    bad(413, &format!("the body is larger than {MAX_BODY} bytes"))
}
