//! Python's spelling of strings: quotes, prefixes, escapes.

use super::{Token, TokenError, TokenKind};

/// What becomes of two `\u` escapes that together are one character, as JSON writes
/// characters beyond 16 bits. Python keeps them apart, which no text in Rust can.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SurrogatePairs {
    /// Both are one character; a half alone is U+FFFD.
    Join,
    /// Such a string is an error.
    Refuse,
}

/// Whether a name before a quote is the prefix of a string.
pub(super) fn is_prefix(name: &str) -> bool {
    name.len() <= 2 && name.chars().all(|c| "rRuUbBfF".contains(c))
}

/// The string at the start of a text, of which `prefix` bytes stand before the quote. A quote
/// that is not closed on its line is a token alone.
pub(super) fn token(text: &str, prefix: usize) -> (TokenKind, usize) {
    let body = &text[prefix..];
    let quote = opening(body);
    let mut escaped = false;
    for (at, c) in body[quote.len()..].char_indices() {
        let at = quote.len() + at;
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '\n' if quote.len() == 1 => return (TokenKind::Unknown, 1),
            _ if body[at..].starts_with(quote) => {
                return (TokenKind::String, prefix + at + quote.len());
            }
            _ => {}
        }
    }
    match quote.len() {
        1 => (TokenKind::Unknown, 1),
        _ => (TokenKind::OpenString, text.len()),
    }
}

/// The quotes that a text begins with.
fn opening(text: &str) -> &'static str {
    let quotes = ["'''", "\"\"\"", "'"];
    let found = quotes.into_iter().find(|quote| text.starts_with(quote));
    found.unwrap_or("\"")
}

impl Token<'_> {
    /// The text that a string stands for.
    ///
    /// # Errors
    ///
    /// When the token is not a string or does not end, for bytes and formatted strings, and
    /// for escapes that name no character.
    pub fn string(&self, pairs: SurrogatePairs) -> Result<String, TokenError> {
        let error = |message, offset| TokenError { message, offset };
        match self.kind {
            TokenKind::String => {}
            TokenKind::OpenString => return Err(error("a string does not end", self.start)),
            _ => return Err(error("a string was expected", self.start)),
        }
        let letters = self.text.find(['\'', '"']).unwrap_or(0);
        let (prefix, body) = self.text.split_at(letters);
        let raw = match prefix {
            "" | "u" | "U" => false,
            "r" | "R" => true,
            _ if prefix.contains(['b', 'B']) => {
                return Err(error("bytes have no JSON form", self.start));
            }
            _ if prefix.contains(['f', 'F']) => {
                return Err(error("a formatted string is not a literal", self.start));
            }
            _ => return Err(error("this is not the prefix of a string", self.start)),
        };
        let quote = opening(body);
        let inside = &body[quote.len()..body.len() - quote.len()];
        if raw {
            return Ok(inside.to_owned());
        }
        let mut out = String::with_capacity(inside.len());
        let mut rest = inside;
        while let Some(at) = rest.find('\\') {
            out.push_str(&rest[..at]);
            let escape = &rest[at + 1..];
            rest = unescape(escape, pairs, &mut out)
                .map_err(|message| error(message, self.end() - quote.len() - escape.len() - 1))?;
        }
        out.push_str(rest);
        Ok(out)
    }
}

/// Reads what follows a backslash; returns what is left.
fn unescape<'t>(
    text: &'t str,
    pairs: SurrogatePairs,
    out: &mut String,
) -> Result<&'t str, &'static str> {
    let Some(c) = text.chars().next() else {
        return Err("a string does not end");
    };
    let rest = &text[c.len_utf8()..];
    let plain = match c {
        '\n' => return Ok(rest),
        '\\' | '\'' | '"' => c,
        'a' => '\u{7}',
        'b' => '\u{8}',
        'f' => '\u{c}',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'v' => '\u{b}',
        'x' => return by_code(rest, 2, pairs, out),
        'u' => return by_code(rest, 4, pairs, out),
        'U' => return by_code(rest, 8, pairs, out),
        '0'..='7' => {
            let octal = text.bytes().take(3);
            let length = octal.take_while(|b| matches!(b, b'0'..=b'7')).count();
            let code = code(text, length, 8)?;
            out.extend(char::from_u32(code));
            return Ok(&text[length..]);
        }
        'N' => return Err("named characters are not known"),
        other => {
            // Python keeps the backslash of an escape it does not know.
            out.push('\\');
            other
        }
    };
    out.push(plain);
    Ok(rest)
}

/// A character by its code in hexadecimal.
fn by_code<'t>(
    text: &'t str,
    length: usize,
    pairs: SurrogatePairs,
    out: &mut String,
) -> Result<&'t str, &'static str> {
    let high = code(text, length, 16)?;
    let rest = &text[length..];
    if let Some(c) = char::from_u32(high) {
        out.push(c);
        return Ok(rest);
    }
    if pairs == SurrogatePairs::Refuse || high > 0xFFFF {
        return Err(NOT_A_CHARACTER);
    }
    let low = rest
        .strip_prefix("\\u")
        .and_then(|rest| code(rest, 4, 16).ok());
    match low {
        Some(low @ 0xdc00..=0xdfff) if high < 0xdc00 => {
            let joined = 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
            out.extend(char::from_u32(joined));
            Ok(&rest[6..])
        }
        _ => {
            out.push(char::REPLACEMENT_CHARACTER);
            Ok(rest)
        }
    }
}

const NOT_A_CHARACTER: &str = "this is not a character";

fn code(text: &str, length: usize, radix: u32) -> Result<u32, &'static str> {
    let digits = text.get(..length).ok_or(NOT_A_CHARACTER)?;
    if !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Err(NOT_A_CHARACTER);
    }
    u32::from_str_radix(digits, radix).map_err(|_| NOT_A_CHARACTER)
}
