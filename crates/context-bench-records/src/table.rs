//! CSV and TSV: a header row of keys, then one record per row.
//!
//! Every value is text, also numbers and ids: a table does not say what it
//! means by `007` or `1e5`, and a wrong guess changes answers.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

use context_bench_error::Place;
use csv::{ErrorKind, StringRecord};

use crate::error::unreadable;
use crate::json_record::too_long;
use crate::record::Header;
use crate::row_watch::RowWatch;
use crate::source::Input;
use crate::{
    CheckedRecord, PositionedRecord, Record, RecordError, RecordPosition, Records, TableHeader,
};

pub(crate) struct Table {
    rows: csv::Reader<RowWatch<Input>>,
    path: Arc<Path>,
    delimiter: u8,
    max_rows: usize,
    n_rows: usize,
    header: Option<Arc<Header>>,
    names: TableHeader,
    row: StringRecord,
}

impl Table {
    pub(crate) fn new(
        input: Input,
        delimiter: u8,
        path: Arc<Path>,
        max_rows: usize,
        names: TableHeader,
    ) -> Self {
        Self {
            rows: csv::ReaderBuilder::new()
                .delimiter(delimiter)
                .has_headers(!matches!(names, TableHeader::Given(_)))
                .buffer_capacity(64 * 1024)
                .from_reader(RowWatch::new(input, delimiter)),
            path,
            delimiter,
            max_rows,
            n_rows: 0,
            header: None,
            names,
            row: StringRecord::new(),
        }
    }

    /// Reads the header before the first row. Without it a table means nothing,
    /// so what is wrong with it is never skipped.
    fn read_header(&mut self) -> Result<(), RecordError> {
        if self.header.is_some() {
            return Ok(());
        }
        if let TableHeader::Given(names) = &self.names {
            self.header = Some(self.named(names.iter().map(String::as_str), 1)?);
            return Ok(());
        }
        let header = self.rows.headers().cloned();
        let line = self.finish_row()?;
        let header = header.map_err(|error| match self.problem(error, line) {
            RecordError::BadRecord { problem, at } => RecordError::BadFile { problem, at },
            other => other,
        })?;
        let bad = |problem| RecordError::BadFile {
            problem,
            at: Place::path(&self.path).line(line),
        };
        if header.is_empty() {
            return Err(bad("the file is empty; expected a header row".into()));
        }
        self.header = Some(match &self.names {
            TableHeader::InPlaceOfRow(names) if names.len() != header.len() => {
                return Err(bad(unequal(names.len(), header.len())));
            }
            TableHeader::InPlaceOfRow(names) => {
                self.named(names.iter().map(String::as_str), line)?
            }
            _ => self.named(header.iter(), line)?,
        });
        Ok(())
    }

    /// Columns of some names, each of which is there once.
    fn named<'n>(
        &self,
        names: impl Iterator<Item = &'n str> + Clone,
        line: usize,
    ) -> Result<Arc<Header>, RecordError> {
        let bad = |problem| RecordError::BadFile {
            problem,
            at: Place::path(&self.path).line(line),
        };
        let mut seen = HashSet::new();
        for (column_idx, key) in names.clone().enumerate() {
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
        Ok(Arc::new(Header::new(names.map(Into::into))))
    }

    /// Reads one row and returns its position; nothing when there is none.
    fn next_row(&mut self) -> Result<Option<RecordPosition>, RecordError> {
        self.read_header()?;
        if self.n_rows >= self.max_rows {
            return Ok(None);
        }
        self.n_rows += 1;
        let found = self.rows.read_record(&mut self.row);
        let line = self.finish_row()?;
        let is_found = found.map_err(|error| self.problem(error, line))?;
        if let TableHeader::Given(names) = &self.names
            && is_found
            && names.len() != self.row.len()
        {
            return Err(RecordError::BadFile {
                problem: unequal(names.len(), self.row.len()),
                at: Place::path(&self.path).line(line),
            });
        }
        Ok(is_found.then(|| RecordPosition {
            index: self.n_rows - 1,
            line: Some(line),
            column: None,
        }))
    }

    /// Returns the line of the row that was just read, unless the row is all
    /// that follows a stray quote.
    fn finish_row(&mut self) -> Result<usize, RecordError> {
        let watch = self.rows.get_mut();
        let line = watch.next_row_line();
        if watch.is_too_long() {
            return Err(too_long(&self.path, line));
        }
        match watch.left_open_at_line() {
            None => Ok(line),
            Some(line) => Err(RecordError::BadFile {
                problem: "a quoted field is never closed".into(),
                at: Place::path(&self.path).line(line),
            }),
        }
    }

    fn problem(&self, error: csv::Error, line: usize) -> RecordError {
        let problem = match error.into_kind() {
            ErrorKind::Io(source) => return unreadable(&self.path, source),
            ErrorKind::UnequalLengths {
                expected_len, len, ..
            } => format!("the header row has {expected_len} fields, this row has {len}"),
            ErrorKind::Utf8 { err, .. } => format!("not valid UTF-8 in field {}", err.field() + 1),
            // Reading rows of text gives no other kind.
            other => format!("cannot parse the row: {other:?}"),
        };
        RecordError::BadRecord {
            problem,
            at: Place::path(&self.path).line(line),
        }
    }
}

fn unequal(n_names: usize, n_fields: usize) -> String {
    format!("{n_names} names are given for columns, this row has {n_fields} fields")
}

impl Records for Table {
    fn check_next(&mut self, key: &str) -> Option<Result<CheckedRecord, RecordError>> {
        let position = match self.next_row() {
            Ok(position) => position?,
            Err(error) => return Some(Err(error)),
        };
        let column = self.header.as_ref().and_then(|header| header.place(key));
        let value = column.and_then(|at| self.row.get(at)).map(Into::into);
        Some(Ok(CheckedRecord { value, position }))
    }

    fn read_next(&mut self) -> Option<Result<PositionedRecord, RecordError>> {
        let position = match self.next_row() {
            Ok(position) => position?,
            Err(error) => return Some(Err(error)),
        };
        let values = self.row.iter().map(Into::into).collect();
        // Reading a row has read the header first.
        let record = Record::row(self.header.as_ref()?, values);
        Some(Ok(PositionedRecord { record, position }))
    }

    fn file(&self) -> &Path {
        &self.path
    }

    fn delimiter(&self) -> Option<u8> {
        Some(self.delimiter)
    }
}
