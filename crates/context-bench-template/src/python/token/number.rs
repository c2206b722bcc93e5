//! Python's spelling of numbers: `1_000`, `0x1f`, `.5e-3`.

use super::{Token, TokenError, TokenKind};

/// The value of a number.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum PythonNumber {
    /// An integer.
    Int(i128),
    /// An integer that needs more than 128 bits, as the nearest float.
    HugeInt(f64),
    /// A float.
    Float(f64),
}

impl Token<'_> {
    /// The value of a number.
    ///
    /// # Errors
    ///
    /// When the token is not a number. Complex numbers are not tokens of this kind.
    pub fn number(&self) -> Result<PythonNumber, TokenError> {
        let digits = self.text.replace('_', "").to_ascii_lowercase();
        let value = match (self.kind, radix(&digits)) {
            (TokenKind::Number, 10) if digits.bytes().all(|byte| byte.is_ascii_digit()) => {
                let exact = digits.parse().ok().map(PythonNumber::Int);
                exact.or_else(|| digits.parse().ok().map(PythonNumber::HugeInt))
            }
            (TokenKind::Number, 10) => digits.parse().ok().map(PythonNumber::Float),
            (TokenKind::Number, radix) => i128::from_str_radix(&digits[2..], radix)
                .ok()
                .map(PythonNumber::Int),
            _ => None,
        };
        value.ok_or(TokenError {
            message: "this is not a number",
            offset: self.start,
        })
    }
}

/// The base that the first two characters name.
fn radix(text: &str) -> u32 {
    match text.as_bytes() {
        [b'0', b'x' | b'X', ..] => 16,
        [b'0', b'o' | b'O', ..] => 8,
        [b'0', b'b' | b'B', ..] => 2,
        _ => 10,
    }
}

/// The token at the start of a text that begins with a digit, or with a dot and a digit. As
/// in Python a decimal integer has no leading zero, underscores stand between digits, and no
/// letter follows.
pub(super) fn token(text: &str) -> (TokenKind, usize) {
    let word = |from: usize| run(text, from, |c| c.is_alphanumeric() || c == '_');
    let radix = radix(text);
    if radix != 10 {
        let end = word(2);
        // An underscore may follow the prefix.
        let digits = text[2..end].strip_prefix('_').unwrap_or(&text[2..end]);
        let valid = !digits.is_empty() && is_grouped(digits, |c| c.is_digit(radix));
        return (kind(valid), end);
    }
    let is_digit = |c: char| c.is_ascii_digit() || c == '_';
    let digits_are_grouped =
        |from: usize, to: usize| is_grouped(&text[from..to], |c| c.is_ascii_digit());
    let mut end = run(text, 0, is_digit);
    let whole = &text[..end];
    let mut valid = digits_are_grouped(0, end);
    let mut is_float = false;
    if text[end..].starts_with('.') {
        let fraction = run(text, end + 1, is_digit);
        valid &= digits_are_grouped(end + 1, fraction);
        (is_float, end) = (true, fraction);
    }
    if text[end..].starts_with(['e', 'E']) {
        let sign = usize::from(text[end + 1..].starts_with(['+', '-']));
        let exponent = run(text, end + 1 + sign, is_digit);
        if exponent > end + 1 + sign {
            valid &= digits_are_grouped(end + 1 + sign, exponent);
            (is_float, end) = (true, exponent);
        }
    }
    let zeros = whole.len() > 1 && whole.starts_with('0');
    valid &= is_float || !zeros || whole.chars().all(|c| matches!(c, '0' | '_'));
    let behind = word(end);
    (kind(valid && behind == end), behind)
}

fn kind(valid: bool) -> TokenKind {
    match valid {
        true => TokenKind::Number,
        false => TokenKind::Unknown,
    }
}

/// Whether there are only digits with single underscores between them; also of nothing.
fn is_grouped(text: &str, is_digit: impl Fn(char) -> bool) -> bool {
    let mut groups = text.split('_');
    text.is_empty() || groups.all(|group| !group.is_empty() && group.chars().all(&is_digit))
}

/// The end of a run of characters from `from`.
fn run(text: &str, from: usize, test: impl Fn(char) -> bool) -> usize {
    let rest = text.get(from..).unwrap_or_default();
    from + rest.find(|c| !test(c)).unwrap_or(rest.len())
}
