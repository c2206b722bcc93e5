//! Answers of another store, taken over: systems, evaluators, examples, responses and scores.
//!
//! What comes out does not depend on the order of sources, nor on how often one is taken: of two
//! answers under one key the smaller (time, output) stays, with the scores that were made for it.
//! The source is only read, and what does not pass its checksum is left out. Runs are in
//! `merge_runs.rs`.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;

use rusqlite::types::Value as Cell;
use rusqlite::{Connection, OptionalExtension as _, Row, Transaction};
use serde_json::{Map, Value};

use super::body::Body;
use super::columns::{ResponseColumns, example_checksum, output_checksum, scores_checksum};
use super::error::is_damage;
use super::key::{Key, ResponseKey};
use super::read_only::ReadOnly;
use super::{Store, StoreError};

/// Says of an example, by its key and fields, whether its answers are wanted.
pub(crate) type Wanted = Arc<dyn Fn(Key, &Map<String, Value>) -> bool + Send + Sync>;

/// A store that is merged into another one. It is only read.
pub struct MergeSource {
    pub(super) connection: Connection,
    /// Holds a copy, where there has to be one.
    _file: ReadOnly,
}

impl MergeSource {
    /// Opens a file. One of an earlier format is read as what it becomes.
    ///
    /// # Errors
    ///
    /// When it is no store, or cannot be read.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        let file = ReadOnly::open(path, "it is read only".into())?;
        let (connection, _) = file.reader()?;
        Ok(Self {
            connection,
            _file: file,
        })
    }
}

/// What a merge took over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Merged {
    /// Answers that were not there.
    pub answers: u64,
    /// Rows of runs that were not there, or not as good.
    pub rows: u64,
    /// What was left out because it is not what was written.
    pub damaged: u64,
}

/// An answer that lost against another one under the same key with another output.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Conflict {
    /// The system, by the name under which it was first seen.
    pub system: String,
    /// The id of the example, if it has one.
    pub example_id: Value,
    /// Which repeat, from 0.
    pub repeat: u32,
    /// The key of the example.
    pub example: String,
    /// When the answer that stays was stored, in Unix seconds.
    pub kept_at: Option<i64>,
    /// When the answer that does not was stored.
    pub other_at: i64,
    /// Tells other answers apart.
    pub other: String,
}

impl Store {
    /// Takes over answers with their scores, of the examples that are wanted.
    ///
    /// # Errors
    ///
    /// When either store cannot be used.
    pub(crate) fn take_answers(
        &self,
        source: MergeSource,
        wanted: Wanted,
    ) -> Result<Merged, StoreError> {
        self.write(move |writer| {
            writer.transaction(|tx, ids| {
                ids.doubt();
                let mut merge = Merge::new(tx, &source.connection);
                merge.wanted = Some(Arc::clone(&wanted));
                merge.answers()?;
                Ok(merge.done)
            })
        })
    }

    /// Answers that lost against another one with another output, each once.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    pub fn conflicts(&self) -> Result<Vec<Conflict>, StoreError> {
        self.read(|reader, _| {
            let mut statement = reader.connection.prepare_cached(
                "SELECT s.name, e.encoding, e.body, c.repeat, lower(hex(c.example)), r.created_at,
                   c.created_at, c.output_checksum
                 FROM conflicts c LEFT JOIN systems s ON s.key = c.system
                 LEFT JOIN examples e ON e.key = c.example
                 LEFT JOIN responses r
                   ON r.example = e.id AND r.system = s.id AND r.repeat = c.repeat
                 ORDER BY c.example, c.system, c.repeat, c.output_checksum",
            )?;
            let conflict = |row: &Row<'_>| {
                let encoding: Option<i64> = row.get(1)?;
                let body = row.get_ref(2)?.as_bytes_or_null()?;
                let text = encoding
                    .zip(body)
                    .and_then(|(encoding, body)| Body::unpack(encoding, body.to_vec()).ok());
                let fields: Option<Map<String, Value>> =
                    text.and_then(|text| serde_json::from_slice(&text).ok());
                let id = fields.and_then(|mut fields| fields.shift_remove("id"));
                Ok(Conflict {
                    system: row.get::<_, Option<String>>(0)?.unwrap_or_default(),
                    example_id: id.unwrap_or_default(),
                    repeat: row.get(3)?,
                    example: row.get(4)?,
                    kept_at: row.get(5)?,
                    other_at: row.get(6)?,
                    other: format!("{:016x}", row.get::<_, i64>(7)?),
                })
            };
            statement.query_map((), conflict)?.collect()
        })
    }
}

/// A merge in progress: numbers of the source to numbers of the target.
pub(super) struct Merge<'a> {
    pub(super) tx: &'a Transaction<'a>,
    pub(super) source: &'a Connection,
    wanted: Option<Wanted>,
    systems: HashMap<i64, (i64, Key)>,
    scorers: HashMap<i64, (i64, Key)>,
    pub(super) examples: HashMap<i64, (i64, Key)>,
    /// Examples of the source that nobody wants.
    unwanted: HashSet<i64>,
    pub(super) responses: HashMap<i64, i64>,
    /// Responses of the target that say something else than one of the source did.
    pub(super) contested: HashSet<i64>,
    pub(super) done: Merged,
}

impl<'a> Merge<'a> {
    pub(super) fn new(tx: &'a Transaction<'a>, source: &'a Connection) -> Self {
        Self {
            tx,
            source,
            wanted: None,
            systems: HashMap::new(),
            scorers: HashMap::new(),
            examples: HashMap::new(),
            unwanted: HashSet::new(),
            responses: HashMap::new(),
            contested: HashSet::new(),
            done: Merged::default(),
        }
    }

    /// Hands out rows of the source; one that is not what was written is counted.
    pub(super) fn each(
        &mut self,
        sql: &str,
        params: impl rusqlite::Params,
        mut take: impl FnMut(&mut Self, &Row<'_>) -> rusqlite::Result<bool>,
    ) -> rusqlite::Result<()> {
        let source = self.source;
        let mut statement = source.prepare_cached(sql)?;
        let mut rows = statement.query(params)?;
        loop {
            let row = match rows.next() {
                Ok(Some(row)) => row,
                Ok(None) => return Ok(()),
                Err(error) if is_damage(&error) => {
                    self.done.damaged += 1;
                    return Ok(());
                }
                Err(error) => return Err(error),
            };
            match take(self, row) {
                Ok(true) => {}
                Ok(false) => self.done.damaged += 1,
                Err(error) if is_damage(&error) => self.done.damaged += 1,
                Err(error) => return Err(error),
            }
        }
    }

    /// Takes over everything but runs.
    pub(super) fn answers(&mut self) -> rusqlite::Result<()> {
        self.named()?;
        self.take_examples()?;
        self.take_responses()?;
        self.take_conflicts()
    }

    /// Systems and evaluators. Of several names the smallest stays.
    fn named(&mut self) -> rusqlite::Result<()> {
        self.each(
            "SELECT id, key, kind, name, settings FROM systems",
            (),
            |this, row| {
                let (key, kind, name, settings): (Key, String, String, String) =
                    (row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?);
                let parsed: Value = serde_json::from_str(&settings).unwrap_or_default();
                if Key::system(&kind, &parsed) != key {
                    return Ok(false);
                }
                let id = this
                    .tx
                    .prepare_cached(
                        "INSERT INTO systems (key, kind, name, settings) VALUES (?1, ?2, ?3, ?4)
                         ON CONFLICT (key) DO UPDATE SET name = min(name, excluded.name),
                           settings = min(settings, excluded.settings) RETURNING id",
                    )?
                    .query_row((key, kind, name, settings), |row| row.get(0))?;
                this.systems.insert(row.get(0)?, (id, key));
                Ok(true)
            },
        )?;
        self.each(
            "SELECT id, key, name, version, settings FROM scorers",
            (),
            |this, row| {
                let (key, name, version, settings): (Key, String, u32, String) =
                    (row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?);
                let parsed: Value = serde_json::from_str(&settings).unwrap_or_default();
                if Key::scorer(&name, version, &parsed) != key {
                    return Ok(false);
                }
                let id = this
                    .tx
                    .prepare_cached(
                        "INSERT INTO scorers (key, name, version, settings) VALUES (?1, ?2, ?3, ?4)
                         ON CONFLICT (key) DO UPDATE SET settings = min(settings, excluded.settings)
                         RETURNING id",
                    )?
                    .query_row((key, name, version, settings), |row| row.get(0))?;
                this.scorers.insert(row.get(0)?, (id, key));
                Ok(true)
            },
        )
    }

    fn take_examples(&mut self) -> rusqlite::Result<()> {
        let sql = "SELECT id, key, encoding, checksum, body FROM examples";
        self.each(sql, (), |this, row| {
            let (number, key, encoding, checksum): (i64, Key, i64, i64) =
                (row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?);
            let body = row.get_ref(4)?.as_bytes()?;
            if example_checksum(key, encoding, body) != checksum {
                return Ok(false);
            }
            if let Some(wanted) = &this.wanted {
                let text = Body::unpack(encoding, body.to_vec()).ok();
                let fields = text.and_then(|text| serde_json::from_slice(&text).ok());
                if !fields.is_some_and(|fields| wanted(key, &fields)) {
                    this.unwanted.insert(number);
                    return Ok(true);
                }
            }
            let there: Option<(i64, i64)> = this
                .tx
                .prepare_cached("SELECT id, checksum FROM examples WHERE key = ?1")?
                .query_row([key], |row| Ok((row.get(0)?, row.get(1)?)))
                .optional()?;
            let id = match there {
                None => {
                    let cell: Cell = row.get(4)?;
                    this.tx
                        .prepare_cached(
                            "INSERT INTO examples (key, encoding, checksum, body)
                             VALUES (?1, ?2, ?3, ?4)",
                        )?
                        .execute((key, encoding, checksum, cell))?;
                    this.tx.last_insert_rowid()
                }
                Some((id, known)) => {
                    // The same members in another order.
                    if checksum < known {
                        let cell: Cell = row.get(4)?;
                        this.tx
                            .prepare_cached(
                                "UPDATE examples SET encoding = ?2, checksum = ?3, body = ?4
                                 WHERE id = ?1",
                            )?
                            .execute((id, encoding, checksum, cell))?;
                    }
                    id
                }
            };
            this.examples.insert(number, (id, key));
            Ok(true)
        })
    }

    fn take_responses(&mut self) -> rusqlite::Result<()> {
        let sql = format!(
            "SELECT {}, r.id, r.example, r.system, r.repeat, r.removed, r.output FROM responses r",
            ResponseColumns::LIST
        );
        const AFTER: usize = ResponseColumns::N;
        self.each(&sql, (), |this, row| {
            let from: i64 = row.get(AFTER + 1)?;
            if this.unwanted.contains(&from) {
                return Ok(true);
            }
            let (Some((example, example_key)), Some((system, system_key))) = (
                this.examples.get(&from).copied(),
                this.systems.get(&row.get(AFTER + 2)?).copied(),
            ) else {
                return Ok(false);
            };
            let repeat: u32 = row.get(AFTER + 3)?;
            let key = ResponseKey::new(example_key, system_key, repeat);
            let (columns, stored) = ResponseColumns::read(row, 0)?;
            let removed = row.get_ref(AFTER + 4)?.as_str_or_null()?;
            let output = row.get_ref(AFTER + 5)?.as_bytes()?;
            let sum = output_checksum(key, columns.encoding, removed, output);
            if columns.checksum(key) != stored || sum != columns.output_checksum {
                return Ok(false);
            }
            let new = (columns.created_at, columns.output_checksum, stored);
            let there: Option<(i64, (i64, i64, i64))> = this
                .tx
                .prepare_cached(
                    "SELECT id, created_at, output_checksum, checksum FROM responses
                     WHERE example = ?1 AND system = ?2 AND repeat = ?3",
                )?
                .query_row((example, system, repeat), |row| {
                    Ok((row.get(0)?, (row.get(1)?, row.get(2)?, row.get(3)?)))
                })
                .optional()?;
            let id = match there {
                Some((id, known)) if known <= new => {
                    this.conflict(id, key, known, new)?;
                    if known == new {
                        this.scores(row.get(AFTER)?, id, key)?;
                    }
                    this.responses.insert(row.get(AFTER)?, id);
                    return Ok(true);
                }
                Some((id, known)) => {
                    this.conflict(id, key, new, known)?;
                    this.tx
                        .prepare_cached("DELETE FROM scores WHERE response = ?1")?
                        .execute([id])?;
                    Some(id)
                }
                None => None,
            };
            let mut cells: Vec<Cell> = vec![example.into(), system.into(), repeat.into()];
            for at in 0..AFTER {
                cells.push(row.get(at)?);
            }
            cells.push(row.get(AFTER + 4)?);
            cells.push(row.get(AFTER + 5)?);
            let id = match id {
                Some(id) => {
                    cells.push(id.into());
                    this.tx
                        .prepare_cached(REPLACE)?
                        .execute(rusqlite::params_from_iter(cells))?;
                    id
                }
                None => {
                    this.tx
                        .prepare_cached(INSERT)?
                        .execute(rusqlite::params_from_iter(cells))?;
                    this.done.answers += 1;
                    this.tx.last_insert_rowid()
                }
            };
            this.scores(row.get(AFTER)?, id, key)?;
            this.responses.insert(row.get(AFTER)?, id);
            Ok(true)
        })
    }

    /// Notes that an answer lost, if it said something else than the one that stays.
    fn conflict(
        &mut self,
        response: i64,
        key: ResponseKey,
        stays: (i64, i64, i64),
        lost: (i64, i64, i64),
    ) -> rusqlite::Result<()> {
        if stays.1 == lost.1 {
            return Ok(());
        }
        self.contested.insert(response);
        self.note_conflict(key, lost.1, lost.0)?;
        self.tx
            .prepare_cached(
                "DELETE FROM conflicts WHERE example = ?1 AND system = ?2 AND repeat = ?3
                 AND output_checksum = ?4",
            )?
            .execute((key.example, key.system, key.repeat, stays.1))?;
        Ok(())
    }

    fn note_conflict(&self, key: ResponseKey, output: i64, at: i64) -> rusqlite::Result<()> {
        self.tx
            .prepare_cached(
                "INSERT INTO conflicts (example, system, repeat, output_checksum, created_at)
                 VALUES (?1, ?2, ?3, ?4, ?5)
                 ON CONFLICT DO UPDATE SET created_at = min(created_at, excluded.created_at)",
            )?
            .execute((key.example, key.system, key.repeat, output, at))?;
        Ok(())
    }

    /// What the source had lost already. An answer that is there has not lost.
    fn take_conflicts(&mut self) -> rusqlite::Result<()> {
        if self.wanted.is_some() {
            return Ok(());
        }
        let sql = "SELECT example, system, repeat, output_checksum, created_at FROM conflicts";
        self.each(sql, (), |this, row| {
            let key = ResponseKey::new(row.get(0)?, row.get(1)?, row.get(2)?);
            let output: i64 = row.get(3)?;
            let stays: bool = this
                .tx
                .prepare_cached(
                    "SELECT EXISTS (SELECT 1 FROM responses r JOIN examples e ON e.id = r.example
                     JOIN systems s ON s.id = r.system WHERE e.key = ?1 AND s.key = ?2
                     AND r.repeat = ?3 AND r.output_checksum = ?4)",
                )?
                .query_row((key.example, key.system, key.repeat, output), |row| {
                    row.get(0)
                })?;
            if !stays {
                this.note_conflict(key, output, row.get(4)?)?;
            }
            Ok(true)
        })
    }

    /// The scores of an answer that is the same in both.
    fn scores(&mut self, from: i64, to: i64, key: ResponseKey) -> rusqlite::Result<()> {
        let sql = "SELECT scorer, checksum, scores, reasons FROM scores WHERE response = ?1";
        self.each(sql, [from], |this, row| {
            let Some((scorer, scorer_key)) = this.scorers.get(&row.get(0)?).copied() else {
                return Ok(false);
            };
            let checksum: i64 = row.get(1)?;
            let (scores, reasons) = (row.get_ref(2)?.as_str()?, row.get_ref(3)?.as_str_or_null()?);
            if scores_checksum(key, scorer_key, scores, reasons) != checksum {
                return Ok(false);
            }
            this.tx
                .prepare_cached(
                    "INSERT INTO scores (response, scorer, checksum, scores, reasons)
                     VALUES (?1, ?2, ?3, ?4, ?5)
                     ON CONFLICT DO UPDATE SET checksum = excluded.checksum,
                       scores = excluded.scores, reasons = excluded.reasons
                     WHERE excluded.checksum < scores.checksum",
                )?
                .execute((to, scorer, checksum, scores, reasons))?;
            Ok(true)
        })
    }
}

const INSERT: &str = "INSERT INTO responses (example, system, repeat, created_at, latency_s,
   attempts, retry_wait_s, first_token_s, first_byte_s, usage, encoding, output_checksum, checksum,
   removed, output)
 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)";

const REPLACE: &str = "UPDATE responses SET example = ?1, system = ?2, repeat = ?3,
   created_at = ?4, latency_s = ?5, attempts = ?6, retry_wait_s = ?7, first_token_s = ?8,
   first_byte_s = ?9, usage = ?10, encoding = ?11, output_checksum = ?12, checksum = ?13,
   removed = ?14, output = ?15 WHERE id = ?16";
