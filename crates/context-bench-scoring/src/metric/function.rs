//! A closure as a metric.

use std::sync::Arc;

use super::Metric;
use crate::model::{EvalRow, Summary};

/// A metric made of a name and a closure; see [`from_fn`].
pub struct FnMetric<F> {
    name: Arc<str>,
    compute: F,
}

/// Makes a metric of a closure.
///
/// ```
/// use context_bench_scoring::{metric, model::EvalRow};
///
/// let longest = metric::from_fn("longest", |rows: &[EvalRow]| {
///     let longest = rows.iter().map(|row| row.output_tokens).max().unwrap_or(0);
///     [("longest_output", longest as f64)].into_iter().collect()
/// });
/// ```
pub fn from_fn<F>(name: impl Into<Arc<str>>, compute: F) -> FnMetric<F>
where
    F: Fn(&[EvalRow]) -> Summary + Send + Sync,
{
    FnMetric {
        name: name.into(),
        compute,
    }
}

impl<F> Metric for FnMetric<F>
where
    F: Fn(&[EvalRow]) -> Summary + Send + Sync,
{
    fn name(&self) -> &str {
        &self.name
    }

    fn compute(&self, rows: &[EvalRow]) -> Summary {
        (self.compute)(rows)
    }
}
