//! `Failure`: an error on its way to the user, with advice and an exit code.

use context_bench::error::Hint;

use crate::exit::Exit;

/// What happened, what to do about it, and how the program shall end.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) what: String,
    pub(crate) hint: Option<String>,
    pub(crate) exit: Exit,
}

impl Failure {
    /// Bad input or configuration, in our own words.
    pub(crate) fn bad_input(what: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            hint: None,
            exit: Exit::BadInput,
        }
    }

    /// A mistake of our own.
    pub(crate) fn bug(what: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            hint: Some(
                "this is a bug; please report it with the command line that you used".into(),
            ),
            exit: Exit::Bug,
        }
    }

    /// Advice for the user.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

/// Every error of the library that reaches the user is bad input: what fails
/// during a run becomes rows and counts.
impl<E: std::error::Error + Hint> From<E> for Failure {
    fn from(error: E) -> Self {
        Self {
            what: error.to_string(),
            hint: error.hint(),
            exit: Exit::BadInput,
        }
    }
}
