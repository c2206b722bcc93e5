//! What can go wrong with a function in Python, and how that reads.

use std::fmt;
use std::time::Duration;

use context_bench_error::{Hint, Place};
use serde::Deserialize;

use crate::error::Error;
use crate::function::Function;

/// Lines of a traceback and of printed text that a message shows.
const SHOWN_LINES: usize = 12;

/// A call that gave no value.
#[derive(Debug, Clone, PartialEq)]
pub struct PythonError {
    /// What was to be called, as the task file names it; a method after a space.
    pub name: String,
    /// The folder of the task file.
    pub directory: String,
    /// What happened.
    pub problem: Problem,
}

/// What happened to a call.
#[derive(Debug, Clone, PartialEq)]
pub enum Problem {
    /// The interpreter could not be started.
    Start {
        /// The program.
        interpreter: String,
        /// Why.
        reason: String,
    },
    /// The reference leads nowhere: no dot, no module, no such name.
    Reference(Box<Exception>),
    /// The module raised while it was loaded.
    Load(Box<Exception>),
    /// The function raised.
    Raised(Box<Exception>),
    /// An argument or the result is nothing that can be passed on.
    Value(Box<Exception>),
    /// The process ended in the middle of the call.
    Ended {
        /// How, such as `signal 11`.
        how: String,
        /// The end of what it printed.
        printed: String,
    },
    /// The call took too long; its process was ended.
    TimedOut {
        /// The limit.
        limit: Duration,
        /// The end of what it printed.
        printed: String,
    },
    /// Something other than a reply came back.
    Protocol(String),
}

/// An exception of Python.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Exception {
    /// Its class, such as `ValueError`.
    #[serde(rename = "type")]
    pub class: String,
    /// Its text.
    pub message: String,
    /// The traceback as Python prints it, without frames of our own.
    pub traceback: String,
    /// The end of what was printed during the call.
    pub printed: String,
    /// The file of the innermost frame.
    pub file: Option<String>,
    /// The line there, from 1.
    pub line: Option<u32>,
    /// The package that is not installed, when that is the reason.
    pub package: Option<String>,
}

impl PythonError {
    pub(super) fn new(function: &Function, problem: Problem) -> Self {
        Self {
            name: function.name.clone(),
            directory: function.directory.display().to_string(),
            problem,
        }
    }

    /// The exception, when there was one.
    pub fn exception(&self) -> Option<&Exception> {
        match &self.problem {
            Problem::Reference(exception)
            | Problem::Load(exception)
            | Problem::Raised(exception)
            | Problem::Value(exception) => Some(exception),
            _ => None,
        }
    }
}

impl Hint for PythonError {
    fn hint(&self) -> Option<String> {
        match &self.problem {
            Problem::Start { .. } => {
                Some("name a Python of version 3.8 or later with `--python`".into())
            }
            Problem::Load(exception) if exception.package.is_some() => {
                let package = exception.package.as_deref().unwrap_or_default();
                Some(format!(
                    "install the package `{package}` for that Python, or name another with \
                     `--python`"
                ))
            }
            Problem::Reference(_) => Some(
                "`!function module.name` means `name` of `module.py` beside the YAML file, or of \
                 an installed module"
                    .into(),
            ),
            Problem::Raised(_) => {
                Some("fix the function for this record, or leave the record out".into())
            }
            Problem::TimedOut { .. } => {
                Some("allow more time for calls, if the function needs it".into())
            }
            _ => None,
        }
    }
}

impl fmt::Display for PythonError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            name, directory, ..
        } = self;
        let function = format!("`!function {name}` in `{directory}`");
        match &self.problem {
            Problem::Start {
                interpreter,
                reason,
            } => {
                write!(
                    f,
                    "{function} needs Python, and `{interpreter}` did not start: {reason}"
                )
            }
            Problem::Reference(exception) => {
                write!(f, "{function} cannot be found: {}", exception.message)
            }
            Problem::Load(exception) => {
                write!(f, "{function} cannot be loaded: {}", summary(exception))?;
                details(f, &exception.traceback, &exception.printed)
            }
            Problem::Raised(exception) => {
                write!(f, "{function} raised {}", summary(exception))?;
                details(f, &exception.traceback, &exception.printed)
            }
            Problem::Value(exception) => {
                write!(
                    f,
                    "{function}: a value cannot be passed between Python and here: {}",
                    exception.message
                )
            }
            Problem::Ended { how, printed } => {
                write!(
                    f,
                    "{function}: the Python process ended in the middle of the call ({how})"
                )?;
                details(f, "", printed)
            }
            Problem::TimedOut { limit, printed } => {
                write!(f, "{function} took longer than {limit:?} and was ended")?;
                details(f, "", printed)
            }
            Problem::Protocol(line) => {
                write!(f, "{function}: unexpected reply from Python: {line}")
            }
        }
    }
}

impl std::error::Error for PythonError {}

impl From<PythonError> for Error {
    fn from(error: PythonError) -> Self {
        let place = error.exception().and_then(|exception| {
            let file = Place::file(exception.file.as_deref()?);
            Some(match exception.line {
                Some(line) => file.line(line as usize).column(1),
                None => file,
            })
        });
        let hint = error.hint();
        let package = error.exception().and_then(|found| found.package.clone());
        let plain = Self::new(error.to_string()).with_some_hint(hint);
        let plain = plain.missing_package(package);
        match place {
            Some(place) => plain.at(&place),
            None => plain,
        }
    }
}

fn summary(exception: &Exception) -> String {
    match exception.message.as_str() {
        "" => exception.class.clone(),
        message => format!("{}: {message}", exception.class),
    }
}

fn details(f: &mut fmt::Formatter<'_>, traceback: &str, printed: &str) -> fmt::Result {
    // A traceback of one line repeats the summary.
    if traceback.trim_end().lines().count() > 1 {
        last_lines(f, traceback)?;
    }
    if !printed.trim().is_empty() {
        write!(f, "\n  printed:")?;
        last_lines(f, printed)?;
    }
    Ok(())
}

fn last_lines(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    let lines: Vec<&str> = text.trim_end().lines().collect();
    let skipped = lines.len().saturating_sub(SHOWN_LINES);
    if skipped > 0 {
        write!(f, "\n    … {skipped} lines before")?;
    }
    for line in &lines[skipped..] {
        write!(f, "\n    {line}")?;
    }
    Ok(())
}
