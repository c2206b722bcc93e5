//! CSV and TSV: a header row of keys, then one record per row.
//!
//! Every value is text, also numbers and ids: a table does not say what it
//! means by `007` or `1e5`, and a wrong guess changes answers.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

use csv::{ErrorKind, StringRecord};

use super::Records;
use super::row_watch::RowWatch;
use super::source::{Input, unreadable};
use crate::dataset::DatasetError;
use crate::error::Location;
use crate::model::Example;

pub(super) struct Table {
    rows: csv::Reader<RowWatch<Input>>,
    path: Arc<Path>,
    max_rows: usize,
    n_rows: usize,
    keys: Option<Vec<String>>,
    row: StringRecord,
}

impl Table {
    pub(super) fn new(input: Input, delimiter: u8, path: Arc<Path>, max_rows: usize) -> Self {
        Self {
            rows: csv::ReaderBuilder::new()
                .delimiter(delimiter)
                .buffer_capacity(64 * 1024)
                .from_reader(RowWatch::new(input, delimiter)),
            path,
            max_rows,
            n_rows: 0,
            keys: None,
            row: StringRecord::new(),
        }
    }

    /// Reads the header before the first row. Without it a table means nothing,
    /// so what is wrong with it is never skipped.
    fn read_keys(&mut self) -> Result<(), DatasetError> {
        if self.keys.is_some() {
            return Ok(());
        }
        let header = self.rows.headers().cloned();
        let line = self.finish_row()?;
        let header = header.map_err(|error| match self.problem(error, line) {
            DatasetError::BadRecord { problem, at } => DatasetError::BadFile { problem, at },
            other => other,
        })?;
        let bad = |problem| DatasetError::BadFile {
            problem,
            at: Location::line(&*self.path, line),
        };
        if header.is_empty() {
            return Err(bad("the file is empty; expected a header row".into()));
        }
        let mut seen = HashSet::new();
        for (column_idx, key) in header.iter().enumerate() {
            if key.is_empty() {
                return Err(bad(format!(
                    "column {} has no name in the header row",
                    column_idx + 1
                )));
            }
            if !seen.insert(key) {
                return Err(bad(format!("the header row names column `{key}` twice")));
            }
        }
        self.keys = Some(header.iter().map(Into::into).collect());
        Ok(())
    }

    /// Reads one row; false when there is none.
    fn next_row(&mut self) -> Result<bool, DatasetError> {
        self.read_keys()?;
        if self.n_rows >= self.max_rows {
            return Ok(false);
        }
        self.n_rows += 1;
        let found = self.rows.read_record(&mut self.row);
        let line = self.finish_row()?;
        found.map_err(|error| self.problem(error, line))
    }

    /// Returns the line of the row that was just read, unless the row is all
    /// that follows a stray quote.
    fn finish_row(&mut self) -> Result<usize, DatasetError> {
        let watch = self.rows.get_mut();
        let line = watch.next_row_line();
        match watch.left_open_at_line() {
            None => Ok(line),
            Some(line) => Err(DatasetError::BadFile {
                problem: "a quoted field is never closed".into(),
                at: Location::line(&*self.path, line),
            }),
        }
    }

    fn problem(&self, error: csv::Error, line: usize) -> DatasetError {
        let problem = match error.into_kind() {
            ErrorKind::Io(source) => return unreadable(&self.path, source),
            ErrorKind::UnequalLengths {
                expected_len, len, ..
            } => format!("the header row has {expected_len} fields, this row has {len}"),
            ErrorKind::Utf8 { err, .. } => format!("not valid UTF-8 in field {}", err.field() + 1),
            // Reading rows of text gives no other kind.
            other => format!("cannot parse the row: {other:?}"),
        };
        DatasetError::BadRecord {
            problem,
            at: Location::line(&*self.path, line),
        }
    }
}

impl Records for Table {
    fn check_next(&mut self) -> Option<Result<(), DatasetError>> {
        match self.next_row() {
            Ok(true) => Some(Ok(())),
            Ok(false) => None,
            Err(error) => Some(Err(error)),
        }
    }

    fn read_next(&mut self) -> Option<Result<Example, DatasetError>> {
        if let Err(error) = self.check_next()? {
            return Some(Err(error));
        }
        let keys = self.keys.iter().flatten().map(String::as_str);
        let mut example: Example = keys.zip(&self.row).collect();
        let fields = example.fields_mut();
        if !fields.contains_key("id") {
            fields.insert("id".into(), (self.n_rows - 1).into());
        }
        Some(Ok(example))
    }
}
