//! From entries to rows: what the writer does inside a transaction.
//!
//! The first one to store something under a key wins; later ones change nothing,
//! unless what is there is damaged. Two processes can therefore do the same work
//! at the same time without getting in each other's way.

use std::collections::{HashMap, HashSet};

use rusqlite::{CachedStatement, OptionalExtension as _, Params, Transaction, params};

use super::body::Packer;
use super::columns::{
    CallColumns, ResponseColumns, RowColumns, example_checksum, output_checksum, scores_checksum,
    seconds,
};
use super::failed_wire;
use super::key::{Key, ResponseKey};
use super::new_entry::{
    NewEntry, NewOutcome, NewResponse, NewScores, ResponseRef, RunRow, StoredResponseId,
};
use super::run::{EvaluatorEntry, SystemEntry};
use super::run_table::unix_now;
use crate::model::Example;
use serde::Serializer as _;

/// Entries after which a memory of recent ids starts afresh.
const RECENT: usize = 16 * 1024;

/// Ids that the writer knows without asking. They hold only as long as their
/// transaction is not rolled back.
#[derive(Default)]
pub(super) struct Ids {
    systems: HashMap<Key, i64>,
    scorers: HashMap<Key, i64>,
    examples: HashMap<Key, i64>,
    responses: HashMap<ResponseKey, StoredResponseId>,
    /// Responses of this process that came second to other ones. Scores made
    /// for them must not be attached to the answers that won.
    lost: HashSet<ResponseKey>,
    /// Whether runs may have been removed since responses were found.
    doubts_found: bool,
    packer: Packer,
}

/// What happened to an entry.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum InsertOutcome {
    Yes,
    /// It refers to a system, evaluator or response that the store does not have.
    Dangling,
}

impl Ids {
    /// Forgets what a rollback made untrue.
    pub(super) fn forget(&mut self) {
        self.systems.clear();
        self.scorers.clear();
        self.examples.clear();
        self.responses.clear();
    }

    /// Forgets everything, because somebody else wrote: what was found may be removed.
    pub(super) fn doubt(&mut self) {
        self.forget();
        self.doubts_found = true;
    }

    pub(super) fn insert(
        &mut self,
        tx: &Transaction<'_>,
        entry: &NewEntry,
    ) -> rusqlite::Result<InsertOutcome> {
        match entry {
            NewEntry::Response(new) => self.response(tx, new),
            NewEntry::Scores(new) => self.scores(tx, new),
            NewEntry::Row(row) => self.row(tx, row),
        }
    }

    pub(super) fn add_system(
        &mut self,
        tx: &Transaction<'_>,
        entry: &SystemEntry,
    ) -> rusqlite::Result<i64> {
        let key = entry.key();
        tx.execute(
            "INSERT INTO systems (key, kind, name, settings) VALUES (?1, ?2, ?3, ?4)
             ON CONFLICT (key) DO NOTHING",
            (key, &entry.kind, &entry.name, entry.settings.to_string()),
        )?;
        let id = self.system(tx, key)?;
        id.ok_or(rusqlite::Error::QueryReturnedNoRows)
    }

    pub(super) fn add_scorer(
        &mut self,
        tx: &Transaction<'_>,
        entry: &EvaluatorEntry,
    ) -> rusqlite::Result<i64> {
        let key = entry.key();
        tx.execute(
            "INSERT INTO scorers (key, name, version, settings) VALUES (?1, ?2, ?3, ?4)
             ON CONFLICT (key) DO NOTHING",
            (key, &entry.name, entry.version, entry.settings.to_string()),
        )?;
        let id = self.scorer(tx, key)?;
        id.ok_or(rusqlite::Error::QueryReturnedNoRows)
    }

    fn system(&mut self, tx: &Transaction<'_>, key: Key) -> rusqlite::Result<Option<i64>> {
        known(
            &mut self.systems,
            tx,
            key,
            "SELECT id FROM systems WHERE key = ?1",
        )
    }

    fn scorer(&mut self, tx: &Transaction<'_>, key: Key) -> rusqlite::Result<Option<i64>> {
        known(
            &mut self.scorers,
            tx,
            key,
            "SELECT id FROM scorers WHERE key = ?1",
        )
    }

    /// The id of an example, which is stored when it is new.
    fn example(
        &mut self,
        tx: &Transaction<'_>,
        key: Key,
        example: &Example,
    ) -> rusqlite::Result<i64> {
        let sql = "SELECT id FROM examples WHERE key = ?1";
        if let Some(id) = known(&mut self.examples, tx, key, sql)? {
            return Ok(id);
        }
        // Writing to memory cannot fail, and maps of JSON values have a JSON form. What
        // a run calls the example's file stands in the rows of that run.
        let body = self.packer.pack(content_of(example).unwrap_or_default());
        let checksum = example_checksum(key, body.encoding, &body.bytes);
        tx.prepare_cached(
            "INSERT INTO examples (key, encoding, checksum, body) VALUES (?1, ?2, ?3, ?4)",
        )?
        .execute((key, body.encoding, checksum, &body))?;
        let id = tx.last_insert_rowid();
        let found = tx.prepare_cached(sql)?;
        check_found(found, [key], id)?;
        remember(&mut self.examples, key, id);
        Ok(id)
    }

    fn response(
        &mut self,
        tx: &Transaction<'_>,
        new: &NewResponse,
    ) -> rusqlite::Result<InsertOutcome> {
        let key = new.key;
        let Some(system) = self.system(tx, key.system)? else {
            return Ok(InsertOutcome::Dangling);
        };
        let example = self.example(tx, key.example, &new.example)?;
        let output = serde_json::to_vec(&new.output_set()).unwrap_or_default();
        let output = self.packer.pack(output);
        let removed = match new.output.removed.is_empty() {
            true => None,
            false => Some(serde_json::to_string(&new.output.removed).unwrap_or_default()),
        };
        let usage = new
            .usage
            .as_ref()
            .map(|usage| serde_json::to_string(usage).unwrap_or_default());
        let columns = ResponseColumns {
            created_at: unix_now(),
            latency: seconds(new.latency),
            call: CallColumns::of(new.call.as_ref()),
            first_byte: new.first_byte.map(|time| time.as_secs_f64()),
            usage: usage.as_deref(),
            encoding: output.encoding,
            output_checksum: output_checksum(
                key,
                output.encoding,
                removed.as_deref(),
                &output.bytes,
            ),
        };
        let write = |sql: &str, first: i64, second: i64| -> rusqlite::Result<usize> {
            tx.prepare_cached(sql)?.execute(params![
                first,
                second,
                key.repeat,
                columns.created_at,
                columns.latency,
                columns.call.attempts,
                columns.call.retry_wait,
                columns.call.first_token,
                columns.first_byte,
                columns.usage,
                columns.checksum(key),
                columns.output_checksum,
                columns.encoding,
                removed,
                output,
            ])
        };
        let inserted = write(INSERT_RESPONSE, example, system)?;
        let response = if inserted == 1 {
            let id = tx.last_insert_rowid();
            let found = tx.prepare_cached(FIND_RESPONSE)?;
            check_found(found, (example, system, key.repeat), id)?;
            id
        } else {
            let Some((id, there)) = existing_response(tx, example, system, key)? else {
                return Ok(InsertOutcome::Dangling);
            };
            match there {
                None => {
                    if write(REPLACE_RESPONSE, id, example)? != 1 {
                        return Err(broken_index());
                    }
                    tx.execute("DELETE FROM scores WHERE response = ?1", [id])?;
                }
                Some(output) if output != columns.output_checksum => {
                    self.lost.insert(key);
                }
                Some(_) => {}
            }
            id
        };
        let located = StoredResponseId {
            key,
            response,
            example,
        };
        remember(&mut self.responses, key, located);
        match &new.counted {
            Some(counted) => self.scores(tx, counted),
            None => Ok(InsertOutcome::Yes),
        }
    }

    /// Where a response is.
    fn locate(
        &mut self,
        tx: &Transaction<'_>,
        response: &ResponseRef,
    ) -> rusqlite::Result<Option<StoredResponseId>> {
        let key = match response {
            ResponseRef::Found(located) => {
                // What cannot be looked up was found before, so nothing is lost.
                let there = !self.doubts_found || is_there(tx, located.response).unwrap_or(true);
                return Ok(there.then_some(*located));
            }
            ResponseRef::Put(key) => *key,
        };
        if let Some(located) = self.responses.get(&key) {
            return Ok(Some(*located));
        }
        let Some(system) = self.system(tx, key.system)? else {
            return Ok(None);
        };
        let located = tx
            .prepare_cached(
                "SELECT r.id, e.id FROM examples e CROSS JOIN responses r
                 ON r.example = e.id AND r.system = ?2 AND r.repeat = ?3 WHERE e.key = ?1",
            )?
            .query_row((key.example, system, key.repeat), |row| {
                Ok(StoredResponseId {
                    key,
                    response: row.get(0)?,
                    example: row.get(1)?,
                })
            })
            .optional()?;
        if let Some(located) = located {
            remember(&mut self.responses, key, located);
        }
        Ok(located)
    }

    fn scores(&mut self, tx: &Transaction<'_>, new: &NewScores) -> rusqlite::Result<InsertOutcome> {
        let key = new.response.key();
        if matches!(new.response, ResponseRef::Put(_)) && self.lost.contains(&key) {
            return Ok(InsertOutcome::Yes);
        }
        let (Some(located), Some(scorer)) = (
            self.locate(tx, &new.response)?,
            self.scorer(tx, new.scorer)?,
        ) else {
            return Ok(InsertOutcome::Dangling);
        };
        let (scores, reasons) = (&new.scores.values, new.scores.reasons.as_deref());
        let checksum = scores_checksum(key, new.scorer, scores, reasons);
        let inserted = tx
            .prepare_cached(
                "INSERT INTO scores (response, scorer, checksum, scores, reasons)
                 VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT (response, scorer) DO NOTHING",
            )?
            .execute((located.response, scorer, checksum, scores, reasons))?;
        if inserted == 0 && !scores_intact(tx, located, scorer, new.scorer)? {
            tx.execute(
                "UPDATE scores SET checksum = ?3, scores = ?4, reasons = ?5
                 WHERE response = ?1 AND scorer = ?2",
                (located.response, scorer, checksum, scores, reasons),
            )?;
        }
        Ok(InsertOutcome::Yes)
    }

    fn row(&mut self, tx: &Transaction<'_>, row: &RunRow) -> rusqlite::Result<InsertOutcome> {
        let (key, example, response) = match &row.outcome {
            NewOutcome::Response(response) => match self.locate(tx, response)? {
                Some(at) => (at.key.example, at.example, Some(at.response)),
                None => return Ok(InsertOutcome::Dangling),
            },
            NewOutcome::Failed { example, key, .. } => {
                (*key, self.example(tx, *key, example)?, None)
            }
        };
        let (failure, latency, call) = match &row.outcome {
            NewOutcome::Response(_) => (None, None, None),
            NewOutcome::Failed {
                failure,
                latency,
                call,
                ..
            } => (Some(failure), Some(seconds(*latency)), call.as_ref()),
        };
        let int = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
        let columns = RowColumns {
            system: int(row.system as u64),
            position: int(row.position as u64),
            repeat: row.repeat,
            example,
            response,
            example_id: (&row.example_id).into(),
            dataset: &row.dataset,
            input_tokens: int(row.input_tokens),
            output_tokens: int(row.output_tokens),
            cached: row.cached,
            failure_kind: failure.map(|failure| failure.kind.as_str()),
            failure_message: failure.map(|failure| failure.message.as_str()),
            latency,
            call: CallColumns {
                first_token: None,
                ..CallColumns::of(call)
            },
        };
        tx.prepare_cached(
            "INSERT OR REPLACE INTO run_rows (run, system, position, repeat, example, response,
               example_id, dataset, input_tokens, output_tokens, cached, failure_kind,
               failure_message, latency_s, attempts, retry_wait_s, checksum)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17)",
        )?
        .execute(params![
            row.run.number,
            columns.system,
            columns.position,
            columns.repeat,
            columns.example,
            columns.response,
            columns.example_id,
            columns.dataset,
            columns.input_tokens,
            columns.output_tokens,
            columns.cached,
            columns.failure_kind,
            columns.failure_message,
            columns.latency,
            columns.call.attempts,
            columns.call.retry_wait,
            columns.checksum(row.run.id.as_str(), key),
        ])?;
        if let NewOutcome::Failed {
            wire: Some(facts), ..
        } = &row.outcome
        {
            let place = (columns.system, columns.position, columns.repeat);
            failed_wire::put(tx, &row.run, place, facts)?;
        }
        Ok(InsertOutcome::Yes)
    }
}

const INSERT_RESPONSE: &str = "INSERT INTO responses (example, system, repeat, created_at,
   latency_s, attempts, retry_wait_s, first_token_s, first_byte_s, usage, checksum,
   output_checksum, encoding, removed, output)
 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)
 ON CONFLICT (example, system, repeat) DO NOTHING";

/// Overwrites a damaged response: `?1` is its id. The address it was found by stays.
const REPLACE_RESPONSE: &str = "UPDATE responses SET created_at = ?4, latency_s = ?5,
   attempts = ?6, retry_wait_s = ?7, first_token_s = ?8, first_byte_s = ?9, usage = ?10,
   checksum = ?11, output_checksum = ?12, encoding = ?13, removed = ?14, output = ?15
 WHERE id = ?1 AND example = ?2 AND repeat = ?3";

/// Where the index says that a response is.
const FIND_RESPONSE: &str =
    "SELECT id FROM responses WHERE example = ?1 AND system = ?2 AND repeat = ?3";

/// Checks that what was just written is found. Behind a damaged entry of an index it is
/// not, and would be paid for again by every run, without a word.
fn check_found(
    mut statement: CachedStatement<'_>,
    key: impl Params,
    id: i64,
) -> rusqlite::Result<()> {
    let found = statement.query_row(key, |row| row.get(0)).optional()?;
    match found == Some(id) {
        true => Ok(()),
        false => Err(broken_index()),
    }
}

/// An index and its table do not agree.
fn broken_index() -> rusqlite::Error {
    let code = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_CORRUPT_INDEX);
    let told = "an index does not lead to the rows of its table";
    rusqlite::Error::SqliteFailure(code, Some(told.to_owned()))
}

/// The response that is there: its id and, if it is intact, the checksum of its output.
fn existing_response(
    tx: &Transaction<'_>,
    example: i64,
    system: i64,
    key: ResponseKey,
) -> rusqlite::Result<Option<(i64, Option<i64>)>> {
    let sql = format!(
        "SELECT {}, r.id, r.removed, r.output FROM responses r
         WHERE r.example = ?1 AND r.system = ?2 AND r.repeat = ?3",
        ResponseColumns::LIST
    );
    tx.prepare_cached(&sql)?
        .query_row((example, system, key.repeat), |row| {
            let id = row.get(ResponseColumns::N)?;
            let intact = || -> rusqlite::Result<Option<i64>> {
                let (columns, stored) = ResponseColumns::read(row, 0)?;
                let removed = row.get_ref(ResponseColumns::N + 1)?.as_str_or_null()?;
                let output = row.get_ref(ResponseColumns::N + 2)?.as_bytes()?;
                let sum = output_checksum(key, columns.encoding, removed, output);
                let intact = columns.checksum(key) == stored && sum == columns.output_checksum;
                Ok(intact.then_some(sum))
            };
            // A column that cannot even be read is damage as well.
            Ok((id, intact().unwrap_or_default()))
        })
        .optional()
}

fn is_there(tx: &Transaction<'_>, response: i64) -> rusqlite::Result<bool> {
    tx.prepare_cached("SELECT EXISTS (SELECT 1 FROM responses WHERE id = ?1)")?
        .query_row([response], |row| row.get(0))
}

fn scores_intact(
    tx: &Transaction<'_>,
    located: StoredResponseId,
    scorer: i64,
    scorer_key: Key,
) -> rusqlite::Result<bool> {
    let intact = tx
        .prepare_cached(
            "SELECT checksum, scores, reasons FROM scores WHERE response = ?1 AND scorer = ?2",
        )?
        .query_row((located.response, scorer), |row| {
            let check = || -> rusqlite::Result<bool> {
                let (scores, reasons) =
                    (row.get_ref(1)?.as_str()?, row.get_ref(2)?.as_str_or_null()?);
                let sum = scores_checksum(located.key, scorer_key, scores, reasons);
                Ok(sum == row.get::<_, i64>(0)?)
            };
            Ok(check().unwrap_or(false))
        })
        .optional()?;
    // Nothing there although the insert met something: leave it alone.
    Ok(intact.unwrap_or(true))
}

fn known(
    ids: &mut HashMap<Key, i64>,
    tx: &Transaction<'_>,
    key: Key,
    sql: &str,
) -> rusqlite::Result<Option<i64>> {
    if let Some(id) = ids.get(&key) {
        return Ok(Some(*id));
    }
    let id = tx
        .prepare_cached(sql)?
        .query_row([key], |row| row.get(0))
        .optional()?;
    if let Some(id) = id {
        remember(ids, key, id);
    }
    Ok(id)
}

/// Keeps an id for a while. Starting afresh now and then is bound enough.
fn remember<K: Eq + std::hash::Hash, V>(ids: &mut HashMap<K, V>, key: K, value: V) {
    if ids.len() >= RECENT {
        ids.clear();
    }
    ids.insert(key, value);
}

/// The content of an example as a JSON object.
fn content_of(example: &Example) -> serde_json::Result<Vec<u8>> {
    let mut body = Vec::new();
    serde_json::Serializer::new(&mut body).collect_map(example.content())?;
    Ok(body)
}
