//! The rows of a run, streamed: grouped by system, in dataset order.
//!
//! Rows are read a page at a time, each page in a transaction of its own, so
//! that a slow reader never keeps the store from being written or tidied.

use std::collections::VecDeque;
use std::sync::Arc;

use rusqlite::Connection;
use serde::Deserialize as _;
use serde::de::IntoDeserializer as _;
use serde::de::value::{Error as ValueError, StrDeserializer};

use super::Store;
use super::columns::{ResponseColumns, RowColumns};
use super::error::{Damaged, StoreError};
use super::failed_wire;
use super::key::{KEPT_APART, Key, ResponseKey};
use super::new_entry::StoredResponseId;
use super::reader::{Damage, KnownIds, StoredResponse, read_scores};
use super::run::StoredRun;
use crate::model::{CallStats, ExampleId, Failure, FailureKind, Scores, WireFacts};

/// Rows per page.
const PAGE: i64 = 512;

/// A row of a run as it was stored.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredRow {
    /// Number of the system within the run.
    pub system: usize,
    /// Position of the example in the dataset.
    pub position: usize,
    /// Which repeat, from 0.
    pub repeat: u32,
    /// Id of the example.
    pub example_id: ExampleId,
    /// Dataset tag; empty when there is none.
    pub dataset: Arc<str>,
    /// Tokens of the example.
    pub input_tokens: u64,
    /// Tokens of the processed map; 0 for a failed row.
    pub output_tokens: u64,
    /// Whether the response came from an earlier run.
    pub cached: bool,
    /// What happened.
    pub outcome: StoredOutcome,
    pub(super) example: i64,
    pub(crate) example_key: Key,
}

/// Where the example of a row is: all that is kept of rows whose example is read later.
#[derive(Debug, Clone)]
pub(crate) struct ExampleAt {
    pub(super) example: i64,
    pub(super) key: Key,
    pub(super) dataset: Arc<str>,
    pub(super) repeat: u32,
}

impl StoredRow {
    /// Where its example is.
    pub(crate) fn example_at(&self) -> ExampleAt {
        ExampleAt {
            example: self.example,
            key: self.example_key,
            dataset: Arc::clone(&self.dataset),
            repeat: self.repeat,
        }
    }
}

/// What happened in a stored row.
#[derive(Debug, Clone, PartialEq)]
pub enum StoredOutcome {
    /// The system answered.
    Response {
        /// The response, without its output.
        response: StoredResponse,
        /// Per evaluator of the run: its scores, if they are there.
        scores: Vec<Option<Scores>>,
    },
    /// The system did not answer.
    Failed {
        /// What happened.
        failure: Failure,
        /// Seconds inside the system.
        latency: f64,
        /// What the call cost besides time, when known.
        call: Option<CallStats>,
        /// What a tap saw of it, if there was one.
        wire: Option<Box<WireFacts>>,
    },
    /// The response is damaged, or was removed together with another run.
    Lost,
}

/// The rows of a run in order. Rows that are damaged are left out and counted in
/// [`Store::damaged`].
pub struct RunRows {
    store: Store,
    run: StoredRun,
    systems: Vec<Key>,
    scorers: Vec<Key>,
    page: VecDeque<StoredRow>,
    /// Rows that are read at a time.
    page_size: i64,
    /// Whether rows without an answer may have facts.
    has_failed_wire: bool,
    /// System, position and repeat of the last row read; `None` at the end.
    after: Option<(i64, i64, i64)>,
}

impl RunRows {
    pub(super) fn new(store: Store, run: StoredRun) -> Self {
        Self {
            store,
            systems: run.systems.iter().map(|entry| entry.key()).collect(),
            scorers: run.scorers.iter().map(|entry| entry.key()).collect(),
            run,
            page: VecDeque::new(),
            page_size: PAGE,
            has_failed_wire: false,
            after: Some((-1, -1, -1)),
        }
    }

    /// The run that the rows belong to.
    pub fn run(&self) -> &StoredRun {
        &self.run
    }

    /// Goes on behind that system, position and repeat.
    pub(crate) fn start_after(&mut self, place: (i64, i64, i64)) {
        self.page.clear();
        self.after = Some(place);
    }

    /// Reads so many at a time, for those who want no more.
    pub(crate) fn read_few(&mut self, n: u32) {
        self.page_size = i64::from(n.max(1));
    }

    fn turn_page(&mut self, after: (i64, i64, i64)) -> Result<(), StoreError> {
        let store = self.store.clone();
        self.after = store.read(|reader, damage| {
            let (connection, known) = reader.parts();
            self.read_page(connection, known, after, damage)
        })?;
        Ok(())
    }

    fn read_page(
        &mut self,
        connection: &Connection,
        known: &mut KnownIds,
        after: (i64, i64, i64),
        damage: &mut Damage,
    ) -> rusqlite::Result<Option<(i64, i64, i64)>> {
        let tx = connection.unchecked_transaction()?;
        let mut scorer_ids = Vec::with_capacity(self.scorers.len());
        for scorer in &self.scorers {
            scorer_ids.push(known.scorer(&tx, *scorer, damage)?);
        }
        self.has_failed_wire = failed_wire::is_there(&tx)?;
        let mut statement = tx.prepare_cached(&format!(
            "SELECT {}, {}, e.key, r.repeat FROM run_rows w
             LEFT JOIN responses r ON r.id = w.response
             LEFT JOIN examples e ON e.id = w.example
             WHERE w.run = ?1 AND (w.system, w.position, w.repeat) > (?2, ?3, ?4)
             ORDER BY w.system, w.position, w.repeat LIMIT ?5",
            RowColumns::LIST,
            ResponseColumns::LIST
        ))?;
        let mut rows = statement.query((
            self.run.run.number,
            after.0,
            after.1,
            after.2,
            self.page_size,
        ))?;
        let mut last = None;
        loop {
            let row = match rows.next() {
                Ok(Some(row)) => row,
                Ok(None) => break,
                // The rest of the tree cannot be walked; what was read so far counts.
                Err(error) => {
                    damage.absorb(error)?;
                    return Ok(None);
                }
            };
            // The position is needed even when the rest of the row is damaged.
            let place = || Ok((row.get(0)?, row.get(1)?, row.get(2)?));
            let place = match place() {
                Ok(place) if place > last.unwrap_or(after) => place,
                // Out of order: going on from here could go round in circles.
                Ok(_) => {
                    damage.entries += 1;
                    return Ok(None);
                }
                Err(error) => {
                    damage.absorb(error)?;
                    return Ok(None);
                }
            };
            last = Some(place);
            match self.read_row(row, &tx, known, &scorer_ids, damage) {
                Ok(Ok(row)) => self.page.push_back(row),
                Ok(Err(Damaged)) => damage.entries += 1,
                Err(error) => damage.absorb(error)?,
            }
        }
        Ok(last)
    }

    fn read_row(
        &self,
        row: &rusqlite::Row<'_>,
        connection: &Connection,
        known: &mut KnownIds,
        scorer_ids: &[Option<i64>],
        damage: &mut Damage,
    ) -> rusqlite::Result<Result<StoredRow, Damaged>> {
        let (columns, stored) = RowColumns::read(row)?;
        let system = usize::try_from(columns.system).unwrap_or(usize::MAX);
        let Some(system_key) = self.systems.get(system) else {
            return Ok(Err(Damaged));
        };
        // Without the key of its example a row cannot be vouched for.
        let example: Option<Key> = row.get(RowColumns::N + ResponseColumns::N)?;
        let Some(example) = example
            .filter(|example| columns.checksum(self.run.run.id.as_str(), *example) == stored)
        else {
            return Ok(Err(Damaged));
        };
        let outcome = match (columns.failure_kind, columns.response) {
            (Some(kind), _) => StoredOutcome::Failed {
                failure: Failure::new(
                    failure_kind(kind),
                    columns.failure_message.unwrap_or_default(),
                ),
                latency: columns.latency.unwrap_or_default(),
                call: columns.call.stats(),
                wire: self.failed_wire(connection, &columns, damage)?,
            },
            (None, None) => StoredOutcome::Lost,
            (None, Some(response)) => {
                // The stored checksum of a response is never NULL in a row that exists.
                let there: Option<i64> = row.get(RowColumns::N + ResponseColumns::N - 1)?;
                // An answer that is never reused has a number of its own.
                let of_response: Option<u32> = row.get(RowColumns::N + ResponseColumns::N + 1)?;
                let repeat = of_response.filter(|repeat| *repeat >= KEPT_APART);
                let at = StoredResponseId {
                    key: ResponseKey::new(example, *system_key, repeat.unwrap_or(columns.repeat)),
                    response,
                    example: columns.example,
                };
                match there.map(|_| StoredResponse::read(row, RowColumns::N, at)) {
                    // Nobody removes an answer that a row refers to.
                    None => {
                        damage.entries += 1;
                        StoredOutcome::Lost
                    }
                    Some(Ok(Ok(response))) => StoredOutcome::Response {
                        scores: self.scores(connection, at, known, scorer_ids, damage)?,
                        response,
                    },
                    Some(Ok(Err(Damaged))) => {
                        damage.entries += 1;
                        StoredOutcome::Lost
                    }
                    Some(Err(error)) => {
                        damage.absorb(error)?;
                        StoredOutcome::Lost
                    }
                }
            }
        };
        let size = |n: i64| usize::try_from(n).unwrap_or_default();
        let tokens = |n: i64| u64::try_from(n).unwrap_or_default();
        Ok(Ok(StoredRow {
            system,
            position: size(columns.position),
            repeat: columns.repeat,
            example_id: columns.example_id.id(),
            dataset: known.text(columns.dataset),
            input_tokens: tokens(columns.input_tokens),
            output_tokens: tokens(columns.output_tokens),
            cached: columns.cached,
            outcome,
            example: columns.example,
            example_key: example,
        }))
    }

    /// What a tap saw of a row without an answer. Damaged facts cost no more than themselves.
    fn failed_wire(
        &self,
        connection: &Connection,
        columns: &RowColumns<'_>,
        damage: &mut Damage,
    ) -> rusqlite::Result<Option<Box<WireFacts>>> {
        if !self.has_failed_wire {
            return Ok(None);
        }
        let place = (columns.system, columns.position, columns.repeat);
        match failed_wire::read(connection, &self.run.run, place) {
            Ok(Ok(facts)) => Ok(facts),
            Ok(Err(Damaged)) => {
                damage.entries += 1;
                Ok(None)
            }
            Err(error) => damage.absorb(error).map(|()| None),
        }
    }

    fn scores(
        &self,
        connection: &Connection,
        at: StoredResponseId,
        known: &mut KnownIds,
        scorer_ids: &[Option<i64>],
        damage: &mut Damage,
    ) -> rusqlite::Result<Vec<Option<Scores>>> {
        let mut statement = connection.prepare_cached(
            "SELECT scorer, checksum, scores, reasons FROM scores WHERE response = ?1",
        )?;
        let mut found = vec![None; scorer_ids.len()];
        let before = damage.entries;
        let mut rows = statement.query([at.response])?;
        loop {
            let row = match rows.next() {
                Ok(Some(row)) => row,
                Ok(None) => {
                    // The last one counts tokens, which every answer of a run has.
                    let is_counted = found.last().is_none_or(Option::is_some);
                    damage.entries += u64::from(!is_counted && damage.entries == before);
                    return Ok(found);
                }
                Err(error) => {
                    damage.absorb(error)?;
                    return Ok(found);
                }
            };
            let scorer: Option<i64> = row.get(0).unwrap_or_default();
            for (index, id) in scorer_ids.iter().enumerate() {
                if id.is_none() || *id != scorer {
                    continue;
                }
                match read_scores(row, 1, at.key, self.scorers[index], &mut known.names) {
                    Ok(Ok(scores)) => found[index] = Some(scores),
                    Ok(Err(Damaged)) => damage.entries += 1,
                    Err(error) => damage.absorb(error)?,
                }
            }
        }
    }
}

impl Iterator for RunRows {
    type Item = Result<StoredRow, StoreError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(row) = self.page.pop_front() {
                return Some(Ok(row));
            }
            let after = self.after.take()?;
            if let Err(error) = self.turn_page(after) {
                return Some(Err(error));
            }
        }
    }
}

fn failure_kind(text: &str) -> FailureKind {
    let text: StrDeserializer<'_, ValueError> = text.into_deserializer();
    FailureKind::deserialize(text).unwrap_or(FailureKind::Other)
}
