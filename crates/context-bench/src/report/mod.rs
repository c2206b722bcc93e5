//! Reports: a result as bytes for people or programs.
//!
//! Reporters see results only, so every report can be made again from a stored
//! run. They write to what they are given and never to a terminal of their own.

mod cell;
mod failures;
mod files;
mod footer;
mod grid;
mod html;
mod markdown;
mod memory;
mod quoted;
mod swebench;
mod table;
#[cfg_attr(not(feature = "tasks"), path = "no_tasks.rs")]
mod tasks;

use std::io::{self, Write};

pub(crate) use failures::odd_answers;
pub use files::{CsvReport, JsonReport, JsonlReport};
pub use html::HtmlTable;
pub use markdown::MarkdownReport;
pub use swebench::{Predictions, swebench_predictions};
pub use table::TableReport;

use crate::result::EvalResult;

/// Writes a result in one format.
pub trait Reporter: Send + Sync {
    /// Writes the whole report.
    fn write(&self, result: &EvalResult, out: &mut dyn Write) -> io::Result<()>;

    /// Whether the rows are in it, with what was asked and answered where they keep that.
    fn writes_rows(&self) -> bool {
        false
    }
}
