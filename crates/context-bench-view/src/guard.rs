//! Who may ask: pages of this very server, with its token.
//!
//! The server is on loopback, but every page of the web can make a browser send requests there.
//! A foreign page is known by the name it asks for (`Host`: DNS that points at 127.0.0.1) or by
//! where it comes from (`Origin`, `Sec-Fetch-Site`), and it has not got the token, which travels in
//! a header of its own: no form and no image can send it, and a script only after a question that
//! is never answered. Other programs of this machine have not got it either.

use crate::http::{Request, Response};

/// The header with the token.
pub(crate) const TOKEN: &str = "x-context-bench-token";

/// Who may ask.
pub(crate) struct Guard {
    token: String,
    /// The names that the server has, with its port.
    hosts: [String; 2],
}

impl Guard {
    /// A guard with a new token, for a server on that port.
    pub(crate) fn new(port: u16) -> std::io::Result<Self> {
        let mut bytes = [0_u8; 24];
        getrandom::fill(&mut bytes).map_err(std::io::Error::other)?;
        Ok(Self {
            token: bytes.iter().map(|byte| format!("{byte:02x}")).collect(),
            hosts: [format!("127.0.0.1:{port}"), format!("localhost:{port}")],
        })
    }

    pub(crate) fn token(&self) -> &str {
        &self.token
    }

    /// The answer to a request that has no business here.
    pub(crate) fn refusal(&self, request: &Request) -> Option<Response> {
        let host = request.header("host");
        if !host.is_some_and(|host| self.is_own(host)) {
            return Some(Response::text(421, "this server has another name"));
        }
        let is_foreign = request.has("origin")
            && !request
                .header("origin")
                .and_then(|origin| origin.strip_prefix("http://"))
                .is_some_and(|host| self.is_own(host));
        let site = request.header("sec-fetch-site").unwrap_or("none");
        let is_data = request.path.starts_with("/api/");
        // A link on another page may lead to the start, where there is nothing to see or to do
        // without the token.
        let is_cross = is_data && !matches!(site, "none" | "same-origin");
        if is_foreign || is_cross {
            return Some(Response::text(
                403,
                "pages of other servers get nothing here",
            ));
        }
        if is_data && !self.has_token(request) {
            return Some(Response::text(
                401,
                "the token is missing; open the address that `context-bench view` printed",
            ));
        }
        None
    }

    fn is_own(&self, host: &str) -> bool {
        self.hosts.iter().any(|own| own.eq_ignore_ascii_case(host))
    }

    /// Takes the same time wherever a wrong token differs.
    fn has_token(&self, request: &Request) -> bool {
        let given = request.header(TOKEN).unwrap_or_default().as_bytes();
        let own = self.token.as_bytes();
        let differing = own
            .iter()
            .zip(given)
            .fold(0_u8, |differing, (a, b)| differing | (a ^ b));
        given.len() == own.len() && differing == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(guard: &Guard, path: &str, headers: &[(&str, &str)]) -> u16 {
        let headers = headers
            .iter()
            .map(|(a, b)| ((*a).to_owned(), (*b).to_owned()));
        let request = Request {
            method: "GET".into(),
            path: path.into(),
            headers: headers.collect(),
            ..Request::default()
        };
        guard
            .refusal(&request)
            .map_or(200, |refusal| refusal.status)
    }

    #[test]
    fn only_own_pages_with_the_token_get_data() {
        let guard = Guard::new(4000).expect("random bytes");
        let token = guard.token().to_owned();
        let own = [("Host", "127.0.0.1:4000"), (TOKEN, token.as_str())];
        let with = |more: (&'static str, &'static str)| [own[0], own[1], more];
        assert_eq!(status(&guard, "/api/runs", &own), 200);
        assert_eq!(
            status(
                &guard,
                "/api/runs",
                &with(("Origin", "http://localhost:4000"))
            ),
            200
        );
        assert_eq!(status(&guard, "/", &own[..1]), 200);
        // DNS that was pointed here, another port, no name, two names.
        for host in [
            "evil.example:4000",
            "127.0.0.1",
            "127.0.0.1:4001",
            "127.0.0.1:4000.evil",
        ] {
            assert_eq!(
                status(&guard, "/", &[("Host", host), own[1]]),
                421,
                "{host}"
            );
        }
        assert_eq!(status(&guard, "/", &own[1..]), 421);
        assert_eq!(status(&guard, "/", &[own[0], own[0], own[1]]), 421);
        for origin in [
            "http://evil.example",
            "null",
            "https://127.0.0.1:4000",
            "http://127.0.0.1:1",
        ] {
            let headers = [own[0], own[1], ("Origin", origin)];
            assert_eq!(status(&guard, "/api/runs", &headers), 403, "{origin}");
        }
        assert_eq!(
            status(&guard, "/api/runs", &with(("Sec-Fetch-Site", "cross-site"))),
            403
        );
        assert_eq!(
            status(&guard, "/api/runs", &with(("Sec-Fetch-Site", "same-site"))),
            403
        );
        for wrong in [
            "",
            "x",
            &token[1..],
            &format!("{token}0"),
            &token.to_uppercase().replace('A', "B"),
        ] {
            let headers = [own[0], (TOKEN, wrong)];
            assert_eq!(status(&guard, "/api/runs", &headers), 401, "{wrong}");
        }
        assert_eq!(status(&guard, "/api/runs", &own[..1]), 401);
    }
}
