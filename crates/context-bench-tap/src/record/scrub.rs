//! [`Scrubber`]: takes secrets out of whatever is written down. It works on copies; what
//! passes on the wire is never touched.

use std::borrow::Cow;
use std::sync::{PoisonError, RwLock};

use super::scrub_pattern;

/// What is shorter is not looked for: it would be found in any text.
const SHORTEST_KNOWN: usize = 8;
/// A client that sends a new key with every call must not slow all of them down.
const MOST_KNOWN: usize = 256;
/// Headers that hold a secret, or say who pays.
const SECRET_HEADERS: [&str; 12] = [
    "authorization",
    "proxy-authorization",
    "x-api-key",
    "api-key",
    "x-goog-api-key",
    "openai-organization",
    "openai-project",
    "anthropic-organization-id",
    "cookie",
    "set-cookie",
    "cf-ray",
    "x-amz-credential",
];
/// Parts of names of headers that may hold a secret.
const SECRET_PARTS: [&str; 5] = ["token", "secret", "key", "auth", "session"];
/// Headers with such a part that count, or that the analysis needs.
const HARMLESS_PARTS: [&str; 6] = [
    "ratelimit",
    "-tokens-",
    "tokens-saved",
    "tokens-before",
    "tokens-after",
    "max-tokens",
];
/// Parameters of a query that hold a secret.
const SECRET_PARAMETERS: [&str; 5] = ["key", "api_key", "access_token", "sig", "signature"];
const REDACTED: &str = "<redacted>";

/// Knows the secrets of a process and what keys look like.
#[derive(Default)]
pub struct Scrubber {
    known: RwLock<Known>,
}

/// Secrets that are known by heart.
#[derive(Default)]
struct Known {
    /// The longest first, so that a key is found before a part of it.
    spellings: Vec<Vec<u8>>,
}

// It holds keys.
impl std::fmt::Debug for Scrubber {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("Scrubber(…)")
    }
}

impl Scrubber {
    /// One that knows these secrets by heart.
    pub fn new<S: AsRef<str>>(known: impl IntoIterator<Item = S>) -> Self {
        let scrubber = Self::default();
        for secret in known {
            scrubber.learn(secret.as_ref());
        }
        scrubber
    }

    /// From now on this is taken out too, also as JSON and URLs spell it.
    pub fn learn(&self, secret: &str) {
        if secret.len() < SHORTEST_KNOWN {
            return;
        }
        let quoted = serde_json::Value::from(secret).to_string();
        let in_url: String = url::form_urlencoded::byte_serialize(secret.as_bytes()).collect();
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        for spelling in [secret, quoted.trim_matches('"'), &in_url] {
            let is_known = known.spellings.iter().any(|one| one == spelling.as_bytes());
            if !is_known && known.spellings.len() < MOST_KNOWN {
                known.spellings.push(spelling.as_bytes().to_vec());
            }
        }
        known
            .spellings
            .sort_by_key(|one| std::cmp::Reverse(one.len()));
    }

    /// The bytes without secrets; borrowed where there are none.
    pub fn bytes<'a>(&self, bytes: &'a [u8]) -> Cow<'a, [u8]> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        let known = &known.spellings;
        let by_heart = known
            .iter()
            .flat_map(|one| memchr::memmem::find_iter(bytes, one));
        let mut places: Vec<usize> = scrub_pattern::candidates(bytes).chain(by_heart).collect();
        places.sort_unstable();
        let mut out: Vec<u8> = Vec::new();
        let mut done = 0;
        for at in places {
            // Inside of what was taken out already.
            if at < done {
                continue;
            }
            let rest = &bytes[at..];
            let before = at.checked_sub(1).map(|before| bytes[before]);
            let by_heart = known.iter().find(|one| rest.starts_with(one));
            let found = by_heart.map(|one| (one.len(), "credential"));
            let found = found.or_else(|| scrub_pattern::starts_here(before, rest));
            let Some((length, kind)) = found else {
                continue;
            };
            out.extend_from_slice(&bytes[done..at]);
            out.extend_from_slice(format!("<redacted:{kind}>").as_bytes());
            done = at + length;
        }
        if done == 0 {
            return Cow::Borrowed(bytes);
        }
        out.extend_from_slice(&bytes[done..]);
        Cow::Owned(out)
    }

    /// The text without secrets.
    pub fn text(&self, text: &str) -> String {
        String::from_utf8_lossy(&self.bytes(text.as_bytes())).into_owned()
    }

    /// The value of a header, or what stands in its place.
    pub fn header(&self, name: &str, value: &[u8]) -> String {
        let name = name.to_ascii_lowercase();
        let is_harmless = HARMLESS_PARTS.iter().any(|part| name.contains(part));
        let is_secret = SECRET_HEADERS.contains(&name.as_str())
            || name.starts_with("x-amz-sec")
            || name.starts_with("x-amz-sig")
            || !is_harmless && SECRET_PARTS.iter().any(|part| name.contains(part));
        match is_secret {
            true => REDACTED.to_owned(),
            false => self.text(&String::from_utf8_lossy(value)),
        }
    }

    /// A query without the values of secret parameters.
    pub fn query(&self, query: &str) -> String {
        let pairs = query.split('&').map(|pair| match pair.split_once('=') {
            Some((name, _)) if SECRET_PARAMETERS.contains(&name.to_ascii_lowercase().as_str()) => {
                format!("{name}={REDACTED}")
            }
            _ => self.text(pair),
        });
        pairs.collect::<Vec<_>>().join("&")
    }

    /// Where a known secret begins that stands across this place.
    pub(super) fn known_across(&self, bytes: &[u8], cut: usize) -> Option<usize> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        let longest = known.spellings.first().map_or(0, Vec::len);
        (cut.saturating_sub(longest)..cut).find(|start| {
            let rest = &bytes[*start..];
            let mut across = known.spellings.iter().filter(|one| start + one.len() > cut);
            across.any(|one| rest.starts_with(one))
        })
    }

    /// The most bytes that a known secret has.
    pub(super) fn longest(&self) -> usize {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        known.spellings.first().map_or(0, Vec::len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_found_by_heart_and_by_their_looks() {
        let scrubber = Scrubber::new(["pa/ss\"word", "short"]);
        let jwt = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc-_1";
        for (text, expected) in [
            ("say pa/ss\"word now", "say <redacted:credential> now"),
            (r#"{"a":"pa/ss\"word"}"#, r#"{"a":"<redacted:credential>"}"#),
            ("x=pa%2Fss%22word", "x=<redacted:credential>"),
            ("a short text", "a short text"),
            (
                "sk-proj-0123456789abcdef, sk-learn",
                "<redacted:key>, sk-learn",
            ),
            (
                "\"sk-ant-api03-0123456789abcdef\"",
                "\"<redacted:anthropic-key>\"",
            ),
            (
                "task-0123456789-0123456789-0123456789",
                "task-0123456789-0123456789-0123456789",
            ),
            (
                "-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----\nrest",
                "<redacted:private-key>\nrest",
            ),
            (
                "-----BEGIN CERTIFICATE-----\nabc",
                "-----BEGIN CERTIFICATE-----\nabc",
            ),
            (jwt, "<redacted:jwt>"),
            ("eyJ is no token", "eyJ is no token"),
            ("", ""),
        ] {
            assert_eq!(scrubber.text(text), expected, "{text}");
        }
    }

    #[test]
    fn headers_and_queries_lose_their_secrets() {
        let scrubber = Scrubber::default();
        for name in [
            "Authorization",
            "X-Api-Key",
            "Set-Cookie",
            "x-session-id",
            "X-Auth-Thing",
        ] {
            assert_eq!(scrubber.header(name, b"v"), REDACTED, "{name}");
        }
        for name in [
            "content-type",
            "x-ratelimit-remaining-tokens",
            "x-kompact-tokens-saved",
            "anthropic-ratelimit-input-tokens-limit",
        ] {
            assert_eq!(scrubber.header(name, b"v"), "v", "{name}");
        }
        assert_eq!(
            scrubber.query("alt=sse&Key=abc&x"),
            "alt=sse&Key=<redacted>&x"
        );
    }
}
