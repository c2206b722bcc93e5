//! [`Scrubber`]: takes secrets out of whatever is written down. It works on copies; what
//! passes on the wire is never touched.

use std::borrow::Cow;
use std::sync::{PoisonError, RwLock, RwLockReadGuard};

use memchr::memmem::Finder;

use super::scrub_pattern::{self, ByteSet};
use crate::http1::{Headers, contains_ignoring_case};

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
/// Parts of names of parameters that hold a secret.
const SECRET_PARAMETERS: [&str; 7] = [
    "key",
    "token",
    "secret",
    "auth",
    "password",
    "session",
    "signature",
];
const REDACTED: &str = "<redacted>";

/// Knows the secrets of a process and what keys look like.
#[derive(Default)]
pub struct Scrubber {
    known: RwLock<Known>,
}

/// Secrets that are known by heart.
#[derive(Default)]
struct Known {
    /// The longest first, so that a key is found before a part of it. They are kept ready to be
    /// looked for, since that takes longer to prepare than most texts to be searched.
    spellings: Vec<Finder<'static>>,
    /// The bytes that one of them begins with.
    beginnings: ByteSet,
}

impl Known {
    fn has(&self, spelling: &str) -> bool {
        let mut known = self.spellings.iter();
        known.any(|one| one.needle() == spelling.as_bytes())
    }
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
        if secret.len() < SHORTEST_KNOWN || self.known().has(secret) {
            return;
        }
        let quoted = serde_json::Value::from(secret).to_string();
        let in_url: String = url::form_urlencoded::byte_serialize(secret.as_bytes()).collect();
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        for spelling in [secret, quoted.trim_matches('"'), &in_url] {
            if !known.has(spelling) && known.spellings.len() < MOST_KNOWN {
                let finder = Finder::new(spelling.as_bytes()).into_owned();
                known.spellings.push(finder);
                known.beginnings.extend(spelling.bytes().take(1));
            }
        }
        known
            .spellings
            .sort_by_key(|one| std::cmp::Reverse(one.needle().len()));
    }

    fn known(&self) -> RwLockReadGuard<'_, Known> {
        self.known.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// The bytes without secrets; borrowed where there are none.
    pub fn bytes<'a>(&self, bytes: &'a [u8]) -> Cow<'a, [u8]> {
        if bytes.len() < SHORTEST_KNOWN {
            return Cow::Borrowed(bytes);
        }
        let known = self.known();
        let places = candidates(bytes, &known);
        if places.is_empty() {
            return Cow::Borrowed(bytes);
        }
        let known = &known.spellings;
        let mut out: Vec<u8> = Vec::new();
        let mut done = 0;
        for at in places {
            // Inside of what was taken out already.
            if at < done {
                continue;
            }
            let rest = &bytes[at..];
            let before = at.checked_sub(1).map(|before| bytes[before]);
            let by_heart = known.iter().find(|one| rest.starts_with(one.needle()));
            let found = by_heart.map(|one| (one.needle().len(), "credential"));
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
        match self.bytes(text.as_bytes()) {
            Cow::Borrowed(_) => text.to_owned(),
            Cow::Owned(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        }
    }

    /// Takes secrets out of a text where it stands. Most texts have none and stay as they are.
    pub(crate) fn clean(&self, text: &mut String) {
        if let Cow::Owned(bytes) = self.bytes(text.as_bytes()) {
            *text = String::from_utf8_lossy(&bytes).into_owned();
        }
    }

    /// The value of a header, or what stands in its place.
    pub fn header(&self, name: &str, value: &[u8]) -> String {
        match is_secret_header(name) {
            true => REDACTED.to_owned(),
            false => self.text(&String::from_utf8_lossy(value)),
        }
    }

    /// Headers without secrets.
    pub(crate) fn headers(&self, headers: &Headers) -> Headers {
        let clean = headers.iter().map(|header| {
            let value = self.header(header.name, header.value);
            (header.name, value)
        });
        clean.collect()
    }

    /// A query without the values of secret parameters.
    pub fn query(&self, query: &str) -> String {
        let is_secret = |name: &str| {
            let name = name.to_ascii_lowercase();
            name == "sig" || SECRET_PARAMETERS.iter().any(|part| name.contains(part))
        };
        let pairs = query.split('&').map(|pair| match pair.split_once('=') {
            Some((name, _)) if is_secret(name) => {
                format!("{}={REDACTED}", self.text(name))
            }
            _ => self.text(pair),
        });
        pairs.collect::<Vec<_>>().join("&")
    }

    /// Where a known secret begins that stands across this place.
    pub(super) fn known_across(&self, bytes: &[u8], cut: usize) -> Option<usize> {
        let known = self.known();
        let needles = || known.spellings.iter().map(Finder::needle);
        let longest = needles().next().map_or(0, <[u8]>::len);
        (cut.saturating_sub(longest)..cut).find(|start| {
            let rest = &bytes[*start..];
            let mut across = needles().filter(|one| start + one.len() > cut);
            across.any(|one| rest.starts_with(one))
        })
    }

    /// The most bytes that a known secret has.
    pub(super) fn longest(&self) -> usize {
        let known = self.known();
        known.spellings.first().map_or(0, |one| one.needle().len())
    }
}

/// Whether a header of this name, in any case, may hold a secret. Every header of every call is
/// asked about, so that nothing is allocated and most names are passed over once.
fn is_secret_header(name: &str) -> bool {
    let begins = |part: &str| {
        let begin = name.as_bytes().get(..part.len());
        begin.is_some_and(|begin| begin.eq_ignore_ascii_case(part.as_bytes()))
    };
    SECRET_HEADERS
        .iter()
        .any(|known| name.eq_ignore_ascii_case(known))
        || begins("x-amz-sec")
        || begins("x-amz-sig")
        || has_part(name, &SECRET_PARTS) && !has_part(name, &HARMLESS_PARTS)
}

/// Whether a name has one of these parts.
fn has_part(name: &str, parts: &[&str]) -> bool {
    parts.iter().any(|part| contains_ignoring_case(name, part))
}

/// Where a secret may begin, in order.
fn candidates(bytes: &[u8], known: &Known) -> Vec<usize> {
    /// Up to here a look at every byte is faster than a search for every beginning.
    const SHORT: usize = 256;
    let spellings = &known.spellings;
    if bytes.len() > SHORT {
        let by_heart = spellings.iter().flat_map(|one| one.find_iter(bytes));
        let mut places: Vec<usize> = scrub_pattern::candidates(bytes).chain(by_heart).collect();
        places.sort_unstable();
        return places;
    }
    let is_known = |at: usize| {
        let rest = &bytes[at..];
        known.beginnings.has(rest[0]) && spellings.iter().any(|one| rest.starts_with(one.needle()))
    };
    // Of nearly all bytes this alone says that nothing begins there.
    let beginnings = scrub_pattern::BEGINNING_BYTES.with(known.beginnings);
    let places = bytes.iter().enumerate();
    places
        .filter(|(at, byte)| {
            let may_begin = beginnings.has(**byte) || *at > 0 && bytes[at - 1] == b'/';
            may_begin && (scrub_pattern::may_begin(bytes, *at) || is_known(*at))
        })
        .map(|(at, _)| at)
        .collect()
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
            (
                "see https://me:pass@host:1/x?y and http://me@h, http://h:80/a@b",
                "see https://<redacted:user>@host:1/x?y and http://me@h, http://h:80/a@b",
            ),
            ("", ""),
        ] {
            assert_eq!(scrubber.text(text), expected, "{text}");
        }
    }

    /// Short texts are looked at byte by byte and long ones searched: both find the same.
    #[test]
    fn short_and_long_texts_have_the_same_secrets() {
        let scrubber = Scrubber::new(["own-secret", "sk-own", "://odd-one"]);
        let words = [
            "own-secret",
            "own-secre",
            "://odd-one",
            "sk-own-0123456789-abcdef",
            "sk-ant-0123456789-abcdef",
            "AIza0123456789012345678901234567",
            "ghp_0123456789012345678",
            "gho_0123456789012345678",
            "github_pat_0123456789012345678",
            "hf_0123456789012345678",
            "xoxb-0123456789012345678",
            "AKIA0123456789012345678",
            "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc-_1",
            "-----BEGIN PRIVATE KEY-----\n",
            "https://me:pass@host/x",
            "https://host",
            "sk-",
            "://",
            "x",
        ];
        let padding = " plain words".repeat(30);
        for one in words {
            for two in words {
                let text = format!("{one} {two}{one}");
                let long = scrubber.text(&format!("{padding} {text}"));
                let short = scrubber.text(&text);
                assert_eq!(long, format!("{padding} {short}"), "{text}");
            }
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
            "X-AMZ-Signature",
            "x-refresh-token",
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
            scrubber.query("alt=sse&Key=abc&x&client_secret=1&Sig=2&X-Amz-Signature=3"),
            "alt=sse&Key=<redacted>&x&client_secret=<redacted>&Sig=<redacted>&X-Amz-Signature=<redacted>"
        );
    }
}
