//! A row together with what was asked and answered.

use crate::model::{Answer, EvalRow};

/// A row of a run, with the answer it is about where benchmarks need that.
#[derive(Debug, Clone, Copy)]
pub struct Answered<'a> {
    /// The row.
    pub row: &'a EvalRow,
    /// The answer, unless the call failed or answers were not asked for.
    pub answer: Option<&'a Answer>,
}
