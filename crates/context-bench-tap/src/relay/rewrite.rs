//! What the tap changes in heads: headers of one connection, the host, the key, the encoding
//! that is asked for. Everything else keeps its spelling, place and repeats.

use std::io::Write as _;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use url::Url;

use super::settings::{TapEncoding, Upstream};
use super::target::Target;
use crate::attribution::{CALL_HEADER, SyntheticCredential};
use crate::http1::{Framing, RequestHead, ResponseHead, is_hop_by_hop, write_line};
use crate::record::Carriers;
use crate::wire::WireFormat;

/// Headers that a client may put its key into.
const KEY_HEADERS: [&str; 4] = ["authorization", "x-api-key", "api-key", "x-goog-api-key"];

/// Writes the head of a request as the upstream gets it, always as HTTP/1.1.
pub(crate) fn request(
    out: &mut Vec<u8>,
    head: &RequestHead,
    target: &Target,
    upstream: &Upstream,
    encoding: TapEncoding,
    format: WireFormat,
    framing: Framing,
) {
    let key = upstream
        .credential
        .as_ref()
        .map(super::settings::Credential::key);
    for part in [&head.method, " ", &target.at(&upstream.base, key)] {
        out.extend_from_slice(part.as_bytes());
    }
    out.extend_from_slice(b" HTTP/1.1\r\n");
    let host = host(&upstream.base);
    if head.headers.get("host").is_none() {
        write_line(out, "Host", host.as_bytes());
    }
    let mut has_host = false;
    let mut has_key = key.is_some() && target.parameter("key").is_some();
    for header in head.headers.iter() {
        let name = header.name;
        if header.is("host") {
            if !std::mem::replace(&mut has_host, true) {
                write_line(out, name, host.as_bytes());
            }
        } else if header.is("transfer-encoding") && framing == Framing::Chunked {
            // The chunks are passed on as they are.
            write_line(out, name, header.value);
        } else if is_hop_by_hop(header, &head.headers)
            || header.is(CALL_HEADER)
            // The tap has said `100 Continue` by itself.
            || header.is("expect")
        {
            continue;
        } else if let Some(key) = key
            && KEY_HEADERS.iter().any(|known| header.is(known))
        {
            has_key = true;
            write_line(out, name, &key_value(name, key));
        } else if header.is("accept-encoding") {
            let value: &[u8] = match encoding {
                TapEncoding::Identity => b"identity",
                TapEncoding::Gzip => b"gzip",
                TapEncoding::Passthrough => header.value,
            };
            write_line(out, name, value);
        } else {
            write_line(out, name, header.value);
        }
    }
    if let Some(key) = key.filter(|_| !has_key) {
        let name = match format {
            WireFormat::AnthropicMessages => "x-api-key",
            WireFormat::Gemini => "x-goog-api-key",
            _ => "authorization",
        };
        write_line(out, name, &key_value(name, key));
    }
    out.extend_from_slice(b"\r\n");
}

/// Writes the head of a response as the client gets it, always as HTTP/1.1.
pub(crate) fn response(out: &mut Vec<u8>, head: &ResponseHead, framing: Framing, closes: bool) {
    out.extend_from_slice(b"HTTP/1.1 ");
    // Memory never fails to be written to.
    let _ = write!(out, "{}", head.status);
    for part in [" ", &head.reason, "\r\n"] {
        out.extend_from_slice(part.as_bytes());
    }
    for header in head.headers.iter() {
        let is_chunked = header.is("transfer-encoding") && framing == Framing::Chunked;
        // A length beside chunks would be a second opinion on where the body ends.
        let is_wrong = header.is("content-length") && framing == Framing::Chunked;
        if is_chunked || !is_wrong && !is_hop_by_hop(header, &head.headers) {
            write_line(out, header.name, header.value);
        }
    }
    if closes {
        write_line(out, "Connection", b"close");
    }
    out.extend_from_slice(b"\r\n");
}

fn key_value(name: &str, key: &str) -> Vec<u8> {
    match name.eq_ignore_ascii_case("authorization") {
        true => format!("Bearer {key}").into_bytes(),
        false => key.as_bytes().to_vec(),
    }
}

fn host(base: &Url) -> &str {
    &base[url::Position::BeforeHost..url::Position::AfterPort]
}

/// What may tell whose request this is.
pub(crate) fn carriers(head: &RequestHead, target: &Target) -> Carriers {
    let mut keys = KEY_HEADERS.iter().flat_map(|name| head.headers.all(name));
    let credential = keys.find_map(|header| {
        let id = std::str::from_utf8(header.value).ok();
        id.and_then(SyntheticCredential::id_in)
    });
    let in_query = || target.parameter("key").and_then(SyntheticCredential::id_in);
    let retry_count = head.headers.text("x-stainless-retry-count");
    let retry_count = retry_count.and_then(|count| count.trim().parse().ok());
    Carriers {
        credential: credential.or_else(in_query).map(Arc::from),
        header: head
            .headers
            .text(CALL_HEADER)
            .filter(|id| !id.is_empty())
            .map(Arc::from),
        query: target.parameter("cb").map(Arc::from),
        retry_count: retry_count.filter(|count| *count > 0),
    }
}

/// Shows the keys that a request brings along, which must not reach a file. Ours open nothing,
/// and every call has another.
pub(crate) fn keys_in(head: &RequestHead, target: &Target, mut learn: impl FnMut(&str)) {
    let is_ours = |key: &str| SyntheticCredential::id_in(key).is_some();
    let names = KEY_HEADERS.iter().chain(&["proxy-authorization"]);
    for header in names.flat_map(|name| head.headers.all(name)) {
        let value = header.text();
        let key = value.rsplit(' ').next().unwrap_or_default();
        if is_ours(key) {
            continue;
        }
        learn(key);
        // `Basic` hides a user and a password, which others may repeat in the clear.
        let decoded = STANDARD.decode(key).ok();
        let decoded = decoded.and_then(|bytes| String::from_utf8(bytes).ok());
        if let Some((_, password)) = decoded.as_deref().and_then(|text| text.split_once(':'))
            && !is_ours(password)
        {
            learn(password);
        }
    }
    for header in head.headers.all("cookie") {
        let cookies = header.text();
        let values = cookies.split(';').filter_map(|one| one.split_once('='));
        let values = values.map(|(_, value)| value.trim());
        values.filter(|value| !is_ours(value)).for_each(&mut learn);
    }
    if let Some(key) = target.parameter("key").filter(|key| !is_ours(key)) {
        learn(key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rewritten(text: &str, upstream: &Upstream, encoding: TapEncoding) -> String {
        let (head, _) = RequestHead::parse(text.as_bytes()).unwrap().unwrap();
        let target = Target::of(&head);
        let framing = Framing::of_request(&head).unwrap();
        let format = WireFormat::OpenaiChat;
        let mut out = Vec::new();
        request(
            &mut out, &head, &target, upstream, encoding, format, framing,
        );
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn only_what_must_change_changes() {
        let upstream = Upstream::new(Url::parse("https://api.example.com:444/v1").unwrap());
        let with_key = upstream.clone().with_credential("real");
        let text = "POST /a/x/v1/chat/completions HTTP/1.1\r\nhOST: 127.0.0.1:1\r\nX-B: 1\r\n\
            Connection: keep-alive, x-hop\r\nX-Hop: 1\r\nAccept-Encoding: br\r\nX-A: 2\r\nx-b: 3\r\n\
            Authorization: Bearer sk-cb-1\r\nX-CB-Call: 7\r\nContent-Length: 4\r\n\r\n";
        assert_eq!(
            rewritten(text, &with_key, TapEncoding::Identity),
            "POST /v1/chat/completions HTTP/1.1\r\nhOST: api.example.com:444\r\nX-B: 1\r\n\
            Accept-Encoding: identity\r\nX-A: 2\r\nx-b: 3\r\nAuthorization: Bearer real\r\n\
            Content-Length: 4\r\n\r\n"
        );
        let own = rewritten(text, &upstream, TapEncoding::Passthrough);
        assert!(own.contains("Accept-Encoding: br\r\n") && own.contains("Bearer sk-cb-1"));
        let bare =
            "POST /v1/x HTTP/1.0\r\nTransfer-Encoding: chunked\r\nExpect: 100-continue\r\n\r\n";
        assert_eq!(
            rewritten(bare, &with_key, TapEncoding::Identity),
            "POST /v1/x HTTP/1.1\r\nHost: api.example.com:444\r\nTransfer-Encoding: chunked\r\n\
            authorization: Bearer real\r\n\r\n"
        );
    }

    #[test]
    fn carriers_are_found() {
        let id = "abcdefghijklmnopqrstuvwxyz";
        let text = format!(
            "POST /a/x/v1?cb=q HTTP/1.1\r\nx-api-key: sk-cb-{id}\r\nX-Cb-Call: h\r\n\
            x-stainless-retry-count: 2\r\n\r\n"
        );
        let (head, _) = RequestHead::parse(text.as_bytes()).unwrap().unwrap();
        let carriers = carriers(&head, &Target::of(&head));
        assert_eq!(carriers.credential.as_deref(), Some(id));
        assert_eq!(carriers.header.as_deref(), Some("h"));
        assert_eq!(carriers.query.as_deref(), Some("q"));
        assert_eq!(carriers.retry_count, Some(2));
    }

    #[test]
    fn responses_keep_all_but_their_connection() {
        let text = "HTTP/1.1 200 OK\r\nSet-Cookie: a\r\nKeep-Alive: 5\r\nset-cookie: b\r\n\
            Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n";
        let (head, _) = ResponseHead::parse(text.as_bytes()).unwrap().unwrap();
        let mut bytes = Vec::new();
        response(&mut bytes, &head, Framing::Chunked, true);
        assert_eq!(
            String::from_utf8(bytes).unwrap(),
            "HTTP/1.1 200 OK\r\nSet-Cookie: a\r\nset-cookie: b\r\nTransfer-Encoding: chunked\r\n\
            Connection: close\r\n\r\n"
        );
    }
}
