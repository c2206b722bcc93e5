//! Calls in Python syntax: `[f(a=1, b=[2, 'x']), g.h(c={'d': None})]`.
//!
//! A parser for the expressions that occur as arguments, with bounded depth and
//! in one pass. What BFCL's decoder refuses (comparisons, comprehensions,
//! formatted texts, attributes as values) is refused here too.

use super::arithmetic::arithmetic;
use super::literal;
use super::value::{Call, Value};
use crate::text::words::{is_space, is_word_char};

/// Deeper nesting is refused.
const MAX_DEPTH: usize = 60;
/// More arguments of one call, or entries of one map, are refused: each is
/// compared with all others.
const MAX_ENTRIES: usize = 2000;

const KEYWORDS: [&str; 32] = [
    "and", "as", "assert", "async", "await", "break", "class", "continue", "def", "del", "elif",
    "else", "except", "finally", "for", "from", "global", "if", "import", "in", "is", "lambda",
    "nonlocal", "not", "or", "pass", "raise", "return", "try", "while", "with", "yield",
];

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
        while !parser.rest().trim_matches(is_space).is_empty() {
            items.push(parser.sum(0)?);
            if !parser.take(",") {
                break;
            }
        }
        value = Value::Tuple(items);
    }
    let rest = parser.rest().trim_matches(is_space);
    (rest.is_empty() || rest.starts_with('#') && !rest.contains('\n')).then_some(value)
}

/// Parses the call, list or map at the start of a text; returns where it ends.
pub(super) fn prefix(text: &str, dialect: Dialect) -> Option<(Value, usize)> {
    let mut parser = Parser::new(text, dialect);
    let value = parser.postfix(0)?;
    Some((value, parser.at))
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    dialect: Dialect,
    /// Inside brackets lines may end anywhere.
    brackets: usize,
}

impl<'a> Parser<'a> {
    fn new(text: &'a str, dialect: Dialect) -> Self {
        Self {
            text,
            at: 0,
            dialect,
            brackets: 0,
        }
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn skip(&mut self) {
        loop {
            let rest = self.rest();
            let multi_line = self.brackets > 0;
            let blank = |c: char| is_space(c) && (multi_line || c != '\n');
            let trimmed = rest.trim_start_matches(blank);
            self.at += rest.len() - trimmed.len();
            if !(multi_line && trimmed.starts_with('#')) {
                return;
            }
            self.at += trimmed.find('\n').unwrap_or(trimmed.len());
        }
    }

    /// Takes `token` after white space, when it is next.
    fn take(&mut self, token: &str) -> bool {
        self.skip();
        let is_next = self.rest().starts_with(token);
        if is_next {
            self.at += token.len();
        }
        is_next
    }

    fn sum(&mut self, depth: usize) -> Option<Value> {
        let mut left = self.product(depth)?;
        loop {
            self.skip();
            let rest = self.rest();
            let operator = match rest.bytes().next() {
                Some(b'+') => '+',
                Some(b'-') => '-',
                _ => return Some(left),
            };
            self.at += 1;
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
            } else if !self.rest().starts_with("**") && self.take("*") {
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
        self.skip();
        let start = self.at;
        let rest = self.rest();
        match rest.chars().next()? {
            '[' => self
                .bracketed(']', depth)
                .map(|(items, _)| Value::List(items)),
            '(' => {
                let (mut items, comma) = self.bracketed(')', depth)?;
                match items.pop() {
                    Some(item) if items.is_empty() && !comma => Some(item),
                    item => {
                        items.extend(item);
                        Some(Value::Tuple(items))
                    }
                }
            }
            '{' => self.dict(depth),
            _ if literal::starts_text(rest) => self.texts(),
            '0'..='9' => self.number(),
            '.' if rest.starts_with("...") => {
                self.at += 3;
                Some(Value::text("..."))
            }
            '.' => self.number(),
            _ => self.named(start, depth),
        }
    }

    fn number(&mut self) -> Option<Value> {
        let (value, length) = literal::number(self.rest())?;
        self.at += length;
        Some(value)
    }

    /// Texts that follow each other are one.
    fn texts(&mut self) -> Option<Value> {
        let mut joined = String::new();
        loop {
            let (text, length) = literal::quoted(self.rest())?;
            self.at += length;
            joined.push_str(&text);
            self.skip();
            if !literal::starts_text(self.rest()) {
                return Some(Value::Text(joined));
            }
        }
    }

    /// Items up to the closing bracket, and whether a comma stood behind the last.
    fn bracketed(&mut self, close: char, depth: usize) -> Option<(Vec<Value>, bool)> {
        let mut items = Vec::new();
        let mut comma = false;
        self.at += 1;
        self.brackets += 1;
        loop {
            self.skip();
            if self.rest().starts_with(close) {
                break;
            }
            if !items.is_empty() && !comma {
                return None;
            }
            items.push(self.item(depth)?);
            comma = self.take(",");
        }
        self.close();
        Some((items, comma))
    }

    fn close(&mut self) {
        self.at += 1;
        self.brackets -= 1;
    }

    /// A value inside brackets. Calls directly in a list are calls; BFCL
    /// resolves them only where they are arguments.
    fn item(&mut self, depth: usize) -> Option<Value> {
        self.sum(depth + 1)
    }

    fn dict(&mut self, depth: usize) -> Option<Value> {
        let mut entries = Vec::new();
        self.at += 1;
        self.brackets += 1;
        loop {
            self.skip();
            if self.rest().starts_with('}') {
                self.close();
                return Some(Value::Dict(entries));
            }
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
            if !self.take(",") && !self.rest().starts_with('}') {
                return None;
            }
        }
    }

    /// A constant, a call, an index or a bare name (a variable, taken as text).
    fn named(&mut self, start: usize, depth: usize) -> Option<Value> {
        let name = self.dotted_name()?;
        self.skip_blanks();
        if self.rest().starts_with('(') {
            return self.call(start, name, depth);
        }
        if self.rest().starts_with('[') {
            self.bracketed(']', depth)?;
            return Some(Value::text(&self.text[start..self.at]));
        }
        self.at = start + name.len();
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

    fn skip_blanks(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start_matches([' ', '\t']).len();
    }

    /// Names with dots in between; not a keyword.
    fn dotted_name(&mut self) -> Option<&'a str> {
        let start = self.at;
        loop {
            let name = self.name()?;
            if KEYWORDS.contains(&name) {
                return None;
            }
            let after = self.rest().strip_prefix('.');
            if !after.is_some_and(|rest| rest.starts_with(is_name_start)) {
                return Some(&self.text[start..self.at]);
            }
            self.at += 1;
        }
    }

    fn name(&mut self) -> Option<&'a str> {
        let rest = self.rest();
        if !rest.starts_with(is_name_start) {
            return None;
        }
        // Combining marks are part of names.
        let end = rest.find(|c: char| !is_word_char(c) && !is_mark(c));
        let name = &rest[..end.unwrap_or(rest.len())];
        self.at += name.len();
        Some(name)
    }

    fn call(&mut self, start: usize, name: &str, depth: usize) -> Option<Value> {
        let mut call = Call::new(name, Vec::new());
        self.at += 1;
        self.brackets += 1;
        let mut comma = true;
        loop {
            self.skip();
            if self.rest().starts_with(')') {
                break;
            }
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
        call.source = self.text[start..self.at].to_owned();
        Some(Value::Call(Box::new(call)))
    }

    /// `name=`, but not `name==`.
    fn argument_name(&mut self) -> Option<&'a str> {
        let start = self.at;
        let name = self.name();
        self.skip();
        let rest = self.rest();
        let is_named = rest.starts_with('=') && !rest.starts_with("==");
        let is_allowed = |name: &&str| {
            self.dialect == Dialect::Relaxed
                || !KEYWORDS.contains(name) && !matches!(*name, "None" | "True" | "False")
        };
        match name.filter(is_allowed) {
            Some(name) if is_named => {
                self.at += 1;
                Some(name)
            }
            _ => {
                self.at = start;
                None
            }
        }
    }
}

fn is_name_start(c: char) -> bool {
    c == '_' || c.is_alphabetic()
}

fn is_mark(c: char) -> bool {
    use unicode_properties::{GeneralCategoryGroup, UnicodeGeneralCategory};
    !c.is_ascii() && c.general_category_group() == GeneralCategoryGroup::Mark
}

#[cfg(test)]
mod tests;
