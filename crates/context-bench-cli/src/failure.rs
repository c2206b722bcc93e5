//! `Failure`: an error on its way to the user, with a hint and an exit code.

use context_bench::error::Hint;

use crate::exit::Exit;

/// What happened, what to do about it, and the exit code that follows.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) what: String,
    pub(crate) hint: Option<String>,
    pub(crate) exit: Exit,
}

impl Failure {
    /// Bad input or configuration.
    pub(crate) fn bad_input(what: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            hint: None,
            exit: Exit::BadInput,
        }
    }

    /// A mistake in this program.
    pub(crate) fn bug(what: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            hint: Some("this is a bug; please report it together with your command line".into()),
            exit: Exit::Bug,
        }
    }

    /// Adds what the user can do about it.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

/// Every error of the library that reaches the user is bad input: failures during a run become
/// rows and counts instead.
impl<E: std::error::Error + Hint> From<E> for Failure {
    fn from(error: E) -> Self {
        Self {
            what: error.to_string(),
            hint: error.hint(),
            exit: Exit::BadInput,
        }
    }
}
