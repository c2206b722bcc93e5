//! Brackets and matrices of the parser. What a bracket means depends on both
//! of its ends and on how many parts it has.

use super::either::expand;
use super::expr::{Expr, Function, Interval};
use super::parse::Parser;
use super::token::{Bracket, Kind, Separator};

impl Parser {
    /// What is inside a bracket that was just opened.
    pub(super) fn bracket(&mut self, open: Bracket) -> Option<Expr> {
        let bars = std::mem::take(&mut self.bars);
        let mut parts = Vec::new();
        let mut listed = false;
        while !matches!(self.peek()?, Kind::Close(_)) {
            parts.push(self.relation()?);
            self.skip_units();
            match self.peek()? {
                Kind::Over | Kind::Choose if open == Bracket::Group && parts.len() == 1 => {
                    let over = self.peek() == Some(&Kind::Over);
                    self.at += 1;
                    let (above, below) = (parts.pop()?, self.relation()?);
                    parts.push(if over {
                        Expr::quotient(above, below)
                    } else {
                        Expr::Binomial(Box::new(above), Box::new(below))
                    });
                }
                _ => {}
            }
            match self.peek()? {
                Kind::Separator(Separator::Comma | Separator::Semicolon) => {
                    self.at += 1;
                    listed = true;
                }
                Kind::Close(_) => {}
                _ => return None,
            }
        }
        let Some(Kind::Close(close)) = self.peek().cloned() else {
            return None;
        };
        self.at += 1;
        self.bars = bars;
        enclosed(open, close, parts, listed)
    }

    /// Words behind a value inside a bracket.
    fn skip_units(&mut self) {
        while matches!(self.peek(), Some(Kind::Word { .. })) {
            self.at += 1;
        }
    }

    /// Rows and columns of `\begin{…}` up to `\end{…}`.
    pub(super) fn matrix(&mut self, environment: &str) -> Option<Expr> {
        if !environment.ends_with("matrix") && environment != "array" {
            return None;
        }
        let mut rows = vec![Vec::new()];
        loop {
            let cell = self.sum()?;
            rows.last_mut()?.push(cell);
            let kind = self.peek()?.clone();
            self.at += 1;
            match kind {
                Kind::Column => {}
                Kind::Row if self.peek() == Some(&Kind::End) => {
                    self.at += 1;
                    break;
                }
                Kind::Row => rows.push(Vec::new()),
                Kind::End => break,
                _ => return None,
            }
        }
        Some(Expr::Matrix(rows))
    }
}

/// What brackets make of the parts between them.
fn enclosed(open: Bracket, close: Bracket, mut parts: Vec<Expr>, listed: bool) -> Option<Expr> {
    use Bracket::{Angle, Bar, Ceiling, Floor, Group, Round, Set, Square};
    let n_parts = parts.len();
    let one = n_parts == 1 && !listed;
    match (open, close) {
        (Round, Round) | (Group, Group) | (Square, Square) if one => parts.pop(),
        (Bar, Bar) if one => call(Function::Absolute, parts),
        (Floor, Floor) if one => call(Function::Floor, parts),
        (Ceiling, Ceiling) if one => call(Function::Ceiling, parts),
        (Set, Set) => Some(Expr::Set(expand(parts))),
        (Group, Group) if n_parts > 1 => Some(Expr::Set(expand(parts))),
        (Round, Round) | (Angle, Angle) if n_parts > 0 => Some(Expr::Tuple(parts)),
        (Round | Square, Round | Square) if n_parts == 2 => {
            let (high, low) = (parts.pop()?, parts.pop()?);
            Some(Expr::Interval(Box::new(Interval {
                low,
                high,
                closed: [open == Square, close == Square],
            })))
        }
        (Square, Square) if n_parts > 2 => Some(Expr::Tuple(parts)),
        _ => None,
    }
}

fn call(function: Function, mut parts: Vec<Expr>) -> Option<Expr> {
    Some(Expr::Call(function, Box::new(parts.pop()?)))
}
