//! Rows as Parquet, written in groups of rows: no more than one group is in memory.
//!
//! Every column is of one plain type that data frames know: texts, 64-bit numbers, booleans. A score
//! is a column of doubles with nulls where there is none, so that no reader has to guess types.

use std::io::{self, Write};
use std::sync::Arc;

use ::parquet::basic::{Compression, LogicalType, Repetition, Type as Physical, ZstdLevel};
use ::parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use ::parquet::errors::ParquetError;
use ::parquet::file::metadata::KeyValue;
use ::parquet::file::properties::WriterProperties;
use ::parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use ::parquet::schema::types::Type;
use serde_json::Value;

use super::EvalResult;
use super::rows::RowShape;
use crate::model::{EvalRow, ExampleId};

/// Rows of a group, at most.
const GROUP_ROWS: usize = 100_000;
/// Bytes of texts in a group, about: where rows are long, groups are smaller.
const GROUP_BYTES: usize = 32 * 1024 * 1024;

/// One value of a row.
enum Cell {
    Text(String),
    Number(f64),
    Count(u64),
    Flag(bool),
}

/// The values of a column in one group, and which rows have one.
enum Values {
    Text(Vec<ByteArray>),
    Number(Vec<f64>),
    Count(Vec<i64>),
    Flag(Vec<bool>),
}

struct Column {
    name: String,
    values: Values,
    /// 1 for a row that has a value, else 0.
    levels: Vec<i16>,
}

impl Values {
    fn physical(&self) -> Physical {
        match self {
            Self::Text(_) => Physical::BYTE_ARRAY,
            Self::Number(_) => Physical::DOUBLE,
            Self::Count(_) => Physical::INT64,
            Self::Flag(_) => Physical::BOOLEAN,
        }
    }
}

impl Column {
    fn schema(&self) -> Result<Type, ParquetError> {
        let is_text = matches!(self.values, Values::Text(_));
        Type::primitive_type_builder(&self.name, self.values.physical())
            .with_repetition(Repetition::OPTIONAL)
            .with_logical_type(is_text.then_some(LogicalType::String))
            .build()
    }

    /// Adds the value of the next row, and says how many bytes it takes.
    fn push(&mut self, cell: Option<Cell>) -> usize {
        let mut size = 0;
        let is_there = match (&mut self.values, cell) {
            (Values::Text(texts), Some(Cell::Text(text))) => {
                size = text.len();
                texts.push(text.into_bytes().into());
                true
            }
            (Values::Number(numbers), Some(Cell::Number(number))) => {
                numbers.push(number);
                true
            }
            (Values::Count(counts), Some(Cell::Count(count))) => {
                counts.push(i64::try_from(count).unwrap_or(i64::MAX));
                true
            }
            (Values::Flag(flags), Some(Cell::Flag(flag))) => {
                flags.push(flag);
                true
            }
            _ => false,
        };
        self.levels.push(i16::from(is_there));
        size + 8
    }

    /// Writes the column into a group, and begins anew.
    fn write(
        &mut self,
        group: &mut SerializedRowGroupWriter<'_, Vec<u8>>,
    ) -> Result<(), ParquetError> {
        fn put<T: DataType>(
            values: &mut Vec<T::T>,
            levels: &[i16],
            group: &mut SerializedRowGroupWriter<'_, Vec<u8>>,
        ) -> Result<(), ParquetError> {
            if let Some(mut column) = group.next_column()? {
                let typed = column.typed::<T>();
                typed.write_batch(values, Some(levels), None)?;
                column.close()?;
            }
            values.clear();
            Ok(())
        }
        match &mut self.values {
            Values::Text(texts) => put::<ByteArrayType>(texts, &self.levels, group),
            Values::Number(numbers) => put::<DoubleType>(numbers, &self.levels, group),
            Values::Count(counts) => put::<Int64Type>(counts, &self.levels, group),
            Values::Flag(flags) => put::<BoolType>(flags, &self.levels, group),
        }?;
        self.levels.clear();
        Ok(())
    }
}

/// The columns of a table of rows, in their order.
struct Table {
    columns: Vec<Column>,
    rows: usize,
    bytes: usize,
}

/// The name of a column, and its values before there are any.
type Named = (&'static str, fn() -> Values);

/// Columns that every table has before its scores.
const FIRST: [Named; 8] = [
    ("system", text),
    ("position", count),
    ("repeat", count),
    ("example_id", text),
    ("dataset", text),
    ("input_tokens", count),
    ("output_tokens", count),
    ("latency", number),
];
/// Those behind them.
const LAST: [Named; 16] = [
    ("cached", flag),
    ("error_kind", text),
    ("error", text),
    ("unscored", text),
    ("answered_by", text),
    ("finish_reason", text),
    ("given_tokens", count),
    ("prompt_tokens", count),
    ("cached_tokens", count),
    ("completion_tokens", count),
    ("tokens_reported", flag),
    ("attempts", count),
    ("retry_wait", number),
    ("first_byte", number),
    ("first_token", number),
    ("metadata", text),
];
/// What a tap saw, as [`WireFacts::columns`](crate::model::WireFacts::columns) has it.
const WIRE: [Named; 8] = [
    ("wire_saved", number),
    ("wire_saved_bytes", number),
    ("wire_engagement", text),
    ("wire_calls", count),
    ("wire_prompt_tokens", count),
    ("wire_added_before", number),
    ("wire_added_after", number),
    ("wire_defects", text),
];
/// What was asked and answered.
const TEXTS: [Named; 4] = [
    ("question", text),
    ("answer", text),
    ("response", text),
    ("reasoning", text),
];

fn text() -> Values {
    Values::Text(Vec::new())
}

fn number() -> Values {
    Values::Number(Vec::new())
}

fn count() -> Values {
    Values::Count(Vec::new())
}

fn flag() -> Values {
    Values::Flag(Vec::new())
}

impl Table {
    fn of(shape: &RowShape) -> Self {
        let wire: &[_] = if shape.has_wire { &WIRE } else { &[] };
        let texts: &[_] = if shape.has_text { &TEXTS } else { &[] };
        let fixed = || FIRST.iter().chain(&LAST).chain(wire).chain(texts);
        // Readers want every name once.
        let named = |score: &str| match fixed().any(|(name, _)| *name == score) {
            true => format!("score:{score}"),
            false => score.to_owned(),
        };
        let scores = shape.scores.iter().map(|name| (named(name), number()));
        let plain = |(name, values): &Named| ((*name).to_owned(), values());
        let columns = FIRST.iter().map(plain).chain(scores);
        let columns = columns.chain(LAST.iter().chain(wire).chain(texts).map(plain));
        Self {
            columns: columns
                .map(|(name, values)| Column {
                    name,
                    values,
                    levels: Vec::new(),
                })
                .collect(),
            rows: 0,
            bytes: 0,
        }
    }

    fn schema(&self) -> Result<Arc<Type>, ParquetError> {
        let fields = self
            .columns
            .iter()
            .map(|column| column.schema().map(Arc::new));
        let fields: Vec<Arc<Type>> = fields.collect::<Result<_, _>>()?;
        let schema = Type::group_type_builder("row").with_fields(fields);
        Ok(Arc::new(schema.build()?))
    }

    fn push(&mut self, cells: impl Iterator<Item = Option<Cell>>) {
        for (column, cell) in self.columns.iter_mut().zip(cells) {
            self.bytes += column.push(cell);
        }
        self.rows += 1;
    }

    fn is_full(&self) -> bool {
        self.rows >= GROUP_ROWS || self.bytes >= GROUP_BYTES
    }

    /// Writes what there is as a group, and hands on the bytes.
    fn write(
        &mut self,
        file: &mut SerializedFileWriter<Vec<u8>>,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        if self.rows > 0 {
            let mut group = file.next_row_group().map_err(io::Error::other)?;
            for column in &mut self.columns {
                column.write(&mut group).map_err(io::Error::other)?;
            }
            group.close().map_err(io::Error::other)?;
            (self.rows, self.bytes) = (0, 0);
        }
        file.flush()?;
        out.write_all(file.inner())?;
        // The writer counts for itself where it is.
        file.inner_mut().clear();
        Ok(())
    }
}

/// Where a row stands among those of its system.
#[derive(Default)]
struct Place {
    last: Option<(Arc<str>, Arc<str>, ExampleId)>,
    position: u64,
    repeat: u64,
}

impl Place {
    fn next(&mut self, row: &EvalRow) {
        let last = self.last.as_ref().filter(|last| last.0 == row.system);
        self.position = last.map_or(0, |_| self.position + 1);
        // Attempts at one example stand side by side.
        let again = last.filter(|last| last.1 == row.dataset && last.2 == row.example_id);
        self.repeat = again.map_or(0, |_| self.repeat + 1);
        if again.is_none() {
            let (system, dataset) = (Arc::clone(&row.system), Arc::clone(&row.dataset));
            self.last = Some((system, dataset, row.example_id.clone()));
        }
    }
}

impl EvalResult {
    /// Writes the rows as Parquet, compressed with zstd: one column per score and fact, nulls where
    /// a row has none. Rows are read and written in groups, so memory does not grow with them.
    ///
    /// # Errors
    ///
    /// When rows cannot be read, or nothing can be written.
    pub fn write_parquet(&self, mut out: impl Write) -> io::Result<()> {
        let shape = self.shape();
        let mut table = Table::of(&shape);
        let mut notes = vec![KeyValue::new(
            "context-bench".to_owned(),
            env!("CARGO_PKG_VERSION").to_owned(),
        )];
        let run = self.store.as_ref().and_then(|store| store.run.clone());
        notes.extend(run.map(|run| KeyValue::new("run".to_owned(), run)));
        let part_of = self.part_of();
        notes.extend(part_of.map(|part| KeyValue::new("part_of".to_owned(), part)));
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            .set_created_by("context-bench".to_owned())
            .set_key_value_metadata(Some(notes))
            .build();
        let schema = table.schema().map_err(io::Error::other)?;
        let file = SerializedFileWriter::new(Vec::new(), schema, Arc::new(properties));
        let mut file = file.map_err(io::Error::other)?;
        let mut place = Place::default();
        self.each_row(|row| {
            place.next(row);
            table.push(self.cells(row, &place, &shape));
            match table.is_full() {
                true => table.write(&mut file, &mut out),
                false => Ok(()),
            }
        })?;
        table.write(&mut file, &mut out)?;
        let rest = file.into_inner().map_err(io::Error::other)?;
        out.write_all(&rest)?;
        out.flush()
    }

    /// The cells of a row, in the order of the columns.
    fn cells<'a>(
        &'a self,
        row: &'a EvalRow,
        place: &Place,
        shape: &'a RowShape,
    ) -> impl Iterator<Item = Option<Cell>> + 'a {
        let words = |text: &str| Some(Cell::Text(text.to_owned()));
        let first = [
            words(&row.system),
            Some(Cell::Count(place.position)),
            Some(Cell::Count(place.repeat)),
            words(&row.example_id.to_string()),
            words(&row.dataset).filter(|_| !row.dataset.is_empty()),
            Some(Cell::Count(row.input_tokens)),
            Some(Cell::Count(row.output_tokens)),
            Some(Cell::Number(row.latency)),
        ];
        let scores = shape.scores.iter().map(|name| {
            let value = row.score(name).filter(|value| value.is_finite());
            value.map(Cell::Number)
        });
        let failure = row.failure.as_deref();
        let unscored: Vec<String> = row
            .scores
            .unscored()
            .map(|(name, reason)| format!("{name}: {reason}"))
            .collect();
        let reply = row.reply.as_deref();
        let tokens = reply.map(|reply| reply.tokens).unwrap_or_default();
        let call = row.call.as_deref();
        let added = row.added.as_deref().filter(|added| !added.is_empty());
        let ended = reply.and_then(|reply| reply.finish_reason.as_deref());
        let seconds =
            |time: Option<std::time::Duration>| time.map(|time| Cell::Number(time.as_secs_f64()));
        let last = [
            Some(Cell::Flag(row.cached)),
            failure.map(|failure| Cell::Text(failure.kind.to_string())),
            failure.and_then(|failure| words(&failure.message)),
            (!unscored.is_empty()).then(|| Cell::Text(unscored.join("; "))),
            self.answered_by(&row.system).and_then(words),
            ended.and_then(words),
            tokens.given.map(Cell::Count),
            tokens.prompt.map(Cell::Count),
            tokens.cached.map(Cell::Count),
            tokens.completion.map(Cell::Count),
            reply.map(|_| Cell::Flag(tokens.reported)),
            call.map(|call| Cell::Count(call.attempts.into())),
            seconds(call.map(|call| call.retry_wait)),
            seconds(call.and_then(|call| call.first_byte)),
            seconds(call.and_then(|call| call.first_token)),
            added.map(|added| Cell::Text(Value::Object(added.clone()).to_string())),
        ];
        let wire = shape.has_wire.then(|| wire_cells(row));
        let texts = shape.has_text.then(|| text_cells(row));
        let rest = wire
            .into_iter()
            .flatten()
            .chain(texts.into_iter().flatten());
        first.into_iter().chain(scores).chain(last).chain(rest)
    }
}

fn wire_cells(row: &EvalRow) -> [Option<Cell>; 8] {
    let facts = row.wire.as_deref();
    let columns = facts.map_or_else(Default::default, |facts| facts.columns());
    let mut kinds = WIRE.iter().map(|(_, values)| values());
    columns.map(|(_, value)| match (kinds.next()?, value?) {
        (Values::Number(_), value) => value.as_f64().map(Cell::Number),
        (Values::Count(_), value) => value.as_u64().map(Cell::Count),
        (_, Value::String(text)) => Some(Cell::Text(text)),
        (_, other) => Some(Cell::Text(other.to_string())),
    })
}

fn text_cells(row: &EvalRow) -> [Option<Cell>; 4] {
    let cell = |value: Option<&Value>| match value? {
        Value::Null => None,
        Value::String(text) => Some(Cell::Text(text.clone())),
        other => Some(Cell::Text(other.to_string())),
    };
    let text = row.text.as_deref();
    let reasoning = text.and_then(|text| text.reasoning.clone());
    [
        cell(text.and_then(|text| text.question.as_ref())),
        cell(text.and_then(|text| text.answer.as_ref())),
        cell(text.and_then(|text| text.response.as_ref())),
        reasoning.map(Cell::Text),
    ]
}
