//! What errors share: advice apart from the fact, and a place in a file.
//!
//! Each module that meets the outside world has its own error type beside its
//! code. An error says what happened and where; what to do next is its hint.

use context_bench_records::RecordError;

pub use context_bench_records::Location;

/// Advice that goes with an error, kept apart from what happened.
pub trait Hint {
    /// What the user can do next, if there is something to say.
    fn hint(&self) -> Option<String>;
}

impl Hint for context_bench_tasks::Error {
    fn hint(&self) -> Option<String> {
        context_bench_tasks::Error::hint(self)
    }
}

impl Hint for RecordError {
    fn hint(&self) -> Option<String> {
        RecordError::hint(self)
    }
}
