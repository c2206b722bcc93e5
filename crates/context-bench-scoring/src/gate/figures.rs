//! [`GateFigures`]: what rules are checked against.

use crate::model::Interval;

/// Whose figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FigureOf {
    /// The system that is checked.
    System,
    /// Its baseline: another system of the run, or one of a stored run.
    Baseline,
    /// The paired difference "system − baseline".
    Difference,
}

/// A number of a run and how sure it is.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct GateFigure {
    /// The number; `None` when nothing was measured.
    pub value: Option<f64>,
    /// Its interval; `None` when there is none.
    pub interval: Option<Interval>,
}

/// The figures of one system of a run.
pub trait GateFigures {
    /// A metric over everything, or over one dataset, task or group. What was not measured is the
    /// default figure; names are checked before.
    fn figure(&self, metric: &str, of: FigureOf, benchmark: Option<&str>) -> GateFigure;

    /// The metrics that there are.
    fn metrics(&self) -> Vec<String>;

    /// The datasets, tasks and groups that there are.
    fn benchmarks(&self) -> Vec<String>;
}
