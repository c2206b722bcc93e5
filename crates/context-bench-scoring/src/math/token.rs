//! The tokens between the text of an answer and its tree, and their canonical
//! spelling, by which answers that are not mathematics are compared.

use super::expr::{Function, Relation};

/// A token and whether white space came before it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Token {
    pub(super) kind: Kind,
    pub(super) spaced: bool,
}

/// What a token is. LaTeX spellings of the same thing are one kind.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Kind {
    Number(Digits),
    /// A variable of one letter, a Greek letter, or a letter of another alphabet.
    Symbol(Box<str>),
    /// A word of prose or a unit, in lower case; `text` inside `\text{}` and the like.
    Word {
        word: Box<str>,
        text: bool,
    },
    Function(Function),
    Relation(Relation),
    Open(Bracket),
    Close(Bracket),
    /// `,` `;`, and the words for and/or.
    Separator(Separator),
    Begin(Box<str>),
    End,
    /// `\\` in a matrix.
    Row,
    /// `&` in a matrix.
    Column,
    Plus,
    Minus,
    PlusMinus,
    MinusPlus,
    Times,
    Divide,
    Caret,
    Underscore,
    Bang,
    Percent,
    Degree,
    Prime,
    Bar,
    Fraction,
    Root,
    CubeRoot,
    Log,
    Binomial,
    /// `\over` and `\choose` inside a group.
    Over,
    Choose,
    Pi,
    Infinity,
    EmptySet,
    Reals,
    Union,
    /// A command or a character that no rule knows.
    Other(Box<str>),
}

/// The digits of a number as they were written, in ASCII.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Digits {
    pub(super) whole: String,
    pub(super) fraction: String,
    pub(super) period: String,
    pub(super) exponent: i32,
    /// Whether there was a decimal point or an exponent.
    pub(super) decimal: bool,
}

/// Kinds of brackets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Bracket {
    Round,
    Square,
    /// `\{ \}`
    Set,
    /// `{ }`, which groups in LaTeX and means a set in plain text.
    Group,
    Angle,
    Bar,
    Floor,
    Ceiling,
}

/// What separates answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Separator {
    Comma,
    Semicolon,
    Word,
}

impl Kind {
    pub(super) fn word(word: &str, text: bool) -> Self {
        let word = word.to_lowercase().into();
        Self::Word { word, text }
    }

    pub(super) fn symbol(name: impl Into<Box<str>>) -> Self {
        Self::Symbol(name.into())
    }

    /// A number without point or exponent.
    pub(super) fn whole(digits: &str) -> Self {
        let whole = digits.to_owned();
        Self::Number(Digits {
            whole,
            ..Digits::default()
        })
    }
}

/// A spelling that does not depend on spacing, sizes and synonyms. Two answers
/// with the same spelling are equal whatever they mean.
pub(super) fn canonical(tokens: &[Token]) -> String {
    let mut out = String::new();
    for token in tokens {
        match &token.kind {
            Kind::Number(digits) => {
                let whole = digits.whole.trim_start_matches('0');
                out.push_str(if whole.is_empty() { "0" } else { whole });
                if digits.decimal || !digits.period.is_empty() {
                    out.push_str(&format!(
                        ".{}({})e{}",
                        digits.fraction, digits.period, digits.exponent
                    ));
                }
            }
            Kind::Symbol(name) => out.push_str(name),
            Kind::Word { word, .. } => {
                out.push(' ');
                out.push_str(word);
            }
            Kind::Other(text) => out.push_str(text),
            Kind::Begin(name) => {
                out.push('\\');
                out.push_str(name);
            }
            Kind::Minus => out.push('-'),
            Kind::Plus => out.push('+'),
            Kind::Separator(Separator::Comma) => out.push(','),
            // Full stops of abbreviations do not distinguish answers; the rest does.
            kind => out.push_str(&format!("<{kind:?}>")),
        }
    }
    out
}
