//! The words and signs of a rule.

use context_bench_error::Position;

use super::error::{GateError, GateProblem};

/// A word or sign, and the byte at which it begins.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Token {
    pub(super) kind: TokenKind,
    pub(super) at: usize,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum TokenKind {
    Number {
        value: f64,
        is_percent: bool,
    },
    /// Quoted names are never words of the language.
    Name {
        name: String,
        is_quoted: bool,
    },
    Sign(&'static str),
    End,
}

/// Longer signs first.
const SIGNS: [&str; 16] = [
    "<=", ">=", "==", "!=", "<", ">", "=", "+", "-", "*", "/", "(", ")", ",", "≤", "≥",
];

impl TokenKind {
    /// As messages show it.
    pub(super) fn shown(&self) -> String {
        match self {
            Self::Number { value, is_percent } if *is_percent => format!("`{}%`", value * 100.0),
            Self::Number { value, .. } => format!("`{value}`"),
            Self::Name { name, .. } => format!("`{name}`"),
            Self::Sign(sign) => format!("`{sign}`"),
            Self::End => "the end".into(),
        }
    }
}

/// Cuts a text up. Names behind `on` and `for` may have hyphens, colons and the like, as names of
/// datasets do; elsewhere a hyphen is a minus.
pub(super) fn tokens(text: &str) -> Result<Vec<Token>, GateError> {
    let mut tokens = Vec::new();
    let mut names_follow = false;
    let mut at = 0;
    while let Some(next) = text[at..].chars().next() {
        if next.is_whitespace() {
            at += next.len_utf8();
            continue;
        }
        let (kind, length) = match next {
            '`' | '"' | '\'' => quoted(text, at, next)?,
            _ if names_follow && next != ',' => listed_name(&text[at..]),
            _ if next.is_ascii_digit() || next == '.' => number(text, at)?,
            _ if next.is_alphabetic() || next == '_' => name(&text[at..]),
            _ => sign(text, at, next)?,
        };
        names_follow |=
            matches!(&kind, TokenKind::Name { name, is_quoted: false } if is_scope(name));
        tokens.push(Token { kind, at });
        at += length;
    }
    tokens.push(Token {
        kind: TokenKind::End,
        at: text.len(),
    });
    Ok(tokens)
}

fn is_scope(name: &str) -> bool {
    name == "on" || name == "for"
}

fn name(rest: &str) -> (TokenKind, usize) {
    let belongs = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
    let end = rest.find(|c| !belongs(c)).unwrap_or(rest.len());
    plain(rest, end)
}

/// Everything up to white space or a comma.
fn listed_name(rest: &str) -> (TokenKind, usize) {
    let end = rest.find(|c: char| c.is_whitespace() || c == ',');
    plain(rest, end.unwrap_or(rest.len()))
}

fn plain(rest: &str, end: usize) -> (TokenKind, usize) {
    let name = rest[..end].to_owned();
    let kind = TokenKind::Name {
        name,
        is_quoted: false,
    };
    (kind, end)
}

fn quoted(text: &str, at: usize, quote: char) -> Result<(TokenKind, usize), GateError> {
    let inside = &text[at + quote.len_utf8()..];
    let Some(end) = inside.find(quote) else {
        return Err(error(text, at, GateProblem::OpenQuotation));
    };
    let kind = TokenKind::Name {
        name: inside[..end].to_owned(),
        is_quoted: true,
    };
    Ok((kind, end + 2 * quote.len_utf8()))
}

fn number(text: &str, at: usize) -> Result<(TokenKind, usize), GateError> {
    let rest = &text[at..];
    let mut end = 0;
    let bytes = rest.as_bytes();
    while let Some(byte) = bytes.get(end) {
        // The sign of an exponent belongs to the number.
        let in_exponent =
            matches!(byte, b'+' | b'-') && end > 0 && matches!(bytes[end - 1], b'e' | b'E');
        if !(byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_') || in_exponent) {
            break;
        }
        end += 1;
    }
    let written = &rest[..end];
    let value: Option<f64> = written.parse().ok().filter(|value: &f64| value.is_finite());
    let Some(value) = value else {
        let found = written.to_owned();
        return Err(error(text, at, GateProblem::Number { found }));
    };
    let is_percent = rest[end..].starts_with('%');
    let value = if is_percent { value / 100.0 } else { value };
    Ok((
        TokenKind::Number { value, is_percent },
        end + usize::from(is_percent),
    ))
}

fn sign(text: &str, at: usize, next: char) -> Result<(TokenKind, usize), GateError> {
    let found = SIGNS.iter().find(|sign| text[at..].starts_with(**sign));
    match found {
        Some(sign) => Ok((TokenKind::Sign(sign), sign.len())),
        // What word processors make of a hyphen.
        None if matches!(next, '−' | '–') => Ok((TokenKind::Sign("-"), next.len_utf8())),
        None => Err(error(text, at, GateProblem::Character { found: next })),
    }
}

/// An error at a byte of a text.
pub(super) fn error(text: &str, at: usize, problem: GateProblem) -> GateError {
    GateError {
        position: Position::in_text(text, at),
        problem,
    }
}
