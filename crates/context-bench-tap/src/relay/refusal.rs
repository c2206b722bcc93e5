//! What the tap answers by itself, in the shape that clients of every API can read.

use serde_json::json;

/// The bytes of a whole answer, after which the connection closes.
pub(crate) fn answer(status: u16, code: &str, message: &str) -> Vec<u8> {
    let reason = match status {
        400 => "Bad Request",
        426 => "Upgrade Required",
        504 => "Gateway Timeout",
        _ => "Bad Gateway",
    };
    let body = json!({
        "type": "error",
        "error": {"type": "tap_error", "code": code, "message": message},
    });
    let body = body.to_string();
    let head = format!(
        "HTTP/1.1 {status} {reason}\r\nContent-Type: application/json\r\n\
        Content-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    [head, body].concat().into_bytes()
}
