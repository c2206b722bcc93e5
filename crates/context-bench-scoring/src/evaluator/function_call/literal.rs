//! Python's spelling of numbers and texts.

use super::value::Value;

/// A number at the start of `text`, and how many bytes it takes.
///
/// Decimal with underscores, a fraction and an exponent; `0x`, `0o` and `0b`.
/// As in Python a decimal integer has no leading zero, and complex numbers are
/// none of our values.
pub(super) fn number(text: &str) -> Option<(Value, usize)> {
    let bytes = text.as_bytes();
    let radix = match bytes {
        [b'0', b'x' | b'X', ..] => 16,
        [b'0', b'o' | b'O', ..] => 8,
        [b'0', b'b' | b'B', ..] => 2,
        _ => 10,
    };
    if radix != 10 {
        let length = run(text, 2, |c| c.is_ascii_alphanumeric() || c == '_');
        let digits = text[2..length].replace('_', "");
        return Some((
            Value::Int(i128::from_str_radix(&digits, radix).ok()?),
            length,
        ));
    }
    let is_digit = |c: char| c.is_ascii_digit() || c == '_';
    let whole = run(text, 0, is_digit);
    let mut end = whole;
    let mut is_float = false;
    if bytes.get(end) == Some(&b'.') {
        is_float = true;
        end = run(text, end + 1, is_digit);
        if end == 1 {
            return None;
        }
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        let exponent = run(text, end + 1 + sign, is_digit);
        if exponent > end + 1 + sign {
            is_float = true;
            end = exponent;
        }
    }
    let follows = text[end..].chars().next();
    if end == 0 || follows.is_some_and(|c| c.is_alphanumeric() || c == '_') {
        return None;
    }
    let digits = text[..end].replace('_', "");
    let value = if is_float {
        Value::Float(digits.parse().ok()?)
    } else if digits.len() > 1 && digits.starts_with('0') && digits.bytes().any(|c| c != b'0') {
        return None;
    } else {
        match digits.parse() {
            Ok(int) => Value::Int(int),
            Err(_) => Value::Float(digits.parse().ok()?),
        }
    };
    Some((value, end))
}

/// The end of a run of characters from `from`.
fn run(text: &str, from: usize, test: impl Fn(char) -> bool) -> usize {
    let rest = text.get(from..).unwrap_or_default();
    from + rest.find(|c| !test(c)).unwrap_or(rest.len())
}

/// Whether a text begins here: quotes, perhaps after `r`, `u`, `b` or `f`.
pub(super) fn starts_text(text: &str) -> bool {
    let letters = text
        .find(|c: char| !c.is_ascii_alphabetic())
        .unwrap_or(text.len());
    letters <= 2
        && text[letters..].starts_with(['\'', '"'])
        && text[..letters].chars().all(|c| "rRuUbBfF".contains(c))
}

/// A text at the start of `text`, and how many bytes it takes. Bytes and
/// formatted texts are none of our values.
pub(super) fn quoted(text: &str) -> Option<(String, usize)> {
    let letters = text.find(['\'', '"'])?;
    let prefix = text[..letters].to_ascii_lowercase();
    if !matches!(prefix.as_str(), "" | "r" | "u") {
        return None;
    }
    let body = &text[letters..];
    let quote = body.get(..1)?;
    let triple = quote.repeat(3);
    let quote = if body.starts_with(&triple) {
        &triple
    } else {
        quote
    };
    let mut rest = &body[quote.len()..];
    let mut found = String::new();
    loop {
        if let Some(after) = rest.strip_prefix(quote) {
            return Some((found, text.len() - after.len()));
        }
        let c = rest.chars().next()?;
        rest = &rest[c.len_utf8()..];
        if c == '\n' && quote.len() == 1 {
            return None;
        }
        if c != '\\' {
            found.push(c);
            continue;
        }
        if prefix == "r" {
            let next = rest.chars().next()?;
            found.extend(['\\', next]);
            rest = &rest[next.len_utf8()..];
        } else {
            rest = escape(rest, &mut found)?;
        }
    }
}

/// Reads what follows a backslash; returns what is left.
fn escape<'a>(text: &'a str, found: &mut String) -> Option<&'a str> {
    let c = text.chars().next()?;
    let rest = &text[c.len_utf8()..];
    let plain = match c {
        '\n' => return Some(rest),
        '\\' | '\'' | '"' => c,
        'n' => '\n',
        't' => '\t',
        'r' => '\r',
        'a' => '\x07',
        'b' => '\x08',
        'f' => '\x0c',
        'v' => '\x0b',
        '0'..='7' => {
            let length = text
                .bytes()
                .take(3)
                .take_while(|b| (b'0'..=b'7').contains(b))
                .count();
            found.push(char::from_u32(
                u32::from_str_radix(&text[..length], 8).ok()?,
            )?);
            return Some(&text[length..]);
        }
        'x' => return coded(rest, 2, found),
        'u' => return coded(rest, 4, found),
        'U' => return coded(rest, 8, found),
        'N' => return None,
        other => {
            found.push('\\');
            other
        }
    };
    found.push(plain);
    Some(rest)
}

/// A character by its code in hexadecimal; half of a pair (as JSON writes
/// characters beyond 16 bits) is joined with the other half.
fn coded<'a>(text: &'a str, length: usize, found: &mut String) -> Option<&'a str> {
    let code = |text: &str| u32::from_str_radix(text, 16).ok();
    let high = code(text.get(..length)?)?;
    let rest = &text[length..];
    if let Some(c) = char::from_u32(high) {
        found.push(c);
        return Some(rest);
    }
    let low = rest
        .strip_prefix("\\u")
        .and_then(|rest| code(rest.get(..4)?));
    match low {
        Some(low @ 0xdc00..=0xdfff) if (0xd800..0xdc00).contains(&high) => {
            found.push(char::from_u32(
                0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00),
            )?);
            Some(&rest[6..])
        }
        _ => {
            found.push(char::REPLACEMENT_CHARACTER);
            Some(rest)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers() {
        for (text, value, length) in [
            ("12,", Value::Int(12), 2),
            ("1_000", Value::Int(1000), 5),
            ("0x1F)", Value::Int(31), 4),
            ("00", Value::Int(0), 2),
            ("1.", Value::Float(1.0), 2),
            (".5e-1]", Value::Float(0.05), 5),
            ("1e5", Value::Float(1e5), 3),
        ] {
            assert_eq!(number(text), Some((value, length)), "{text}");
        }
        for text in ["", ".", "05", "1j", "1a", "0xg", "e5", "_"] {
            assert_eq!(number(text), None, "{text}");
        }
        assert!(matches!(
            number(&"9".repeat(60)),
            Some((Value::Float(_), 60))
        ));
    }

    #[test]
    fn texts() {
        for (text, value) in [
            (r#"'it\'s'"#, "it's"),
            (r#""a\n\x41\u00e9\101\d""#, "a\nAéA\\d"),
            (r"r'\n'", "\\n"),
            ("'''a\n'b''''", "a\n'b"),
            (r#""\ud83d\ude00""#, "😀"),
            ("''", ""),
        ] {
            let found = quoted(text).map(|(found, _)| found);
            let expected = if text.starts_with("'''") {
                "a\n'b"
            } else {
                value
            };
            assert_eq!(found.as_deref(), Some(expected), "{text}");
        }
        for text in ["'a", "'a\n'", "f'a'", "b'a'", r"'\N{DASH}'", r"'\x4'"] {
            assert_eq!(quoted(text), None, "{text}");
        }
        assert!(starts_text("rb'x'") && starts_text("\"") && !starts_text("rows('x')"));
    }
}
