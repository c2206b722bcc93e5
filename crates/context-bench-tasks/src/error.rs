//! What is wrong with a task, a group or a selection, where, and what to do.

use std::fmt;

use context_bench_error::{Hint, Place};
use context_bench_template::{jinja, yaml};

/// A problem with what a user wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    message: String,
    place: Option<Place>,
    hint: Option<String>,
    package: Option<String>,
}

/// The result of most operations here.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// An error without a place or a hint yet.
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            place: None,
            hint: None,
            package: None,
        }
    }

    /// The same error with the Python package whose absence is the reason, if it is one.
    #[must_use]
    pub fn missing_package(mut self, package: Option<String>) -> Self {
        self.package = package;
        self
    }

    /// The Python package that is not installed, when that is the reason.
    pub fn package(&self) -> Option<&str> {
        self.package.as_deref()
    }

    /// The same error with the place it concerns, unless it has one.
    #[must_use]
    pub fn at(mut self, place: &Place) -> Self {
        self.place.get_or_insert_with(|| place.clone());
        self
    }

    /// The same error with a hint, unless it has one.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint.get_or_insert_with(|| hint.into());
        self
    }

    /// The same error with this hint instead of its own.
    #[must_use]
    pub fn hinted(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Like [`Error::with_hint`], when there is a hint.
    #[must_use]
    pub fn with_some_hint(self, hint: Option<String>) -> Self {
        match hint {
            Some(hint) => self.with_hint(hint),
            None => self,
        }
    }

    /// The same error with words in front of its message.
    #[must_use]
    pub fn prefixed(mut self, prefix: impl fmt::Display) -> Self {
        self.message = format!("{prefix}: {}", self.message);
        self
    }

    /// What happened, without the place.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Where it happened, when that is a file.
    pub fn place(&self) -> Option<&Place> {
        self.place.as_ref()
    }
}

impl Hint for Error {
    fn hint(&self) -> Option<String> {
        self.hint.clone()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        match &self.place {
            Some(place) => write!(f, "\n  at {place}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Error {}

impl From<yaml::Error> for Error {
    fn from(error: yaml::Error) -> Self {
        Self::new(error.message())
            .at(error.place())
            .with_some_hint(error.hint())
    }
}

impl From<jinja::Error> for Error {
    fn from(error: jinja::Error) -> Self {
        Self::new(error.to_string()).with_some_hint(error.hint())
    }
}

/// Something a user should know that does not stop the work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    /// What was noticed.
    pub message: String,
    /// Where, when that is a file.
    pub place: Option<Place>,
}

impl Warning {
    /// A warning without a place.
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            place: None,
        }
    }

    /// A warning about a place.
    pub fn at(message: impl Into<String>, place: Place) -> Self {
        Self {
            message: message.into(),
            place: Some(place),
        }
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        match &self.place {
            Some(place) => write!(f, "\n  at {place}"),
            None => Ok(()),
        }
    }
}
