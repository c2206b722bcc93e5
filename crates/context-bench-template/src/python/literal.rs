//! `ast.literal_eval`: Python literals to values.
//!
//! Tuples and sets become lists; keys of dictionaries become text. What JSON cannot
//! hold (bytes, complex numbers, integers beyond 64 bits) is an error.
//!
//! Written by hand for parity with CPython: what it accepts and refuses decides which
//! answers are scored. The tokens are those of `token.rs`.

use std::fmt;

use serde_json::{Map, Number, Value};

use super::token::{PythonNumber, SurrogatePairs, Token, TokenError, TokenKind, Tokens};

/// How deep literals may be nested.
const MAX_DEPTH: usize = 100;

/// A text that is not a Python literal.
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
            "not a Python literal: {} at offset {}",
            self.message, self.offset
        )
    }
}

impl std::error::Error for LiteralError {}

impl From<TokenError> for LiteralError {
    fn from(error: TokenError) -> Self {
        Self {
            message: error.message,
            offset: error.offset,
        }
    }
}

/// Reads a Python literal: strings, numbers, lists, tuples, sets, dictionaries, `None`,
/// `True` and `False`.
///
/// # Errors
///
/// When the text is anything else, or holds what JSON cannot.
pub fn literal_eval(text: &str) -> Result<Value, LiteralError> {
    let mut reader = Reader {
        length: text.len(),
        tokens: Tokens::new(text),
        next: None,
        nesting: 1,
    };
    // Line breaks may stand before, after and inside of brackets.
    reader.advance();
    reader.nesting = 0;
    let value = reader.top_level()?;
    reader.nesting = 1;
    reader.skip_blank();
    match reader.next {
        Some(_) => Err(reader.error("something follows the value")),
        None => Ok(value),
    }
}

struct Reader<'t> {
    length: usize,
    tokens: Tokens<'t>,
    /// The next token that is not blank.
    next: Option<Token<'t>>,
    /// How many brackets are open.
    nesting: usize,
}

impl<'t> Reader<'t> {
    /// An error at the next token.
    fn error(&self, message: &'static str) -> LiteralError {
        LiteralError {
            message,
            offset: self.next.map_or(self.length, |token| token.start),
        }
    }

    fn advance(&mut self) {
        self.next = self.tokens.next();
        self.skip_blank();
    }

    /// Skips comments, and inside of brackets ends of lines.
    fn skip_blank(&mut self) {
        while self.next.is_some_and(|token| match token.kind {
            TokenKind::Comment | TokenKind::Continuation => true,
            TokenKind::Newline => self.nesting > 0,
            _ => false,
        }) {
            self.next = self.tokens.next();
        }
    }

    fn is_next(&self, operator: &str) -> bool {
        self.next.is_some_and(|token| token.is_operator(operator))
    }

    fn eat(&mut self, operator: &str) -> bool {
        let found = self.is_next(operator);
        if found {
            self.advance();
        }
        found
    }

    fn open(&mut self) {
        self.nesting += 1;
        self.advance();
    }

    fn close(&mut self, bracket: &str) -> bool {
        let found = self.is_next(bracket);
        if found {
            self.nesting -= 1;
            self.advance();
        }
        found
    }

    /// A value, or a tuple without parentheses.
    fn top_level(&mut self) -> Result<Value, LiteralError> {
        let first = self.value(0)?;
        if !self.eat(",") {
            return Ok(first);
        }
        let mut items = vec![first];
        while self
            .next
            .is_some_and(|token| token.kind != TokenKind::Newline)
        {
            items.push(self.value(0)?);
            if !self.eat(",") {
                break;
            }
        }
        Ok(Value::Array(items))
    }

    fn value(&mut self, depth: usize) -> Result<Value, LiteralError> {
        if depth > MAX_DEPTH {
            return Err(self.error("nested too deep"));
        }
        let Some(token) = self.next else {
            return Err(self.error("a value was expected"));
        };
        match (token.kind, token.text) {
            (TokenKind::Operator, "[") => Ok(Value::Array(self.items("]", depth)?.0)),
            (TokenKind::Operator, "(") => {
                let (mut items, comma) = self.items(")", depth)?;
                match (items.pop(), items.is_empty(), comma) {
                    // Parentheses around one value do not make a tuple.
                    (Some(only), true, false) => Ok(only),
                    (Some(last), ..) => {
                        items.push(last);
                        Ok(Value::Array(items))
                    }
                    (None, ..) => Ok(Value::Array(items)),
                }
            }
            (TokenKind::Operator, "{") => self.braces(depth),
            // Python allows one sign.
            (TokenKind::Operator, sign @ ("-" | "+")) => {
                self.advance();
                self.number(sign == "-")
            }
            (TokenKind::Number, _) => self.number(false),
            (TokenKind::String | TokenKind::OpenString, _) => self.strings(),
            (TokenKind::Name, name) => self.word(name),
            _ => Err(self.error("a value was expected")),
        }
    }

    /// Values up to a closing bracket, and whether a comma stood after the last.
    fn items(&mut self, close: &str, depth: usize) -> Result<(Vec<Value>, bool), LiteralError> {
        let mut items = Vec::new();
        let mut comma = false;
        self.open();
        loop {
            if self.close(close) {
                return Ok((items, comma));
            }
            if !items.is_empty() && !comma {
                return Err(self.error("a comma was expected"));
            }
            items.push(self.value(depth + 1)?);
            comma = self.eat(",");
        }
    }

    fn braces(&mut self, depth: usize) -> Result<Value, LiteralError> {
        let mut map = Map::new();
        let mut set = Vec::new();
        let mut comma = true;
        self.open();
        loop {
            if self.close("}") {
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
            if self.eat(":") {
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
            comma = self.eat(",");
        }
    }

    fn word(&mut self, name: &str) -> Result<Value, LiteralError> {
        let value = match name {
            "None" => Value::Null,
            "True" => Value::Bool(true),
            "False" => Value::Bool(false),
            "set" => {
                self.advance();
                if !self.is_next("(") {
                    return Err(self.error("a name is not a literal"));
                }
                self.open();
                if !self.close(")") {
                    return Err(self.error("a call is not a literal"));
                }
                return Ok(Value::Array(Vec::new()));
            }
            _ => return Err(self.error("a name is not a literal")),
        };
        self.advance();
        Ok(value)
    }

    fn number(&mut self, negative: bool) -> Result<Value, LiteralError> {
        let Some(token) = self.next else {
            return Err(self.error("a number was expected"));
        };
        let number = match token.number()? {
            PythonNumber::Int(size) => integer(size, negative),
            PythonNumber::HugeInt(_) => None,
            PythonNumber::Float(size) => {
                let signed = if negative { -size } else { size };
                let finite = Number::from_f64(signed);
                Some(finite.ok_or_else(|| self.error("JSON has no infinite numbers"))?)
            }
        };
        let number = number.ok_or_else(|| self.error("this integer needs more than 64 bits"))?;
        self.advance();
        Ok(Value::Number(number))
    }

    /// One or more adjacent strings, which Python joins.
    fn strings(&mut self) -> Result<Value, LiteralError> {
        let mut out = String::new();
        while let Some(token) = self.next
            && matches!(token.kind, TokenKind::String | TokenKind::OpenString)
        {
            out.push_str(&token.string(SurrogatePairs::Refuse)?);
            self.advance();
        }
        Ok(Value::String(out))
    }
}

fn integer(size: i128, negative: bool) -> Option<Number> {
    let signed = if negative { -size } else { size };
    i64::try_from(signed)
        .map(Number::from)
        .or_else(|_| u64::try_from(signed).map(Number::from))
        .ok()
}
