//! BFCL's calls in Python syntax: `[f(a=1, b=[2, 'x']), g.h(c={'d': None})]`.
//!
//! A parser for the expressions that occur as arguments, with bounded depth and
//! in one pass. What BFCL's decoder refuses (comparisons, comprehensions,
//! formatted strings, attributes as values) is refused here too. Written by hand for parity
//! with that decoder, and because replies mix Python with JSON; the tokens are those of
//! [`context_bench_template::python`].

use context_bench_template::python::{
    PythonNumber, SurrogatePairs, Token, TokenKind, Tokens, is_keyword,
};

use super::arithmetic::arithmetic;
use super::value::{Call, Value};
use crate::text::words::is_space;

/// Deeper nesting is refused.
const MAX_DEPTH: usize = 60;
/// More arguments of one call, or entries of one map, are refused: each is
/// compared with all others.
const MAX_ENTRIES: usize = 2000;

/// How closely a text must be Python.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    /// Python only.
    Strict,
    /// Also `true`, `false` and `null`, and keywords as names of arguments.
    Relaxed,
}

/// Parses one expression, or several with commas in between (a tuple); the rest
/// of the text must be blank.
pub(super) fn expression(text: &str, dialect: Dialect) -> Option<Value> {
    let mut parser = Parser::new(text, dialect);
    let mut value = parser.sum(0)?;
    if parser.take(",") {
        let mut items = vec![value];
        while parser.is_in_line() {
            items.push(parser.sum(0)?);
            if !parser.take(",") {
                break;
            }
        }
        value = Value::Tuple(items);
    }
    let rest = text[parser.end..].trim_matches(is_space);
    (rest.is_empty() || rest.starts_with('#') && !rest.contains('\n')).then_some(value)
}

/// Parses the call, list or map at the start of a text; returns where it ends.
pub(super) fn prefix(text: &str, dialect: Dialect) -> Option<(Value, usize)> {
    let mut parser = Parser::new(text, dialect);
    let value = parser.postfix(0)?;
    Some((value, parser.end))
}

#[derive(Clone)]
struct Parser<'a> {
    text: &'a str,
    tokens: Tokens<'a>,
    /// The next token that is not blank.
    next: Option<Token<'a>>,
    /// Where the last token that was taken ends.
    end: usize,
    dialect: Dialect,
    /// Inside brackets lines may end anywhere.
    brackets: usize,
}

impl<'a> Parser<'a> {
    fn new(text: &'a str, dialect: Dialect) -> Self {
        let mut parser = Self {
            text,
            tokens: Tokens::new(text),
            next: None,
            end: 0,
            dialect,
            brackets: 0,
        };
        parser.fetch();
        parser
    }

    fn fetch(&mut self) {
        let inside = self.brackets > 0;
        self.next = self.tokens.find(|token| match token.kind {
            TokenKind::Space | TokenKind::Continuation => false,
            TokenKind::Newline | TokenKind::Comment => !inside,
            _ => true,
        });
    }

    /// Takes the next token.
    fn advance(&mut self) {
        if let Some(token) = self.next {
            self.end = token.end();
            self.fetch();
        }
    }

    fn is_next(&self, operator: &str) -> bool {
        self.next.is_some_and(|token| token.is_operator(operator))
    }

    /// Whether the line goes on with something to read.
    fn is_in_line(&self) -> bool {
        let blank =
            |token: Token<'_>| matches!(token.kind, TokenKind::Newline | TokenKind::Comment);
        self.next.is_some_and(|token| !blank(token))
    }

    /// Takes an operator, when it is next.
    fn take(&mut self, operator: &str) -> bool {
        let is_next = self.is_next(operator);
        if is_next {
            self.advance();
        }
        is_next
    }

    /// Takes an opening bracket.
    fn open(&mut self) {
        self.brackets += 1;
        self.advance();
    }

    /// Takes a closing bracket.
    fn close(&mut self) {
        self.brackets -= 1;
        self.advance();
    }

    fn sum(&mut self, depth: usize) -> Option<Value> {
        let mut left = self.product(depth)?;
        loop {
            let operator = if self.take("+") {
                '+'
            } else if self.take("-") {
                '-'
            } else {
                return Some(left);
            };
            let right = self.product(depth)?;
            left = arithmetic(left, operator, right)?;
        }
    }

    fn product(&mut self, depth: usize) -> Option<Value> {
        let mut left = self.unary(depth)?;
        loop {
            let operator = if self.take("//") {
                'q'
            } else if self.take("/") {
                '/'
            } else if self.take("%") {
                '%'
            } else if self.take("*") {
                '*'
            } else {
                return Some(left);
            };
            let right = self.unary(depth)?;
            left = arithmetic(left, operator, right)?;
        }
    }

    fn unary(&mut self, depth: usize) -> Option<Value> {
        if depth > MAX_DEPTH {
            return None;
        }
        if self.take("-") {
            return arithmetic(Value::Int(0), '-', self.unary(depth + 1)?);
        }
        if self.take("+") {
            return arithmetic(Value::Int(0), '+', self.unary(depth + 1)?);
        }
        let base = self.postfix(depth)?;
        if self.take("**") {
            let exponent = self.unary(depth + 1)?;
            return arithmetic(base, '^', exponent);
        }
        Some(base)
    }

    /// An atom; a name perhaps with arguments or an index.
    fn postfix(&mut self, depth: usize) -> Option<Value> {
        let token = self.next?;
        match (token.kind, token.text) {
            (TokenKind::Operator, "[") => self
                .bracketed("]", depth)
                .map(|(items, _)| Value::List(items)),
            (TokenKind::Operator, "(") => {
                let (mut items, comma) = self.bracketed(")", depth)?;
                match items.pop() {
                    Some(item) if items.is_empty() && !comma => Some(item),
                    item => {
                        items.extend(item);
                        Some(Value::Tuple(items))
                    }
                }
            }
            (TokenKind::Operator, "{") => self.dict(depth),
            (TokenKind::Operator, "...") => {
                self.advance();
                Some(Value::text("..."))
            }
            (TokenKind::String, _) => self.strings(),
            (TokenKind::Number, _) => {
                self.advance();
                Some(match token.number().ok()? {
                    PythonNumber::Int(int) => Value::Int(int),
                    PythonNumber::Float(float) | PythonNumber::HugeInt(float) => {
                        Value::Float(float)
                    }
                    _ => return None,
                })
            }
            (TokenKind::Name, _) => self.named(token.start, depth),
            _ => None,
        }
    }

    /// Strings that follow each other are one.
    fn strings(&mut self) -> Option<Value> {
        let mut joined = String::new();
        while let Some(token) = self.next
            && matches!(token.kind, TokenKind::String | TokenKind::OpenString)
        {
            joined.push_str(&token.string(SurrogatePairs::Join).ok()?);
            self.advance();
        }
        Some(Value::Text(joined))
    }

    /// Items up to the closing bracket, and whether a comma stood behind the last.
    fn bracketed(&mut self, close: &str, depth: usize) -> Option<(Vec<Value>, bool)> {
        let mut items = Vec::new();
        let mut comma = false;
        self.open();
        while !self.is_next(close) {
            if !items.is_empty() && !comma {
                return None;
            }
            items.push(self.item(depth)?);
            comma = self.take(",");
        }
        self.close();
        Some((items, comma))
    }

    /// A value inside brackets. Calls directly in a list are calls; BFCL
    /// resolves them only where they are arguments.
    fn item(&mut self, depth: usize) -> Option<Value> {
        self.sum(depth + 1)
    }

    fn dict(&mut self, depth: usize) -> Option<Value> {
        let mut entries = Vec::new();
        self.open();
        while !self.is_next("}") {
            if entries.len() >= MAX_ENTRIES {
                return None;
            }
            let key = self.item(depth)?.resolved();
            if !self.take(":") {
                return None;
            }
            let value = self.item(depth)?.resolved();
            entries.retain(|(known, _): &(Value, Value)| !known.equals(&key));
            entries.push((key, value));
            if !self.take(",") && !self.is_next("}") {
                return None;
            }
        }
        self.close();
        Some(Value::Dict(entries))
    }

    /// A constant, a call, an index or a bare name (a variable, taken as text).
    fn named(&mut self, start: usize, depth: usize) -> Option<Value> {
        let name = self.dotted_name()?;
        if self.is_next("(") {
            return self.call(start, name, depth);
        }
        if self.is_next("[") {
            self.bracketed("]", depth)?;
            return Some(Value::text(&self.text[start..self.end]));
        }
        let relaxed = self.dialect == Dialect::Relaxed;
        match name {
            "None" => Some(Value::None),
            "True" => Some(Value::Bool(true)),
            "False" => Some(Value::Bool(false)),
            "null" if relaxed => Some(Value::None),
            "true" if relaxed => Some(Value::Bool(true)),
            "false" if relaxed => Some(Value::Bool(false)),
            _ if name.contains('.') && !relaxed => None,
            _ => Some(Value::text(name)),
        }
    }

    /// Names with dots in between and nothing else; none of them is a keyword.
    fn dotted_name(&mut self) -> Option<&'a str> {
        let start = self.next?.start;
        loop {
            let name = self.next.filter(|token| token.kind == TokenKind::Name)?;
            if is_keyword(name.text) {
                return None;
            }
            self.advance();
            let mut ahead = self.tokens.clone();
            let goes_on = self.is_next(".")
                && self.next.is_some_and(|dot| dot.start == name.end())
                && ahead.next().is_some_and(|token| {
                    token.kind == TokenKind::Name && token.start == name.end() + 1
                });
            if !goes_on {
                return Some(&self.text[start..name.end()]);
            }
            self.advance();
        }
    }

    fn call(&mut self, start: usize, name: &str, depth: usize) -> Option<Value> {
        let mut call = Call::new(name, Vec::new());
        self.open();
        let mut comma = true;
        while !self.is_next(")") {
            if !comma || call.named.len() >= MAX_ENTRIES {
                return None;
            }
            match self.argument_name() {
                Some(argument) => {
                    let value = self.item(depth)?.resolved();
                    if call.get(argument).is_some() {
                        return None;
                    }
                    call.named.push((argument.to_owned(), value));
                }
                None if call.named.is_empty() => {
                    call.positional.push(self.item(depth)?.resolved());
                }
                None => return None,
            }
            comma = self.take(",");
        }
        self.close();
        call.source = self.text[start..self.end].to_owned();
        Some(Value::Call(Box::new(call)))
    }

    /// Takes `name=`, but not `name==`.
    fn argument_name(&mut self) -> Option<&'a str> {
        let before = self.clone();
        let name = self.next.filter(|token| token.kind == TokenKind::Name)?;
        self.advance();
        let is_allowed = self.dialect == Dialect::Relaxed
            || !is_keyword(name.text) && !matches!(name.text, "None" | "True" | "False");
        if is_allowed && self.take("=") {
            return Some(name.text);
        }
        *self = before;
        None
    }
}

#[cfg(test)]
mod tests;
