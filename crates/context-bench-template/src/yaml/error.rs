//! What is wrong with a YAML text, where, and what to do about it.

use std::fmt;

use context_bench_error::{Hint, Place, Position};

/// A YAML text that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    message: String,
    place: Place,
    hint: Option<String>,
}

impl Error {
    pub(crate) fn new(message: impl Into<String>, place: Place) -> Self {
        Self {
            message: message.into(),
            place,
            hint: None,
        }
    }

    pub(crate) fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// An error of those who give tags a meaning.
    pub fn custom(message: impl Into<String>, place: Place, hint: impl Into<String>) -> Self {
        Self::new(message, place).with_hint(hint)
    }

    /// What happened, without the place.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Where it happened.
    pub fn place(&self) -> &Place {
        &self.place
    }
}

impl Hint for Error {
    fn hint(&self) -> Option<String> {
        self.hint.clone()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}\n  at {}", self.message, self.place)
    }
}

impl std::error::Error for Error {}

/// A key that stands twice in one mapping; the last value is used, as in PyYAML.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DuplicateKey {
    /// The key as Python prints it.
    pub key: String,
    /// Where it stands first.
    pub first: Position,
    /// Where it stands again.
    pub again: Position,
}

impl fmt::Display for DuplicateKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "key `{}` at {} was already given at {}; the last one counts",
            self.key, self.again, self.first
        )
    }
}
