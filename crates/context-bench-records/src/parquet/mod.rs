//! Parquet: records row group by row group, of the columns that are wanted.
//!
//! Columns are decoded a batch of rows at a time; their cells are put together to
//! records when these are taken, perhaps on another thread. Of
//! a row group only the wanted columns are fetched, and no more of them than the
//! wanted rows need. The `parquet` crate may panic on damaged files, so every
//! call into it is guarded and a panic becomes an error about the file.

mod assemble;
mod batch;
mod cells;
mod column;
mod fetch;
mod schema;
mod value;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;

use context_bench_error::Place;
use parquet::errors::ParquetError;
use parquet::file::metadata::{ParquetMetaData, RowGroupMetaData};

pub(crate) use self::batch::TableBatch;
use self::column::Column;
use self::fetch::Range;
use self::schema::Shape;
use crate::error::unreadable;
use crate::{Batch, CheckedRecord, PositionedRecord, ReadAt, ReadSettings, RecordError, Records};

/// Batches have at most this many rows, and fewer when rows are large.
const BATCH_ROWS: usize = 1024;
const BATCH_BYTES: u64 = 1024 * 1024;

/// The records of a Parquet file.
pub struct ParquetRecords {
    path: Arc<Path>,
    decoder: Decoder,
    batch: Option<TableBatch>,
    is_over: bool,
}

/// Decodes batches of rows.
struct Decoder {
    source: Arc<dyn ReadAt>,
    path: Arc<Path>,
    metadata: ParquetMetaData,
    shape: Arc<Shape>,
    row_group_idx: usize,
    columns: Vec<Column>,
    /// Rows of the open row group that are not yet decoded.
    n_in_group: usize,
    /// Rows that are wanted in all and not yet decoded.
    n_wanted: usize,
    batch_rows: usize,
    n_decoded: usize,
}

impl ParquetRecords {
    /// Opens a file and reads its footer, but no row.
    ///
    /// Of the `columns` in the settings, those that the file has are read.
    ///
    /// # Errors
    ///
    /// When the file cannot be read, is not a Parquet file, or has none of the
    /// columns that are wanted.
    pub fn open(
        source: Arc<dyn ReadAt>,
        path: Arc<Path>,
        settings: &ReadSettings,
    ) -> Result<Self, RecordError> {
        let place = || "the footer".to_owned();
        let metadata = guarded(&path, place, || fetch::footer(&*source))?;
        let schema = metadata.file_metadata().schema_descr();
        let names = schema::column_names(schema);
        if let Some(wanted) = &settings.columns
            && let Some(first) = wanted.first()
            && !wanted.iter().any(|column| names.contains(column))
        {
            return Err(RecordError::NoColumn {
                path: (*path).into(),
                column: first.clone(),
                columns: names,
            });
        }
        let wanted = settings.columns.as_deref();
        let is_wanted = |name: &str| wanted.is_none_or(|wanted| wanted.iter().any(|w| w == name));
        let shape = schema::shape(schema, is_wanted).map_err(|problem| RecordError::BadFile {
            problem: format!("cannot read the Parquet schema: {problem}"),
            at: Place::path(&path),
        })?;
        // Without columns nothing would show how many rows there really are.
        let max_records = if shape.columns.is_empty() {
            Some(0)
        } else {
            settings.max_records
        };
        Ok(Self {
            decoder: Decoder {
                source,
                path: Arc::clone(&path),
                metadata,
                shape: Arc::new(shape),
                row_group_idx: 0,
                columns: Vec::new(),
                n_in_group: 0,
                n_wanted: max_records.unwrap_or(usize::MAX),
                batch_rows: 1,
                n_decoded: 0,
            },
            path,
            batch: None,
            is_over: false,
        })
    }

    /// How many records the file says it has.
    pub fn n_rows(&self) -> u64 {
        u64::try_from(self.decoder.metadata.file_metadata().num_rows()).unwrap_or(0)
    }

    fn next_batch(&mut self) -> Option<Result<TableBatch, RecordError>> {
        if self.is_over {
            return None;
        }
        let batch = self.decoder.next_batch().transpose();
        self.is_over = !matches!(batch, Some(Ok(_)));
        batch
    }

    fn next_record(&mut self) -> Option<Result<PositionedRecord, RecordError>> {
        loop {
            if let Some(found) = self.batch.as_mut().and_then(Iterator::next) {
                self.is_over |= found.is_err();
                return Some(found);
            }
            match self.next_batch()? {
                Ok(batch) => self.batch = Some(batch),
                Err(error) => return Some(Err(error)),
            }
        }
    }
}

impl Decoder {
    /// The next rows; nothing after the last.
    fn next_batch(&mut self) -> Result<Option<TableBatch>, RecordError> {
        if self.n_wanted == 0 {
            return Ok(None);
        }
        while self.n_in_group == 0 {
            if self.row_group_idx >= self.metadata.num_row_groups() {
                return Ok(None);
            }
            self.open_row_group()?;
        }
        let n_rows = self.batch_rows.min(self.n_in_group).min(self.n_wanted);
        self.n_in_group -= n_rows;
        self.n_wanted -= n_rows;
        let row_group = self.row_group_idx;
        let mut cells = Vec::with_capacity(self.columns.len());
        for (column, file_idx) in self.columns.iter_mut().zip(&self.shape.columns) {
            let place = || column_place(&self.metadata, row_group - 1, *file_idx);
            cells.push(guarded(&self.path, place, || column.decode(n_rows))?);
        }
        let index = self.n_decoded;
        self.n_decoded += n_rows;
        Ok(Some(TableBatch {
            path: Arc::clone(&self.path),
            shape: Arc::clone(&self.shape),
            // One for each batch: batches are used while others are decoded, and
            // a count of users that two threads change slows both.
            header: Arc::new(self.shape.header.clone()),
            cells,
            row_group,
            index,
            n_rows,
        }))
    }

    fn open_row_group(&mut self) -> Result<(), RecordError> {
        let row_group_idx = self.row_group_idx;
        self.row_group_idx += 1;
        let row_group = self.metadata.row_group(row_group_idx);
        let n_rows = usize::try_from(row_group.num_rows()).map_err(|_| RecordError::BadFile {
            problem: format!(
                "row group {} has a negative number of rows",
                row_group_idx + 1
            ),
            at: Place::path(&self.path),
        })?;
        self.batch_rows = batch_rows(row_group, n_rows);
        let share = self.n_wanted as f64 / n_rows.max(1) as f64;
        let (source, path) = (&self.source, &self.path);
        let leaves = &self.shape.columns;
        let place = || format!("row group {}", row_group_idx + 1);
        let chunks = guarded(path, place, || {
            let len = source.len()?;
            let ranges = leaves
                .iter()
                .map(|leaf| range(row_group, *leaf, len))
                .collect::<Result<Vec<Range>, ParquetError>>()?;
            Ok(fetch::chunks(source, &ranges, share)?)
        })?;
        self.columns.clear();
        for (leaf, chunk) in leaves.iter().zip(chunks) {
            let place = || column_place(&self.metadata, row_group_idx, *leaf);
            let column = guarded(path, place, || {
                Column::new(chunk, row_group.column(*leaf), n_rows)
            })?;
            self.columns.push(column);
        }
        self.n_in_group = n_rows;
        Ok(())
    }
}

/// Where the bytes of a column are, after checking that they are in the file.
fn range(row_group: &RowGroupMetaData, leaf: usize, len: u64) -> Result<Range, ParquetError> {
    let damaged = || ParquetError::EOF("a column lies outside the file".into());
    let column = row_group.columns().get(leaf).ok_or_else(damaged)?;
    if column.file_path().is_some() {
        return Err(ParquetError::NYI("its columns are in other files".into()));
    }
    let start = column
        .dictionary_page_offset()
        .unwrap_or(column.data_page_offset());
    let start = u64::try_from(start).map_err(|_| damaged())?;
    let size = u64::try_from(column.compressed_size()).map_err(|_| damaged())?;
    match start.checked_add(size) {
        Some(end) if end <= len => Ok(Range { start, end }),
        _ => Err(damaged()),
    }
}

fn batch_rows(row_group: &RowGroupMetaData, n_rows: usize) -> usize {
    let bytes = u64::try_from(row_group.total_byte_size()).unwrap_or(u64::MAX);
    let per_row = (bytes / n_rows.max(1) as u64).max(1);
    ((BATCH_BYTES / per_row) as usize).clamp(1, BATCH_ROWS)
}

fn column_place(metadata: &ParquetMetaData, row_group_idx: usize, leaf: usize) -> String {
    let schema = metadata.file_metadata().schema_descr();
    let name = schema
        .columns()
        .get(leaf)
        .map(|column| column.path().string());
    format!(
        "row group {}, column `{}`",
        row_group_idx + 1,
        name.unwrap_or_default()
    )
}

/// Calls into the `parquet` crate, which asserts what damaged files break.
fn guarded<T>(
    path: &Path,
    place: impl FnOnce() -> String,
    call: impl FnOnce() -> Result<T, ParquetError>,
) -> Result<T, RecordError> {
    let problem = match catch_unwind(AssertUnwindSafe(call)) {
        Ok(Ok(value)) => return Ok(value),
        Ok(Err(error)) => match into_io(error) {
            Ok(error) if error.kind() != std::io::ErrorKind::UnexpectedEof => {
                return Err(unreadable(path, error));
            }
            Ok(_) => "the file is cut short".to_owned(),
            Err(error) => shown(&error),
        },
        Err(_) => "the data is damaged".to_owned(),
    };
    Err(RecordError::BadFile {
        problem: format!("cannot read {} of the Parquet file: {problem}", place()),
        at: Place::path(path),
    })
}

/// What the file system or the network said, if the error is from there.
fn into_io(error: ParquetError) -> Result<std::io::Error, ParquetError> {
    match error {
        ParquetError::External(source) => match source.downcast::<std::io::Error>() {
            Ok(error) => Ok(*error),
            Err(source) => Err(ParquetError::External(source)),
        },
        other => Err(other),
    }
}

fn shown(error: &ParquetError) -> String {
    match error {
        ParquetError::General(what) | ParquetError::EOF(what) | ParquetError::NYI(what) => {
            what.clone()
        }
        other => other.to_string(),
    }
}

impl Records for ParquetRecords {
    /// Decodes as reading does: that is most of the work, and what can fail.
    fn check_next(&mut self, key: &str) -> Option<Result<CheckedRecord, RecordError>> {
        Some(self.next_record()?.map(|mut found| CheckedRecord {
            value: found.record.take(key),
            position: found.position,
        }))
    }

    fn read_next(&mut self) -> Option<Result<PositionedRecord, RecordError>> {
        self.next_record()
    }

    fn read_batch(&mut self) -> Option<Result<Batch, RecordError>> {
        let begun = self.batch.take().filter(|batch| batch.n_rows() > 0);
        let batch = begun.map(Ok).or_else(|| self.next_batch())?;
        Some(batch.map(Batch::table))
    }

    fn known_len(&self) -> Option<usize> {
        usize::try_from(self.n_rows()).ok()
    }

    fn file(&self) -> &Path {
        &self.path
    }
}

impl std::fmt::Debug for ParquetRecords {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ParquetRecords")
            .field("path", &self.path)
            .field("n_decoded", &self.decoder.n_decoded)
            .finish_non_exhaustive()
    }
}
