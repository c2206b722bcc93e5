//! Reports: a result as bytes for people or programs.
//!
//! Reporters see results only, so every report can be made again from a stored
//! run. They write to what they are given and never to a terminal of their own.

mod cell;
mod chart;
mod comparison;
mod cost;
mod difference;
mod failures;
mod files;
mod footer;
mod gates;
mod grid;
mod html;
mod junit;
mod markdown;
mod memory;
mod page;
mod proxy_check;
mod quoted;
mod swebench;
mod sweep;
mod table;
#[cfg_attr(not(feature = "tasks"), path = "no_tasks.rs")]
mod tasks;
mod wire;

use std::io::{self, Write};

pub use chart::ChartedTable;
pub use comparison::ComparisonReport;
#[doc(hidden)]
pub use difference::{LineKind, ReportLine, difference};
pub(crate) use failures::odd_answers;
#[cfg(feature = "parquet")]
pub use files::ParquetReport;
pub use files::{CsvReport, JsonReport, JsonlReport};
pub use gates::described as described_gate;
pub use html::HtmlTable;
pub use junit::JunitReport;
pub use markdown::MarkdownReport;
pub use page::{PageReport, PageRows, page_comparison, page_cost, page_metric};
#[doc(hidden)]
pub use proxy_check::ProxyCheckReport;
pub use swebench::{Predictions, swebench_predictions};
pub use table::TableReport;

use crate::model::{Measurement, TextsKept, Unit};
use crate::result::EvalResult;

/// A share as reports write it.
pub(crate) fn percent(share: Option<f64>) -> String {
    let measurement = Measurement {
        value: share,
        unit: Unit::Share,
        ..Measurement::default()
    };
    cell::percent(&measurement)
}

/// Writes a result in one format.
pub trait Reporter: Send + Sync {
    /// Writes the whole report.
    fn write(&self, result: &EvalResult, out: &mut dyn Write) -> io::Result<()>;

    /// Whether the rows are in it, with what was asked and answered where they keep that.
    fn writes_rows(&self) -> bool {
        self.texts() != TextsKept::None
    }

    /// Which texts of rows it shows, so that a run need not keep others.
    fn texts(&self) -> TextsKept {
        TextsKept::None
    }

    /// Whether rows are all that is in it, so that nothing need be summed up for it, and rows may be
    /// [streamed](EvalResult::each_row).
    fn only_rows(&self) -> bool {
        false
    }

    /// Whether it looks at rows beside writing them, so that they must be in memory.
    fn needs_rows(&self) -> bool {
        true
    }

    /// Whether people can read it; a terminal shows nothing else.
    fn is_text(&self) -> bool {
        true
    }
}
