//! What is wrong with a template, or with a record that it is applied to.

use std::fmt;

use context_bench_error::Hint;
use minijinja::ErrorKind;

use super::bounds;

/// A template that cannot be compiled or rendered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    /// The template's name, for example the field of the task it stands in.
    pub template: String,
    /// Line in the template, from 1, when known.
    pub line: Option<usize>,
    /// The record it was applied to, when the caller named one.
    pub record: Option<String>,
    message: String,
    hint: Option<String>,
}

impl Error {
    pub(crate) fn new(template: &str, error: &minijinja::Error) -> Self {
        let message = match (error.kind(), error.detail()) {
            (ErrorKind::OutOfFuel, _) => "the template runs for too long".to_owned(),
            (kind, detail) => match (detail.and_then(undefined), detail) {
                (Some(expression), _) => format!("`{expression}` is undefined"),
                (None, Some(detail)) => format!("{kind}: {detail}"),
                (None, None) => kind.to_string(),
            },
        };
        let bound = bounds::hint(error).map(str::to_owned);
        let hint = bound.or_else(|| match error.kind() {
            ErrorKind::OutOfFuel => Some("loop over fewer items".to_owned()),
            ErrorKind::SyntaxError => Some("see the Jinja documentation for the syntax".to_owned()),
            ErrorKind::InvalidOperation if message.contains('%') => {
                Some("write `\"…\"|format(x)` when the text before `%` is a variable".to_owned())
            }
            _ => None,
        });
        Self {
            template: template.to_owned(),
            line: error.line(),
            record: None,
            message,
            hint,
        }
    }

    /// A template that is refused before it is compiled.
    pub(super) fn refused(template: &str, line: usize, message: String, hint: &str) -> Self {
        Self {
            template: template.to_owned(),
            line: Some(line),
            record: None,
            message,
            hint: Some(hint.to_owned()),
        }
    }

    pub(crate) fn is_undefined(&self) -> bool {
        self.message.ends_with("is undefined") || self.message == "undefined value"
    }

    pub(crate) fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// The same error, saying which record it concerns.
    #[must_use]
    pub fn for_record(mut self, record: impl fmt::Display) -> Self {
        self.record = Some(record.to_string());
        self
    }

    /// What happened, without the place.
    pub fn message(&self) -> &str {
        &self.message
    }
}

impl Hint for Error {
    fn hint(&self) -> Option<String> {
        self.hint.clone()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} in template `{}`", self.message, self.template)?;
        if let Some(line) = self.line.filter(|&line| line > 1) {
            write!(f, ", line {line}")?;
        }
        if let Some(record) = &self.record {
            write!(f, ", for record {record}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {}

/// The expression that an engine's message calls undefined.
fn undefined(detail: &str) -> Option<&str> {
    let (before, _) = detail.split_once("` is undefined")?;
    before.rsplit_once('`').map(|(_, expression)| expression)
}
