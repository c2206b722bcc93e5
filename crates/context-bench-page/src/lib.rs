//! Results as one self-contained HTML file.
//!
//! [`PageData`] is what the page says above its rows; [`PageWriter`] writes the file, row by row,
//! and never holds more than a few blocks of them. The format is in `docs/adr/0022-report-page.md`.
//!
//! This crate knows nothing about runs: `report/page.rs` of the library makes plain data of a
//! result. It computes no number either. Texts are hostile input: they travel as JSON inside
//! inert elements and the script of the page shows them as text, never as markup.
//!
//! ```
//! use context_bench_page::{PageData, PageLimits, PageRow, PageWriter};
//!
//! let data = PageData { title: "demo".into(), ..PageData::default() };
//! let mut file = Vec::new();
//! let mut page = PageWriter::begin(&mut file, &data, PageLimits::default())?;
//! page.row(&PageRow { example_id: "1".into(), response: Some("</script>".into()), ..PageRow::default() })?;
//! page.end()?;
//! assert!(file.starts_with(b"<!doctype html>"));
//! # Ok::<(), std::io::Error>(())
//! ```

mod block;
mod data;
mod document;
mod row;
mod texts;
mod writer;

pub use data::{
    Benchmark, Better, Comparison, Curve, Difference, FailureCount, Figure, Histogram, Metric,
    PageData, Section, Sweep, SweepPoint, System,
};
pub use document::{SCRIPT, STYLE};
pub use row::{Outcome, PageRow};
pub use texts::RowTexts;
pub use writer::{PageLimits, PageWriter, WrittenPage};
