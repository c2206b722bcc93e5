//! Which headers belong to one connection and are not passed on.

use super::headers::{Header, Headers};

/// The names that RFC 9110 and habit give to one connection.
const HOP_BY_HOP: [&str; 9] = [
    "connection",
    "keep-alive",
    "proxy-connection",
    "proxy-authenticate",
    "proxy-authorization",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// Whether a header ends at the tap: one of the known names, or one that `connection` names.
/// A `content-length` never does, whatever `connection` says: the body would lose its end.
pub(crate) fn is_hop_by_hop(header: Header<'_>, headers: &Headers) -> bool {
    let is_named = || headers.says("connection", header.name);
    HOP_BY_HOP.iter().any(|name| header.is(name)) || !header.is("content-length") && is_named()
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
