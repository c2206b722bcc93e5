//! Reports for programs: JSON, JSON lines and CSV.

use std::io::{self, Write};

use super::Reporter;
use crate::result::EvalResult;

/// The whole result as strict JSON.
#[derive(Debug, Clone, Copy, Default)]
pub struct JsonReport;

impl Reporter for JsonReport {
    fn write(&self, result: &EvalResult, out: &mut dyn Write) -> io::Result<()> {
        result.write_json(&mut *out)?;
        out.write_all(b"\n")
    }

    fn writes_rows(&self) -> bool {
        true
    }
}

/// One JSON object per row.
#[derive(Debug, Clone, Copy, Default)]
pub struct JsonlReport;

impl Reporter for JsonlReport {
    fn write(&self, result: &EvalResult, out: &mut dyn Write) -> io::Result<()> {
        result.write_jsonl(out)
    }

    fn writes_rows(&self) -> bool {
        true
    }
}

/// One CSV record per row.
#[derive(Debug, Clone, Copy, Default)]
pub struct CsvReport;

impl Reporter for CsvReport {
    fn write(&self, result: &EvalResult, out: &mut dyn Write) -> io::Result<()> {
        result.write_csv(out)
    }

    fn writes_rows(&self) -> bool {
        true
    }
}
