//! One request of HTTP/1.1 and its answer: all that a page on loopback needs.
//!
//! Sizes and times are bounded, so that nobody who connects can make the server hold more than a
//! few kilobytes or wait for ever.

use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::time::timeout;

/// Most bytes of a head. A page asks with a few hundred.
const MAX_HEAD: usize = 16 * 1024;
/// Most lines of a head.
const MAX_HEADERS: usize = 64;
/// Most bytes of a body. Actions have none to speak of.
const MAX_BODY: usize = 4 * 1024;
/// How long a connection may stay silent between requests.
const IDLE: Duration = Duration::from_secs(60);
/// How long a request that has begun may take to arrive, and an answer to be taken.
const TRANSFER: Duration = Duration::from_secs(20);

/// A request that was read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Request {
    pub(crate) method: String,
    /// Before the question mark, as it was sent.
    pub(crate) path: String,
    /// After the question mark.
    pub(crate) query: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) keeps_alive: bool,
}

impl Request {
    /// The only header of that name; one that is there twice is none.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut own = self
            .headers
            .iter()
            .filter(|(known, _)| known.eq_ignore_ascii_case(name));
        let first = own.next()?;
        own.next().is_none().then_some(first.1.as_str())
    }

    /// Whether there is any header of that name.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.headers
            .iter()
            .any(|(known, _)| known.eq_ignore_ascii_case(name))
    }
}

/// Why there is no request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NoRequest {
    /// The other side has closed or is silent: nothing to say.
    Over,
    /// It is not one that can be answered, with the status that says why.
    Refused(u16),
}

/// Reads requests of one connection. What came behind a request belongs to the next.
pub(crate) struct Reader<R> {
    from: R,
    read: Vec<u8>,
}

impl<R: AsyncRead + Unpin> Reader<R> {
    pub(crate) fn new(from: R) -> Self {
        Self {
            from,
            read: Vec::new(),
        }
    }

    /// The next request. Its body is read and dropped: no action takes any.
    pub(crate) async fn next(&mut self) -> Result<Request, NoRequest> {
        if self.read.is_empty() {
            match timeout(IDLE, self.more()).await {
                Ok(Ok(true)) => {}
                _ => return Err(NoRequest::Over),
            }
        }
        match timeout(TRANSFER, self.request()).await {
            Ok(found) => found,
            Err(_) => Err(NoRequest::Refused(408)),
        }
    }

    async fn request(&mut self) -> Result<Request, NoRequest> {
        loop {
            if let Some((request, length)) = parse(&self.read)? {
                let body = body_length(&request)?;
                while self.read.len() < length + body {
                    self.more_or_over().await?;
                }
                self.read.drain(..length + body);
                return Ok(request);
            }
            if self.read.len() >= MAX_HEAD {
                return Err(NoRequest::Refused(431));
            }
            self.more_or_over().await?;
        }
    }

    async fn more_or_over(&mut self) -> Result<(), NoRequest> {
        match self.more().await {
            Ok(true) => Ok(()),
            _ => Err(NoRequest::Over),
        }
    }

    /// Reads what has come; whether anything did.
    async fn more(&mut self) -> std::io::Result<bool> {
        let mut part = [0; 4096];
        let n = self.from.read(&mut part).await?;
        self.read.extend_from_slice(&part[..n]);
        Ok(n > 0)
    }
}

/// The head at the beginning of some bytes and its length; `None` before it is whole.
fn parse(bytes: &[u8]) -> Result<Option<(Request, usize)>, NoRequest> {
    let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
    let mut head = httparse::Request::new(&mut headers);
    let length = match head.parse(bytes) {
        Ok(httparse::Status::Complete(length)) if length <= MAX_HEAD => length,
        Ok(httparse::Status::Complete(_)) => return Err(NoRequest::Refused(431)),
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(httparse::Error::TooManyHeaders) => return Err(NoRequest::Refused(431)),
        Err(_) => return Err(NoRequest::Refused(400)),
    };
    let (Some(method), Some(target)) = (head.method, head.path) else {
        return Err(NoRequest::Refused(400));
    };
    // Only the form that servers are asked with: no proxy is wanted here.
    if !target.starts_with('/') {
        return Err(NoRequest::Refused(400));
    }
    let mut known = Vec::with_capacity(head.headers.len());
    for header in head.headers.iter() {
        let value = std::str::from_utf8(header.value).map_err(|_| NoRequest::Refused(400))?;
        known.push((header.name.to_owned(), value.trim().to_owned()));
    }
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let mut request = Request {
        method: method.to_owned(),
        path: path.to_owned(),
        query: query.to_owned(),
        headers: known,
        keeps_alive: head.version == Some(1),
    };
    let closes = request.header("connection");
    if closes.is_some_and(|value| value.eq_ignore_ascii_case("close")) {
        request.keeps_alive = false;
    }
    Ok(Some((request, length)))
}

/// How long the body of a request is. What cannot be told for sure is refused: two readings of one
/// length are how requests are smuggled.
fn body_length(request: &Request) -> Result<usize, NoRequest> {
    if request.has("transfer-encoding") {
        return Err(NoRequest::Refused(501));
    }
    if !request.has("content-length") {
        return Ok(0);
    }
    let length = request.header("content-length");
    let length = length.filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()));
    match length.and_then(|text| text.parse::<usize>().ok()) {
        Some(length) if length <= MAX_BODY => Ok(length),
        Some(_) => Err(NoRequest::Refused(413)),
        None => Err(NoRequest::Refused(400)),
    }
}

/// What is answered.
#[derive(Debug, Clone)]
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) kind: &'static str,
    pub(crate) body: Vec<u8>,
}

impl Response {
    pub(crate) fn new(status: u16, kind: &'static str, body: impl Into<Vec<u8>>) -> Self {
        Self {
            status,
            kind,
            body: body.into(),
        }
    }

    /// A sentence, for people and for the page.
    pub(crate) fn text(status: u16, what: &str) -> Self {
        Self::new(status, "text/plain; charset=utf-8", format!("{what}\n"))
    }
}

/// What a page of ours may do: run our script, use our style, ask us. Nothing else, and the browser
/// refuses to parse texts as markup.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
     base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
     require-trusted-types-for 'script'; trusted-types 'none'";

/// Sends an answer; with `head_only`, everything but its body.
pub(crate) async fn send<W: AsyncWrite + Unpin>(
    to: &mut W,
    response: &Response,
    keeps_alive: bool,
    head_only: bool,
) -> std::io::Result<()> {
    let head = format!(
        "HTTP/1.1 {} {}\r\nContent-Type: {}\r\nContent-Length: {}\r\nConnection: {}\r\n\
         Cache-Control: no-store\r\nContent-Security-Policy: {POLICY}\r\n\
         X-Content-Type-Options: nosniff\r\nX-Frame-Options: DENY\r\n\
         Referrer-Policy: no-referrer\r\nCross-Origin-Resource-Policy: same-origin\r\n\
         Cross-Origin-Opener-Policy: same-origin\r\n\r\n",
        response.status,
        reason(response.status),
        response.kind,
        response.body.len(),
        if keeps_alive { "keep-alive" } else { "close" },
    );
    let whole = async {
        to.write_all(head.as_bytes()).await?;
        if !head_only {
            // In parts, each with its own time: a large answer may take longer than a small one.
            for part in response.body.chunks(256 * 1024) {
                match timeout(TRANSFER, to.write_all(part)).await {
                    Ok(done) => done?,
                    Err(_) => return Err(std::io::ErrorKind::TimedOut.into()),
                }
            }
        }
        to.flush().await
    };
    whole.await
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        409 => "Conflict",
        413 => "Content Too Large",
        421 => "Misdirected Request",
        431 => "Request Header Fields Too Large",
        501 => "Not Implemented",
        503 => "Service Unavailable",
        _ => "Internal Server Error",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn read(bytes: &[u8]) -> Vec<Result<Request, NoRequest>> {
        let mut reader = Reader::new(bytes);
        let mut found = Vec::new();
        loop {
            let next = reader.next().await;
            let ends = next.is_err();
            found.push(next);
            if ends {
                return found;
            }
        }
    }

    #[tokio::test]
    async fn requests_follow_each_other_and_bodies_are_dropped() {
        let bytes = b"GET /a?b=c HTTP/1.1\r\nHost: x\r\n\r\nPOST /d HTTP/1.1\r\nContent-Length: 3\r\n\r\nabcGET /e HTTP/1.0\r\n\r\n";
        let found = read(bytes).await;
        let asked: Vec<_> = found.iter().flatten().collect();
        let shown: Vec<_> = asked
            .iter()
            .map(|one| {
                (
                    one.method.as_str(),
                    one.path.as_str(),
                    one.query.as_str(),
                    one.keeps_alive,
                )
            })
            .collect();
        assert_eq!(
            shown,
            [
                ("GET", "/a", "b=c", true),
                ("POST", "/d", "", true),
                ("GET", "/e", "", false)
            ]
        );
        assert_eq!(asked[0].header("HOST"), Some("x"));
        assert_eq!(found.last(), Some(&Err(NoRequest::Over)));
    }

    #[tokio::test]
    async fn what_is_not_a_request_is_refused_by_its_reason() {
        let long = format!("GET / HTTP/1.1\r\nA: {}\r\n\r\n", "x".repeat(20_000));
        let many = format!("GET / HTTP/1.1\r\n{}\r\n", "A: b\r\n".repeat(100));
        for (bytes, status) in [
            ("\u{1}\u{2}\r\n\r\n", 400),
            ("GET http://elsewhere/ HTTP/1.1\r\n\r\n", 400),
            ("GET / HTTP/9.9\r\n\r\n", 400),
            (long.as_str(), 431),
            (many.as_str(), 431),
            ("POST / HTTP/1.1\r\nContent-Length: 5000\r\n\r\n", 413),
            ("POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", 400),
            (
                "POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
                400,
            ),
            (
                "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
                501,
            ),
        ] {
            let found = read(bytes.as_bytes()).await;
            assert_eq!(found, [Err(NoRequest::Refused(status))], "{bytes:.60}");
        }
        // Bytes that are no text, and a head that never ends.
        assert_eq!(
            read(b"GET / HTTP/1.1\r\nA: \xff\r\n\r\n").await,
            [Err(NoRequest::Refused(400))]
        );
        assert_eq!(
            read(b"GET / HTTP/1.1\r\nA: b").await,
            [Err(NoRequest::Over)]
        );
    }
}
