//! [`Place`]: where in a file something is wrong.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

/// Line and column, both from 1; columns count characters.
///
/// Small and `Copy`, because every node of a YAML document has one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Position {
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1.
    pub column: u32,
}

impl Position {
    /// The position of a byte of a text.
    ///
    /// A byte that is not the first of a character has the position of that character,
    /// and one behind the end has the position of the end.
    pub fn in_text(text: &str, byte: usize) -> Self {
        let mut end = byte.min(text.len());
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        let before = &text[..end];
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

/// A file, and where in it as far as that is known. It is shown as `file:line:column`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The file as the user named it, or what stands for a file (`<command line>`).
    /// It is shared, because every record of a dataset and every value of a task has
    /// a place.
    pub file: Arc<str>,
    /// Line, from 1.
    pub line: Option<usize>,
    /// Column, from 1; shown only with a line.
    pub column: Option<usize>,
}

impl Place {
    /// A whole file.
    pub fn file(file: impl Into<Arc<str>>) -> Self {
        Self {
            file: file.into(),
            line: None,
            column: None,
        }
    }

    /// A whole file, named by its path.
    pub fn path(path: impl AsRef<Path>) -> Self {
        Self::file(path.as_ref().to_string_lossy())
    }

    /// A position in a file, or the whole file without one.
    pub fn new(file: impl Into<Arc<str>>, position: impl Into<Option<Position>>) -> Self {
        let place = Self::file(file);
        match position.into() {
            Some(Position { line, column }) => place.line(line as usize).column(column as usize),
            None => place,
        }
    }

    /// The same file with a line.
    #[must_use]
    pub fn line(mut self, line: usize) -> Self {
        self.line = Some(line);
        self
    }

    /// The same place with a column.
    #[must_use]
    pub fn column(mut self, column: usize) -> Self {
        self.column = Some(column);
        self
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
            if let Some(column) = self.column {
                write!(f, ":{column}")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_shows_as_much_as_is_known() {
        let file = Place::path("a/b.yaml");
        for (place, expected) in [
            (file.clone(), "a/b.yaml"),
            (file.clone().line(3), "a/b.yaml:3"),
            (file.clone().line(3).column(7), "a/b.yaml:3:7"),
            (file.column(7), "a/b.yaml"),
            (Place::new("<inline>", None), "<inline>"),
            (Place::new("x", Position { line: 1, column: 2 }), "x:1:2"),
        ] {
            assert_eq!(place.to_string(), expected);
        }
    }

    #[test]
    fn a_position_counts_characters() {
        let text = "a\näß x";
        for (byte, expected) in [(0, "1:1"), (2, "2:1"), (3, "2:1"), (7, "2:4"), (99, "2:5")] {
            assert_eq!(Position::in_text(text, byte).to_string(), expected);
        }
    }
}
