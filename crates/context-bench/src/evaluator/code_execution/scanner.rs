//! Which lines of Python source go on in the next one: open strings, brackets, backslashes.

use std::iter::Peekable;

use context_bench_template::python::{TokenKind, Tokens};

/// Reads a source line by line and keeps track of strings and brackets.
pub(super) struct Scanner<'a> {
    tokens: Peekable<Tokens<'a>>,
    /// Where the last line ends.
    at: usize,
    /// Where the last string ends.
    string_end: usize,
    depth: usize,
    continued: bool,
}

impl<'a> Scanner<'a> {
    /// Starts before the first line of a source.
    pub(super) fn new(source: &'a str) -> Self {
        Self {
            tokens: Tokens::new(source).peekable(),
            at: 0,
            string_end: 0,
            depth: 0,
            continued: false,
        }
    }

    /// Whether a string goes on in the next line.
    pub(super) fn in_string(&self) -> bool {
        self.string_end > self.at
    }

    /// Whether a string, a bracket or a statement goes on in the next line.
    pub(super) fn is_inside(&self) -> bool {
        self.in_string() || self.depth > 0 || self.continued
    }

    /// Takes all brackets as closed.
    pub(super) fn close_brackets(&mut self) {
        self.depth = 0;
        self.continued = false;
    }

    /// Reads the next line, given with its end.
    pub(super) fn line(&mut self, line: &str) {
        self.at += line.len();
        self.continued = false;
        while let Some(token) = self.tokens.next_if(|token| token.start < self.at) {
            match (token.kind, token.text) {
                (TokenKind::String | TokenKind::OpenString, _) => self.string_end = token.end(),
                (TokenKind::Operator, "(" | "[" | "{") => self.depth += 1,
                (TokenKind::Operator, ")" | "]" | "}") => {
                    self.depth = self.depth.saturating_sub(1);
                }
                (TokenKind::Continuation, _) => self.continued = true,
                _ => {}
            }
        }
    }
}
