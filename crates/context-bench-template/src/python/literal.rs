//! `ast.literal_eval`: Python literals to values.
//!
//! Tuples and sets become lists; keys of dictionaries become text. What JSON cannot
//! hold (bytes, complex numbers, integers beyond 64 bits) is an error.
//!
//! Written by hand for parity with CPython: what it accepts and refuses decides which
//! answers are scored.

use std::fmt;

use serde_json::{Map, Number, Value};

/// How deep literals may be nested.
const MAX_DEPTH: usize = 100;

/// A text that is no Python literal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LiteralError {
    /// What is wrong.
    pub message: &'static str,
    /// Where: bytes from the start of the text.
    pub offset: usize,
}

impl fmt::Display for LiteralError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "no Python literal: {} at offset {}",
            self.message, self.offset
        )
    }
}

impl std::error::Error for LiteralError {}

/// Reads a Python literal: text, numbers, lists, tuples, sets, dictionaries, `None`,
/// `True` and `False`.
pub fn literal_eval(text: &str) -> Result<Value, LiteralError> {
    let mut reader = Reader {
        text,
        at: 0,
        nesting: 1,
    };
    // Line breaks may stand before, after and inside of brackets.
    reader.skip();
    reader.nesting = 0;
    let value = reader.top_level()?;
    reader.nesting = 1;
    reader.skip();
    if reader.at < text.len() {
        return Err(reader.error("something follows the value"));
    }
    Ok(value)
}

struct Reader<'t> {
    text: &'t str,
    at: usize,
    /// How many brackets are open.
    nesting: usize,
}

impl<'t> Reader<'t> {
    fn error(&self, message: &'static str) -> LiteralError {
        LiteralError {
            message,
            offset: self.at,
        }
    }

    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn skip(&mut self) {
        loop {
            let blank = |c| match c {
                ' ' | '\t' | '\u{c}' => true,
                '\n' | '\r' => self.nesting > 0,
                _ => false,
            };
            let rest = self.rest().trim_start_matches(blank);
            self.at = self.text.len() - rest.len();
            if !rest.starts_with('#') {
                return;
            }
            self.at += rest.find('\n').unwrap_or(rest.len());
        }
    }

    fn eat(&mut self, mark: char) -> bool {
        self.skip();
        let found = self.rest().starts_with(mark);
        if found {
            self.at += mark.len_utf8();
        }
        found
    }

    /// A value, or a tuple without parentheses.
    fn top_level(&mut self) -> Result<Value, LiteralError> {
        let first = self.value(0)?;
        if !self.eat(',') {
            return Ok(first);
        }
        let mut items = vec![first];
        self.skip();
        while self.at < self.text.len() {
            items.push(self.value(0)?);
            if !self.eat(',') {
                break;
            }
            self.skip();
        }
        Ok(Value::Array(items))
    }

    fn value(&mut self, depth: usize) -> Result<Value, LiteralError> {
        if depth > MAX_DEPTH {
            return Err(self.error("nested too deep"));
        }
        self.skip();
        match self.peek() {
            None => Err(self.error("a value was expected")),
            Some('[') => {
                self.at += 1;
                Ok(Value::Array(self.items(']', depth)?.0))
            }
            Some('(') => {
                self.at += 1;
                let (mut items, comma) = self.items(')', depth)?;
                match (items.pop(), items.is_empty(), comma) {
                    // Parentheses around one value make no tuple.
                    (Some(only), true, false) => Ok(only),
                    (Some(last), ..) => {
                        items.push(last);
                        Ok(Value::Array(items))
                    }
                    (None, ..) => Ok(Value::Array(items)),
                }
            }
            Some('{') => self.braces(depth),
            Some(c) if c == '-' || c == '+' || c == '.' || c.is_ascii_digit() => self.number(),
            Some('\'' | '"') => self.strings(),
            Some(c) if c.is_alphabetic() || c == '_' => self.word(),
            Some(_) => Err(self.error("a value was expected")),
        }
    }

    /// Values up to a closing mark, and whether a comma stood after the last.
    fn items(&mut self, close: char, depth: usize) -> Result<(Vec<Value>, bool), LiteralError> {
        let mut items = Vec::new();
        let mut comma = false;
        self.nesting += 1;
        loop {
            if self.eat(close) {
                self.nesting -= 1;
                return Ok((items, comma));
            }
            if !items.is_empty() && !comma {
                return Err(self.error("a comma was expected"));
            }
            items.push(self.value(depth + 1)?);
            comma = self.eat(',');
        }
    }

    fn braces(&mut self, depth: usize) -> Result<Value, LiteralError> {
        self.at += 1;
        let mut map = Map::new();
        let mut set = Vec::new();
        let mut comma = true;
        self.nesting += 1;
        loop {
            if self.eat('}') {
                self.nesting -= 1;
                return Ok(if set.is_empty() {
                    Value::Object(map)
                } else {
                    Value::Array(set)
                });
            }
            if !comma {
                return Err(self.error("a comma was expected"));
            }
            let first = self.value(depth + 1)?;
            if self.eat(':') {
                if !set.is_empty() {
                    return Err(self.error("a set has no values"));
                }
                if first.is_array() || first.is_object() {
                    return Err(self.error("a list cannot be a key"));
                }
                let value = self.value(depth + 1)?;
                map.insert(super::str(&first), value);
            } else if map.is_empty() {
                if !set.contains(&first) {
                    set.push(first);
                }
            } else {
                return Err(self.error("a colon was expected"));
            }
            comma = self.eat(',');
        }
    }

    fn word(&mut self) -> Result<Value, LiteralError> {
        let rest = self.rest();
        let end = rest
            .find(|c: char| !(c.is_alphanumeric() || c == '_'))
            .unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        if after.starts_with(['\'', '"']) {
            return self.strings();
        }
        let value = match word {
            "None" => Value::Null,
            "True" => Value::Bool(true),
            "False" => Value::Bool(false),
            "set" if after.starts_with("()") => {
                self.at += end + 2;
                return Ok(Value::Array(Vec::new()));
            }
            _ => return Err(self.error("a name is not a literal")),
        };
        self.at += end;
        Ok(value)
    }

    fn number(&mut self) -> Result<Value, LiteralError> {
        let mut negative = false;
        // Python allows one sign.
        if let Some(sign @ ('-' | '+')) = self.peek() {
            negative = sign == '-';
            self.at += 1;
            self.skip();
        }
        let rest = self.rest();
        let mut end = 0;
        let bytes = rest.as_bytes();
        while let Some(&byte) = bytes.get(end) {
            let exponent_sign = matches!(byte, b'+' | b'-')
                && matches!(bytes.get(end.wrapping_sub(1)), Some(b'e' | b'E'))
                && !rest.starts_with("0x")
                && !rest.starts_with("0X");
            if !(byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'.' || exponent_sign) {
                break;
            }
            end += 1;
        }
        let written = &rest[..end];
        let wrong = self.error("this is not a number");
        if written.is_empty()
            || written.ends_with('_')
            || written.starts_with('_')
            || written.contains("__")
        {
            return Err(wrong);
        }
        let lower = written.to_ascii_lowercase();
        let radix = [("0x", 16), ("0o", 8), ("0b", 2)]
            .into_iter()
            .find_map(|(prefix, radix)| lower.strip_prefix(prefix).map(|digits| (digits, radix)));
        let digits = lower.replace('_', "");
        let number = if let Some((digits, radix)) = radix {
            let digits = digits.replace('_', "");
            let size = i128::from_str_radix(&digits, radix).map_err(|_| wrong.clone())?;
            integer(size, negative).ok_or(wrong)?
        } else if digits.bytes().all(|byte| byte.is_ascii_digit()) {
            let octal_like = digits.len() > 1 && digits.starts_with('0');
            if octal_like && digits.bytes().any(|byte| byte != b'0') {
                return Err(self.error("a number cannot begin with 0"));
            }
            let size: i128 = digits.parse().map_err(|_| wrong.clone())?;
            integer(size, negative)
                .ok_or_else(|| self.error("this integer needs more than 64 bits"))?
        } else {
            let size: f64 = digits.parse().map_err(|_| wrong.clone())?;
            if digits.contains("inf") || digits.contains("nan") {
                return Err(wrong);
            }
            Number::from_f64(if negative { -size } else { size }).ok_or(wrong)?
        };
        self.at += end;
        Ok(Value::Number(number))
    }

    /// One or more adjacent strings, which Python joins.
    fn strings(&mut self) -> Result<Value, LiteralError> {
        let mut out = String::new();
        loop {
            self.string(&mut out)?;
            let before = self.at;
            self.skip();
            let rest = self.rest();
            let prefix = rest.find(['\'', '"']).unwrap_or(rest.len());
            let more = prefix < rest.len()
                && prefix <= 1
                && rest[..prefix]
                    .chars()
                    .all(|c| matches!(c, 'r' | 'R' | 'u' | 'U'));
            if !more {
                self.at = before;
                return Ok(Value::String(out));
            }
        }
    }

    fn string(&mut self, out: &mut String) -> Result<(), LiteralError> {
        let mut raw = false;
        loop {
            match self.peek() {
                Some('r' | 'R') => raw = true,
                Some('u' | 'U') => {}
                Some('b' | 'B') => return Err(self.error("bytes have no JSON form")),
                Some('\'' | '"') => break,
                _ => return Err(self.error("a text was expected")),
            }
            self.at += 1;
        }
        let rest = self.rest();
        let close = ["'''", "\"\"\"", "'", "\""]
            .into_iter()
            .find(|mark| rest.starts_with(mark))
            .unwrap_or("'");
        self.at += close.len();
        loop {
            let rest = self.rest();
            if rest.starts_with(close) {
                self.at += close.len();
                return Ok(());
            }
            let Some(c) = rest.chars().next() else {
                return Err(self.error("a text does not end"));
            };
            if c == '\n' && close.len() == 1 {
                return Err(self.error("a text does not end on its line"));
            }
            self.at += c.len_utf8();
            if c != '\\' {
                out.push(c);
            } else if raw {
                out.push('\\');
                if let Some(next) = self.peek() {
                    out.push(next);
                    self.at += next.len_utf8();
                }
            } else {
                self.escape(out)?;
            }
        }
    }

    fn escape(&mut self, out: &mut String) -> Result<(), LiteralError> {
        let Some(c) = self.peek() else {
            return Err(self.error("a text does not end"));
        };
        self.at += c.len_utf8();
        let simple = match c {
            '\n' => return Ok(()),
            '\\' | '\'' | '"' => c,
            'a' => '\u{7}',
            'b' => '\u{8}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'v' => '\u{b}',
            'x' => self.code(2, 16)?,
            'u' => self.code(4, 16)?,
            'U' => self.code(8, 16)?,
            '0'..='7' => {
                self.at -= 1;
                let digits = self.rest().bytes().take(3);
                let n = digits
                    .take_while(|byte| matches!(byte, b'0'..=b'7'))
                    .count();
                self.code(n, 8)?
            }
            'N' => return Err(self.error("named characters are not known")),
            other => {
                // Python keeps the backslash of an escape it does not know.
                out.push('\\');
                other
            }
        };
        out.push(simple);
        Ok(())
    }

    fn code(&mut self, n: usize, radix: u32) -> Result<char, LiteralError> {
        let wrong = self.error("this is not a character");
        let digits = self.rest().get(..n).ok_or_else(|| wrong.clone())?;
        if !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(wrong);
        }
        let code = u32::from_str_radix(digits, radix).map_err(|_| wrong.clone())?;
        self.at += n;
        char::from_u32(code).ok_or(wrong)
    }
}

fn integer(size: i128, negative: bool) -> Option<Number> {
    let signed = if negative { -size } else { size };
    i64::try_from(signed)
        .map(Number::from)
        .or_else(|_| u64::try_from(signed).map(Number::from))
        .ok()
}
