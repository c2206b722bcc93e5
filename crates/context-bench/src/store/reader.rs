//! Looking up stored answers and scores: many at a time, on any thread, without loading outputs.
//!
//! Everything read is checked against its checksum. What does not pass counts as
//! absent and is counted as damage; it is never handed out.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use rusqlite::{CachedStatement, Connection, OptionalExtension as _, Row};
use serde_json::{Map, Value};

use super::body::Body;
use super::columns::{
    ResponseColumns, duration, example_checksum, output_checksum, scores_checksum,
};
use super::delta::OutputDelta;
use super::error::{Damaged, is_damage};
use super::key::{Key, ResponseKey};
use super::neighbours::Neighbours;
use super::new_entry::StoredResponseId;
use super::score_json::ScoreNames;
use crate::model::{CallStats, Example, Output, Scores};

/// What is looked for: a response, and its scores by these evaluators.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ResponseQuery<'a> {
    /// The response.
    pub response: ResponseKey,
    /// Evaluators, from [`Key::scorer`].
    pub scorers: &'a [Key],
}

/// A response that is in the store.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct FoundResponse {
    /// The response, without its output.
    pub response: StoredResponse,
    /// Per evaluator asked for: its scores, if they are there.
    pub scores: Vec<Option<Scores>>,
}

/// A response in the store. Its output is loaded on demand with
/// [`Store::output`](super::Store::output).
#[derive(Debug, Clone, PartialEq)]
pub struct StoredResponse {
    /// Where it is.
    pub at: StoredResponseId,
    /// When it was stored.
    pub created_at: SystemTime,
    /// Seconds inside the system when it was made.
    pub latency: f64,
    /// What the call cost besides time.
    pub call: Option<CallStats>,
    /// From sending to the first byte of the reply.
    pub first_byte: Option<Duration>,
    /// Usage as the endpoint reported it.
    pub usage: Option<Map<String, Value>>,
}

impl StoredResponse {
    /// Reads the columns from position `at_column` on, if they are intact.
    pub(super) fn read(
        row: &Row<'_>,
        at_column: usize,
        at: StoredResponseId,
    ) -> rusqlite::Result<Result<Self, Damaged>> {
        let (columns, stored) = ResponseColumns::read(row, at_column)?;
        if columns.checksum(at.key) != stored {
            return Ok(Err(Damaged));
        }
        let Ok(usage) = columns.usage.map(serde_json::from_str).transpose() else {
            return Ok(Err(Damaged));
        };
        let created_at = Duration::from_secs(columns.created_at.try_into().unwrap_or_default());
        Ok(Ok(Self {
            at,
            created_at: SystemTime::UNIX_EPOCH
                .checked_add(created_at)
                .unwrap_or(SystemTime::UNIX_EPOCH),
            latency: columns.latency,
            call: columns.call.stats(),
            first_byte: columns.first_byte.and_then(duration),
            usage,
        }))
    }
}

/// A reading connection, with ids and texts it has seen.
pub(super) struct Reader {
    pub(super) connection: Connection,
    /// Whether it relies on nobody else having the file open.
    pub(super) is_unlocked: bool,
    known: KnownIds,
}

/// Ids and texts that rows share. Systems and evaluators are never removed.
#[derive(Default)]
pub(super) struct KnownIds {
    systems: HashMap<Key, i64>,
    scorers: HashMap<Key, i64>,
    pub(super) names: ScoreNames,
    texts: Vec<Arc<str>>,
}

/// How much damage a look-up met.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Damage {
    /// Entries that are not what was written.
    pub(super) entries: u64,
    /// Whether the file itself is broken, beyond single entries.
    pub(super) file: bool,
}

impl Damage {
    /// Counts an error of the database when it is damage, or passes it on.
    pub(super) fn absorb(&mut self, error: rusqlite::Error) -> rusqlite::Result<()> {
        if !is_damage(&error) {
            return Err(error);
        }
        self.entries += 1;
        self.file |= error.sqlite_error().is_some();
        Ok(())
    }
}

impl Reader {
    pub(super) fn new(connection: Connection, is_unlocked: bool) -> Self {
        Self {
            connection,
            is_unlocked,
            known: KnownIds::default(),
        }
    }

    /// The connection and what is known, to be used side by side.
    pub(super) fn parts(&mut self) -> (&Connection, &mut KnownIds) {
        (&self.connection, &mut self.known)
    }

    /// Looks up everything asked for, in that order.
    pub(super) fn find(
        &mut self,
        wanted: &[ResponseQuery<'_>],
        damage: &mut Damage,
    ) -> rusqlite::Result<Vec<Option<FoundResponse>>> {
        // One read transaction for all of them: locks are taken once.
        let tx = self.connection.unchecked_transaction()?;
        let mut statement = tx.prepare_cached(&format!(
            "SELECT {}, r.id, s.scorer, s.checksum, s.scores, s.reasons
             FROM responses r
             LEFT JOIN scores s ON s.response = r.id
             WHERE r.example = ?1 AND r.system = ?2 AND r.repeat = ?3",
            ResponseColumns::LIST
        ))?;
        let keys = wanted.iter().map(|item| item.response.example);
        let neighbours = Neighbours::read(&tx, keys)?;
        let mut found = Vec::with_capacity(wanted.len());
        let mut scorers = Vec::new();
        let mut example: Option<(Key, Option<i64>)> = None;
        for item in wanted {
            let key = item.response.example;
            // Systems take turns: an example is often wanted several times in a row.
            let id = match example {
                Some((known, id)) if known == key => Ok(id),
                _ => neighbours.find(&tx, key),
            };
            let one = id.and_then(|id| {
                example = Some((key, id));
                let Some(id) = id else { return Ok(None) };
                find_one(
                    &tx,
                    &mut statement,
                    &mut self.known,
                    (item, id),
                    &mut scorers,
                    damage,
                )
            });
            found.push(match one {
                Ok(found) => found,
                Err(error) => {
                    damage.absorb(error)?;
                    None
                }
            });
        }
        drop(statement);
        tx.finish()?;
        // What is asked for again is put again; when that does not help, more is broken.
        damage.file |= damage.entries > 0;
        Ok(found)
    }

    /// The output of a response, applied to its example.
    pub(super) fn output(
        &self,
        at: StoredResponseId,
        example: &Example,
        damage: &mut Damage,
    ) -> rusqlite::Result<Option<Output>> {
        let delta = self
            .connection
            .prepare_cached(
                "SELECT removed, encoding, output_checksum, output FROM responses WHERE id = ?1",
            )?
            .query_row([at.response], |row| {
                let removed = row.get_ref(0)?.as_str_or_null()?;
                let encoding = row.get(1)?;
                let bytes = row.get_ref(3)?.as_bytes()?;
                if output_checksum(at.key, encoding, removed, bytes) != row.get::<_, i64>(2)? {
                    return Ok(Err(Damaged));
                }
                Ok(read_delta(encoding, bytes, removed))
            })
            .optional();
        Ok(settle(delta, damage)?.map(|delta| delta.apply(example)))
    }

    /// What all evaluators of this name said about a response.
    pub(super) fn scores_by(
        &mut self,
        evaluator: &str,
        at: StoredResponseId,
        damage: &mut Damage,
    ) -> rusqlite::Result<Vec<Scores>> {
        let mut statement = self.connection.prepare_cached(
            "SELECT c.checksum, c.scores, c.reasons, k.key FROM scores c
             JOIN scorers k ON k.id = c.scorer
             WHERE c.response = ?1 AND k.name = ?2 ORDER BY k.id",
        )?;
        let mut rows = statement.query((at.response, evaluator))?;
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            let scorer = row.get(3)?;
            match read_scores(row, 0, at.key, scorer, &mut self.known.names) {
                Ok(Ok(scores)) => found.push(scores),
                Ok(Err(Damaged)) => damage.entries += 1,
                Err(error) => damage.absorb(error)?,
            }
        }
        Ok(found)
    }

    /// The example with that number, if it is the one with that key.
    pub(super) fn example(
        &self,
        id: i64,
        key: Key,
        damage: &mut Damage,
    ) -> rusqlite::Result<Option<Example>> {
        let example = self
            .connection
            .prepare_cached("SELECT encoding, checksum, body FROM examples WHERE id = ?1")?
            .query_row([id], |row| {
                let encoding = row.get(0)?;
                let bytes = row.get_ref(2)?.as_bytes()?;
                if example_checksum(key, encoding, bytes) != row.get::<_, i64>(1)? {
                    return Ok(Err(Damaged));
                }
                let body = Body::unpack(encoding, bytes.to_vec());
                Ok(body.and_then(|body| serde_json::from_slice(&body).map_err(|_| Damaged)))
            })
            .optional();
        settle(example, damage)
    }
}

/// Counts what is damaged and turns it into nothing.
fn settle<T>(
    read: rusqlite::Result<Option<Result<T, Damaged>>>,
    damage: &mut Damage,
) -> rusqlite::Result<Option<T>> {
    match read {
        Ok(None) => Ok(None),
        Ok(Some(Ok(value))) => Ok(Some(value)),
        Ok(Some(Err(Damaged))) => {
            damage.entries += 1;
            Ok(None)
        }
        Err(error) => damage.absorb(error).map(|()| None),
    }
}

fn read_delta(encoding: i64, bytes: &[u8], removed: Option<&str>) -> Result<OutputDelta, Damaged> {
    let body = Body::unpack(encoding, bytes.to_vec())?;
    let removed = removed.map(serde_json::from_str).transpose();
    Ok(OutputDelta {
        set: serde_json::from_slice(&body).map_err(|_| Damaged)?,
        removed: removed.map_err(|_| Damaged)?.unwrap_or_default(),
    })
}

fn find_one(
    connection: &Connection,
    statement: &mut CachedStatement<'_>,
    known: &mut KnownIds,
    (wanted, example): (&ResponseQuery<'_>, i64),
    scorers: &mut Vec<Option<i64>>,
    damage: &mut Damage,
) -> rusqlite::Result<Option<FoundResponse>> {
    let key = wanted.response;
    let Some(system) = known.system(connection, key.system, damage)? else {
        return Ok(None);
    };
    scorers.clear();
    for scorer in wanted.scorers {
        scorers.push(known.scorer(connection, *scorer, damage)?);
    }
    let mut found: Option<FoundResponse> = None;
    let mut rows = statement.query((example, system, key.repeat))?;
    while let Some(row) = rows.next()? {
        const AFTER: usize = ResponseColumns::N;
        // One row per set of scores; the response is the same in all of them.
        let found = match &mut found {
            Some(found) => found,
            none => {
                let at = StoredResponseId {
                    key,
                    response: row.get(AFTER)?,
                    example,
                };
                let Ok(response) = StoredResponse::read(row, 0, at)? else {
                    damage.entries += 1;
                    return Ok(None);
                };
                none.insert(FoundResponse {
                    response,
                    scores: vec![None; scorers.len()],
                })
            }
        };
        let scorer: Option<i64> = row.get(AFTER + 1)?;
        let Some(index) = scorers.iter().position(|id| id.is_some() && *id == scorer) else {
            continue;
        };
        match read_scores(row, AFTER + 2, key, wanted.scorers[index], &mut known.names) {
            Ok(Ok(scores)) => found.scores[index] = Some(scores),
            Ok(Err(Damaged)) => damage.entries += 1,
            Err(error) => damage.absorb(error)?,
        }
    }
    Ok(found)
}

/// Reads checksum, scores and reasons from position `at` on.
pub(super) fn read_scores(
    row: &Row<'_>,
    at: usize,
    response: ResponseKey,
    scorer: Key,
    names: &mut ScoreNames,
) -> rusqlite::Result<Result<Scores, Damaged>> {
    let scores = row.get_ref(at + 1)?.as_str()?;
    let reasons = row.get_ref(at + 2)?.as_str_or_null()?;
    if scores_checksum(response, scorer, scores, reasons) != row.get::<_, i64>(at)? {
        return Ok(Err(Damaged));
    }
    Ok(names.read(scores, reasons))
}

impl KnownIds {
    /// The id of a system whose row is what its key says.
    fn system(
        &mut self,
        connection: &Connection,
        key: Key,
        damage: &mut Damage,
    ) -> rusqlite::Result<Option<i64>> {
        if let Some(id) = self.systems.get(&key) {
            return Ok(Some(*id));
        }
        let id = connection
            .prepare_cached("SELECT id, kind, settings FROM systems WHERE key = ?1")?
            .query_row([key], |row| {
                let settings: Value =
                    serde_json::from_str(row.get_ref(2)?.as_str()?).unwrap_or_default();
                let same = Key::system(row.get_ref(1)?.as_str()?, &settings) == key;
                Ok(same.then_some(row.get(0)?).ok_or(Damaged))
            })
            .optional();
        let id = settle(id, damage)?;
        self.systems.extend(id.map(|id| (key, id)));
        Ok(id)
    }

    /// The id of an evaluator whose row is what its key says.
    pub(super) fn scorer(
        &mut self,
        connection: &Connection,
        key: Key,
        damage: &mut Damage,
    ) -> rusqlite::Result<Option<i64>> {
        if let Some(id) = self.scorers.get(&key) {
            return Ok(Some(*id));
        }
        let id = connection
            .prepare_cached("SELECT id, name, version, settings FROM scorers WHERE key = ?1")?
            .query_row([key], |row| {
                let settings: Value =
                    serde_json::from_str(row.get_ref(3)?.as_str()?).unwrap_or_default();
                let same = Key::scorer(row.get_ref(1)?.as_str()?, row.get(2)?, &settings) == key;
                Ok(same.then_some(row.get(0)?).ok_or(Damaged))
            })
            .optional();
        let id = settle(id, damage)?;
        self.scorers.extend(id.map(|id| (key, id)));
        Ok(id)
    }

    /// The same text once, however many rows have it.
    pub(super) fn text(&mut self, text: &str) -> Arc<str> {
        if let Some(known) = self.texts.iter().find(|known| ***known == *text) {
            return Arc::clone(known);
        }
        let text: Arc<str> = text.into();
        if self.texts.len() < 64 {
            self.texts.push(Arc::clone(&text));
        }
        text
    }
}
