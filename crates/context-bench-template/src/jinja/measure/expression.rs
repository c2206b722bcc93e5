//! The expressions in a piece of code, read by the engine's precedence, to find what each
//! of them makes.

use super::edits::Edits;
use super::{PERCENT, assigned, at_top};
use crate::jinja::bounds::{FREE, JOINED, KEPT, MEASURED, OPERAND};
use crate::jinja::tokens::{Kind, Token};

/// Operands of a sum that may go unmeasured: each is at most `MAX_SIZE`, and only the
/// sum is measured.
const FEW_OPERANDS: usize = 4;

/// An operand, by the places of its first and last token.
#[derive(Clone, Copy)]
struct Operand {
    first: usize,
    last: usize,
    /// Whether a filter behind it applies to the whole of it.
    closed: bool,
    /// Whether it is a text in quotes, or one that was formatted.
    text: bool,
}

/// Goes through the tokens of a piece of code by the engine's precedence.
pub(super) struct ExpressionReader<'e, 't, 's> {
    tokens: &'t [Token<'s>],
    at: usize,
    edits: &'e mut Edits,
}

impl<'e, 't, 's> ExpressionReader<'e, 't, 's> {
    pub(super) fn new(tokens: &'t [Token<'s>], edits: &'e mut Edits) -> Self {
        Self {
            tokens,
            at: 0,
            edits,
        }
    }

    fn peek(&self) -> Option<&'t Token<'s>> {
        self.tokens.get(self.at)
    }

    fn is_mark(&self, marks: &[&str]) -> bool {
        self.peek().is_some_and(|token| token.is_mark(marks))
    }

    fn is_name(&self, names: &[&str]) -> bool {
        self.peek().is_some_and(|token| token.is_name(names))
    }

    fn skip_mark(&mut self, marks: &[&str]) -> bool {
        let found = self.is_mark(marks);
        self.at += usize::from(found);
        found
    }

    fn skip_name(&mut self, names: &[&str]) -> bool {
        let found = self.is_name(names);
        self.at += usize::from(found);
        found
    }

    /// Puts a filter behind an operand.
    fn measure(&mut self, first: usize, last: usize, closed: bool, filter: &str) {
        let end = self.tokens[last].span.end();
        if closed {
            self.edits.insert(end, format!("|{filter}"));
        } else {
            let start = self.tokens[first].span.start;
            self.edits.insert(start, "(".to_owned());
            self.edits.insert(end, format!(")|{filter}"));
        }
    }

    pub(super) fn code(&mut self, statement: bool) {
        let last = self.tokens.len().saturating_sub(1);
        if statement {
            let word = self.peek().map_or("", |token| token.span.text);
            self.at = 1;
            match word {
                "set" => match assigned(self.tokens) {
                    Some(at) => {
                        self.at = at + 1;
                        self.everything();
                        let value = at + 1..self.tokens.len();
                        if !value.is_empty() {
                            self.assignment(at);
                        }
                        return;
                    }
                    None => {
                        // A body, with filters behind the name.
                        while self.peek().is_some() && !self.is_mark(&["|"]) {
                            self.at += 1;
                        }
                        self.filters();
                    }
                },
                "for" => {
                    let place = at_top(self.tokens).find(|&at| self.tokens[at].is_name(&["in"]));
                    self.at = place.map_or(self.tokens.len(), |at| at + 1);
                }
                "macro" => {
                    self.at = 2;
                    self.skip_mark(&["("]);
                }
                "filter" => {
                    self.filter();
                    self.filters();
                }
                // The call itself must stay what it is; what it gives is written.
                "call" | "do" => {
                    self.everything();
                    let end = self.tokens[last].span.end();
                    self.edits.remove_at(end);
                    return;
                }
                _ => {}
            }
        }
        self.everything();
    }

    /// What `{% set … = … %}` keeps: a list without brackets is one too, and nothing
    /// that leads back may go into a namespace.
    fn assignment(&mut self, equals: usize) {
        let (first, last) = (equals + 1, self.tokens.len() - 1);
        let value = &self.tokens[first..];
        if at_top(value).any(|at| value[at].is_mark(&[","])) {
            self.measure(first, last, false, JOINED);
        }
        if self.tokens[..equals]
            .iter()
            .any(|token| token.is_mark(&["."]))
        {
            self.measure(first, last, false, KEPT);
        }
    }

    /// Everything that is left, whatever stands between the expressions.
    fn everything(&mut self) {
        while self.at < self.tokens.len() {
            self.expressions();
            self.at += 1;
        }
    }

    /// Expressions with anything between them, up to a closing bracket. Gives whether
    /// there was a comma, and whether there was a colon.
    fn expressions(&mut self) -> (bool, bool) {
        let (mut comma, mut colon) = (false, false);
        while self.at < self.tokens.len() && !self.is_mark(&[")", "]", "}"]) {
            let before = self.at;
            self.expression();
            if self.at == before {
                comma |= self.is_mark(&[","]);
                colon |= self.is_mark(&[":"]);
                self.at += 1;
            }
        }
        (comma, colon)
    }

    /// Sums with comparisons, `and`, `or`, `not`, `if` and `else` between them: these
    /// make nothing.
    fn expression(&mut self) {
        loop {
            while self.skip_name(&["not"]) {}
            self.sum();
            loop {
                let not_in = self.is_name(&["not"])
                    && self
                        .tokens
                        .get(self.at + 1)
                        .is_some_and(|token| token.is_name(&["in"]));
                self.at += usize::from(not_in);
                let compares =
                    self.skip_mark(&["==", "!=", "<", "<=", ">", ">="]) || self.skip_name(&["in"]);
                if !compares {
                    break;
                }
                self.sum();
            }
            if !self.skip_name(&["and", "or", "if", "else"]) {
                return;
            }
        }
    }

    fn sum(&mut self) -> Option<Operand> {
        self.chain(&["+", "-"], |this| this.chain(&["~"], Self::product))
    }

    /// Operands with `+`, `-` or `~` between them. The engine puts them together from
    /// the left, so that the first are copied as often as there are operators.
    fn chain(
        &mut self,
        operators: &[&str],
        mut operand: impl FnMut(&mut Self) -> Option<Operand>,
    ) -> Option<Operand> {
        let first = operand(self)?;
        let mut operands = vec![first];
        let mut grows = false;
        while self.is_mark(operators) {
            grows |= !self.is_mark(&["-"]);
            self.at += 1;
            operands.push(operand(self)?);
        }
        let count = operands.len();
        if count == 1 {
            return Some(first);
        }
        let (start, last) = (first.first, operands[count - 1].last);
        let mut sum = Operand {
            first: start,
            last,
            closed: false,
            text: false,
        };
        if !grows || self.is_constant(start, last) {
            return Some(sum);
        }
        if count > FEW_OPERANDS {
            for (place, operand) in operands.iter().enumerate() {
                if operand.closed && !self.is_constant(operand.first, operand.last) {
                    let copies = (count - place).min(count - 1);
                    let filter = format!("{OPERAND}({copies})");
                    self.measure(operand.first, operand.last, true, &filter);
                }
            }
        }
        self.measure(start, last, false, JOINED);
        sum.closed = true;
        Some(sum)
    }

    /// Operands with `*`, `/`, `//` or `%` between them.
    fn product(&mut self) -> Option<Operand> {
        let mut left = self.power()?;
        while self.is_mark(&["*", "/", "//", "%"]) {
            let operator = self.at;
            self.at += 1;
            let right = self.power()?;
            let whole = Operand {
                last: right.last,
                closed: true,
                text: false,
                ..left
            };
            let sign = &self.tokens[operator].span;
            left = match sign.text {
                "%" if left.text => {
                    self.edits.replace(sign.start, 1, format!("|{PERCENT}("));
                    let end = self.tokens[right.last].span.end();
                    self.edits.insert(end, format!(")|{MEASURED}"));
                    Operand {
                        text: true,
                        ..whole
                    }
                }
                "*" => {
                    // The engine would work constants out while it compiles.
                    let constant = |side: Operand| self.is_constant(side.first, side.last);
                    if constant(left) && constant(right) {
                        self.measure(left.first, left.last, false, FREE);
                    }
                    self.measure(left.first, right.last, false, MEASURED);
                    whole
                }
                _ => Operand {
                    closed: false,
                    ..whole
                },
            };
        }
        Some(left)
    }

    fn power(&mut self) -> Option<Operand> {
        let mut left = self.unary()?;
        while self.skip_mark(&["**"]) {
            left = Operand {
                last: self.unary()?.last,
                closed: false,
                text: false,
                ..left
            };
        }
        Some(left)
    }

    /// A value with everything behind it, filters and tests too.
    fn unary(&mut self) -> Option<Operand> {
        let first = self.at;
        let text = self.value()?;
        let last = self.at - 1;
        let filtered = self.filters();
        Some(Operand {
            first,
            last: self.at - 1,
            closed: true,
            text: text && last == self.at - 1 && !filtered,
        })
    }

    /// A value with its attributes, indices and calls; whether it is a text in quotes.
    fn value(&mut self) -> Option<bool> {
        while self.skip_mark(&["-"]) {}
        let token = self.peek()?;
        let first = self.at;
        let mut text = false;
        let mut measure = None;
        match token.kind {
            Kind::Name | Kind::Number => self.at += 1,
            Kind::Literal => {
                text = true;
                while self.peek().is_some_and(|token| token.kind == Kind::Literal) {
                    self.at += 1;
                }
            }
            Kind::Mark if token.is_mark(&["(", "[", "{"]) => {
                self.at += 1;
                let (comma, _) = self.expressions();
                self.at += 1;
                if comma || token.span.text != "(" {
                    measure = Some(JOINED);
                }
            }
            Kind::Mark => return None,
        }
        let mut attribute = false;
        loop {
            if self.skip_mark(&["."]) {
                self.at += 1;
                measure = None;
                attribute = true;
            } else if self.skip_mark(&["["]) {
                let (_, slice) = self.expressions();
                self.at += 1;
                measure = slice.then_some(JOINED);
                attribute = false;
            } else if self.skip_mark(&["("]) {
                self.expressions();
                self.at += 1;
                // Methods measure what they give themselves.
                measure = (!attribute).then_some(MEASURED);
                attribute = false;
            } else {
                break;
            }
            text = false;
        }
        self.at = self.at.min(self.tokens.len());
        let last = self.at.checked_sub(1)?;
        // In `with (a, b) = …` it is not a value but names.
        if let Some(filter) = measure
            && !self.is_mark(&["="])
            && !self.is_constant(first, last)
        {
            self.measure(first, last, true, filter);
        }
        Some(text)
    }

    /// Filters and tests; whether there were any.
    fn filters(&mut self) -> bool {
        let before = self.at;
        loop {
            if self.skip_mark(&["|"]) {
                self.filter();
            } else if self.skip_name(&["is"]) {
                self.skip_name(&["not"]);
                self.filter_name();
                let argument = self.peek().is_some_and(|token| {
                    token.kind != Kind::Mark || token.is_mark(&["-", "[", "{", "("])
                });
                if argument && !self.is_name(&["and", "or", "else", "is"]) {
                    self.value();
                }
            } else {
                return self.at > before;
            }
        }
    }

    /// A filter behind its `|`, with its arguments.
    fn filter(&mut self) {
        self.filter_name();
        if self.skip_mark(&["("]) {
            self.expressions();
            self.at = (self.at + 1).min(self.tokens.len());
        }
        if let Some(last) = self.at.checked_sub(1) {
            self.measure(last, last, true, MEASURED);
        }
    }

    fn filter_name(&mut self) {
        self.at = (self.at + 1).min(self.tokens.len());
        while self.skip_mark(&["."]) {
            self.at = (self.at + 1).min(self.tokens.len());
        }
    }

    /// Whether tokens are a constant, of the size at which it is written. One with `*`
    /// or a filter is not.
    fn is_constant(&self, first: usize, last: usize) -> bool {
        let words = ["true", "True", "false", "False", "none", "None"];
        let mut tokens = self.tokens[first..=last].iter();
        tokens.all(|token| match token.kind {
            Kind::Name => words.contains(&token.span.text),
            Kind::Number | Kind::Literal => true,
            Kind::Mark => !token.is_mark(&["*", "|"]),
        })
    }
}
