//! [`GateRule`]: when to fail.

use std::fmt;
use std::str::FromStr;

use super::error::{GateError, GateProblem};
use super::expression::{Expression, FigureName};
use super::figures::{FigureOf, GateFigures};
use super::outcome::{GateOutcome, GateState};
use super::parser::parse;
use super::token::error;

/// A rule that says when a run is not good enough.
///
/// `SIDE < SIDE [on BENCHMARK, …] [for SYSTEM, …]`, with `<`, `<=`, `>` or `>=`. A side has numbers
/// (`0.02`, `98%`), metrics by their names, `baseline` (the same metric of the baseline; with
/// several metrics `baseline(NAME)`), `lower(…)` and `upper(…)` for the ends of the 95 % interval of a
/// metric, of `baseline`, or of the paired difference `METRIC - baseline`, and `+ - * / ( )`. `on *` is
/// every dataset, task and group on its own; without `on` the rule is about all together.
#[derive(Debug, Clone, PartialEq)]
pub struct GateRule {
    pub(super) text: String,
    pub(super) left: Expression,
    pub(super) comparison: Comparison,
    pub(super) right: Expression,
    /// With the byte at which each is named.
    pub(super) benchmarks: Vec<(String, usize)>,
    /// With the byte at which each is named.
    pub(super) systems: Vec<(String, usize)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Comparison {
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl Comparison {
    /// Whether it is so. Sides that differ by rounding only are equal: 0.78 is not less than
    /// 0.8 − 0.02.
    fn holds(self, left: f64, right: f64) -> bool {
        // A cost may be infinite, of which any part is infinite too.
        let rounding = 1e-12 * left.abs().max(right.abs()).min(f64::MAX);
        let equal = left == right || (left - right).abs() <= rounding;
        match self {
            Self::Less => !equal && left < right,
            Self::LessOrEqual => equal || left < right,
            Self::Greater => !equal && left > right,
            Self::GreaterOrEqual => equal || left > right,
        }
    }
}

impl GateRule {
    /// Reads a rule.
    ///
    /// # Errors
    ///
    /// If it is not one, with the column.
    pub fn parse(text: &str) -> Result<Self, GateError> {
        parse(text)
    }

    /// As it was written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The datasets, tasks and groups that it names, `*` among them; none for all together.
    pub fn benchmarks(&self) -> Vec<&str> {
        self.benchmarks.iter().map(|one| one.0.as_str()).collect()
    }

    /// Whether it is about a system: about all, unless it names some.
    pub fn applies_to(&self, system: &str) -> bool {
        self.systems.is_empty() || self.systems.iter().any(|one| one.0 == system)
    }

    /// The systems that it names; none for all but the baseline.
    pub fn systems(&self) -> Vec<&str> {
        self.systems.iter().map(|one| one.0.as_str()).collect()
    }

    /// Whether it says something about the baseline.
    pub fn needs_baseline(&self) -> bool {
        self.figures().iter().any(|one| one.of != FigureOf::System)
    }

    /// Checks the names in it before there are figures. Without `metrics` any metric may turn up.
    ///
    /// # Errors
    ///
    /// If it names something that there is not, with names that may have been meant.
    pub fn check_names(
        &self,
        metrics: Option<&[String]>,
        benchmarks: &[String],
        systems: &[String],
    ) -> Result<(), GateError> {
        let unknown = |at: usize, problem: GateProblem| Err(error(&self.text, at, problem));
        for figure in self.figures() {
            if let Some(known) = metrics.filter(|known| !known.contains(&figure.metric)) {
                let (name, known) = (figure.metric.clone(), known.to_vec());
                return unknown(figure.at, GateProblem::Metric { name, known });
            }
        }
        for (name, at) in &self.benchmarks {
            if name != "*" && !benchmarks.contains(name) {
                let (name, known) = (name.clone(), benchmarks.to_vec());
                return unknown(*at, GateProblem::Benchmark { name, known });
            }
        }
        for (name, at) in &self.systems {
            if !systems.contains(name) {
                let (name, known) = (name.clone(), systems.to_vec());
                return unknown(*at, GateProblem::System { name, known });
            }
        }
        Ok(())
    }

    /// The metrics that it needs, each once.
    pub fn metrics(&self) -> Vec<&str> {
        let mut metrics: Vec<&str> = Vec::new();
        for figure in self.figures() {
            if !metrics.contains(&figure.metric.as_str()) {
                metrics.push(&figure.metric);
            }
        }
        metrics
    }

    /// Checks it against the figures of one system: an outcome for each benchmark that it is about.
    ///
    /// # Errors
    ///
    /// If there is no such metric or benchmark, with names that may have been meant.
    pub fn check(&self, figures: &impl GateFigures) -> Result<Vec<GateOutcome>, GateError> {
        let known = figures.benchmarks();
        let systems: Vec<String> = self.systems.iter().map(|one| one.0.clone()).collect();
        self.check_names(Some(&figures.metrics()), &known, &systems)?;
        let mut about: Vec<Option<&str>> = Vec::new();
        for (name, _) in &self.benchmarks {
            match name.as_str() {
                "*" => about.extend(known.iter().map(|name| Some(name.as_str()))),
                name => about.push(Some(name)),
            }
        }
        if self.benchmarks.is_empty() {
            about.push(None);
        }
        let outcomes = about.into_iter().map(|benchmark| GateOutcome {
            benchmark: benchmark.map(str::to_owned),
            state: self.state(figures, benchmark),
        });
        Ok(outcomes.collect())
    }

    fn state(&self, figures: &impl GateFigures, benchmark: Option<&str>) -> GateState {
        let number =
            |name: &FigureName| name.number(figures.figure(&name.metric, name.of, benchmark));
        let sides = self.left.number(&number);
        let sides = sides.and_then(|left| Ok((left, self.right.number(&number)?)));
        match sides {
            Err(name) => GateState::NotMeasured {
                figure: name.shown(),
            },
            // A division by a baseline of nothing.
            Ok((left, right)) if left.is_nan() || right.is_nan() => GateState::NotMeasured {
                figure: self.text.clone(),
            },
            Ok((left, right)) => match self.comparison.holds(left, right) {
                true => GateState::Failed { left, right },
                false => GateState::Passed { left, right },
            },
        }
    }

    fn figures(&self) -> Vec<&FigureName> {
        let mut found = Vec::new();
        self.left.figures(&mut found);
        self.right.figures(&mut found);
        found
    }
}

impl FromStr for GateRule {
    type Err = GateError;

    fn from_str(text: &str) -> Result<Self, GateError> {
        Self::parse(text)
    }
}

impl fmt::Display for GateRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}
