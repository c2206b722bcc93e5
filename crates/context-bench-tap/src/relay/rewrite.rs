//! What the tap changes in heads: headers of one connection, the host, the key, the encoding
//! that is asked for. Everything else keeps its spelling, place and repeats.

use url::Url;

use super::settings::{TapEncoding, Upstream};
use super::target::Target;
use crate::attribution::{CALL_HEADER, SyntheticCredential};
use crate::http1::{Framing, Header, RequestHead, ResponseHead, is_hop_by_hop};
use crate::record::Carriers;
use crate::wire::WireFormat;

/// Headers that a client may put its key into.
const KEY_HEADERS: [&str; 4] = ["authorization", "x-api-key", "api-key", "x-goog-api-key"];

/// A request as the upstream gets it.
pub(crate) fn request(
    head: &RequestHead,
    target: &Target,
    upstream: &Upstream,
    encoding: TapEncoding,
    format: WireFormat,
) -> RequestHead {
    let key = upstream
        .credential
        .as_ref()
        .map(super::settings::Credential::key);
    let framing = Framing::of_request(head);
    let mut headers = Vec::with_capacity(head.headers.0.len() + 2);
    let mut has_host = false;
    let mut has_key = key.is_some() && target.parameter("key").is_some();
    for header in &head.headers.0 {
        let mut kept = header.clone();
        if header.is("host") {
            if std::mem::replace(&mut has_host, true) {
                continue;
            }
            kept.value = host(&upstream.base).into_bytes();
        } else if header.is("transfer-encoding") && framing == Ok(Framing::Chunked) {
            // The chunks are passed on as they are.
        } else if is_hop_by_hop(header, &head.headers)
            || header.is(CALL_HEADER)
            // The tap has said `100 Continue` by itself.
            || header.is("expect")
        {
            continue;
        } else if let Some(key) = key
            && KEY_HEADERS.iter().any(|name| header.is(name))
        {
            has_key = true;
            kept.value = key_value(&header.name, key);
        } else if header.is("accept-encoding") {
            match encoding {
                TapEncoding::Identity => kept.value = b"identity".to_vec(),
                TapEncoding::Gzip => kept.value = b"gzip".to_vec(),
                TapEncoding::Passthrough => {}
            }
        }
        headers.push(kept);
    }
    if !has_host {
        headers.insert(0, Header::new("Host", host(&upstream.base)));
    }
    if let Some(key) = key.filter(|_| !has_key) {
        let name = match format {
            WireFormat::AnthropicMessages => "x-api-key",
            WireFormat::Gemini => "x-goog-api-key",
            _ => "authorization",
        };
        headers.push(Header::new(name, key_value(name, key)));
    }
    RequestHead {
        method: head.method.clone(),
        target: target.at(&upstream.base, key),
        minor: 1,
        headers: crate::http1::Headers(headers),
    }
}

/// A response as the client gets it.
pub(crate) fn response(head: &ResponseHead, framing: Framing, closes: bool) -> ResponseHead {
    let kept = head.headers.0.iter().filter(|header| {
        let is_chunked = header.is("transfer-encoding") && framing == Framing::Chunked;
        // A length beside chunks would be a second opinion on where the body ends.
        let is_wrong = header.is("content-length") && framing == Framing::Chunked;
        is_chunked || !is_wrong && !is_hop_by_hop(header, &head.headers)
    });
    let mut headers: Vec<Header> = kept.cloned().collect();
    if closes {
        headers.push(Header::new("Connection", "close"));
    }
    ResponseHead {
        headers: crate::http1::Headers(headers),
        ..head.clone()
    }
}

fn key_value(name: &str, key: &str) -> Vec<u8> {
    match name.eq_ignore_ascii_case("authorization") {
        true => format!("Bearer {key}").into_bytes(),
        false => key.as_bytes().to_vec(),
    }
}

fn host(base: &Url) -> String {
    let host = base.host_str().unwrap_or_default();
    match base.port() {
        Some(port) => format!("{host}:{port}"),
        None => host.to_owned(),
    }
}

/// What may tell whose request this is.
pub(crate) fn carriers(head: &RequestHead, target: &Target) -> Carriers {
    let mut keys = KEY_HEADERS.iter().flat_map(|name| head.headers.all(name));
    let credential = keys.find_map(|header| SyntheticCredential::id_in(&header.text()));
    let in_query = || target.parameter("key").and_then(SyntheticCredential::id_in);
    let retry_count = head.headers.text("x-stainless-retry-count");
    let retry_count = retry_count.and_then(|count| count.trim().parse().ok());
    Carriers {
        credential: credential.or_else(in_query),
        header: head.headers.text(CALL_HEADER).filter(|id| !id.is_empty()),
        query: target.parameter("cb").map(str::to_owned),
        retry_count: retry_count.filter(|count| *count > 0),
    }
}

/// Keys that a request brings along, which must not reach a file.
pub(crate) fn keys_in(head: &RequestHead, target: &Target) -> Vec<String> {
    let headers = KEY_HEADERS.iter().chain(&["proxy-authorization", "cookie"]);
    let values = headers
        .flat_map(|name| head.headers.all(name))
        .map(Header::text);
    let mut keys: Vec<String> = values
        .map(|value| value.rsplit(' ').next().unwrap_or_default().to_owned())
        .collect();
    keys.extend(target.parameter("key").map(str::to_owned));
    keys
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rewritten(text: &str, upstream: &Upstream, encoding: TapEncoding) -> String {
        let (head, _) = RequestHead::parse(text.as_bytes()).unwrap().unwrap();
        let target = Target::of(&head);
        let head = request(&head, &target, upstream, encoding, WireFormat::OpenaiChat);
        String::from_utf8(head.bytes()).unwrap()
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
        let bytes = response(&head, Framing::Chunked, true).bytes();
        assert_eq!(
            String::from_utf8(bytes).unwrap(),
            "HTTP/1.1 200 OK\r\nSet-Cookie: a\r\nset-cookie: b\r\nTransfer-Encoding: chunked\r\n\
            Connection: close\r\n\r\n"
        );
    }
}
