//! Heads of requests and responses, from bytes and to bytes.

use std::mem::MaybeUninit;

use super::headers::Headers;

/// More than any API sends; a head that is longer is an attack or not HTTP.
const MAX_HEAD: usize = 256 * 1024;
/// The most headers that are read.
const MAX_HEADERS: usize = 256;

/// Why bytes are not the head of a message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum HeadError {
    #[error("not HTTP/1: {0}")]
    Invalid(String),
    #[error("a head of more than {MAX_HEAD} bytes")]
    TooLong,
}

/// The first line and headers of a request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct RequestHead {
    pub(crate) method: String,
    /// As it was sent: a path, an absolute URL, `host:port` or `*`.
    pub(crate) target: String,
    /// The digit after `HTTP/1.`.
    pub(crate) minor: u8,
    pub(crate) headers: Headers,
}

/// The first line and headers of a response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ResponseHead {
    pub(crate) status: u16,
    pub(crate) reason: String,
    pub(crate) minor: u8,
    pub(crate) headers: Headers,
}

/// Whether it is worth reading the head that these bytes begin with: it is short, has ended or is
/// too long. A long one that comes byte by byte is not to be read anew for each of them.
/// `seen` bytes were there at the last look.
pub(crate) fn is_readable(bytes: &[u8], seen: usize) -> bool {
    /// What is no HTTP shows in its first bytes.
    const SHORT: usize = 4096;
    let from = seen.saturating_sub(2).min(bytes.len());
    let is_end = |at: usize| {
        let rest = &bytes[from + at + 1..];
        rest.starts_with(b"\n") || rest.starts_with(b"\r\n")
    };
    let has_ended = || memchr::memchr_iter(b'\n', &bytes[from..]).any(is_end);
    bytes.len() < SHORT || bytes.len() >= MAX_HEAD || has_ended()
}

impl RequestHead {
    /// The head at the start of these bytes and how long it is; none while it is incomplete.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Option<(Self, usize)>, HeadError> {
        let mut headers = [const { MaybeUninit::uninit() }; MAX_HEADERS];
        let mut request = httparse::Request::new(&mut []);
        let parsed = request.parse_with_uninit_headers(bytes, &mut headers);
        let Some(length) = complete(parsed, bytes)? else {
            return Ok(None);
        };
        let head = Self {
            method: request.method.unwrap_or_default().to_owned(),
            target: request.path.unwrap_or_default().to_owned(),
            minor: request.version.unwrap_or(1),
            headers: owned(request.headers),
        };
        Ok(Some((head, length)))
    }

    /// Whether another request may follow on this connection.
    pub(crate) fn keeps_alive(&self) -> bool {
        keeps_alive(self.minor, &self.headers)
    }

    /// The head as bytes, always as HTTP/1.1.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(512);
        out.extend_from_slice(format!("{} {} HTTP/1.1\r\n", self.method, self.target).as_bytes());
        self.headers.write(&mut out);
        out.extend_from_slice(b"\r\n");
        out
    }
}

impl ResponseHead {
    /// The head at the start of these bytes and how long it is; none while it is incomplete.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Option<(Self, usize)>, HeadError> {
        let mut headers = [const { MaybeUninit::uninit() }; MAX_HEADERS];
        let mut response = httparse::Response::new(&mut []);
        let config = httparse::ParserConfig::default();
        let parsed = config.parse_response_with_uninit_headers(&mut response, bytes, &mut headers);
        let Some(length) = complete(parsed, bytes)? else {
            return Ok(None);
        };
        let head = Self {
            status: response.code.unwrap_or_default(),
            reason: response.reason.unwrap_or_default().to_owned(),
            minor: response.version.unwrap_or(1),
            headers: owned(response.headers),
        };
        Ok(Some((head, length)))
    }

    /// Whether another request may follow on this connection.
    pub(crate) fn keeps_alive(&self) -> bool {
        keeps_alive(self.minor, &self.headers)
    }

    /// The head as bytes, always as HTTP/1.1.
    #[cfg(test)]
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(512);
        out.extend_from_slice(format!("HTTP/1.1 {} {}\r\n", self.status, self.reason).as_bytes());
        self.headers.write(&mut out);
        out.extend_from_slice(b"\r\n");
        out
    }
}

fn complete(parsed: httparse::Result<usize>, bytes: &[u8]) -> Result<Option<usize>, HeadError> {
    match parsed {
        Ok(httparse::Status::Complete(length)) if length <= MAX_HEAD => Ok(Some(length)),
        Ok(httparse::Status::Partial) if bytes.len() < MAX_HEAD => Ok(None),
        Ok(_) => Err(HeadError::TooLong),
        Err(error) => Err(HeadError::Invalid(error.to_string())),
    }
}

fn owned(headers: &[httparse::Header<'_>]) -> Headers {
    let names = headers.iter().map(|one| one.name.len()).sum();
    let values = headers.iter().map(|one| one.value.len()).sum();
    let mut owned = Headers::with_room(headers.len(), names, values);
    for header in headers {
        owned.push(header.name, header.value);
    }
    owned
}

fn keeps_alive(minor: u8, headers: &Headers) -> bool {
    let says = |word: &str| headers.says("connection", word);
    match minor {
        0 => says("keep-alive") && !says("close"),
        _ => !says("close"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_keep_spelling_order_and_repeats() {
        let bytes = b"POST /v1/x?a=1 HTTP/1.1\r\nHost: h\r\nX-A: 1\r\nx-b: 2\r\nx-a: 3\r\n\r\nbody";
        let (head, length) = RequestHead::parse(bytes).unwrap().unwrap();
        assert_eq!(&bytes[length..], b"body");
        assert_eq!(head.bytes(), &bytes[..length]);
        assert_eq!(RequestHead::parse(&bytes[..30]), Ok(None));
        let bytes = b"HTTP/1.1 429 Slow down\r\nSet-Cookie: a\r\nSet-Cookie: b\r\n\r\n";
        let (head, length) = ResponseHead::parse(bytes).unwrap().unwrap();
        assert_eq!(length, bytes.len());
        assert_eq!(head.bytes(), bytes);
    }

    #[test]
    fn what_is_no_head_is_refused() {
        assert!(RequestHead::parse(b"\x16\x03\x01 hello\r\n\r\n").is_err());
        let long = [b"GET / HTTP/1.1\r\nx: ".as_slice(), &vec![b'a'; MAX_HEAD]].concat();
        assert_eq!(RequestHead::parse(&long), Err(HeadError::TooLong));
    }

    #[test]
    fn long_heads_are_read_once_they_have_ended() {
        for end in ["\r\n\r\n", "\n\n", "\n\r\n"] {
            let head = format!("GET / HTTP/1.1\r\nx: {}{end}", "a".repeat(5000));
            let reads = (1..=head.len()).filter(|seen| {
                let bytes = &head.as_bytes()[..*seen];
                *seen >= 4096 && is_readable(bytes, seen - 1)
            });
            assert_eq!(reads.collect::<Vec<_>>(), [head.len()]);
            assert!(is_readable(head.as_bytes(), 4096));
        }
        assert!(is_readable(b"", 0) && is_readable(&vec![b'a'; MAX_HEAD], 5000));
    }

    #[test]
    fn connections_stay_open_as_their_version_says() {
        for (minor, connection, expected) in [
            (1, None, true),
            (1, Some("Close"), false),
            (1, Some("x, close"), false),
            (0, None, false),
            (0, Some("Keep-Alive"), true),
        ] {
            let headers = connection.map(|value| ("Connection", value));
            let headers = headers.into_iter().collect();
            assert_eq!(keeps_alive(minor, &headers), expected, "{connection:?}");
        }
    }
}
