//! Where chat requests go: from what a user writes to one address.
//!
//! Credentials in a URL are taken out at once and kept as secrets; what is
//! displayed never holds them, nor the query, which may carry a key. Nothing
//! here opens a connection.

use std::fmt;

use url::Url;

use super::api::Api;
use super::secret::Secret;
use crate::digest;
use crate::error::Hint;
use crate::mask::{self, Mask};

/// Where text is continued; also the end of the address for chats.
const COMPLETIONS_PATH: &str = "/completions";

/// The address of a chat endpoint.
///
/// `Display` writes it without credentials and without its query.
#[derive(Clone, PartialEq, Eq)]
pub struct Endpoint {
    url: Url,
    api: Api,
    credentials: Option<Credentials>,
}

/// A user and password for basic authentication.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Credentials {
    pub(crate) user: String,
    pub(crate) password: Secret,
}

impl Endpoint {
    /// Reads a base URL of an endpoint for chat completions; see [`Endpoint::of`].
    ///
    /// # Errors
    ///
    /// When the text is not an absolute `http` or `https` URL with a host, or the address of
    /// another API.
    pub fn parse(text: &str) -> Result<Self, EndpointError> {
        Self::of(Api::Openai, text)
    }

    /// Reads a base URL of an endpoint that is asked in this format. It may end in `/v1` or
    /// not, in any number of slashes, or be the whole address ending in the path of the API
    /// (`/chat/completions`, also plain `/completions`; `/responses`; `/messages`), which is
    /// then used as it is. A query is kept for the requests.
    ///
    /// # Errors
    ///
    /// When the text is not an absolute `http` or `https` URL with a host, or the address of
    /// another API.
    pub fn of(api: Api, text: &str) -> Result<Self, EndpointError> {
        let text = text.trim();
        if text.is_empty() {
            return Err(EndpointError::Empty);
        }
        let shown = || without_credentials(text);
        let Some((scheme, _)) = text.split_once("://") else {
            return Err(EndpointError::NoScheme { url: shown() });
        };
        if !["http", "https"].contains(&scheme.to_ascii_lowercase().as_str()) {
            return Err(EndpointError::BadScheme { url: shown() });
        }
        let mut url = Url::parse(text).map_err(|error| match error {
            url::ParseError::EmptyHost => EndpointError::NoHost { url: shown() },
            other => EndpointError::Invalid {
                url: shown(),
                reason: other.to_string(),
            },
        })?;
        // The URL standard reads `http:///v1` as host `v1`; that is never meant.
        if authority(text).is_none_or(str::is_empty) {
            return Err(EndpointError::NoHost { url: shown() });
        }
        let credentials = take_credentials(&mut url);
        url.set_fragment(None);
        let path = url.path().trim_end_matches('/').to_owned();
        // What stands before `/v1` may be called anything.
        let is_of = |other: &Api| {
            let plain = *other == Api::Openai && path.ends_with("/v1/completions");
            plain || path.ends_with(&format!("/v1{}", other.path()))
        };
        if let Some(other) = Api::ALL.iter().find(|other| **other != api && is_of(other)) {
            return Err(EndpointError::OtherApi {
                url: shown(),
                api,
                other: *other,
            });
        }
        let continues = api == Api::Openai && path.ends_with(COMPLETIONS_PATH);
        url.set_path(&if continues || path.ends_with(api.path()) {
            path
        } else if path.ends_with("/v1") {
            path + api.path()
        } else {
            path + "/v1" + api.path()
        });
        Ok(Self {
            url,
            api,
            credentials,
        })
    }

    /// The format in which it is asked.
    pub fn api(&self) -> Api {
        self.api
    }

    /// Whether messages are sent there; else it continues plain text.
    pub fn is_chat(&self) -> bool {
        self.url.path().ends_with(self.api.path())
    }

    /// The address beside this one that continues plain text.
    #[must_use]
    pub fn completions(&self) -> Self {
        let path = format!("{}{COMPLETIONS_PATH}", self.base());
        let mut beside = self.clone();
        beside.api = Api::Openai;
        beside.url.set_path(&path);
        beside
    }

    /// The path of the address without what the API adds.
    fn base(&self) -> &str {
        let path = self.url.path();
        path.strip_suffix(self.api.path())
            .or_else(|| path.strip_suffix(COMPLETIONS_PATH))
            .unwrap_or(path)
    }

    /// The address of something beside the completions, such as `models`.
    #[must_use]
    pub(crate) fn beside(&self, name: &str) -> Self {
        let path = format!("{}/{name}", self.base());
        let mut other = self.clone();
        other.url.set_path(&path);
        other
    }

    /// The address of something at the root of the server, such as `tokenize`.
    #[must_use]
    pub(crate) fn at_root(&self, name: &str) -> Self {
        let base = self.base();
        let path = format!("{}/{name}", base.strip_suffix("/v1").unwrap_or(base));
        let mut other = self.clone();
        other.url.set_path(&path);
        other
    }

    /// The address to send to; it holds no credentials, but it may have a query.
    pub(crate) fn url(&self) -> &Url {
        &self.url
    }

    /// The credentials that the URL carried.
    pub(crate) fn credentials(&self) -> Option<&Credentials> {
        self.credentials.as_ref()
    }

    /// Everything in the URL that must not be shown.
    pub(crate) fn secrets(&self) -> Vec<Secret> {
        let parameters = self.url.query_pairs();
        let parameters = parameters.filter(|(name, _)| mask::is_secret(name));
        parameters
            .map(|(_, value)| Secret::new(value))
            .chain(self.credentials.iter().map(|known| known.password.clone()))
            .collect()
    }

    /// The address as data for identities: what decides where a request goes,
    /// without credentials; a query may hold a key and is digested.
    pub(crate) fn identity(&self) -> String {
        let mut shown = self.url.clone();
        shown.set_query(None);
        let shown = Mask::Digest.text(shown.as_str());
        match self.url.query() {
            Some(query) => format!("{shown}?{}", digest::hex(query.as_bytes())),
            None => shown,
        }
    }

    /// Whether the host is this machine.
    pub fn is_loopback(&self) -> bool {
        context_bench_http::is_loopback(&self.url)
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = self.url.clone();
        shown.set_query(None);
        // A path may hold a key, too.
        f.write_str(&Mask::Dots.text(shown.as_str()))
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Endpoint({self})")
    }
}

fn take_credentials(url: &mut Url) -> Option<Credentials> {
    let user = percent_decoded(url.username());
    let password = percent_decoded(url.password().unwrap_or_default());
    // Both fail only for a URL without a host, which cannot have credentials.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    (!user.is_empty() || !password.is_empty()).then(|| Credentials {
        user,
        password: Secret::new(password),
    })
}

/// `%40` as `@` and so on; anything that is not an escape stays as it is.
fn percent_decoded(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let escape = text
            .get(at + 1..at + 3)
            .filter(|digits| bytes[at] == b'%' && digits.bytes().all(|b| b.is_ascii_hexdigit()))
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        out.push(escape.unwrap_or(bytes[at]));
        at += if escape.is_some() { 3 } else { 1 };
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// The name for a proxy that was given none: the host of its URL in lower case,
/// without port, credentials, path or brackets. Without a recognisable host
/// (`localhost:7878`), the text itself, still without credentials.
pub fn derive_name(url: &str) -> String {
    let Some(authority) = authority(url) else {
        return without_credentials(url);
    };
    let host = match authority.strip_prefix('[') {
        Some(rest) => rest.split(']').next(),
        None => authority.split(':').next(),
    };
    match host {
        Some(host) if !host.is_empty() => host.to_lowercase(),
        _ if authority.is_empty() => without_credentials(url),
        _ => authority.to_owned(),
    }
}

/// What stands between `://` and the path (or the whole text up to its first
/// slash), port and case kept, credentials left out.
pub(crate) fn host_part(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    without_user(rest.split(['/', '?', '#', '\\']).next().unwrap_or_default())
}

/// `host:port` of a text with a scheme (or that starts with `//`).
fn authority(url: &str) -> Option<&str> {
    let rest = match url.split_once("://") {
        Some((scheme, rest)) if is_scheme(scheme) => rest,
        _ => url.strip_prefix("//")?,
    };
    rest.split(['/', '?', '#', '\\']).next().map(without_user)
}

fn is_scheme(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
}

fn without_user(authority: &str) -> &str {
    authority
        .rsplit_once('@')
        .map_or(authority, |(_, host)| host)
}

/// A URL that may be wrong, for showing: everything up to its last `@` is left
/// out, because in a malformed URL it is unclear where a password ends.
fn without_credentials(text: &str) -> String {
    let text = text.split(['?', '#']).next().unwrap_or_default();
    match (text.split_once("://"), text.rsplit_once('@')) {
        (Some((scheme, _)), Some((_, rest))) => format!("{scheme}://{rest}"),
        (None, Some((_, rest))) => rest.to_owned(),
        (_, None) => text.to_owned(),
    }
}

/// Why a text is not the address of an endpoint.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EndpointError {
    /// Nothing was written.
    #[error("the URL of the endpoint is empty")]
    Empty,
    /// There is no `http://` before the host.
    #[error("the URL `{url}` has no scheme")]
    NoScheme {
        /// The text without credentials.
        url: String,
    },
    /// The scheme is neither `http` nor `https`.
    #[error("the URL `{url}` is neither http nor https")]
    BadScheme {
        /// The text without credentials.
        url: String,
    },
    /// There is no host.
    #[error("the URL `{url}` has no host")]
    NoHost {
        /// The text without credentials.
        url: String,
    },
    /// It is the address of another API than the one that is spoken.
    #[error("the address `{url}` is for `{other}`, and it is to be asked as `{api}`")]
    OtherApi {
        /// The text without credentials.
        url: String,
        /// How it is to be asked.
        api: Api,
        /// What the address is for.
        other: Api,
    },
    /// The text is not a URL for another reason.
    #[error("`{url}` is not a URL: {reason}")]
    Invalid {
        /// The text without credentials.
        url: String,
        /// What is wrong with it.
        reason: String,
    },
}

impl Hint for EndpointError {
    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::NoScheme { url } => format!("write `http://{}`", url.trim_start_matches('/')),
            Self::BadScheme { .. } => "the URL must start with `http://` or `https://`".into(),
            Self::OtherApi { other, .. } => {
                format!("say `--api {other}` (`api: {other}`), or name the base URL alone")
            }
            _ => "write the base URL of the endpoint, such as `http://localhost:8080`".into(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_base_url_becomes_one_address() {
        for (text, expected) in [
            ("http://h:1//", "http://h:1/v1/chat/completions"),
            ("http://h", "http://h/v1/chat/completions"),
            ("http://h/v1", "http://h/v1/chat/completions"),
            ("http://h/v1///", "http://h/v1/chat/completions"),
            (
                "http://h/v1/chat/completions/",
                "http://h/v1/chat/completions",
            ),
            (
                "https://h/openai/chat/completions?api-version=1",
                "https://h/openai/chat/completions",
            ),
            (" HTTP://H/prefix/ ", "http://h/prefix/v1/chat/completions"),
            ("http://h/xv1", "http://h/xv1/v1/chat/completions"),
            ("https://u:p@h:1/a", "https://h:1/a/v1/chat/completions"),
            ("http://[::1]:8080", "http://[::1]:8080/v1/chat/completions"),
            ("http://h/v1/completions/", "http://h/v1/completions"),
        ] {
            let endpoint = Endpoint::parse(text).expect(text);
            assert_eq!(endpoint.to_string(), expected, "{text}");
        }
    }

    #[test]
    fn each_api_has_its_address() {
        for (api, text, address, models) in [
            (
                Api::Anthropic,
                "http://h",
                "http://h/v1/messages",
                "http://h/v1/models",
            ),
            (
                Api::Anthropic,
                "http://h/v1/",
                "http://h/v1/messages",
                "http://h/v1/models",
            ),
            (
                Api::Anthropic,
                "http://h/p/messages",
                "http://h/p/messages",
                "http://h/p/models",
            ),
            (
                Api::Anthropic,
                "http://h/completions",
                "http://h/completions/v1/messages",
                "http://h/completions/v1/models",
            ),
            (
                Api::Responses,
                "http://h/v1",
                "http://h/v1/responses",
                "http://h/v1/models",
            ),
            (
                Api::Responses,
                "http://h/v1/responses",
                "http://h/v1/responses",
                "http://h/v1/models",
            ),
        ] {
            let endpoint = Endpoint::of(api, text).expect(text);
            assert_eq!(endpoint.to_string(), address, "{text}");
            assert_eq!(endpoint.beside("models").to_string(), models, "{text}");
            assert!(endpoint.is_chat(), "{text}");
        }
        for (api, text, other) in [
            (Api::Openai, "http://u:p@h/v1/messages", Api::Anthropic),
            (Api::Responses, "http://h/v1/completions", Api::Openai),
            (Api::Openai, "http://h/v1/responses/", Api::Responses),
            (
                Api::Anthropic,
                "http://h/v1/chat/completions?k=1",
                Api::Openai,
            ),
        ] {
            let error = Endpoint::of(api, text).expect_err(text);
            assert!(!error.to_string().contains("u:p"), "{error}");
            let hint = error.hint().expect("advice");
            assert!(hint.contains(&format!("`--api {other}`")), "{hint}");
        }
    }

    #[test]
    fn the_address_for_plain_text_is_beside_that_for_messages() {
        for (text, is_chat, beside, tokenize) in [
            (
                "http://h/p?k=1",
                true,
                "http://h/p/v1/completions",
                "http://h/p/tokenize",
            ),
            (
                "http://h/v1/completions",
                false,
                "http://h/v1/completions",
                "http://h/tokenize",
            ),
            (
                "http://h/openai/chat/completions",
                true,
                "http://h/openai/completions",
                "http://h/openai/tokenize",
            ),
        ] {
            let endpoint = Endpoint::parse(text).expect(text);
            assert_eq!(endpoint.is_chat(), is_chat, "{text}");
            assert_eq!(endpoint.completions().to_string(), beside, "{text}");
            assert!(!endpoint.completions().is_chat(), "{text}");
            assert_eq!(endpoint.at_root("tokenize").to_string(), tokenize, "{text}");
        }
    }

    #[test]
    fn credentials_and_queries_are_used_but_not_shown() {
        let endpoint = Endpoint::parse("https://me:p%40ss@h/v1?key=abc").expect("valid");
        let known = endpoint.credentials().expect("given");
        assert_eq!(
            (known.user.as_str(), known.password.expose()),
            ("me", "p@ss")
        );
        assert_eq!(endpoint.url().query(), Some("key=abc"));
        assert_eq!(
            endpoint.secrets(),
            [Secret::new("abc"), Secret::new("p@ss")]
        );
        let shown = format!("{endpoint} {endpoint:?}");
        assert!(!shown.contains("ss") && !shown.contains("abc"), "{shown}");
    }

    #[test]
    fn what_is_wrong_is_said_with_advice_and_without_credentials() {
        for (text, message, hint) in [
            (
                " ",
                "the URL of the endpoint is empty",
                "http://localhost:8080",
            ),
            (
                "localhost:8080",
                "the URL `localhost:8080` has no scheme",
                "write `http://localhost:8080`",
            ),
            ("u:pw@h", "the URL `h` has no scheme", "write `http://h`"),
            (
                "ftp://u:pw@h",
                "the URL `ftp://h` is neither http nor https",
                "`https://`",
            ),
            ("http://", "the URL `http://` has no host", "localhost"),
            (
                "http:///v1",
                "the URL `http:///v1` has no host",
                "localhost",
            ),
            (
                "http://u:p/w@h:x",
                "`http://h:x` is not a URL: invalid port number",
                "localhost",
            ),
        ] {
            let error = Endpoint::parse(text).expect_err(text);
            assert_eq!(error.to_string(), message, "{text}");
            assert!(error.hint().expect("advice").contains(hint), "{text}");
        }
    }

    #[test]
    fn names_come_from_the_host() {
        for (url, expected) in [
            ("http://localhost:7878", "localhost"),
            ("localhost:7878", "localhost:7878"),
            ("https://USER:pw@My.Host:80/v1", "my.host"),
            ("http://[::1]:80/", "::1"),
            ("myhost", "myhost"),
            ("http://192.168.1.1:8080/x", "192.168.1.1"),
            ("//Host:80/x", "host"),
            ("http://:80", ":80"),
            ("me:pw@host:80", "host:80"),
        ] {
            assert_eq!(derive_name(url), expected, "{url}");
        }
        for (url, expected) in [
            ("http://localhost:8080/", "localhost:8080"),
            ("http://myhost.com/prefix", "myhost.com"),
            ("https://u:p@h:1/a", "h:1"),
            ("h:9", "h:9"),
            ("http://My.Host?key=1", "My.Host"),
        ] {
            assert_eq!(host_part(url), expected, "{url}");
        }
    }
}
