//! The access token: held here, sent to the hub, shown nowhere.

use std::fmt;

/// A Hugging Face access token. Its `Debug` shows nothing and it has no `Display`.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

impl Token {
    /// Keeps this text secret, without the line ends that token files have;
    /// nothing when it is blank.
    pub fn new(text: &str) -> Option<Self> {
        let text = text.replace(['\r', '\n'], "");
        let text = text.trim();
        (!text.is_empty()).then(|| Self(text.to_owned()))
    }

    /// The token itself, for the header that carries it and nothing else.
    pub(crate) fn expose(&self) -> &str {
        &self.0
    }

    /// The text without this token.
    pub(crate) fn redact(&self, text: &str) -> String {
        text.replace(&self.0, "[redacted]")
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token([redacted])")
    }
}

#[cfg(test)]
mod tests {
    use super::Token;

    #[test]
    fn a_token_is_trimmed_and_never_shown() {
        let token = Token::new(" hf_abc\r\n").expect("not blank");
        assert_eq!(token.expose(), "hf_abc");
        assert_eq!(format!("{token:?}"), "Token([redacted])");
        assert_eq!(token.redact("bad hf_abc!"), "bad [redacted]!");
        assert_eq!(Token::new(" \n"), None);
    }
}
