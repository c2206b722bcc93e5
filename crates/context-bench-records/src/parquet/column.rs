//! One column: its pages become cells, a few rows at a time.

use std::sync::Arc;

use parquet::column::reader::{ColumnReader, ColumnReaderImpl, get_column_reader};
use parquet::data_type::{ByteArray, DataType};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::reader::SerializedPageReader;
use serde_json::Value;

use super::cells::{Cells, Texts, Values};
use super::fetch::Chunk;
use super::value::{Meaning, float, int96};

/// A leaf of the records.
pub(super) struct Column {
    reader: ColumnReader,
    meaning: Meaning,
    max_definition: i16,
}

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
        })
    }

    /// Decodes the values of the next `n_rows` rows.
    pub(super) fn decode(&mut self, n_rows: usize) -> Result<Cells> {
        let meaning = self.meaning;
        let mut levels = (Vec::new(), Vec::new());
        let values: Vec<Value> = match &mut self.reader {
            ColumnReader::BoolColumnReader(reader) => {
                let values = read(reader, n_rows, &mut levels)?;
                values.into_iter().map(Value::Bool).collect()
            }
            ColumnReader::Int32ColumnReader(reader) => {
                let values = read(reader, n_rows, &mut levels)?;
                values
                    .into_iter()
                    .map(|number| meaning.of_i32(number))
                    .collect()
            }
            ColumnReader::Int64ColumnReader(reader) => {
                let values = read(reader, n_rows, &mut levels)?;
                values
                    .into_iter()
                    .map(|number| meaning.of_i64(number))
                    .collect()
            }
            ColumnReader::Int96ColumnReader(reader) => {
                let values = read(reader, n_rows, &mut levels)?;
                let parts = |number: &[u32]| <[u32; 3]>::try_from(number).unwrap_or_default();
                values
                    .iter()
                    .map(|number| int96(parts(number.data())))
                    .collect()
            }
            ColumnReader::FloatColumnReader(reader) => {
                let values = read(reader, n_rows, &mut levels)?;
                values
                    .into_iter()
                    .map(|number| float(number.into()))
                    .collect()
            }
            ColumnReader::DoubleColumnReader(reader) => {
                let values = read(reader, n_rows, &mut levels)?;
                values.into_iter().map(float).collect()
            }
            ColumnReader::ByteArrayColumnReader(reader) => {
                let values = read(reader, n_rows, &mut levels)?;
                if meaning == Meaning::Text {
                    let texts = Texts::new(values.iter().map(ByteArray::data));
                    let texts = Values::Texts(texts.ok_or_else(not_text)?);
                    return Ok(Cells::new(self.max_definition, levels, texts));
                }
                values
                    .iter()
                    .map(|bytes| of_bytes(meaning, bytes.data()))
                    .collect::<Result<_>>()?
            }
            ColumnReader::FixedLenByteArrayColumnReader(reader) => {
                let values = read(reader, n_rows, &mut levels)?;
                values
                    .iter()
                    .map(|bytes| of_bytes(meaning, bytes.data()))
                    .collect::<Result<_>>()?
            }
        };
        let values = Values::Json(values.into_iter());
        Ok(Cells::new(self.max_definition, levels, values))
    }
}

fn not_text() -> ParquetError {
    ParquetError::General("text that is not valid UTF-8".into())
}

fn of_bytes(meaning: Meaning, bytes: &[u8]) -> Result<Value> {
    meaning.of_bytes(bytes).ok_or_else(not_text)
}

fn read<T: DataType>(
    reader: &mut ColumnReaderImpl<T>,
    n_rows: usize,
    (definitions, repetitions): &mut (Vec<i16>, Vec<i16>),
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
