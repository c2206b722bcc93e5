//! `Row`: a raw record of a source on its way to becoming examples.

use std::sync::{Arc, OnceLock};

use context_bench_records::{Batch, PositionedRecord, Record};
use serde_json::{Map, Value};

use crate::dataset::DatasetError;
use crate::dataset::local::advised;
use crate::error::Place;

/// A raw record and where it stands.
#[derive(Debug, Clone)]
pub(super) struct Row {
    pub(super) record: Record,
    pub(super) at: Place,
}

impl Row {
    /// The value of a column; `null` when there is none.
    pub(super) fn get(&self, column: &str) -> &Value {
        self.record.get(column).unwrap_or(&Value::Null)
    }

    /// The record, out of the row, which keeps its place alone.
    pub(super) fn take_record(&mut self) -> Value {
        let empty = Record::from(Map::new());
        std::mem::replace(&mut self.record, empty).into()
    }

    /// Another record made of this one, at the same place.
    pub(super) fn becomes<const N: usize>(&self, fields: [(&str, Value); N]) -> Self {
        let fields = fields.into_iter();
        let map: Map<String, Value> = fields.map(|(key, value)| (key.to_owned(), value)).collect();
        Self {
            record: map.into(),
            at: self.at.clone(),
        }
    }

    /// The error for a record that is not laid out as its dataset is.
    pub(super) fn misfit(&self, problem: impl Into<String>) -> DatasetError {
        DatasetError::BadRecord {
            problem: problem.into(),
            at: self.at.clone(),
        }
    }
}

/// A stream of raw records: one by one, or in the batches that they are read in.
pub(super) struct Rows {
    batches: Box<dyn Iterator<Item = RowBatch> + Send>,
    current: Option<RowBatch>,
    known_len: KnownLen,
}

/// How many rows a source says it has, good and bad, from when it is open.
pub(super) type KnownLen = Arc<OnceLock<usize>>;

/// Rows that were read together. What is left to do for them is done when they are
/// taken, on whichever thread that is.
pub(super) enum RowBatch {
    One(Option<Box<Result<Row, DatasetError>>>),
    Read { file: Arc<str>, batch: Batch },
}

impl Rows {
    /// Rows that come one by one.
    pub(super) fn new(
        rows: impl Iterator<Item = Result<Row, DatasetError>> + Send + 'static,
    ) -> Self {
        Self::of_batches(rows.map(|row| RowBatch::One(Some(Box::new(row)))))
    }

    pub(super) fn of_batches(batches: impl Iterator<Item = RowBatch> + Send + 'static) -> Self {
        Self {
            batches: Box::new(batches),
            current: None,
            known_len: KnownLen::default(),
        }
    }

    /// Rows of a source that says how many there are.
    pub(super) fn with_known_len(mut self, known_len: KnownLen) -> Self {
        self.known_len = known_len;
        self
    }

    /// What the source says about how many rows it has.
    pub(super) fn known_len(&self) -> &KnownLen {
        &self.known_len
    }

    /// The batches that are left.
    pub(super) fn into_batches(self) -> impl Iterator<Item = RowBatch> + Send {
        self.current.into_iter().chain(self.batches)
    }
}

impl Iterator for Rows {
    type Item = Result<Row, DatasetError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(row) = self.current.as_mut().and_then(Iterator::next) {
                return Some(row);
            }
            self.current = Some(self.batches.next()?);
        }
    }
}

impl RowBatch {
    /// How many rows are left.
    pub(super) fn n_rows(&self) -> usize {
        match self {
            Self::One(row) => usize::from(row.is_some()),
            Self::Read { batch, .. } => batch.n_records(),
        }
    }

    /// About how many bytes they have.
    pub(super) fn n_bytes(&self) -> usize {
        match self {
            Self::One(row) => match row.as_deref() {
                Some(Ok(row)) => row.record.n_bytes(),
                _ => 0,
            },
            Self::Read { batch, .. } => batch.n_bytes(),
        }
    }
}

impl Iterator for RowBatch {
    type Item = Result<Row, DatasetError>;

    fn next(&mut self) -> Option<Self::Item> {
        match self {
            Self::One(row) => row.take().map(|row| *row),
            Self::Read { file, batch } => Some(match batch.next()? {
                Ok(PositionedRecord { record, position }) => Ok(Row {
                    record,
                    at: position.place_in(Arc::clone(file)),
                }),
                Err(error) => Err(advised(error)),
            }),
        }
    }
}
