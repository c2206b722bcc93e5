//! `Records`: the one interface of all formats, and what it yields.

use std::path::Path;

use serde_json::{Map, Value};

use crate::RecordError;

/// One raw record: an ordered map of JSON values.
pub type Record = Map<String, Value>;

/// Where a record stands in its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// Position from 0. In JSON Lines it counts lines, also blank ones.
    pub index: usize,
    /// Line from 1, in formats that have lines.
    pub line: Option<usize>,
    /// Column from 1, in bytes, where a record may begin inside a line.
    pub column: Option<usize>,
}

/// A record and its place.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// The record.
    pub record: Record,
    /// Where it stands.
    pub place: Place,
}

/// A record that was checked and dropped.
#[derive(Debug, Clone, PartialEq)]
pub struct Checked {
    /// The value of the one key that was asked for, when the record has it.
    pub value: Option<Value>,
    /// Where the record stands.
    pub place: Place,
}

/// Yields the records of one or more files, front to back.
///
/// After an error about one record, the next call goes on with the record after
/// it. After any other error nothing more follows.
pub trait Records: Send {
    /// Checks the next record as strictly as [`read_next`](Self::read_next), and
    /// keeps only the value of `key`. Faster than reading.
    fn check_next(&mut self, key: &str) -> Option<Result<Checked, RecordError>>;

    /// Reads the next record.
    fn read_next(&mut self) -> Option<Result<Found, RecordError>>;

    /// The file that the last record came from.
    fn file(&self) -> &Path;
}

/// Which records are read, and which part of them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ReadSettings {
    /// How many records to look at, good or bad. In JSON Lines this counts
    /// lines, also blank ones.
    pub max_records: Option<usize>,
    /// The columns of a Parquet file to read; others are neither fetched nor
    /// decoded. Formats without columns give whole records.
    pub columns: Option<Vec<String>>,
    /// Where the list of records is in a JSON file: a key, or a JSON pointer
    /// such as `/data/train`. Without it the list is found by its shape.
    pub field: Option<String>,
}

/// What kind of value is found where a record must be.
pub(crate) fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "text",
        Value::Array(_) => "a list",
        Value::Object(_) => "a map",
    }
}
