//! In place of `benchmark` in a library without the feature `tasks`: what reports read, of
//! which there is never any.

#[path = "reporting.rs"]
mod reporting;

use std::convert::Infallible;

use indexmap::IndexMap;
use serde_json::{Map, Value};

pub use reporting::DatasetReport;
pub(crate) use reporting::in_order;

/// What was found about benchmarks and groups; a library without tasks never has it.
#[derive(Debug, Clone)]
pub struct TaskReport {
    pub(crate) results: Map<String, Value>,
    pub(crate) datasets: IndexMap<String, DatasetReport>,
    pub(crate) is_shown: bool,
    _never: Infallible,
}
