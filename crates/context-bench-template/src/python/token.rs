//! The one tokenizer of Python source: names, numbers, strings, operators, comments.
//!
//! `ast.literal_eval` (`literal.rs`), calls in Python syntax (BFCL) and the code in a model's
//! reply (HumanEval, MBPP) are read with it. Each of these reads text that may be prose, so
//! nothing here fails: what Python would refuse becomes a token of kind
//! [`Unknown`](TokenKind::Unknown) or [`OpenString`](TokenKind::OpenString), and the caller
//! decides. Written by hand, because published parsers of Python want a whole module that is
//! valid. Jinja has its own tokens (`jinja/tokens.rs`).

mod number;
mod string;

pub use number::PythonNumber;
pub use string::SurrogatePairs;

use unicode_properties::{GeneralCategoryGroup, UnicodeGeneralCategory};

use super::text::is_space;

/// What a token is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum TokenKind {
    /// An identifier or a keyword.
    Name,
    /// A number as Python spells it.
    Number,
    /// A string with its quotes and its prefix.
    String,
    /// A triple-quoted string that never ends: the rest of the source.
    OpenString,
    /// An operator, a bracket, a comma and the like.
    Operator,
    /// `#` up to the end of the line.
    Comment,
    /// The end of a line.
    Newline,
    /// A backslash at the end of a line, with that end.
    Continuation,
    /// White space that Python refuses in source, such as U+00A0.
    Space,
    /// Anything else that is not Python: a lone quote, a number such as `1a`, `?`.
    Unknown,
}

/// A piece of Python source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Token<'t> {
    /// What it is.
    pub kind: TokenKind,
    /// As it is written.
    pub text: &'t str,
    /// Where it begins: bytes from the start of the source.
    pub start: usize,
}

impl Token<'_> {
    /// Where the token ends: bytes from the start of the source.
    pub fn end(&self) -> usize {
        self.start + self.text.len()
    }

    /// Whether this is that operator.
    pub fn is_operator(&self, operator: &str) -> bool {
        self.kind == TokenKind::Operator && self.text == operator
    }
}

/// Why the value of a token cannot be had.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TokenError {
    /// What is wrong.
    pub message: &'static str,
    /// Where: bytes from the start of the source.
    pub offset: usize,
}

/// The tokens of a source. Blanks between them are left out; together with the blanks they
/// are the source again.
///
/// ```
/// use context_bench_template::python::Tokens;
///
/// let tokens: Vec<_> = Tokens::new("f(x=1.5) # one").map(|token| token.text).collect();
/// assert_eq!(tokens, ["f", "(", "x", "=", "1.5", ")", "# one"]);
/// ```
#[derive(Debug, Clone)]
pub struct Tokens<'t> {
    source: &'t str,
    at: usize,
}

impl<'t> Tokens<'t> {
    /// Starts at the beginning of a source.
    pub fn new(source: &'t str) -> Self {
        Self { source, at: 0 }
    }
}

impl<'t> Iterator for Tokens<'t> {
    type Item = Token<'t>;

    fn next(&mut self) -> Option<Token<'t>> {
        let rest = &self.source[self.at..];
        let code = rest.trim_start_matches([' ', '\t', '\u{c}']);
        let (kind, length) = first_token(code)?;
        let start = self.source.len() - code.len();
        self.at = start + length;
        Some(Token {
            kind,
            text: &code[..length],
            start,
        })
    }
}

/// The kind and the length of the token at the start of a text.
fn first_token(text: &str) -> Option<(TokenKind, usize)> {
    let first = text.chars().next()?;
    let after = &text[first.len_utf8()..];
    let found = match first {
        '\n' => (TokenKind::Newline, 1),
        '\r' => (TokenKind::Newline, 1 + usize::from(after.starts_with('\n'))),
        '#' => (TokenKind::Comment, text.find('\n').unwrap_or(text.len())),
        '\\' => backslash(after),
        '\'' | '"' => string::token(text, 0),
        '0'..='9' => number::token(text),
        '.' if after.starts_with(|c: char| c.is_ascii_digit()) => number::token(text),
        _ if is_name_start(first) => {
            let name = name_length(text);
            match text[name..].starts_with(['\'', '"']) && string::is_prefix(&text[..name]) {
                // Without its end the quote is a token of its own, after this name.
                true => Some(string::token(text, name))
                    .filter(|(kind, _)| *kind != TokenKind::Unknown)
                    .unwrap_or((TokenKind::Name, name)),
                false => (TokenKind::Name, name),
            }
        }
        _ => match operator_length(text) {
            Some(length) => (TokenKind::Operator, length),
            None if is_space(first) => (TokenKind::Space, first.len_utf8()),
            None => (TokenKind::Unknown, first.len_utf8()),
        },
    };
    Some(found)
}

/// A backslash with what it makes of the next character.
fn backslash(after: &str) -> (TokenKind, usize) {
    let next = after.chars().next();
    match next {
        Some('\n') => (TokenKind::Continuation, 2),
        Some('\r') if after.starts_with("\r\n") => (TokenKind::Continuation, 3),
        _ => (TokenKind::Unknown, 1 + next.map_or(0, char::len_utf8)),
    }
}

/// Operators and delimiters, longer ones before those that they begin with.
const OPERATORS: [&str; 48] = [
    "**=", "//=", ">>=", "<<=", "...", "**", "//", "==", "!=", "<=", ">=", "->", ":=", "<<", ">>",
    "+=", "-=", "*=", "/=", "%=", "@=", "&=", "|=", "^=", "+", "-", "*", "/", "%", "@", "&", "|",
    "^", "~", "<", ">", "(", ")", "[", "]", "{", "}", ",", ":", ";", ".", "=", "!",
];

fn operator_length(text: &str) -> Option<usize> {
    let found = OPERATORS.iter().find(|each| text.starts_with(**each));
    found.map(|operator| operator.len())
}

/// Keywords of Python but the three that are values (`None`, `True`, `False`).
const KEYWORDS: [&str; 32] = [
    "and", "as", "assert", "async", "await", "break", "class", "continue", "def", "del", "elif",
    "else", "except", "finally", "for", "from", "global", "if", "import", "in", "is", "lambda",
    "nonlocal", "not", "or", "pass", "raise", "return", "try", "while", "with", "yield",
];

/// Whether a name is a keyword other than `None`, `True` and `False`, which are values.
pub fn is_keyword(name: &str) -> bool {
    KEYWORDS.contains(&name)
}

/// Whether a text is an identifier, keywords included.
pub fn is_name(text: &str) -> bool {
    text.starts_with(is_name_start) && name_length(text) == text.len()
}

fn is_name_start(c: char) -> bool {
    c == '_' || c.is_alphabetic()
}

/// Letters, numbers, combining marks and the underscore.
fn is_name_part(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_alphanumeric() || c == '_';
    }
    matches!(
        c.general_category_group(),
        GeneralCategoryGroup::Letter | GeneralCategoryGroup::Number | GeneralCategoryGroup::Mark
    )
}

/// The length of the name that a text begins with.
fn name_length(text: &str) -> usize {
    let end = text.char_indices().skip(1).find(|(_, c)| !is_name_part(*c));
    end.map_or(text.len(), |(at, _)| at)
}

#[cfg(test)]
mod tests;
