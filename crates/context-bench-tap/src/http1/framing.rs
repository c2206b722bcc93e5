//! [`Framing`]: how the end of a body is told.

use super::head::{RequestHead, ResponseHead};
use super::headers::Headers;

/// How the end of a body is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Framing {
    /// There is no body.
    Empty,
    /// So many bytes.
    Length(u64),
    /// In chunks that each say how long they are.
    Chunked,
    /// The connection closes. Only responses may end like this.
    UntilClose,
}

impl Framing {
    /// Of a request. Lengths that disagree, or stand beside chunks, are refused: two readers
    /// of such a message would see two different requests.
    pub(crate) fn of_request(head: &RequestHead) -> Result<Self, String> {
        let length = content_length(&head.headers)?;
        match (is_chunked(&head.headers)?, length) {
            (true, Some(_)) => Err("both a content-length and chunks".to_owned()),
            (true, None) => Ok(Self::Chunked),
            (false, Some(0) | None) => Ok(Self::Empty),
            (false, Some(length)) => Ok(Self::Length(length)),
        }
    }

    /// Of the answer to a request of this method.
    pub(crate) fn of_response(head: &ResponseHead, method: &str) -> Result<Self, String> {
        if method == "HEAD" || head.status < 200 || matches!(head.status, 204 | 304) {
            return Ok(Self::Empty);
        }
        let length = content_length(&head.headers)?;
        match (is_chunked(&head.headers)?, length) {
            (true, _) => Ok(Self::Chunked),
            (false, Some(0)) => Ok(Self::Empty),
            (false, Some(length)) => Ok(Self::Length(length)),
            (false, None) => Ok(Self::UntilClose),
        }
    }
}

fn content_length(headers: &Headers) -> Result<Option<u64>, String> {
    let mut said = None;
    for header in headers.all("content-length") {
        let words = header.value.split(|byte| *byte == b',');
        for word in words.map(<[u8]>::trim_ascii) {
            if word.is_empty() {
                continue;
            }
            let length = number(word);
            let length = length.ok_or_else(|| "a content-length that is no number".to_owned())?;
            if said.is_some_and(|before| before != length) {
                return Err("two different content-lengths".to_owned());
            }
            said = Some(length);
        }
    }
    Ok(said)
}

/// Digits and nothing else.
fn number(word: &[u8]) -> Option<u64> {
    word.iter().try_fold(0_u64, |number, byte| {
        let digit = byte.is_ascii_digit().then(|| u64::from(byte - b'0'))?;
        number.checked_mul(10)?.checked_add(digit)
    })
}

fn is_chunked(headers: &Headers) -> Result<bool, String> {
    if headers.get("transfer-encoding").is_none() {
        return Ok(false);
    }
    let words = headers.words("transfer-encoding");
    match words.as_slice() {
        [] => Ok(false),
        [one] if one == "chunked" => Ok(true),
        [one] if one == "identity" => Ok(false),
        _ => Err(format!("transfer-encoding `{}`", words.join(", "))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(headers: &str) -> Result<Framing, String> {
        let text = format!("POST / HTTP/1.1\r\n{headers}\r\n");
        let (head, _) = RequestHead::parse(text.as_bytes()).unwrap().unwrap();
        Framing::of_request(&head)
    }

    #[test]
    fn requests_say_where_they_end() {
        assert_eq!(request(""), Ok(Framing::Empty));
        assert_eq!(request("Content-Length: 0\r\n"), Ok(Framing::Empty));
        assert_eq!(request("content-length: 12\r\n"), Ok(Framing::Length(12)));
        assert_eq!(
            request("Transfer-Encoding: Chunked\r\n"),
            Ok(Framing::Chunked)
        );
        for refused in [
            "content-length: 1\r\ncontent-length: 2\r\n",
            "content-length: +1\r\n",
            "content-length: 1\r\ntransfer-encoding: chunked\r\n",
            "transfer-encoding: gzip, chunked\r\n",
        ] {
            assert!(request(refused).is_err(), "{refused}");
        }
    }

    #[test]
    fn responses_say_where_they_end() {
        for (status, method, headers, expected) in [
            (200, "POST", "", Framing::UntilClose),
            (200, "HEAD", "content-length: 5\r\n", Framing::Empty),
            (204, "POST", "", Framing::Empty),
            (304, "GET", "content-length: 5\r\n", Framing::Empty),
            (500, "POST", "content-length: 5\r\n", Framing::Length(5)),
            (
                200,
                "GET",
                "transfer-encoding: chunked\r\n",
                Framing::Chunked,
            ),
        ] {
            let text = format!("HTTP/1.1 {status} x\r\n{headers}\r\n");
            let (head, _) = ResponseHead::parse(text.as_bytes()).unwrap().unwrap();
            assert_eq!(Framing::of_response(&head, method), Ok(expected));
        }
    }
}
