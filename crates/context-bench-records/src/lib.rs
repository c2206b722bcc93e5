//! Raw records from files in every common format, streamed.
//!
//! A record is an ordered map of JSON values, and it is the same whichever
//! format it was read from: JSON Lines, JSON, CSV, TSV or Parquet; plain, gzip,
//! zstd, bzip2 or in a zip archive; on disk, in a pipe or behind range requests
//! ([`ReadAt`]). `docs/reference/formats.md` says what each format may hold.
//!
//! ```
//! use context_bench_records::{ReadSettings, RecordSet};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let folder = tempfile::tempdir()?;
//! std::fs::write(folder.path().join("a.jsonl"), "{\"n\": 1}\n")?;
//! std::fs::write(folder.path().join("b.csv"), "n\n2\n")?;
//! let mut numbers = Vec::new();
//! for found in RecordSet::open(folder.path(), ReadSettings::default())? {
//!     numbers.push(found?.record["n"].to_string());
//! }
//! assert_eq!(numbers, ["1", "\"2\""]);
//! # Ok(())
//! # }
//! ```
//!
//! Nothing here prints, reads the environment or knows what an example is.

// Only Parquet is read out of order.
#![cfg_attr(
    not(feature = "parquet"),
    allow(dead_code, reason = "used for Parquet")
)]

mod batch;
mod error;
mod format;
mod json_lines;
mod json_list;
mod json_record;
mod json_scanner;
mod json_shape;
#[cfg(feature = "parquet")]
mod parquet;
mod read_at;
mod record;
mod row_watch;
mod set;
mod size;
mod source;
mod table;
mod zip;

pub use batch::Batch;
pub use error::RecordError;
pub use format::{Compression, Format, Syntax};
#[cfg(feature = "parquet")]
pub use parquet::ParquetRecords;
pub use read_at::{FileAt, ReadAt};
pub use record::{
    CheckedRecord, PositionedRecord, ReadSettings, Record, RecordPosition, Records, TableHeader,
};
pub use set::{RecordSet, files, is_data_name};
pub use size::map_bytes;
pub use source::{Input, STDIN, Source};
