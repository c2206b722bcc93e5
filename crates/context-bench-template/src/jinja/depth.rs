//! How deep the parts of a template may stand in each other.
//!
//! The engine's parser bounds brackets, but a chain of operators (`a + b + …`,
//! `not not …`, `x|f|f|…`, `a.b.c…`, `elif` after `elif`) becomes a tree as deep as
//! the chain is long, and whatever walks or drops the tree needs a frame of the stack
//! for each level. So depth is counted on the tokens, before there is a tree.

use minijinja::machinery::{Token, tokenize};
use minijinja::syntax::SyntaxConfig;

use super::Error;

/// Operators in each other within one expression. The longest expressions of the
/// tasks that people share have some thirty; a stack of 2 MiB holds this in a debug
/// build.
const MAX_OPERATORS: usize = 200;
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

/// Refuses a template that is too deep. One that cannot be read is for the parser.
pub(super) fn check(name: &str, source: &str, syntax: Option<SyntaxConfig>) -> Result<(), Error> {
    let tokens = tokenize(source, false, syntax.unwrap_or_default());
    let mut levels: Vec<Level> = Vec::new();
    // Of each open block, how many `elif` it has.
    let mut blocks: Vec<usize> = Vec::new();
    let mut first = false;
    let mut kind = "";
    for token in tokens {
        let Ok((token, span)) = token else {
            return Ok(());
        };
        let line = usize::from(span.start_line);
        match &token {
            Token::VariableStart | Token::BlockStart => {
                levels = vec![Level::default()];
                kind = "";
            }
            Token::ParenOpen | Token::BracketOpen | Token::BraceOpen => {
                if let Some(level) = levels.last_mut() {
                    level.operators += 1;
                }
                levels.push(Level::default());
            }
            Token::ParenClose | Token::BracketClose | Token::BraceClose => {
                let depth = levels.pop().map_or(0, |level| level.depth());
                if let Some(level) = levels.last_mut() {
                    level.inner = level.inner.max(depth);
                }
            }
            Token::Comma => {
                if let Some(level) = levels.last_mut() {
                    level.next_part();
                }
            }
            Token::Ident(word) if first => {
                kind = word;
                match *word {
                    "if" | "for" | "macro" | "call" | "filter" | "with" | "block"
                    | "autoescape" => blocks.push(0),
                    "elif" => {
                        if let Some(elifs) = blocks.last_mut() {
                            *elifs += 1;
                        }
                    }
                    "set" => blocks.push(0),
                    word if word.starts_with("end") => {
                        blocks.pop();
                    }
                    _ => {}
                }
            }
            // `{% set x = y %}` opens nothing.
            Token::Assign if kind == "set" && levels.len() == 1 => {
                blocks.pop();
                kind = "";
            }
            token if is_operator(token) => {
                if let Some(level) = levels.last_mut() {
                    level.operators += 1;
                }
            }
            _ => {}
        }
        first = matches!(token, Token::BlockStart);
        if levels.len() + levels.last().map_or(0, Level::depth) > MAX_OPERATORS {
            return Err(Error::refused(
                name,
                line,
                format!("an expression has more than {MAX_OPERATORS} operators in each other"),
                "split it with `{% set … %}`, or use a list and `join`",
            ));
        }
        if blocks.len() + blocks.iter().sum::<usize>() > MAX_BLOCKS {
            return Err(Error::refused(
                name,
                line,
                format!("more than {MAX_BLOCKS} blocks or `elif` stand in each other"),
                "look values up in a map (`{'a': 1}[x]`) instead of `elif` after `elif`",
            ));
        }
    }
    Ok(())
}

fn is_operator(token: &Token<'_>) -> bool {
    match token {
        Token::Ident(word) => matches!(*word, "not" | "and" | "or" | "in" | "is" | "if" | "else"),
        Token::Plus
        | Token::Minus
        | Token::Mul
        | Token::Div
        | Token::FloorDiv
        | Token::Pow
        | Token::Mod
        | Token::Dot
        | Token::Tilde
        | Token::Pipe
        | Token::Eq
        | Token::Ne
        | Token::Gt
        | Token::Gte
        | Token::Lt
        | Token::Lte => true,
        _ => false,
    }
}
