//! [`GateError`]: why a rule cannot be understood, and where.

use context_bench_error::{Hint, Position, suggest};
use thiserror::Error;

/// A rule that cannot be understood, or names what is not there.
#[derive(Debug, Clone, PartialEq, Error)]
#[error("gate rule, line {}, column {}: {problem}", position.line, position.column)]
pub struct GateError {
    /// Where in the text.
    pub position: Position,
    /// What is wrong.
    pub problem: GateProblem,
}

/// What is wrong with a rule.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum GateProblem {
    /// There is nothing.
    #[error("there is no rule")]
    Empty,
    /// A character that rules do not have.
    #[error("`{found}` has no meaning here")]
    Character {
        /// The character.
        found: char,
    },
    /// A quotation without an end.
    #[error("the quotation that begins here does not end")]
    OpenQuotation,
    /// Something that looks like a number and is none.
    #[error("`{found}` is not a number")]
    Number {
        /// As it is written.
        found: String,
    },
    /// Something else was expected.
    #[error("expected {expected}, found {found}")]
    Unexpected {
        /// What a rule has in this place.
        expected: &'static str,
        /// What is there.
        found: String,
    },
    /// A rule compares nothing, or for equality.
    #[error("`{found}` does not compare sizes")]
    Equality {
        /// The sign.
        found: String,
    },
    /// A percentage is added or taken away.
    #[error("a percentage cannot be added or taken away: points or a part of the baseline?")]
    PercentOfWhat,
    /// A function that there is not.
    #[error("there is no function `{name}`")]
    Function {
        /// Its name.
        name: String,
    },
    /// `lower` or `upper` of something without an interval.
    #[error("`{function}` takes a metric, `baseline`, or a metric minus `baseline`")]
    Bound {
        /// The function.
        function: &'static str,
    },
    /// `baseline` where it is not clear of which metric.
    #[error("`baseline` of which metric?")]
    WhichBaseline,
    /// No figure in the whole rule.
    #[error("the rule names no metric")]
    NoMetric,
    /// More brackets than anybody writes.
    #[error("brackets are nested too deeply")]
    TooDeep,
    /// A metric that the run does not have.
    #[error("there is no metric `{name}`")]
    Metric {
        /// Its name.
        name: String,
        /// Those that there are.
        known: Vec<String>,
    },
    /// A system that the run does not have.
    #[error("there is no system `{name}`")]
    System {
        /// Its name.
        name: String,
        /// Those that there are.
        known: Vec<String>,
    },
    /// A dataset, task or group that the run does not have.
    #[error("there is no dataset, task or group `{name}`")]
    Benchmark {
        /// Its name.
        name: String,
        /// Those that there are.
        known: Vec<String>,
    },
}

impl Hint for GateError {
    fn hint(&self) -> Option<String> {
        let near = |name: &str, known: &[String]| {
            suggest::did_you_mean(name, known.iter().map(String::as_str)).or_else(|| {
                let known = known.join("`, `");
                (!known.is_empty()).then(|| format!("there are `{known}`"))
            })
        };
        match &self.problem {
            GateProblem::Empty | GateProblem::NoMetric => {
                Some("write a rule such as `f1 < baseline - 0.02`".into())
            }
            GateProblem::Character { .. } | GateProblem::OpenQuotation => Some(
                "names with other characters than letters, digits, `_` and `.` stand in backticks"
                    .into(),
            ),
            GateProblem::Equality { .. } => {
                Some("compare with `<`, `<=`, `>` or `>=`: the rule says when to fail".into())
            }
            GateProblem::PercentOfWhat => Some(
                "two points are `baseline - 0.02`, two percent of the baseline `baseline * 98%`"
                    .into(),
            ),
            GateProblem::Function { name } => {
                suggest::did_you_mean(name, ["lower", "upper", "baseline"])
                    .or_else(|| Some("there are `lower`, `upper` and `baseline`".into()))
            }
            GateProblem::Bound { function } => Some(format!(
                "write `{function}(f1)`, or `{function}(f1 - baseline)` for the paired difference"
            )),
            GateProblem::WhichBaseline => Some("name it: `baseline(f1)`".into()),
            GateProblem::Metric { name, known }
            | GateProblem::Benchmark { name, known }
            | GateProblem::System { name, known } => near(name, known),
            GateProblem::Number { .. } | GateProblem::Unexpected { .. } | GateProblem::TooDeep => {
                None
            }
        }
    }
}
