//! HTTP/1.1 response bytes: heads, chunk framing, reason phrases, dates.
//!
//! Pure functions from data to bytes; nothing here writes to a socket.

use std::io::Write as _;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// How the length of a response body is announced.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Length {
    Bytes(usize),
    Chunked,
    /// Whatever comes before the connection ends.
    UntilClose,
}

/// The interim reply to `Expect: 100-continue`.
pub(crate) const CONTINUE: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";

/// The chunk that ends a chunked body.
pub(crate) const LAST_CHUNK: &[u8] = b"0\r\n\r\n";

/// A response head, with room for a body of the announced length behind it.
pub(crate) fn head(
    status: u16,
    content_type: &str,
    headers: &[(String, String)],
    length: Length,
    close: bool,
) -> Vec<u8> {
    let room = match length {
        Length::Bytes(bytes) => bytes,
        Length::Chunked | Length::UntilClose => 2048,
    };
    let mut out = Vec::with_capacity(256 + room);
    line(
        &mut out,
        format_args!("HTTP/1.1 {status} {}", reason(status)),
    );
    let named = |wanted: &str| {
        headers
            .iter()
            .any(|(name, _)| name.eq_ignore_ascii_case(wanted))
    };
    if !named("content-type") {
        line(&mut out, format_args!("content-type: {content_type}"));
    }
    match length {
        Length::Bytes(bytes) => line(&mut out, format_args!("content-length: {bytes}")),
        Length::Chunked => line(&mut out, format_args!("transfer-encoding: chunked")),
        Length::UntilClose => {}
    }
    for (name, value) in headers {
        line(&mut out, format_args!("{name}: {value}"));
    }
    if close {
        line(&mut out, format_args!("connection: close"));
    }
    out.extend_from_slice(b"\r\n");
    out
}

/// A head and its body in one piece.
pub(crate) fn whole(
    status: u16,
    content_type: &str,
    headers: &[(String, String)],
    body: &[u8],
    close: bool,
) -> Vec<u8> {
    let mut out = head(
        status,
        content_type,
        headers,
        Length::Bytes(body.len()),
        close,
    );
    out.extend_from_slice(body);
    out
}

/// One chunk of a chunked body.
pub(crate) fn chunk(data: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(data.len() + 16);
    line(&mut out, format_args!("{:x}", data.len()));
    out.extend_from_slice(data);
    out.extend_from_slice(b"\r\n");
    out
}

/// The HTTP date this many seconds from now, rounded up to a whole second.
pub(crate) fn date_in(seconds: u64) -> String {
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    let rounded = now.as_secs() + u64::from(now.subsec_nanos() > 0) + seconds;
    httpdate::fmt_http_date(UNIX_EPOCH + Duration::from_secs(rounded))
}

fn line(out: &mut Vec<u8>, text: std::fmt::Arguments<'_>) {
    // Writing to a Vec cannot fail.
    let _ = write!(out, "{text}\r\n");
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        206 => "Partial Content",
        302 => "Found",
        304 => "Not Modified",
        307 => "Temporary Redirect",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        409 => "Conflict",
        413 => "Payload Too Large",
        416 => "Range Not Satisfiable",
        422 => "Unprocessable Entity",
        429 => "Too Many Requests",
        431 => "Request Header Fields Too Large",
        500 => "Internal Server Error",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        529 => "Overloaded",
        _ => "Status",
    }
}
