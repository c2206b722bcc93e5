//! From tokens to the tree of an answer: relations, sums and products.
//! Operands are in `operand.rs`, brackets in `bracket.rs`.
//!
//! Recursive descent with a bound on the nesting; whatever it cannot read is
//! text. The parser never guesses: every token must have its place.

use super::expr::{Expr, Interval};
use super::token::{Kind, Token};

/// Deeper nesting is not read. Frames are below 1 kB, so this is far from any stack.
const MAX_DEPTH: u32 = 96;

/// Reads all tokens as one expression or relation.
pub(super) fn whole(tokens: &[Token]) -> Option<Expr> {
    let mut parser = Parser {
        tokens: tokens.to_vec(),
        at: 0,
        depth: 0,
        bars: false,
    };
    let expr = parser.relation()?;
    (parser.at == parser.tokens.len()).then_some(expr)
}

pub(super) struct Parser {
    pub(super) tokens: Vec<Token>,
    pub(super) at: usize,
    depth: u32,
    /// Whether an absolute value written with plain bars is open here.
    pub(super) bars: bool,
}

impl Parser {
    pub(super) fn peek(&self) -> Option<&Kind> {
        self.tokens.get(self.at).map(|token| &token.kind)
    }

    pub(super) fn take(&mut self, kind: &Kind) -> bool {
        let found = self.peek() == Some(kind);
        self.at += usize::from(found);
        found
    }

    /// Goes one level deeper, or gives up.
    pub(super) fn nested<T>(&mut self, parse: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        if self.depth >= MAX_DEPTH {
            return None;
        }
        self.depth += 1;
        let result = parse(self);
        self.depth -= 1;
        result
    }

    /// A chain of relations, or a single side.
    pub(super) fn relation(&mut self) -> Option<Expr> {
        let first = self.union()?;
        let mut rest = Vec::new();
        while let Some(Kind::Relation(relation)) = self.peek() {
            let relation = *relation;
            self.at += 1;
            rest.push((relation, self.union()?));
        }
        Some(if rest.is_empty() {
            first
        } else {
            Expr::Relation(Box::new(first), rest)
        })
    }

    fn union(&mut self) -> Option<Expr> {
        let first = self.sum()?;
        if self.peek() != Some(&Kind::Union) {
            return Some(first);
        }
        let mut parts = vec![open_interval(first)];
        while self.take(&Kind::Union) {
            parts.push(open_interval(self.sum()?));
        }
        Some(Expr::Union(parts))
    }

    pub(super) fn sum(&mut self) -> Option<Expr> {
        self.nested(|parser| {
            let mut terms = Vec::new();
            let mut sign = parser.signs();
            loop {
                let term = parser.product()?;
                terms.push(sign.apply(term));
                sign = parser.signs();
                if !sign.seen {
                    break;
                }
            }
            match terms.len() {
                1 => terms.pop(),
                _ => Some(Expr::Sum(terms)),
            }
        })
    }

    fn signs(&mut self) -> Sign {
        let mut sign = Sign::default();
        loop {
            match self.peek() {
                Some(Kind::Plus) => {}
                Some(Kind::Minus) => sign.negative = !sign.negative,
                Some(Kind::PlusMinus) if sign.either.is_none() => sign.either = Some(false),
                Some(Kind::MinusPlus) if sign.either.is_none() => sign.either = Some(true),
                _ => return sign,
            }
            sign.seen = true;
            self.at += 1;
        }
    }

    fn product(&mut self) -> Option<Expr> {
        let mut factors = vec![self.postfix()?];
        // Whether the last factor is a whole number that a fraction may follow.
        let mut whole = is_whole(factors.last());
        loop {
            match self.peek() {
                Some(Kind::Times) => {
                    self.at += 1;
                    let sign = self.signs();
                    let factor = self.postfix()?;
                    factors.push(sign.apply(factor));
                    whole = false;
                    continue;
                }
                Some(Kind::Divide) => {
                    self.at += 1;
                    let sign = self.signs();
                    let divisor = self.postfix()?;
                    factors.push(Expr::Inverse(Box::new(sign.apply(divisor))));
                    whole = false;
                    continue;
                }
                _ if !self.starts_operand() => break,
                _ => {}
            }
            let is_fraction = self.peek() == Some(&Kind::Fraction);
            let is_number = matches!(self.peek(), Some(Kind::Number(_)));
            let after_number = matches!(factors.last(), Some(Expr::Number { .. }));
            let is_mixed = is_number && after_number;
            if is_mixed && !(whole && self.is_plain_fraction()) {
                // Two numbers side by side mean nothing.
                return None;
            }
            let mut factor = self.postfix()?;
            if is_mixed {
                // `1 1/2`
                self.at += 1;
                factor = Expr::quotient(factor, self.postfix()?);
            }
            if whole && (is_mixed || is_fraction && is_number_fraction(&factor)) {
                let number = factors.pop()?;
                factor = Expr::Sum(vec![number, factor]);
            }
            factors.push(factor);
            whole = false;
        }
        match factors.len() {
            1 => factors.pop(),
            _ => Some(Expr::Product(factors)),
        }
    }

    /// Whether `a/b` with two whole numbers comes next, after a space.
    fn is_plain_fraction(&self) -> bool {
        let whole = |ahead: usize| match self.tokens.get(self.at + ahead) {
            Some(token) => matches!(&token.kind, Kind::Number(digits) if !digits.decimal),
            None => false,
        };
        let stroke = self.tokens.get(self.at + 1).map(|token| &token.kind);
        self.tokens[self.at].spaced && whole(0) && stroke == Some(&Kind::Divide) && whole(2)
    }
}

#[derive(Default)]
struct Sign {
    seen: bool,
    negative: bool,
    either: Option<bool>,
}

impl Sign {
    fn apply(&self, term: Expr) -> Expr {
        match self.either {
            Some(flipped) => Expr::Either {
                flipped: flipped != self.negative,
                of: Box::new(term),
            },
            None if self.negative => Expr::negative(term),
            None => term,
        }
    }
}

fn is_whole(expr: Option<&Expr>) -> bool {
    matches!(expr, Some(Expr::Number { decimal: false, value }) if value.to_i64().is_some())
}

fn is_number_fraction(expr: &Expr) -> bool {
    match expr {
        Expr::Product(parts) => match &parts[..] {
            [above, Expr::Inverse(below)] => is_whole(Some(above)) && is_whole(Some(below)),
            _ => false,
        },
        _ => false,
    }
}

/// `(a, b)` in a union is an interval, not a pair.
pub(super) fn open_interval(expr: Expr) -> Expr {
    match expr {
        Expr::Tuple(mut ends) if ends.len() == 2 => match (ends.pop(), ends.pop()) {
            (Some(high), Some(low)) => Expr::Interval(Box::new(Interval {
                low,
                high,
                closed: [false; 2],
            })),
            _ => Expr::Tuple(ends),
        },
        other => other,
    }
}
