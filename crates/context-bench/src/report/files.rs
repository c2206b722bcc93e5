//! Reports for programs: JSON, JSON lines, CSV and Parquet.

use std::io::{self, Write};

use super::Reporter;
use crate::model::TextsKept;
use crate::result::EvalResult;

/// The whole result as strict JSON.
#[derive(Debug, Clone, Copy, Default)]
pub struct JsonReport;

impl Reporter for JsonReport {
    fn write(&self, result: &EvalResult, out: &mut dyn Write) -> io::Result<()> {
        result.write_json(&mut *out)?;
        out.write_all(b"\n")
    }

    fn texts(&self) -> TextsKept {
        TextsKept::Answers
    }

    fn needs_rows(&self) -> bool {
        false
    }
}

/// One JSON object per row.
#[derive(Debug, Clone, Copy, Default)]
pub struct JsonlReport;

impl Reporter for JsonlReport {
    fn write(&self, result: &EvalResult, out: &mut dyn Write) -> io::Result<()> {
        result.write_jsonl(out)
    }

    fn texts(&self) -> TextsKept {
        TextsKept::Answers
    }

    fn only_rows(&self) -> bool {
        true
    }

    fn needs_rows(&self) -> bool {
        false
    }
}

/// One CSV record per row.
#[derive(Debug, Clone, Copy, Default)]
pub struct CsvReport;

impl Reporter for CsvReport {
    fn write(&self, result: &EvalResult, out: &mut dyn Write) -> io::Result<()> {
        result.write_csv(out)
    }

    fn texts(&self) -> TextsKept {
        TextsKept::Answers
    }

    fn only_rows(&self) -> bool {
        true
    }

    fn needs_rows(&self) -> bool {
        false
    }
}

/// A Parquet file with one row per row.
#[cfg(feature = "parquet")]
#[derive(Debug, Clone, Copy, Default)]
pub struct ParquetReport;

#[cfg(feature = "parquet")]
impl Reporter for ParquetReport {
    fn write(&self, result: &EvalResult, out: &mut dyn Write) -> io::Result<()> {
        result.write_parquet(out)
    }

    fn texts(&self) -> TextsKept {
        TextsKept::Answers
    }

    fn only_rows(&self) -> bool {
        true
    }

    fn needs_rows(&self) -> bool {
        false
    }

    fn is_text(&self) -> bool {
        false
    }
}
