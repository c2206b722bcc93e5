//! What errors share: advice apart from the fact, and a place in a file.
//!
//! Each module that meets the outside world has its own error type beside its
//! code. An error says what happened and where; what to do next is its hint.

use std::fmt;
use std::path::PathBuf;

/// Advice that goes with an error, kept apart from what happened.
pub trait Hint {
    /// What the user can do next, if there is something to say.
    fn hint(&self) -> Option<String>;
}

/// A place in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Location {
    /// The file as the user named it.
    pub file: PathBuf,
    /// Line number from 1, when known.
    pub line: Option<usize>,
    /// Column from 1, when known.
    pub column: Option<usize>,
}

impl Location {
    /// A whole file.
    pub fn file(file: impl Into<PathBuf>) -> Self {
        Self {
            file: file.into(),
            line: None,
            column: None,
        }
    }

    /// A line of a file.
    pub fn line(file: impl Into<PathBuf>, line: usize) -> Self {
        Self {
            line: Some(line),
            ..Self::file(file)
        }
    }

    /// The same place with a column.
    #[must_use]
    pub fn column(mut self, column: usize) -> Self {
        self.column = Some(column);
        self
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file.display())?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
            if let Some(column) = self.column {
                write!(f, ":{column}")?;
            }
        }
        Ok(())
    }
}
