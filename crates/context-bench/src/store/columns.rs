//! The columns of responses and run rows: one place for their order and checksums.

use std::time::Duration;

use rusqlite::Row;
use rusqlite::types::{ToSql, ToSqlOutput, ValueRef};

use super::body::Body;
use super::checksum::Checksum;
use super::key::{Key, ResponseKey};
use crate::model::{CallStats, ExampleId};

/// Everything of a response but its output.
pub(super) struct ResponseColumns<'a> {
    pub(super) created_at: i64,
    pub(super) latency: f64,
    pub(super) call: CallColumns,
    pub(super) first_byte: Option<f64>,
    pub(super) usage: Option<&'a str>,
    pub(super) encoding: i64,
    pub(super) output_checksum: i64,
}

impl<'a> ResponseColumns<'a> {
    /// What [`read`](Self::read) wants to find in the result, in order.
    pub(super) const LIST: &'static str = "r.created_at, r.latency_s, r.attempts, r.retry_wait_s, \
         r.first_token_s, r.first_byte_s, r.usage, r.encoding, r.output_checksum, r.checksum";
    /// How many columns that is.
    pub(super) const N: usize = 10;

    /// Reads the columns from position `at` on, with the stored checksum.
    pub(super) fn read(row: &'a Row<'_>, at: usize) -> rusqlite::Result<(Self, i64)> {
        let columns = Self {
            created_at: row.get(at)?,
            latency: row.get(at + 1)?,
            call: CallColumns {
                attempts: row.get(at + 2)?,
                retry_wait: row.get(at + 3)?,
                first_token: row.get(at + 4)?,
            },
            first_byte: row.get(at + 5)?,
            usage: row.get_ref(at + 6)?.as_str_or_null()?,
            encoding: row.get(at + 7)?,
            output_checksum: row.get(at + 8)?,
        };
        Ok((columns, row.get(at + 9)?))
    }

    pub(super) fn checksum(&self, key: ResponseKey) -> i64 {
        self.call
            .add_to(Checksum::of("responses").response(key))
            .int(self.created_at)
            .real(Some(self.latency))
            .real(self.first_byte)
            .text(self.usage)
            .int(self.encoding)
            .int(self.output_checksum)
            .finish()
    }
}

/// The checksum of an output as it is stored.
pub(super) fn output_checksum(
    key: ResponseKey,
    encoding: i64,
    removed: Option<&str>,
    output: &[u8],
) -> i64 {
    Checksum::of("outputs")
        .response(key)
        .int(encoding)
        .text(removed)
        .bytes(output)
        .finish()
}

/// The checksum of an example as it is stored.
pub(super) fn example_checksum(key: Key, encoding: i64, body: &[u8]) -> i64 {
    Checksum::of("examples")
        .key(key)
        .int(encoding)
        .bytes(body)
        .finish()
}

/// The checksum of a set of scores.
pub(super) fn scores_checksum(
    response: ResponseKey,
    scorer: Key,
    scores: &str,
    reasons: Option<&str>,
) -> i64 {
    Checksum::of("scores")
        .response(response)
        .key(scorer)
        .text(Some(scores))
        .text(reasons)
        .finish()
}

/// What a call cost, as columns. All are `NULL` when the system did not know.
#[derive(Clone, Copy)]
pub(super) struct CallColumns {
    pub(super) attempts: Option<u32>,
    pub(super) retry_wait: Option<f64>,
    pub(super) first_token: Option<f64>,
}

impl CallColumns {
    pub(super) fn of(call: Option<&CallStats>) -> Self {
        Self {
            attempts: call.map(|call| call.attempts),
            retry_wait: call.map(|call| call.retry_wait.as_secs_f64()),
            first_token: call
                .and_then(|call| call.first_token)
                .map(|time| time.as_secs_f64()),
        }
    }

    pub(super) fn stats(&self) -> Option<CallStats> {
        Some(CallStats {
            attempts: self.attempts?,
            retry_wait: self.retry_wait.and_then(duration).unwrap_or_default(),
            first_token: self.first_token.and_then(duration),
            ..CallStats::default()
        })
    }

    fn add_to(self, checksum: Checksum) -> Checksum {
        checksum
            .maybe_int(self.attempts.map(i64::from))
            .real(self.retry_wait)
            .real(self.first_token)
    }
}

/// A row of a run as columns.
pub(super) struct RowColumns<'a> {
    pub(super) system: i64,
    pub(super) position: i64,
    pub(super) repeat: u32,
    pub(super) example: i64,
    pub(super) response: Option<i64>,
    pub(super) example_id: IdColumn<'a>,
    pub(super) dataset: &'a str,
    pub(super) input_tokens: i64,
    pub(super) output_tokens: i64,
    pub(super) cached: bool,
    pub(super) failure_kind: Option<&'a str>,
    pub(super) failure_message: Option<&'a str>,
    pub(super) latency: Option<f64>,
    pub(super) call: CallColumns,
}

impl<'a> RowColumns<'a> {
    /// What [`read`](Self::read) wants to find in the result, in order.
    pub(super) const LIST: &'static str = "w.system, w.position, w.repeat, w.example, w.response, \
         w.example_id, w.dataset, w.input_tokens, w.output_tokens, w.cached, w.failure_kind, \
         w.failure_message, w.latency_s, w.attempts, w.retry_wait_s, w.checksum";
    /// How many columns that is.
    pub(super) const N: usize = 16;

    /// Reads the first columns of a result, with the stored checksum.
    pub(super) fn read(row: &'a Row<'_>) -> rusqlite::Result<(Self, i64)> {
        let columns = Self {
            system: row.get(0)?,
            position: row.get(1)?,
            repeat: row.get(2)?,
            example: row.get(3)?,
            response: row.get(4)?,
            example_id: match row.get_ref(5)? {
                ValueRef::Integer(number) => IdColumn::Int(number),
                other => IdColumn::Text(other.as_str()?),
            },
            dataset: row.get_ref(6)?.as_str()?,
            input_tokens: row.get(7)?,
            output_tokens: row.get(8)?,
            cached: row.get(9)?,
            failure_kind: row.get_ref(10)?.as_str_or_null()?,
            failure_message: row.get_ref(11)?.as_str_or_null()?,
            latency: row.get(12)?,
            call: CallColumns {
                attempts: row.get(13)?,
                retry_wait: row.get(14)?,
                first_token: None,
            },
        };
        Ok((columns, row.get(15)?))
    }

    /// Covers the run by its id and the example by its key, and that there is a response, whose own
    /// checksum covers the same key: no number that means nothing in another file.
    pub(super) fn checksum(&self, run: &str, example: Key) -> i64 {
        let checksum = Checksum::of("run_rows")
            .text(Some(run))
            .key(example)
            .int(self.system)
            .int(self.position)
            .int(i64::from(self.repeat))
            .int(i64::from(self.response.is_some()));
        self.rest(checksum)
    }

    /// The same in format 1, which had the numbers of example and response.
    pub(super) fn checksum_1(&self, run: &str, example: Key) -> i64 {
        let checksum = Checksum::of("run_rows")
            .text(Some(run))
            .key(example)
            .int(self.system)
            .int(self.position)
            .int(i64::from(self.repeat))
            .int(self.example)
            .maybe_int(self.response);
        self.rest(checksum)
    }

    fn rest(&self, checksum: Checksum) -> i64 {
        let checksum = match self.example_id {
            IdColumn::Int(number) => checksum.int(0).int(number),
            IdColumn::Text(text) => checksum.int(1).text(Some(text)),
        };
        let checksum = checksum
            .text(Some(self.dataset))
            .int(self.input_tokens)
            .int(self.output_tokens)
            .int(i64::from(self.cached))
            .text(self.failure_kind)
            .text(self.failure_message)
            .real(self.latency);
        self.call.add_to(checksum).finish()
    }
}

/// An id in the type that it has: `1` and `'1'` differ in SQL as well.
#[derive(Clone, Copy)]
pub(super) enum IdColumn<'a> {
    Int(i64),
    Text(&'a str),
}

impl<'a> From<&'a ExampleId> for IdColumn<'a> {
    fn from(id: &'a ExampleId) -> Self {
        match id {
            ExampleId::Int(number) => Self::Int(*number),
            ExampleId::Text(text) => Self::Text(text),
        }
    }
}

impl IdColumn<'_> {
    pub(super) fn id(self) -> ExampleId {
        match self {
            Self::Int(number) => ExampleId::Int(number),
            Self::Text(text) => ExampleId::Text(text.into()),
        }
    }
}

impl ToSql for IdColumn<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Self::Int(number) => ValueRef::Integer(*number),
            Self::Text(text) => ValueRef::Text(text.as_bytes()),
        }))
    }
}

impl ToSql for Body {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        // As text, so that SQL's JSON functions do not take it for binary JSON.
        Ok(ToSqlOutput::Borrowed(if self.is_text() {
            ValueRef::Text(&self.bytes)
        } else {
            ValueRef::Blob(&self.bytes)
        }))
    }
}

impl ToSql for Key {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(ValueRef::Blob(self.as_bytes())))
    }
}

impl rusqlite::types::FromSql for Key {
    fn column_result(value: ValueRef<'_>) -> rusqlite::types::FromSqlResult<Self> {
        <[u8; 16]>::column_result(value).map(Self::from_bytes)
    }
}

/// SQLite has no NaN and no negative zero; neither is a time.
pub(super) fn seconds(value: f64) -> f64 {
    if value.is_finite() { value + 0.0 } else { 0.0 }
}

pub(super) fn duration(seconds: f64) -> Option<Duration> {
    Duration::try_from_secs_f64(seconds).ok()
}
