//! One column: its decoded values, batch by batch, and a place among them.

use std::sync::Arc;
use std::vec::IntoIter;

use parquet::column::reader::{ColumnReader, ColumnReaderImpl, get_column_reader};
use parquet::data_type::DataType;
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::reader::SerializedPageReader;
use serde_json::Value;

use super::fetch::Chunk;
use super::value::{Meaning, float, int96};

/// The values of a leaf of the records.
pub(super) struct Column {
    reader: ColumnReader,
    meaning: Meaning,
    max_definition: i16,
    definitions: Vec<i16>,
    repetitions: Vec<i16>,
    /// The values that are there; missing ones have only levels.
    values: IntoIter<Value>,
    /// How many levels and values were used.
    at: usize,
}

/// The data does not fit its own levels.
#[derive(Debug)]
pub(super) struct Damaged;

impl Column {
    pub(super) fn new(
        chunk: Arc<Chunk>,
        metadata: &ColumnChunkMetaData,
        n_rows: usize,
    ) -> Result<Self> {
        let pages = SerializedPageReader::new(chunk, metadata, n_rows, None)?;
        let description = metadata.column_descr_ptr();
        Ok(Self {
            meaning: Meaning::of(&description),
            max_definition: description.max_def_level(),
            reader: get_column_reader(description, Box::new(pages)),
            definitions: Vec::new(),
            repetitions: Vec::new(),
            values: Vec::new().into_iter(),
            at: 0,
        })
    }

    /// Decodes the values of the next `n_rows` rows.
    pub(super) fn decode(&mut self, n_rows: usize) -> Result<()> {
        self.definitions.clear();
        self.repetitions.clear();
        self.at = 0;
        let meaning = self.meaning;
        let levels = (&mut self.definitions, &mut self.repetitions);
        let values: Vec<Value> = match &mut self.reader {
            ColumnReader::BoolColumnReader(reader) => {
                let values = read(reader, n_rows, levels)?;
                values.into_iter().map(Value::Bool).collect()
            }
            ColumnReader::Int32ColumnReader(reader) => {
                let values = read(reader, n_rows, levels)?;
                values
                    .into_iter()
                    .map(|number| meaning.of_i32(number))
                    .collect()
            }
            ColumnReader::Int64ColumnReader(reader) => {
                let values = read(reader, n_rows, levels)?;
                values
                    .into_iter()
                    .map(|number| meaning.of_i64(number))
                    .collect()
            }
            ColumnReader::Int96ColumnReader(reader) => {
                let values = read(reader, n_rows, levels)?;
                let parts = |number: &[u32]| <[u32; 3]>::try_from(number).unwrap_or_default();
                values
                    .iter()
                    .map(|number| int96(parts(number.data())))
                    .collect()
            }
            ColumnReader::FloatColumnReader(reader) => {
                let values = read(reader, n_rows, levels)?;
                values
                    .into_iter()
                    .map(|number| float(number.into()))
                    .collect()
            }
            ColumnReader::DoubleColumnReader(reader) => {
                let values = read(reader, n_rows, levels)?;
                values.into_iter().map(float).collect()
            }
            ColumnReader::ByteArrayColumnReader(reader) => {
                let values = read(reader, n_rows, levels)?;
                values
                    .iter()
                    .map(|bytes| of_bytes(meaning, bytes.data()))
                    .collect::<Result<_>>()?
            }
            ColumnReader::FixedLenByteArrayColumnReader(reader) => {
                let values = read(reader, n_rows, levels)?;
                values
                    .iter()
                    .map(|bytes| of_bytes(meaning, bytes.data()))
                    .collect::<Result<_>>()?
            }
        };
        self.values = values.into_iter();
        Ok(())
    }

    /// The definition level of the next value.
    pub(super) fn definition(&self) -> std::result::Result<i16, Damaged> {
        if self.max_definition == 0 {
            return Ok(0);
        }
        self.definitions.get(self.at).copied().ok_or(Damaged)
    }

    /// The repetition level of the next value; 0 begins a record.
    pub(super) fn repetition(&self) -> i16 {
        self.repetitions.get(self.at).copied().unwrap_or(0)
    }

    /// Goes past a value that is not there.
    pub(super) fn skip(&mut self) {
        self.at += 1;
    }

    /// The next value, which may be missing.
    pub(super) fn value(&mut self) -> std::result::Result<Value, Damaged> {
        let is_there = self.definition()? == self.max_definition;
        self.at += 1;
        if is_there {
            self.values.next().ok_or(Damaged)
        } else {
            Ok(Value::Null)
        }
    }
}

fn of_bytes(meaning: Meaning, bytes: &[u8]) -> Result<Value> {
    meaning
        .of_bytes(bytes)
        .ok_or_else(|| ParquetError::General("text that is not valid UTF-8".into()))
}

fn read<T: DataType>(
    reader: &mut ColumnReaderImpl<T>,
    n_rows: usize,
    (definitions, repetitions): (&mut Vec<i16>, &mut Vec<i16>),
) -> Result<Vec<T::T>> {
    let mut values = Vec::new();
    let (n_read, _, _) =
        reader.read_records(n_rows, Some(definitions), Some(repetitions), &mut values)?;
    if n_read == n_rows {
        Ok(values)
    } else {
        Err(ParquetError::EOF(format!(
            "expected {n_rows} more rows, found {n_read}"
        )))
    }
}
