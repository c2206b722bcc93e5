//! A row together with what was asked and answered.

use std::sync::Arc;

use crate::model::{EvalRow, Example, Output};

/// What a system was asked, and what it answered.
#[derive(Debug, Clone)]
pub struct Answer {
    /// The example; systems that were asked the same share it.
    pub example: Arc<Example>,
    /// The processed map.
    pub output: Output,
}

/// A row of a run, with the answer it is about where benchmarks need that.
#[derive(Debug, Clone, Copy)]
pub struct Answered<'a> {
    /// The row.
    pub row: &'a EvalRow,
    /// The answer, unless the call failed or nobody asked for answers to be held.
    pub answer: Option<&'a Answer>,
}
