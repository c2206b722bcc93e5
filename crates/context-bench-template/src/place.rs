//! A place in a file, as errors and warnings of this crate name it.

use std::fmt;
use std::sync::Arc;

/// Line and column, both from 1; columns count characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Position {
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1.
    pub column: u32,
}

impl Position {
    /// Where a byte of a text is.
    pub(crate) fn of(text: &str, at: usize) -> Self {
        let before = &text[..at];
        let line = 1 + before.matches('\n').count();
        let column = 1 + before.rsplit('\n').next().unwrap_or("").chars().count();
        Self {
            line: u32::try_from(line).unwrap_or(u32::MAX),
            column: u32::try_from(column).unwrap_or(u32::MAX),
        }
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// A file with a position in it, when that is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The file as the caller named it.
    pub file: Arc<str>,
    /// Where in the file.
    pub position: Option<Position>,
}

impl Place {
    /// A position in a file.
    pub fn new(file: impl Into<Arc<str>>, position: impl Into<Option<Position>>) -> Self {
        Self {
            file: file.into(),
            position: position.into(),
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if let Some(position) = self.position {
            write!(f, ":{position}")?;
        }
        Ok(())
    }
}
