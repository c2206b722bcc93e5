//! The summary as a grid of texts: one row per system, one column per metric. Markdown
//! and HTML show the same cells, in the spelling of the terminal.

use indexmap::IndexSet;

use super::memory::MemoryReport;
use super::{cell, cost};
use crate::result::EvalResult;

/// What stands where, before it has a form.
pub(super) struct Grid<'a> {
    /// The metrics, in the order in which systems have them.
    pub(super) metrics: Vec<&'a str>,
    /// Each system with its cells.
    pub(super) rows: Vec<(&'a str, Vec<String>)>,
}

impl<'a> Grid<'a> {
    /// The grid of a result; there may be no metrics.
    pub(super) fn of(result: &'a EvalResult) -> Self {
        let memory = MemoryReport::of(result);
        let all = result.summary.values();
        let metrics: IndexSet<&str> = all
            .flat_map(|summary| summary.iter().map(|(name, _)| name))
            .filter(|metric| !cost::shows(metric))
            .filter(|metric| !memory.as_ref().is_some_and(|memory| memory.shows(metric)))
            .collect();
        let rows = result.summary.iter().map(|(system, summary)| {
            let cell = |metric: &&str| summary.get(metric).map_or(cell::NONE.into(), cell::usual);
            (system.as_str(), metrics.iter().map(cell).collect())
        });
        Self {
            rows: rows.collect(),
            metrics: metrics.iter().copied().collect(),
        }
    }
}
