//! Operands of the parser: numbers, symbols, fractions, roots, functions, and
//! what follows them (powers, factorials, percent).

use super::expr::{Expr, Function, Interval};
use super::parse::Parser;
use super::rational::Rational;
use super::token::{Bracket, Digits, Kind, canonical};

/// How many powers, factorials and percent signs may follow an operand.
const MAX_POSTFIX: usize = 4;

impl Parser {
    /// Whether an operand can begin here, so that no operator means a product.
    pub(super) fn starts_operand(&self) -> bool {
        match self.peek() {
            Some(
                Kind::Number(_)
                | Kind::Symbol(_)
                | Kind::Function(_)
                | Kind::Open(_)
                | Kind::Begin(_)
                | Kind::Fraction
                | Kind::Root
                | Kind::CubeRoot
                | Kind::Log
                | Kind::Binomial
                | Kind::Pi
                | Kind::Infinity,
            ) => true,
            Some(Kind::Bar) => !self.bars,
            Some(Kind::Word { word, .. }) => word.chars().count() == 1,
            _ => false,
        }
    }

    /// An operand with what follows it.
    pub(super) fn postfix(&mut self) -> Option<Expr> {
        let mut base = self.operand()?;
        for _ in 0..MAX_POSTFIX {
            base = match self.peek() {
                Some(Kind::Bang) => {
                    self.at += 1;
                    Expr::Factorial(Box::new(base))
                }
                Some(Kind::Percent) => {
                    self.at += 1;
                    Expr::Percent(Box::new(base))
                }
                Some(Kind::Degree) => {
                    self.at += 1;
                    Expr::Degrees(Box::new(base))
                }
                Some(Kind::Caret) => {
                    self.at += 1;
                    if self.degree_sign() {
                        Expr::Degrees(Box::new(base))
                    } else {
                        let exponent = self.exponent()?;
                        Expr::Power(Box::new(base), Box::new(exponent))
                    }
                }
                _ => return Some(base),
            };
        }
        let more = [Kind::Bang, Kind::Percent, Kind::Degree, Kind::Caret];
        match self.peek() {
            Some(kind) if more.contains(kind) => None,
            _ => Some(base),
        }
    }

    /// Takes `\circ` or `{\circ}`.
    fn degree_sign(&mut self) -> bool {
        if self.take(&Kind::Degree) {
            return true;
        }
        let kind = |ahead: usize| self.tokens.get(self.at + ahead).map(|token| &token.kind);
        let grouped = kind(0) == Some(&Kind::Open(Bracket::Group))
            && kind(1) == Some(&Kind::Degree)
            && kind(2) == Some(&Kind::Close(Bracket::Group));
        self.at += if grouped { 3 } else { 0 };
        grouped
    }

    fn exponent(&mut self) -> Option<Expr> {
        self.nested(|parser| {
            if parser.take(&Kind::Minus) {
                return parser.exponent().map(Expr::negative);
            }
            let base = parser.operand()?;
            if !parser.take(&Kind::Caret) {
                return Some(base);
            }
            let exponent = parser.exponent()?;
            Some(Expr::Power(Box::new(base), Box::new(exponent)))
        })
    }

    /// An argument of a command: a group, or one token; of a number, one digit.
    fn argument(&mut self) -> Option<Expr> {
        if let Some(Kind::Number(digits)) = self.peek()
            && digits.whole.len() > 1
            && digits.whole.is_ascii()
        {
            let (first, rest) = digits.whole.split_at(1);
            let first = number(&Digits {
                whole: first.to_owned(),
                ..Digits::default()
            });
            let whole = rest.to_owned();
            let rest = Digits {
                whole,
                ..digits.clone()
            };
            self.tokens[self.at].kind = Kind::Number(rest);
            return first;
        }
        self.operand()
    }

    fn operand(&mut self) -> Option<Expr> {
        self.nested(|parser| {
            let kind = parser.peek()?.clone();
            parser.at += 1;
            match kind {
                Kind::Number(digits) => parser.based(&digits),
                Kind::Symbol(name) => parser.symbol(&name),
                Kind::Word { word, .. } if word.chars().count() == 1 => parser.symbol(&word),
                Kind::Pi => Some(Expr::Pi),
                Kind::Infinity => Some(Expr::Infinity),
                Kind::EmptySet => Some(Expr::Set(Vec::new())),
                Kind::Reals => Some(Expr::Interval(Box::new(Interval {
                    low: Expr::negative(Expr::Infinity),
                    high: Expr::Infinity,
                    closed: [false; 2],
                }))),
                Kind::Open(bracket) => parser.bracket(bracket),
                Kind::Bar => {
                    let outer = std::mem::replace(&mut parser.bars, true);
                    let of = parser.sum()?;
                    parser.bars = outer;
                    let closed = parser.take(&Kind::Bar);
                    closed.then(|| Expr::Call(Function::Absolute, Box::new(of)))
                }
                Kind::Fraction => {
                    let above = parser.argument()?;
                    let below = parser.argument()?;
                    Some(Expr::quotient(above, below))
                }
                Kind::Binomial => {
                    let above = parser.argument()?;
                    let below = parser.argument()?;
                    Some(Expr::Binomial(Box::new(above), Box::new(below)))
                }
                Kind::Root => parser.root(),
                Kind::CubeRoot => {
                    let of = Box::new(parser.operand()?);
                    let index = Box::new(Expr::integer(3));
                    Some(Expr::Root { index, of })
                }
                Kind::Log => parser.log(),
                Kind::Function(function) => parser.function(function),
                Kind::Begin(environment) => parser.matrix(&environment),
                _ => None,
            }
        })
    }

    fn symbol(&mut self, name: &str) -> Option<Expr> {
        let mut name = name.to_owned();
        while self.take(&Kind::Prime) {
            name.push('\'');
        }
        if self.take(&Kind::Underscore) {
            name.push('_');
            name.push_str(&self.subscript()?);
        }
        Some(match name.as_str() {
            "e" => Expr::Euler,
            "i" => Expr::Imaginary,
            _ => Expr::Symbol(name.into()),
        })
    }

    /// The spelling of a subscript.
    fn subscript(&mut self) -> Option<String> {
        let start = self.at;
        if self.take(&Kind::Open(Bracket::Group)) {
            let close = Kind::Close(Bracket::Group);
            while self.peek()? != &close {
                self.at += 1;
            }
            self.at += 1;
            return Some(canonical(&self.tokens[start + 1..self.at - 1]));
        }
        self.peek()?;
        self.at += 1;
        Some(canonical(&self.tokens[start..self.at]))
    }

    /// A number, perhaps with its base as a subscript.
    fn based(&mut self, digits: &Digits) -> Option<Expr> {
        let decimal = number(digits)?;
        if !self.take(&Kind::Underscore) {
            return Some(decimal);
        }
        let base = match self.subscript()?.trim() {
            "two" => 2,
            "three" => 3,
            "four" => 4,
            "five" => 5,
            "six" => 6,
            "seven" => 7,
            "eight" => 8,
            "nine" => 9,
            "ten" => 10,
            base => base
                .parse::<i64>()
                .ok()
                .filter(|base| (2..=36).contains(base))?,
        };
        let Expr::Number { value: written, .. } = decimal else {
            return None;
        };
        let value = digits
            .whole
            .bytes()
            .try_fold(Rational::integer(0), |sum, digit| {
                let digit = i64::from(digit - b'0');
                let shifted = sum.multiply(&Rational::integer(base))?;
                (digit < base).then_some(())?;
                shifted.add(&Rational::integer(digit))
            })?;
        (!digits.decimal).then_some(Expr::Based {
            value,
            base,
            written,
        })
    }

    fn root(&mut self) -> Option<Expr> {
        let index = if self.take(&Kind::Open(Bracket::Square)) {
            let index = self.sum()?;
            self.take(&Kind::Close(Bracket::Square)).then_some(index)?
        } else {
            Expr::integer(2)
        };
        let of = Box::new(self.operand()?);
        let index = Box::new(index);
        Some(Expr::Root { index, of })
    }

    fn log(&mut self) -> Option<Expr> {
        let base = if self.take(&Kind::Underscore) {
            Some(self.argument()?)
        } else {
            None
        };
        let power = self.power_of_function()?;
        let of = Box::new(self.function_argument()?);
        let log = match base {
            Some(base) => Expr::Log {
                base: Box::new(base),
                of,
            },
            None => Expr::Call(Function::Log10, of),
        };
        Some(raised(log, power))
    }

    fn function(&mut self, function: Function) -> Option<Expr> {
        let power = self.power_of_function()?;
        let inverse = match (function, &power) {
            (_, Some(Expr::Negative(one))) if **one == Expr::integer(1) => match function {
                Function::Sin => Some(Function::Arcsin),
                Function::Cos => Some(Function::Arccos),
                Function::Tan => Some(Function::Arctan),
                _ => None,
            },
            _ => None,
        };
        let of = Box::new(self.function_argument()?);
        Some(match inverse {
            Some(inverse) => Expr::Call(inverse, of),
            None => raised(Expr::Call(function, of), power),
        })
    }

    /// The exponent of `\sin^2 x`.
    fn power_of_function(&mut self) -> Option<Option<Expr>> {
        if self.take(&Kind::Caret) {
            return self.exponent().map(Some);
        }
        Some(None)
    }

    /// A bracket, or factors up to the next operator or function: `\sin 2x`.
    fn function_argument(&mut self) -> Option<Expr> {
        if matches!(self.peek(), Some(Kind::Open(bracket)) if *bracket != Bracket::Group) {
            return self.operand();
        }
        self.nested(|parser| {
            let negative = parser.take(&Kind::Minus);
            let mut factors = vec![parser.postfix()?];
            while parser.starts_operand()
                && !matches!(
                    parser.peek(),
                    Some(Kind::Function(_) | Kind::Log | Kind::Open(_))
                )
            {
                factors.push(parser.postfix()?);
            }
            let product = match factors.len() {
                1 => factors.pop()?,
                _ => Expr::Product(factors),
            };
            Some(if negative {
                Expr::negative(product)
            } else {
                product
            })
        })
    }
}

fn raised(base: Expr, power: Option<Expr>) -> Expr {
    match power {
        Some(power) => Expr::Power(Box::new(base), Box::new(power)),
        None => base,
    }
}

fn number(digits: &Digits) -> Option<Expr> {
    let whole = digits.whole.as_str();
    let value = Rational::from_digits(whole, &digits.fraction, &digits.period, digits.exponent)?;
    // A period that is written out is exact.
    let decimal = digits.decimal && digits.period.is_empty();
    Some(Expr::Number { value, decimal })
}
