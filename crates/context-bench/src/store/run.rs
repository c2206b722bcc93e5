//! Runs: who asked for what, and which responses it got.
//!
//! A run owns no responses; its rows refer to them. Removing a run removes what
//! only it refers to. Summaries are not kept: they follow from the rows.

use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

use rusqlite::{Connection, OptionalExtension as _, Row, Transaction};
use serde_json::{Map, Value, json};

use super::checksum::Checksum;
use super::error::StoreError;
use super::insert::Ids;
use super::key::Key;
use super::origin::Origin;
use super::reader::Damage;
use crate::model::Identity;

/// The name of a run, such as `20261115-204012-3f9a`: sorts by time.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RunId(Arc<str>);

impl RunId {
    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A run that rows can be put under. Cheap to clone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    pub(super) number: i64,
    pub(super) id: RunId,
}

impl Run {
    /// The name of the run.
    pub fn id(&self) -> &RunId {
        &self.id
    }
}

/// A system as the store knows it: `kind` and `settings` make its key.
#[derive(Debug, Clone, PartialEq)]
pub struct SystemEntry {
    /// The name that reports show; not part of the key.
    pub name: String,
    /// The kind of system, such as `openai`.
    pub kind: String,
    /// Every setting that can change an answer. Never holds a key.
    pub settings: Value,
}

impl SystemEntry {
    /// The entry of a system with that name and identity.
    pub fn new(name: impl Into<String>, identity: Identity) -> Self {
        Self {
            name: name.into(),
            kind: identity.kind,
            settings: json!({
                "version": identity.version,
                "settings": identity.settings,
            }),
        }
    }

    /// The content address of the system.
    pub fn key(&self) -> Key {
        Key::system(&self.kind, &self.settings)
    }
}

/// An evaluator as the store knows it; all of it makes its key.
#[derive(Debug, Clone, PartialEq)]
pub struct EvaluatorEntry {
    /// The name of the evaluator.
    pub name: String,
    /// Its version: raised when it gives other scores for the same input.
    pub version: u32,
    /// Every setting that can change a score. Never holds a key.
    pub settings: Value,
}

impl EvaluatorEntry {
    /// The entry of an evaluator with that name and identity.
    pub fn new(name: impl Into<String>, identity: Identity) -> Self {
        Self {
            name: name.into(),
            version: identity.version,
            settings: identity.settings,
        }
    }

    /// The content address of the evaluator.
    pub fn key(&self) -> Key {
        Key::scorer(&self.name, self.version, &self.settings)
    }
}

/// What is stored when a run begins.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct RunStart {
    /// The command line, without keys.
    pub command: String,
    /// The resolved settings, enough to explain the run later.
    pub config: Map<String, Value>,
    /// The systems in their order.
    pub systems: Vec<SystemEntry>,
    /// The evaluators in their order.
    pub scorers: Vec<EvaluatorEntry>,
    /// How much is planned, and what the run is made of.
    pub origin: Origin,
}

/// How far a run got.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum RunStatus {
    /// Begun, and somebody works on it.
    Running,
    /// Begun, and whoever worked on it is gone. It is stored as `running`: nobody was
    /// left to say otherwise.
    Killed,
    /// Went through to its end.
    Finished,
    /// Stopped before its end.
    Interrupted,
    /// Ended by an error.
    Failed,
}

impl RunStatus {
    /// The status as it is stored.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Killed => "killed",
            Self::Finished => "finished",
            Self::Interrupted => "interrupted",
            Self::Failed => "failed",
        }
    }

    fn parse(text: &str) -> Option<Self> {
        [
            Self::Running,
            Self::Finished,
            Self::Interrupted,
            Self::Failed,
        ]
        .into_iter()
        .find(|status| status.as_str() == text)
    }
}

/// A run in the store.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct StoredRun {
    /// The run, for putting and reading rows.
    pub run: Run,
    /// When it began.
    pub created_at: SystemTime,
    /// When it ended, if it did.
    pub finished_at: Option<SystemTime>,
    /// How far it got.
    pub status: RunStatus,
    /// The command line.
    pub command: String,
    /// The resolved settings.
    pub config: Map<String, Value>,
    /// The systems in their order.
    pub systems: Vec<SystemEntry>,
    /// The evaluators in their order.
    pub scorers: Vec<EvaluatorEntry>,
    /// Rows stored so far.
    pub n_rows: u64,
}

impl StoredRun {
    /// How much was planned, and what the run is made of.
    pub fn origin(&self) -> Origin {
        Origin::of(&self.config)
    }
}

/// What the removal of a run removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Removed {
    /// Rows of the run.
    pub rows: u64,
    /// Responses that no other run refers to.
    pub responses: u64,
    /// Examples that nothing refers to any more.
    pub examples: u64,
    /// Bytes inside the file that became free. Later runs use them again;
    /// [`Store::compact`](super::Store::compact) gives them back.
    pub bytes: u64,
}

pub(super) fn unix_now() -> i64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    now.map_or(0, |now| i64::try_from(now.as_secs()).unwrap_or(i64::MAX))
}

fn time(seconds: i64) -> SystemTime {
    let seconds = u64::try_from(seconds).unwrap_or_default();
    SystemTime::UNIX_EPOCH
        .checked_add(std::time::Duration::from_secs(seconds))
        .unwrap_or(SystemTime::UNIX_EPOCH)
}

/// The fixed and the changing columns of a run.
struct RunColumns<'a> {
    number: i64,
    id: &'a str,
    created_at: i64,
    finished_at: Option<i64>,
    status: &'a str,
    command: &'a str,
    config: &'a str,
}

impl<'a> RunColumns<'a> {
    const LIST: &'static str =
        "number, id, created_at, finished_at, status, command, config, checksum";

    fn read(row: &'a Row<'_>) -> rusqlite::Result<(Self, i64)> {
        let columns = Self {
            number: row.get(0)?,
            id: row.get_ref(1)?.as_str()?,
            created_at: row.get(2)?,
            finished_at: row.get(3)?,
            status: row.get_ref(4)?.as_str()?,
            command: row.get_ref(5)?.as_str()?,
            config: row.get_ref(6)?.as_str()?,
        };
        Ok((columns, row.get(7)?))
    }

    /// Covers the systems and evaluators as well: a run that lost one of them
    /// would be another run.
    fn checksum(&self, systems: &[SystemEntry], scorers: &[EvaluatorEntry]) -> i64 {
        let mut checksum = Checksum::of("runs")
            .int(self.number)
            .text(Some(self.id))
            .int(self.created_at)
            .maybe_int(self.finished_at)
            .text(Some(self.status))
            .text(Some(self.command))
            .text(Some(self.config))
            .int(systems.len() as i64);
        for entry in systems {
            checksum = checksum.text(Some(&entry.name)).key(entry.key());
        }
        for entry in scorers {
            checksum = checksum.key(entry.key());
        }
        checksum.finish()
    }
}

/// A name that no other run of the store has: short ones first, since people type them.
fn free_id(tx: &Transaction<'_>, created_at: i64) -> rusqlite::Result<String> {
    let mut n_bytes = 2;
    loop {
        let id: String = tx.query_row(
            "SELECT strftime('%Y%m%d-%H%M%S-', ?1, 'unixepoch') || lower(hex(randomblob(?2)))",
            (created_at, n_bytes),
            |row| row.get(0),
        )?;
        let taken = "SELECT EXISTS (SELECT 1 FROM runs WHERE id = ?1)";
        let is_taken: bool = tx.query_row(taken, [&id], |row| row.get(0))?;
        if !is_taken {
            return Ok(id);
        }
        n_bytes += 1;
    }
}

/// Writes a new run with its systems and evaluators.
pub(super) fn begin(
    tx: &Transaction<'_>,
    ids: &mut Ids,
    start: &RunStart,
) -> rusqlite::Result<Run> {
    let created_at = unix_now();
    let id = free_id(tx, created_at)?;
    let mut config = start.config.clone();
    start.origin.put(&mut config);
    let config = serde_json::to_string(&config).unwrap_or_default();
    let status = RunStatus::Running.as_str();
    tx.execute(
        "INSERT INTO runs (id, created_at, status, command, config, checksum)
         VALUES (?1, ?2, ?3, ?4, ?5, 0)",
        (&id, created_at, status, &start.command, &config),
    )?;
    let number = tx.last_insert_rowid();
    let columns = RunColumns {
        number,
        id: &id,
        created_at,
        finished_at: None,
        status,
        command: &start.command,
        config: &config,
    };
    tx.execute(
        "UPDATE runs SET checksum = ?2 WHERE number = ?1",
        (number, columns.checksum(&start.systems, &start.scorers)),
    )?;
    for (entry, index) in start.systems.iter().zip(0_i64..) {
        let system = ids.add_system(tx, entry)?;
        tx.execute(
            "INSERT INTO run_systems (run, number, name, system) VALUES (?1, ?2, ?3, ?4)",
            (number, index, &entry.name, system),
        )?;
    }
    for (entry, index) in start.scorers.iter().zip(0_i64..) {
        let scorer = ids.add_scorer(tx, entry)?;
        tx.execute(
            "INSERT INTO run_scorers (run, number, scorer) VALUES (?1, ?2, ?3)",
            (number, index, scorer),
        )?;
    }
    Ok(Run {
        number,
        id: RunId(id.into()),
    })
}

/// Marks a run as ended; whether it is still there.
pub(super) fn finish(tx: &Transaction<'_>, run: &Run, status: RunStatus) -> rusqlite::Result<bool> {
    let finished_at = unix_now();
    let (systems, scorers) = (systems(tx, run.number)?, scorers(tx, run.number)?);
    let sql = format!("SELECT {} FROM runs WHERE number = ?1", RunColumns::LIST);
    let checksum = tx
        .query_row(&sql, [run.number], |row| {
            let (columns, stored) = RunColumns::read(row)?;
            // A damaged run stays one: a fresh checksum would vouch for it.
            let intact = columns.checksum(&systems, &scorers) == stored;
            let ended = RunColumns {
                finished_at: Some(finished_at),
                status: status.as_str(),
                ..columns
            };
            Ok(intact.then(|| ended.checksum(&systems, &scorers)))
        })
        .optional()?;
    if let Some(Some(checksum)) = checksum {
        tx.execute(
            "UPDATE runs SET finished_at = ?2, status = ?3, checksum = ?4 WHERE number = ?1",
            (run.number, finished_at, status.as_str(), checksum),
        )?;
    }
    Ok(checksum.is_some())
}

/// All columns of a run.
pub(super) const COLUMNS: &str = RunColumns::LIST;

/// A run that is what was written, as far as can be checked without its rows.
pub(super) struct Whole {
    pub(super) run: Run,
    pub(super) status: RunStatus,
    pub(super) config: Map<String, Value>,
    pub(super) systems: Vec<SystemEntry>,
    pub(super) scorers: Vec<EvaluatorEntry>,
}

/// The run of a row with [`COLUMNS`], if it is what was written.
pub(super) fn whole(connection: &Connection, row: &Row<'_>) -> rusqlite::Result<Option<Whole>> {
    let (columns, stored) = RunColumns::read(row)?;
    let systems = systems(connection, columns.number)?;
    let scorers = scorers(connection, columns.number)?;
    if columns.checksum(&systems, &scorers) != stored {
        return Ok(None);
    }
    let (Some(status), Ok(config)) = (
        RunStatus::parse(columns.status),
        serde_json::from_str(columns.config),
    ) else {
        return Ok(None);
    };
    Ok(Some(Whole {
        run: Run {
            number: columns.number,
            id: RunId(columns.id.into()),
        },
        status,
        config,
        systems,
        scorers,
    }))
}

/// The runs whose id begins like that (all for an empty text), oldest first.
pub(super) fn list(
    connection: &Connection,
    prefix: &str,
    damage: &mut Damage,
) -> rusqlite::Result<Vec<StoredRun>> {
    let sql = format!(
        "SELECT {} FROM runs WHERE substr(id, 1, length(?1)) = ?1 ORDER BY number",
        RunColumns::LIST
    );
    let mut statement = connection.prepare_cached(&sql)?;
    let mut rows = statement.query([prefix])?;
    let mut runs = Vec::new();
    loop {
        let row = match rows.next() {
            Ok(Some(row)) => row,
            Ok(None) => return Ok(runs),
            // The rest of the tree cannot be walked; what was read so far counts.
            Err(error) => {
                damage.absorb(error)?;
                return Ok(runs);
            }
        };
        match read(connection, row) {
            Ok(Some(run)) => runs.push(run),
            Ok(None) => damage.entries += 1,
            Err(error) => damage.absorb(error)?,
        }
    }
}

fn read(connection: &Connection, row: &Row<'_>) -> rusqlite::Result<Option<StoredRun>> {
    let Some(whole) = whole(connection, row)? else {
        return Ok(None);
    };
    let (columns, _) = RunColumns::read(row)?;
    let n_rows: i64 = connection.query_row(
        "SELECT count(*) FROM run_rows WHERE run = ?1",
        [whole.run.number],
        |row| row.get(0),
    )?;
    Ok(Some(StoredRun {
        run: whole.run,
        created_at: time(columns.created_at),
        finished_at: columns.finished_at.map(time),
        status: whole.status,
        command: columns.command.to_owned(),
        config: whole.config,
        systems: whole.systems,
        scorers: whole.scorers,
        n_rows: u64::try_from(n_rows).unwrap_or_default(),
    }))
}

/// The systems of a run; the checksum of the run shows whether any is missing.
fn systems(connection: &Connection, run: i64) -> rusqlite::Result<Vec<SystemEntry>> {
    connection
        .prepare_cached(
            "SELECT m.name, s.kind, s.settings FROM run_systems m
             JOIN systems s ON s.id = m.system WHERE m.run = ?1 ORDER BY m.number",
        )?
        .query_map([run], |row| {
            Ok(SystemEntry {
                name: row.get(0)?,
                kind: row.get(1)?,
                settings: serde_json::from_str(row.get_ref(2)?.as_str()?).unwrap_or_default(),
            })
        })?
        .collect()
}

/// The evaluators of a run; the checksum of the run shows whether any is missing.
fn scorers(connection: &Connection, run: i64) -> rusqlite::Result<Vec<EvaluatorEntry>> {
    connection
        .prepare_cached(
            "SELECT s.name, s.version, s.settings FROM run_scorers m
             JOIN scorers s ON s.id = m.scorer WHERE m.run = ?1 ORDER BY m.number",
        )?
        .query_map([run], |row| {
            Ok(EvaluatorEntry {
                name: row.get(0)?,
                version: row.get(1)?,
                settings: serde_json::from_str(row.get_ref(2)?.as_str()?).unwrap_or_default(),
            })
        })?
        .collect()
}

/// Picks the run that a user means.
pub(super) fn pick(id: &str, mut runs: Vec<StoredRun>) -> Result<StoredRun, StoreError> {
    if let Some(exact) = runs.iter().position(|run| run.run.id.as_str() == id) {
        return Ok(runs.swap_remove(exact));
    }
    match runs.len() {
        1 => Ok(runs.swap_remove(0)),
        0 => Err(StoreError::UnknownRun { id: id.to_owned() }),
        _ => Err(StoreError::AmbiguousRun {
            id: id.to_owned(),
            runs: runs.iter().map(|run| run.run.id.to_string()).collect(),
        }),
    }
}

/// Removes a run and what only it refers to.
pub(super) fn remove(tx: &Transaction<'_>, run: &Run) -> rusqlite::Result<Removed> {
    // Whole sets instead of row by row: no index on the references is needed,
    // which would cost every row of every run.
    tx.execute_batch(
        "DROP TABLE IF EXISTS temp.gone_responses;
         DROP TABLE IF EXISTS temp.gone_examples;
         CREATE TEMP TABLE gone_responses (id INTEGER PRIMARY KEY);
         CREATE TEMP TABLE gone_examples (id INTEGER PRIMARY KEY);",
    )?;
    for (table, column) in [("gone_responses", "response"), ("gone_examples", "example")] {
        let sql = format!(
            "INSERT INTO temp.{table} SELECT DISTINCT {column} FROM run_rows
             WHERE run = ?1 AND {column} IS NOT NULL"
        );
        tx.execute(&sql, [run.number])?;
        let sql = format!(
            "DELETE FROM temp.{table} WHERE id IN (SELECT {column} FROM run_rows WHERE run <> ?1)"
        );
        tx.execute(&sql, [run.number])?;
    }
    let rows = tx.execute("DELETE FROM run_rows WHERE run = ?1", [run.number])?;
    for table in ["run_systems", "run_scorers"] {
        tx.execute(&format!("DELETE FROM {table} WHERE run = ?1"), [run.number])?;
    }
    tx.execute("DELETE FROM runs WHERE number = ?1", [run.number])?;
    tx.execute(
        "DELETE FROM scores WHERE response IN (SELECT id FROM temp.gone_responses)",
        (),
    )?;
    let responses = tx.execute(
        "DELETE FROM responses WHERE id IN (SELECT id FROM temp.gone_responses)",
        (),
    )?;
    // Responses outside any run may still need their example.
    let examples = tx.execute(
        "DELETE FROM examples WHERE id IN (SELECT id FROM temp.gone_examples g
           WHERE NOT EXISTS (SELECT 1 FROM responses r WHERE r.example = g.id))",
        (),
    )?;
    tx.execute_batch("DROP TABLE temp.gone_responses; DROP TABLE temp.gone_examples;")?;
    Ok(Removed {
        rows: rows as u64,
        responses: responses as u64,
        examples: examples as u64,
        bytes: 0,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_never_given_twice() {
        let mut connection = rusqlite::Connection::open_in_memory().expect("memory");
        connection
            .execute_batch("CREATE TABLE runs (id TEXT NOT NULL UNIQUE)")
            .expect("a table");
        let tx = connection.transaction().expect("begun");
        // All short names of one second are taken.
        tx.execute_batch(
            "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 65535)
             INSERT INTO runs SELECT '19700101-000000-' || printf('%04x', i) FROM n",
        )
        .expect("filled");
        for _ in 0..100 {
            let id = free_id(&tx, 0).expect("a name");
            assert!(id.len() > "19700101-000000-0000".len(), "{id}");
            tx.execute("INSERT INTO runs VALUES (?1)", [&id])
                .expect("free");
        }
        let other = free_id(&tx, 1).expect("a name");
        assert_eq!(other.len(), "19700101-000001-0000".len());
    }
}
