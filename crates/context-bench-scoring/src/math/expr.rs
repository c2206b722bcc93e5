//! `Expr`: what an answer says, as a tree.
//!
//! Sums and products are flat lists and the parser bounds the nesting, so that
//! recursion over a tree is always shallow.

use super::rational::Rational;

/// An answer or a part of one.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Expr {
    /// A number; `decimal` when it was written with a point and may be rounded.
    Number {
        value: Rational,
        decimal: bool,
    },
    /// Digits in another base, with the value of the same digits read in base ten.
    Based {
        value: Rational,
        base: i64,
        written: Rational,
    },
    Symbol(Box<str>),
    Pi,
    Euler,
    Imaginary,
    Infinity,
    Sum(Vec<Expr>),
    Product(Vec<Expr>),
    Negative(Box<Expr>),
    Inverse(Box<Expr>),
    Power(Box<Expr>, Box<Expr>),
    Root {
        index: Box<Expr>,
        of: Box<Expr>,
    },
    Call(Function, Box<Expr>),
    Log {
        base: Box<Expr>,
        of: Box<Expr>,
    },
    Factorial(Box<Expr>),
    Binomial(Box<Expr>, Box<Expr>),
    /// Plus or minus; `flipped` for minus or plus.
    Either {
        flipped: bool,
        of: Box<Expr>,
    },
    Percent(Box<Expr>),
    Degrees(Box<Expr>),
    /// Answers without brackets between commas, `and`, `or`: in any order.
    List(Vec<Expr>),
    /// In order.
    Tuple(Vec<Expr>),
    /// In any order, repetitions do not count.
    Set(Vec<Expr>),
    Interval(Box<Interval>),
    /// In any order.
    Union(Vec<Expr>),
    Matrix(Vec<Vec<Expr>>),
    /// A chain such as `0 < x = 5`.
    Relation(Box<Expr>, Vec<(Relation, Expr)>),
    Text(Box<str>),
}

/// From one end to the other; an end may be included.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Interval {
    pub(super) low: Expr,
    pub(super) high: Expr,
    pub(super) closed: [bool; 2],
}

/// Functions of one argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Function {
    Sin,
    Cos,
    Tan,
    Cot,
    Sec,
    Csc,
    Arcsin,
    Arccos,
    Arctan,
    Sinh,
    Cosh,
    Tanh,
    Exp,
    Ln,
    Log10,
    Absolute,
    Floor,
    Ceiling,
}

/// How two sides relate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Relation {
    Equal,
    Approximately,
    Unequal,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    In,
    Ratio,
}

impl Relation {
    /// The relation with its sides swapped.
    pub(super) fn swapped(self) -> Self {
        match self {
            Self::Less => Self::Greater,
            Self::Greater => Self::Less,
            Self::LessOrEqual => Self::GreaterOrEqual,
            Self::GreaterOrEqual => Self::LessOrEqual,
            same => same,
        }
    }

    pub(super) fn is_ascending(self) -> bool {
        matches!(self, Self::Less | Self::LessOrEqual)
    }

    pub(super) fn is_descending(self) -> bool {
        matches!(self, Self::Greater | Self::GreaterOrEqual)
    }
}

impl Expr {
    pub(super) fn integer(value: i64) -> Self {
        Self::Number {
            value: Rational::integer(value),
            decimal: false,
        }
    }

    pub(super) fn negative(of: Self) -> Self {
        Self::Negative(Box::new(of))
    }

    pub(super) fn quotient(dividend: Self, divisor: Self) -> Self {
        Self::Product(vec![dividend, Self::Inverse(Box::new(divisor))])
    }

    /// The difference of two sides.
    pub(super) fn difference(left: &Self, right: &Self) -> Self {
        Self::Sum(vec![left.clone(), Self::negative(right.clone())])
    }

    /// The direct parts.
    pub(super) fn children(&self) -> Vec<&Self> {
        match self {
            Self::Number { .. }
            | Self::Based { .. }
            | Self::Symbol(_)
            | Self::Pi
            | Self::Euler
            | Self::Imaginary
            | Self::Infinity
            | Self::Text(_) => Vec::new(),
            Self::Sum(parts)
            | Self::Product(parts)
            | Self::List(parts)
            | Self::Tuple(parts)
            | Self::Set(parts)
            | Self::Union(parts) => parts.iter().collect(),
            Self::Negative(of)
            | Self::Inverse(of)
            | Self::Call(_, of)
            | Self::Factorial(of)
            | Self::Either { of, .. }
            | Self::Percent(of)
            | Self::Degrees(of) => vec![of],
            Self::Power(a, b) | Self::Binomial(a, b) => vec![a, b],
            Self::Root { index, of } => vec![index, of],
            Self::Log { base, of } => vec![base, of],
            Self::Interval(interval) => vec![&interval.low, &interval.high],
            Self::Matrix(rows) => rows.iter().flatten().collect(),
            Self::Relation(first, rest) => {
                let rest = rest.iter().map(|(_, side)| side);
                std::iter::once(&**first).chain(rest).collect()
            }
        }
    }

    /// Whether this part or any part of it is as asked.
    pub(super) fn any(&self, asked: &mut dyn FnMut(&Self) -> bool) -> bool {
        asked(self) || self.children().into_iter().any(|child| child.any(asked))
    }

    /// Whether a float could have been rounded when it was written.
    pub(super) fn has_decimal(&self) -> bool {
        self.any(&mut |part| matches!(part, Self::Number { decimal: true, .. }))
    }

    pub(super) fn has_symbol(&self) -> bool {
        self.any(&mut |part| matches!(part, Self::Symbol(_)))
    }

    /// Negative or positive infinity, by its sign.
    pub(super) fn infinite(&self) -> Option<bool> {
        match self {
            Self::Infinity => Some(true),
            Self::Negative(of) => of.infinite().map(|positive| !positive),
            _ => None,
        }
    }

    /// Whether it is a value, not a structure of values.
    pub(super) fn is_scalar(&self) -> bool {
        !matches!(
            self,
            Self::List(_)
                | Self::Tuple(_)
                | Self::Set(_)
                | Self::Interval(_)
                | Self::Union(_)
                | Self::Matrix(_)
                | Self::Relation(..)
                | Self::Text(_)
        )
    }
}
