//! What stands on a side of a comparison.

use super::figures::{FigureOf, GateFigure};

/// Numbers and figures, put together.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Expression {
    Number(f64),
    Figure(FigureName),
    Negative(Box<Expression>),
    Calculation(Box<Expression>, Operator, Box<Expression>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operator {
    Plus,
    Minus,
    Times,
    Over,
}

/// A figure of the run, as a rule names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FigureName {
    pub(super) metric: String,
    pub(super) of: FigureOf,
    pub(super) end: End,
    /// The byte of the rule at which it is named.
    pub(super) at: usize,
}

/// Which number of a figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    Value,
    Lower,
    Upper,
}

impl FigureName {
    /// The number that is meant; `None` when it was not measured.
    pub(super) fn number(&self, figure: GateFigure) -> Option<f64> {
        let number = match self.end {
            End::Value => figure.value,
            End::Lower => figure.interval.map(|interval| interval.low),
            End::Upper => figure.interval.map(|interval| interval.high),
        };
        number.filter(|number| !number.is_nan())
    }

    /// As messages show it.
    pub(super) fn shown(&self) -> String {
        let metric = &self.metric;
        let figure = match self.of {
            FigureOf::System => metric.clone(),
            FigureOf::Baseline => format!("baseline({metric})"),
            FigureOf::Difference => format!("{metric} - baseline"),
        };
        match self.end {
            End::Value => figure,
            End::Lower => format!("lower({figure})"),
            End::Upper => format!("upper({figure})"),
        }
    }
}

impl Expression {
    /// Every figure that is named, from left to right.
    pub(super) fn figures<'a>(&'a self, found: &mut Vec<&'a FigureName>) {
        match self {
            Self::Number(_) => {}
            Self::Figure(name) => found.push(name),
            Self::Negative(inner) => inner.figures(found),
            Self::Calculation(left, _, right) => {
                left.figures(found);
                right.figures(found);
            }
        }
    }

    /// Its number, from the numbers of figures; the first figure without one otherwise.
    pub(super) fn number<'a>(
        &'a self,
        of: &impl Fn(&'a FigureName) -> Option<f64>,
    ) -> Result<f64, &'a FigureName> {
        Ok(match self {
            Self::Number(number) => *number,
            Self::Figure(name) => of(name).ok_or(name)?,
            Self::Negative(inner) => -inner.number(of)?,
            Self::Calculation(left, operator, right) => {
                let (left, right) = (left.number(of)?, right.number(of)?);
                match operator {
                    Operator::Plus => left + right,
                    Operator::Minus => left - right,
                    Operator::Times => left * right,
                    Operator::Over => left / right,
                }
            }
        })
    }
}
