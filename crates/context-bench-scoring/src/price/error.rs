//! [`PriceError`]: why a file of prices cannot be used, and where.

use std::fmt;

use context_bench_error::{Hint, Place};

/// A file of prices that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PriceError {
    what: String,
    place: Place,
    hint: Option<String>,
}

impl PriceError {
    pub(super) fn new(what: impl Into<String>, place: Place) -> Self {
        Self {
            what: what.into(),
            place,
            hint: None,
        }
    }

    #[must_use]
    pub(super) fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl fmt::Display for PriceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}\n  at {}", self.what, self.place)
    }
}

impl std::error::Error for PriceError {}

impl Hint for PriceError {
    fn hint(&self) -> Option<String> {
        self.hint.clone()
    }
}
