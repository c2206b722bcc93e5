//! Rows whose columns are decoded, put together when they are taken.

use std::path::Path;
use std::sync::Arc;

use context_bench_error::Place;

use super::assemble;
use super::cells::Cells;
use super::schema::Shape;
use crate::record::Header;
use crate::{PositionedRecord, Record, RecordError, RecordPosition};

/// Some rows of a row group.
pub(crate) struct TableBatch {
    pub(super) path: Arc<Path>,
    pub(super) shape: Arc<Shape>,
    pub(super) header: Arc<Header>,
    pub(super) cells: Vec<Cells>,
    /// From 1, for messages.
    pub(super) row_group: usize,
    /// The place of the next row among all records.
    pub(super) index: usize,
    pub(super) n_rows: usize,
}

impl TableBatch {
    pub(crate) fn n_rows(&self) -> usize {
        self.n_rows
    }

    pub(crate) fn n_bytes(&self) -> usize {
        self.cells.iter().map(Cells::n_bytes).sum()
    }

    /// See [`Batch::shift`](crate::Batch::shift).
    pub(crate) fn shift(&mut self, n_before: usize) -> usize {
        let end = self.index + self.n_rows;
        self.index += n_before;
        end
    }

    /// The next row; nothing when the columns do not fit together.
    fn record(&mut self) -> Option<Record> {
        let (fields, cells) = (&self.shape.fields, &mut self.cells);
        let mut values = Vec::with_capacity(fields.len());
        for field in fields {
            values.push(assemble::value(field, cells).ok()?);
        }
        // The columns of one record must end together.
        let is_whole = cells.iter().all(|cells| cells.repetition() == 0);
        is_whole.then(|| Record::row(&self.header, values))
    }
}

impl Iterator for TableBatch {
    type Item = Result<PositionedRecord, RecordError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.n_rows == 0 {
            return None;
        }
        let position = RecordPosition {
            index: self.index,
            line: None,
            column: None,
        };
        let Some(record) = self.record() else {
            self.n_rows = 0;
            return Some(Err(RecordError::BadFile {
                problem: format!(
                    "the columns of row group {} do not fit together; the file is damaged",
                    self.row_group
                ),
                at: Place::path(&self.path),
            }));
        };
        self.n_rows -= 1;
        self.index += 1;
        Some(Ok(PositionedRecord { record, position }))
    }
}
