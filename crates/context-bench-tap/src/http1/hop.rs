//! Which headers belong to one connection and are not passed on.

use super::headers::{Header, Headers};

/// The names that RFC 9110 and habit give to one connection, as far as they are as long as this
/// one: every header of every call is asked.
fn as_long_as(name: &str) -> &'static [&'static str] {
    match name.len() {
        2 => &["te"],
        7 => &["trailer", "upgrade"],
        10 => &["connection", "keep-alive"],
        16 => &["proxy-connection"],
        17 => &["transfer-encoding"],
        18 => &["proxy-authenticate"],
        19 => &["proxy-authorization"],
        _ => &[],
    }
}

/// Whether a header ends at the tap: one of the known names, or one that `connection` names.
/// A `content-length` never does, whatever `connection` says: the body would lose its end.
pub(crate) fn is_hop_by_hop(header: Header<'_>, headers: &Headers) -> bool {
    let is_named = || headers.says("connection", header.name);
    as_long_as(header.name).iter().any(|name| header.is(name))
        || is_named() && !header.is("content-length")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_of_one_connection_are_known() {
        let headers: Headers = [
            ("Connection", "close, X-Own"),
            ("connection", "content-length"),
            ("x-own", "1"),
            ("Keep-Alive", "5"),
            ("proxy-CONNECTION", "close"),
            ("Transfer-Encoding", "chunked"),
            ("Proxy-Authenticate", "Basic"),
            ("Proxy-Authorization", "Basic x"),
            ("Trailer", "x"),
            ("upgrade", "x"),
            ("X-Other", "1"),
            ("TE", "trailers"),
            ("Content-Length", "3"),
        ]
        .into_iter()
        .collect();
        let kept: Vec<&str> = headers
            .iter()
            .filter(|header| !is_hop_by_hop(*header, &headers))
            .map(|header| header.name)
            .collect();
        assert_eq!(kept, ["X-Other", "Content-Length"]);
    }
}
