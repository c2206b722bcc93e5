//! Keys and passwords: held here, sent in a header, shown nowhere.
//!
//! A `Secret` cannot be printed, and `Secrets` takes every known one out of
//! text that came from outside before that text reaches an error. Nothing here
//! reads the environment; the caller passes keys in.

use std::fmt;

/// What stands where a secret was.
const MASK: &str = "[redacted]";

/// Secrets shorter than this are only replaced where they stand alone, since a
/// dummy key such as `x` would otherwise make every message unreadable.
const SHORT: usize = 4;

/// How much of a body is looked at for an excerpt; far more than is ever shown.
const EXCERPT_SOURCE: usize = 64 * 1024;

/// A key or password. Its `Debug` shows nothing and it has no `Display`.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Keeps this text secret, without the whitespace around it: keys that are
    /// read from files or variables often end in a newline.
    pub fn new(text: impl AsRef<str>) -> Self {
        Self(text.as_ref().trim().to_owned())
    }

    /// Whether there is no key at all.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The secret itself, for the header that carries it and nothing else.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// The text without this secret.
    pub fn redact(&self, text: &str) -> String {
        redact_one(text, &self.0)
    }
}

impl From<&str> for Secret {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

impl From<String> for Secret {
    fn from(text: String) -> Self {
        Self::new(text)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Secret({MASK})")
    }
}

/// All secrets of one client, or of a command line, longest first.
#[derive(Debug, Clone, Default)]
pub struct Secrets(Vec<Secret>);

impl Secrets {
    /// Takes the non-empty ones of these. Longer ones go first, so that a secret
    /// that is part of another leaves no remains of it.
    pub fn new(secrets: impl IntoIterator<Item = Secret>) -> Self {
        let mut secrets: Vec<Secret> = secrets.into_iter().filter(|s| !s.is_empty()).collect();
        // JSON may write `/` as `\/`; bodies are shown as they came.
        let escaped: Vec<Secret> = secrets
            .iter()
            .filter(|secret| secret.0.contains('/'))
            .map(|secret| Secret(secret.0.replace('/', "\\/")))
            .collect();
        secrets.extend(escaped);
        secrets.sort_by_key(|secret| std::cmp::Reverse(secret.0.len()));
        Self(secrets)
    }

    /// The text without any of the secrets.
    pub fn redact(&self, text: &str) -> String {
        self.0
            .iter()
            .fold(text.to_owned(), |text, secret| secret.redact(&text))
    }

    /// The beginning of what a server sent, for an error: one line, without
    /// secrets or control characters, at most `limit` characters and `…`.
    ///
    /// Secrets go before the text is cut, so that no half of one remains.
    pub(crate) fn excerpt(&self, bytes: &[u8], limit: usize) -> String {
        let bytes = &bytes[..bytes.len().min(EXCERPT_SOURCE)];
        let text = self.redact(&String::from_utf8_lossy(bytes));
        let plain: String = text
            .chars()
            .map(|c| if c.is_control() { ' ' } else { c })
            .collect();
        let mut line = plain.split_whitespace().collect::<Vec<_>>().join(" ");
        if let Some((cut, _)) = line.char_indices().nth(limit) {
            line.truncate(cut);
            line.push('…');
        }
        line
    }
}

fn redact_one(text: &str, secret: &str) -> String {
    if secret.is_empty() || !text.contains(secret) {
        return text.to_owned();
    }
    if secret.len() >= SHORT {
        return text.replace(secret, MASK);
    }
    let mut out = String::with_capacity(text.len());
    let mut done = 0;
    for (at, _) in text.match_indices(secret) {
        let end = at + secret.len();
        let joined = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
        if joined(text[..at].chars().next_back()) || joined(text[end..].chars().next()) {
            continue;
        }
        out.push_str(&text[done..at]);
        out.push_str(MASK);
        done = end;
    }
    out.push_str(&text[done..]);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_shows_nothing() {
        assert_eq!(
            format!("{:?}", Secret::new("sk-12345")),
            "Secret([redacted])"
        );
    }

    #[test]
    fn keys_are_taken_out_of_text() {
        for (key, text, expected) in [
            ("sk-12345", "no key here", "no key here"),
            ("sk-12345", "ask-12345678", "a[redacted]678"),
            (
                "sk-12345\n",
                "Bearer sk-12345, sk-12345",
                "Bearer [redacted], [redacted]",
            ),
            (
                "k",
                "Bearer k: unknown key k",
                "Bearer [redacted]: unknown key [redacted]",
            ),
            ("k", "okay", "okay"),
            (
                "sk-a/b/c/d",
                r#"{"got":"sk-a\/b\/c\/d"}"#,
                r#"{"got":"[redacted]"}"#,
            ),
            ("", "anything", "anything"),
        ] {
            let secrets = Secrets::new([Secret::new(key)]);
            assert_eq!(secrets.redact(text), expected, "{key}");
        }
    }

    #[test]
    fn excerpts_are_redacted_before_they_are_cut() {
        let secrets = Secrets::new([Secret::new("sk-0123456789")]);
        assert_eq!(
            secrets.excerpt(b"key:\n sk-0123456789 is bad", 14),
            "key: [redacted…"
        );
        assert_eq!(secrets.excerpt(b" fine ", 4), "fine");
        assert_eq!(secrets.excerpt(b"\xff\x00", 4), "\u{fffd}");
    }

    #[test]
    fn a_secret_inside_another_leaves_no_remains() {
        let secrets = Secrets::new([Secret::new("password"), Secret::new("my-password-2")]);
        assert_eq!(
            secrets.redact("my-password-2 password"),
            "[redacted] [redacted]"
        );
    }
}
