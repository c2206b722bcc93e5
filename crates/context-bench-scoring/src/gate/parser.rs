//! Rules from their words.

use super::error::{GateError, GateProblem};
use super::expression::{End, Expression, FigureName, Operator};
use super::figures::FigureOf;
use super::rule::{Comparison, GateRule};
use super::token::{Token, TokenKind, error, tokens};

/// More brackets than anybody writes, and fewer than a stack holds.
const DEEPEST: usize = 64;

pub(super) fn parse(text: &str) -> Result<GateRule, GateError> {
    let tokens = tokens(text)?;
    if tokens.len() == 1 {
        return Err(error(text, 0, GateProblem::Empty));
    }
    let mut parser = Parser {
        text,
        tokens,
        next: 0,
        depth: 0,
        baselines: Vec::new(),
    };
    let left = parser.side()?;
    let comparison = parser.comparison()?;
    let right = parser.side()?;
    let mut rule = GateRule {
        text: text.trim().to_owned(),
        left,
        comparison,
        right,
        benchmarks: Vec::new(),
        systems: Vec::new(),
    };
    loop {
        if rule.benchmarks.is_empty() && parser.take_word("on") {
            rule.benchmarks = parser.names("the name of a dataset, task or group")?;
        } else if rule.systems.is_empty() && parser.take_word("for") {
            rule.systems = parser.names("the name of a system")?;
        } else {
            break;
        }
    }
    if parser.peek().kind != TokenKind::End {
        return Err(parser.unexpected("`on`, `for` or the end"));
    }
    parser.name_baselines(&mut rule)?;
    // Errors of a check are about the text without white space around it.
    let before = text.len() - text.trim_start().len();
    let shift = |name: &mut FigureName| name.at -= before;
    each_figure(&mut rule.left, &mut { shift });
    each_figure(&mut rule.right, &mut { shift });
    let names = rule.benchmarks.iter_mut().chain(&mut rule.systems);
    names.for_each(|name| name.1 -= before);
    Ok(rule)
}

/// What a bare `baseline` is of, until the metric of the rule is known.
const SAME_METRIC: &str = "";

struct Parser<'a> {
    text: &'a str,
    tokens: Vec<Token>,
    next: usize,
    depth: usize,
    /// Where a bare `baseline` stands.
    baselines: Vec<usize>,
}

impl Parser<'_> {
    fn peek(&self) -> &Token {
        // The last one is the end, which is never taken.
        &self.tokens[self.next]
    }

    fn take(&mut self) {
        if self.peek().kind != TokenKind::End {
            self.next += 1;
        }
    }

    fn take_sign(&mut self, sign: &str) -> bool {
        let is_there = matches!(self.peek().kind, TokenKind::Sign(found) if found == sign);
        self.next += usize::from(is_there);
        is_there
    }

    fn take_word(&mut self, word: &str) -> bool {
        let is_there = matches!(
            &self.peek().kind,
            TokenKind::Name { name, is_quoted: false } if name == word
        );
        self.next += usize::from(is_there);
        is_there
    }

    fn unexpected(&self, expected: &'static str) -> GateError {
        let token = self.peek();
        let found = token.kind.shown();
        error(
            self.text,
            token.at,
            GateProblem::Unexpected { expected, found },
        )
    }

    fn comparison(&mut self) -> Result<Comparison, GateError> {
        let token = self.peek().clone();
        let comparison = match token.kind {
            TokenKind::Sign("<") => Comparison::Less,
            TokenKind::Sign("<=" | "≤") => Comparison::LessOrEqual,
            TokenKind::Sign(">") => Comparison::Greater,
            TokenKind::Sign(">=" | "≥") => Comparison::GreaterOrEqual,
            TokenKind::Sign(found @ ("=" | "==" | "!=")) => {
                let found = found.to_owned();
                return Err(error(self.text, token.at, GateProblem::Equality { found }));
            }
            _ => return Err(self.unexpected("`<`, `<=`, `>` or `>=`")),
        };
        self.take();
        Ok(comparison)
    }

    /// Sums.
    fn side(&mut self) -> Result<Expression, GateError> {
        let mut start = self.next;
        let mut side = self.product()?;
        loop {
            let operator = match self.peek().kind {
                TokenKind::Sign("+") => Operator::Plus,
                TokenKind::Sign("-") => Operator::Minus,
                _ => return Ok(side),
            };
            self.no_percent(start)?;
            self.take();
            start = self.next;
            let right = self.product()?;
            self.no_percent(start)?;
            side = Expression::Calculation(Box::new(side), operator, Box::new(right));
        }
    }

    /// What was just read is not a percentage alone.
    fn no_percent(&self, start: usize) -> Result<(), GateError> {
        let token = &self.tokens[start];
        let is_percent = matches!(
            token.kind,
            TokenKind::Number {
                is_percent: true,
                ..
            }
        );
        match is_percent && self.next == start + 1 {
            true => Err(error(self.text, token.at, GateProblem::PercentOfWhat)),
            false => Ok(()),
        }
    }

    fn product(&mut self) -> Result<Expression, GateError> {
        let mut product = self.factor()?;
        loop {
            let operator = match self.peek().kind {
                TokenKind::Sign("*") => Operator::Times,
                TokenKind::Sign("/") => Operator::Over,
                _ => return Ok(product),
            };
            self.take();
            let right = self.factor()?;
            product = Expression::Calculation(Box::new(product), operator, Box::new(right));
        }
    }

    fn factor(&mut self) -> Result<Expression, GateError> {
        let at = self.peek().at;
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(error(self.text, at, GateProblem::TooDeep));
        }
        let factor = self.shallow_factor()?;
        self.depth -= 1;
        Ok(factor)
    }

    fn shallow_factor(&mut self) -> Result<Expression, GateError> {
        const EXPECTED: &str = "a number or a metric";
        if self.take_sign("-") {
            return Ok(Expression::Negative(Box::new(self.factor()?)));
        }
        if self.take_sign("(") {
            let inner = self.side()?;
            self.close()?;
            return Ok(inner);
        }
        let token = self.peek().clone();
        match token.kind {
            TokenKind::Number { value, .. } => {
                self.take();
                Ok(Expression::Number(value))
            }
            TokenKind::Name {
                ref name,
                is_quoted: false,
            } if name == "on" || name == "for" => Err(self.unexpected(EXPECTED)),
            TokenKind::Name { name, is_quoted } => {
                self.take();
                match (is_quoted, name.as_str()) {
                    (false, "lower") if self.opens() => self.bound("lower", End::Lower),
                    (false, "upper") if self.opens() => self.bound("upper", End::Upper),
                    (false, "baseline") => self.baseline(token.at).map(Expression::Figure),
                    (false, _) if self.opens() => {
                        Err(error(self.text, token.at, GateProblem::Function { name }))
                    }
                    _ => Ok(Expression::Figure(FigureName {
                        metric: name,
                        of: FigureOf::System,
                        end: End::Value,
                        at: token.at,
                    })),
                }
            }
            _ => Err(self.unexpected(EXPECTED)),
        }
    }

    fn opens(&self) -> bool {
        self.peek().kind == TokenKind::Sign("(")
    }

    fn close(&mut self) -> Result<(), GateError> {
        match self.take_sign(")") {
            true => Ok(()),
            false => Err(self.unexpected("`)`")),
        }
    }

    /// Behind the word `baseline`.
    fn baseline(&mut self, at: usize) -> Result<FigureName, GateError> {
        let mut metric = SAME_METRIC.to_owned();
        if self.take_sign("(") {
            let TokenKind::Name { name, .. } = &self.peek().kind else {
                return Err(self.unexpected("the name of a metric"));
            };
            metric.clone_from(name);
            self.take();
            self.close()?;
        } else {
            self.baselines.push(at);
        }
        Ok(FigureName {
            metric,
            of: FigureOf::Baseline,
            end: End::Value,
            at,
        })
    }

    /// Behind the words `lower` and `upper`: only what has an interval.
    fn bound(&mut self, function: &'static str, end: End) -> Result<Expression, GateError> {
        let at = self.peek().at;
        let refused = error(self.text, at, GateProblem::Bound { function });
        self.take();
        let inner = self.side()?;
        self.close()?;
        let name = match inner {
            Expression::Figure(name) if name.end == End::Value => name,
            Expression::Calculation(left, Operator::Minus, right) => match (*left, *right) {
                (Expression::Figure(system), Expression::Figure(baseline))
                    if system.of == FigureOf::System
                        && system.end == End::Value
                        && baseline.of == FigureOf::Baseline
                        && baseline.end == End::Value
                        && [SAME_METRIC, &system.metric].contains(&baseline.metric.as_str()) =>
                {
                    // It is of that metric, and of no other in the rule.
                    self.baselines.retain(|at| *at != baseline.at);
                    FigureName {
                        of: FigureOf::Difference,
                        ..system
                    }
                }
                _ => return Err(refused),
            },
            _ => return Err(refused),
        };
        Ok(Expression::Figure(FigureName { end, ..name }))
    }

    /// Names with commas between them.
    fn names(&mut self, expected: &'static str) -> Result<Vec<(String, usize)>, GateError> {
        let mut names = Vec::new();
        loop {
            let token = self.peek().clone();
            match token.kind {
                TokenKind::Name { name, .. } => names.push((name, token.at)),
                _ => return Err(self.unexpected(expected)),
            }
            self.take();
            if !self.take_sign(",") {
                return Ok(names);
            }
        }
    }

    /// A bare `baseline` is of the one metric that the rule names.
    fn name_baselines(&self, rule: &mut GateRule) -> Result<(), GateError> {
        let mut metrics = rule.metrics();
        metrics.retain(|metric| *metric != SAME_METRIC);
        let first = match (metrics.as_slice(), self.baselines.first()) {
            ([], _) => return Err(error(self.text, 0, GateProblem::NoMetric)),
            ([only], _) => (*only).to_owned(),
            (_, Some(at)) => return Err(error(self.text, *at, GateProblem::WhichBaseline)),
            (_, None) => return Ok(()),
        };
        let mut name = |figure: &mut FigureName| {
            if figure.metric == SAME_METRIC {
                figure.metric.clone_from(&first);
            }
        };
        each_figure(&mut rule.left, &mut name);
        each_figure(&mut rule.right, &mut name);
        Ok(())
    }
}

fn each_figure(expression: &mut Expression, change: &mut impl FnMut(&mut FigureName)) {
    match expression {
        Expression::Number(_) => {}
        Expression::Figure(name) => change(name),
        Expression::Negative(inner) => each_figure(inner, change),
        Expression::Calculation(left, _, right) => {
            each_figure(left, change);
            each_figure(right, change);
        }
    }
}
