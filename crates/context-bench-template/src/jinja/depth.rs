//! How deep the parts of a template may be nested.
//!
//! The engine's parser bounds brackets, but a chain of operators (`a + b + …`,
//! `not not …`, `x|f|f|…`, `a.b.c…`, `elif` after `elif`) becomes a tree as deep as
//! the chain is long, and whatever walks or drops the tree needs a frame of the stack
//! for each level. So depth is counted on the tokens, before there is a tree.

use super::Error;
use super::tokens::{Code, Kind, Piece, Token};

/// Operators in each other within one expression. The longest expressions of the
/// tasks that people share have some thirty; a stack of 2 MiB holds this in a debug
/// build.
const MAX_OPERATORS: usize = 200;
/// Brackets in each other; the engine takes some seventy.
const MAX_BRACKETS: usize = 100;
/// Blocks in each other, with each `elif` as one.
const MAX_BLOCKS: usize = 100;

/// A bracket, or the code between two marks.
#[derive(Default)]
struct Level {
    /// Operators since the last comma.
    operators: usize,
    /// The deepest bracket since then.
    inner: usize,
    /// The deepest part before it.
    deepest: usize,
}

impl Level {
    fn part(&self) -> usize {
        self.operators + self.inner
    }

    fn depth(&self) -> usize {
        self.deepest.max(self.part())
    }

    fn next_part(&mut self) {
        *self = Self {
            deepest: self.depth(),
            ..Self::default()
        };
    }
}

/// Refuses a template that is too deep. One that cannot be read is for the engine.
pub(super) fn check(name: &str, source: &str, pieces: &[Piece<'_>]) -> Result<(), Error> {
    // Of each open block, how many `elif` it has.
    let mut blocks: Vec<usize> = Vec::new();
    for piece in pieces {
        let Piece::Code(code) = piece else {
            continue;
        };
        let refused = |at: usize, message: String, hint: &str| {
            let line = 1 + source[..at].matches('\n').count();
            Err(Error::refused(name, line, message, hint))
        };
        if let Some(token) = too_deep(&code.tokens) {
            return refused(
                token.span.start,
                format!("an expression nests operators more than {MAX_OPERATORS} deep"),
                "split it with `{% set … %}`, or use a list and `join`",
            );
        }
        if code.statement {
            count_blocks(code, &mut blocks);
        }
        if blocks.len() + blocks.iter().sum::<usize>() > MAX_BLOCKS {
            return refused(
                code.whole.start,
                format!("blocks or `elif` are nested more than {MAX_BLOCKS} deep"),
                "look values up in a map (`{'a': 1}[x]`) instead of `elif` after `elif`",
            );
        }
    }
    Ok(())
}

/// The first token that is too deep within its expression.
fn too_deep<'t, 's>(tokens: &'t [Token<'s>]) -> Option<&'t Token<'s>> {
    let mut levels = vec![Level::default()];
    for token in tokens {
        let level = levels.last_mut()?;
        if token.is_mark(&["(", "[", "{"]) {
            level.operators += 1;
            levels.push(Level::default());
        } else if token.is_mark(&[")", "]", "}"]) {
            let depth = level.depth();
            // One that nothing opened is for the engine to refuse.
            if levels.len() > 1 {
                levels.pop();
            }
            if let Some(level) = levels.last_mut() {
                level.inner = level.inner.max(depth);
            }
        } else if token.is_mark(&[","]) {
            level.next_part();
        } else if is_operator(token) {
            level.operators += 1;
        }
        let depth = levels.last().map_or(0, Level::depth);
        if levels.len() > MAX_BRACKETS || levels.len() + depth > MAX_OPERATORS {
            return Some(token);
        }
    }
    None
}

/// Opens and closes blocks as a statement does.
fn count_blocks(code: &Code<'_>, blocks: &mut Vec<usize>) {
    let Some(first) = code.tokens.first() else {
        return;
    };
    match first.span.text {
        "if" | "for" | "macro" | "call" | "filter" | "with" | "block" | "autoescape" => {
            blocks.push(0);
        }
        "elif" => {
            if let Some(elifs) = blocks.last_mut() {
                *elifs += 1;
            }
        }
        // `{% set x = y %}` opens nothing.
        "set" if super::measure::assigned(&code.tokens).is_none() => blocks.push(0),
        word if word.starts_with("end") => {
            blocks.pop();
        }
        _ => {}
    }
}

fn is_operator(token: &Token<'_>) -> bool {
    let words = ["not", "and", "or", "in", "is", "if", "else"];
    match token.kind {
        Kind::Name => token.is_name(&words),
        Kind::Mark => !token.is_mark(&["=", ":"]),
        Kind::Number | Kind::Literal => false,
    }
}
