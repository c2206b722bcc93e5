//! Runs as rows of the table `runs`: begun, ended, listed and removed in SQL.

use std::time::SystemTime;

use rusqlite::{Connection, OptionalExtension as _, Row, Transaction};
use serde_json::{Map, Value};

use super::checksum::Checksum;
use super::error::StoreError;
use super::failed_wire;
use super::insert::Ids;
use super::reader::Damage;
use super::run::{
    EvaluatorEntry, Removed, Run, RunId, RunStart, RunStatus, StoredRun, SystemEntry,
};

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
        let checksum = Checksum::of("runs");
        self.rest(checksum, systems, scorers)
    }

    /// The same in format 1, which had the number of the run.
    fn checksum_1(&self, systems: &[SystemEntry], scorers: &[EvaluatorEntry]) -> i64 {
        let checksum = Checksum::of("runs").int(self.number);
        self.rest(checksum, systems, scorers)
    }

    fn rest(&self, checksum: Checksum, systems: &[SystemEntry], scorers: &[EvaluatorEntry]) -> i64 {
        let mut checksum = checksum
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
fn free_id(tx: &Transaction<'_>, created_at: i64, least: i64) -> rusqlite::Result<String> {
    let mut n_bytes = least;
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
    // Shards begin in the same second on many machines, and nobody types their names.
    let least = if start.origin.shard.is_some() { 8 } else { 2 };
    let id = free_id(tx, created_at, least)?;
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

/// A run that is written as a whole.
pub(super) struct NewRunColumns<'a> {
    pub(super) id: &'a str,
    pub(super) created_at: i64,
    pub(super) finished_at: Option<i64>,
    pub(super) status: RunStatus,
    pub(super) command: &'a str,
    pub(super) config: &'a str,
    pub(super) systems: &'a [SystemEntry],
    pub(super) scorers: &'a [EvaluatorEntry],
}

impl NewRunColumns<'_> {
    fn checksum(&self) -> i64 {
        let columns = RunColumns {
            number: 0,
            id: self.id,
            created_at: self.created_at,
            finished_at: self.finished_at,
            status: self.status.as_str(),
            command: self.command,
            config: self.config,
        };
        columns.checksum(self.systems, self.scorers)
    }
}

/// Writes a run of another store, unless a later state of it is there; its number.
pub(super) fn put_if_later(
    tx: &Transaction<'_>,
    ids: &mut Ids,
    run: &NewRunColumns<'_>,
) -> rusqlite::Result<i64> {
    let sql = "SELECT number, coalesce(finished_at, -1), checksum FROM runs WHERE id = ?1";
    let there: Option<(i64, i64, i64)> = tx
        .query_row(sql, [run.id], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?))
        })
        .optional()?;
    match there {
        Some((number, finished_at, checksum))
            if (finished_at, checksum) >= (run.finished_at.unwrap_or(-1), run.checksum()) =>
        {
            Ok(number)
        }
        _ => put_run(tx, ids, run),
    }
}

/// Writes a run as a whole, over one of its id; its number.
pub(super) fn put_run(
    tx: &Transaction<'_>,
    ids: &mut Ids,
    run: &NewRunColumns<'_>,
) -> rusqlite::Result<i64> {
    let number: i64 = tx.query_row(
        "INSERT INTO runs (id, created_at, finished_at, status, command, config, checksum)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
         ON CONFLICT (id) DO UPDATE SET created_at = excluded.created_at,
           finished_at = excluded.finished_at, status = excluded.status,
           command = excluded.command, config = excluded.config, checksum = excluded.checksum
         RETURNING number",
        (
            run.id,
            run.created_at,
            run.finished_at,
            run.status.as_str(),
            run.command,
            run.config,
            run.checksum(),
        ),
        |row| row.get(0),
    )?;
    for (entry, index) in run.systems.iter().zip(0_i64..) {
        let system = ids.add_system(tx, entry)?;
        tx.execute(
            "INSERT OR REPLACE INTO run_systems (run, number, name, system) VALUES (?1, ?2, ?3, ?4)",
            (number, index, &entry.name, system),
        )?;
    }
    for (entry, index) in run.scorers.iter().zip(0_i64..) {
        let scorer = ids.add_scorer(tx, entry)?;
        tx.execute(
            "INSERT OR REPLACE INTO run_scorers (run, number, scorer) VALUES (?1, ?2, ?3)",
            (number, index, scorer),
        )?;
    }
    Ok(number)
}

/// The systems and evaluators of a run.
pub(super) fn entries(
    connection: &Connection,
    run: i64,
) -> rusqlite::Result<(Vec<SystemEntry>, Vec<EvaluatorEntry>)> {
    Ok((systems(connection, run)?, scorers(connection, run)?))
}

/// Marks a run as ended; whether it is still there.
pub(super) fn finish(
    tx: &Transaction<'_>,
    run: &Run,
    status: RunStatus,
    notes: &[(&'static str, Value)],
) -> rusqlite::Result<bool> {
    let finished_at = unix_now();
    let (systems, scorers) = (systems(tx, run.number)?, scorers(tx, run.number)?);
    let sql = format!("SELECT {} FROM runs WHERE number = ?1", RunColumns::LIST);
    let checksum = tx
        .query_row(&sql, [run.number], |row| {
            let (columns, stored) = RunColumns::read(row)?;
            // A damaged run stays one: a fresh checksum would vouch for it.
            let intact = columns.checksum(&systems, &scorers) == stored;
            let noted = || {
                let mut config: Map<String, Value> = serde_json::from_str(columns.config).ok()?;
                for (name, value) in notes {
                    config.insert((*name).to_owned(), value.clone());
                }
                serde_json::to_string(&config).ok()
            };
            let noted = noted().filter(|_| !notes.is_empty());
            let config = noted.unwrap_or_else(|| columns.config.to_owned());
            let ended = RunColumns {
                finished_at: Some(finished_at),
                status: status.as_str(),
                config: &config,
                ..columns
            };
            let checksum = intact.then(|| ended.checksum(&systems, &scorers));
            Ok(checksum.map(|checksum| (checksum, config)))
        })
        .optional()?;
    if let Some(Some((checksum, config))) = &checksum {
        tx.execute(
            "UPDATE runs SET finished_at = ?2, status = ?3, checksum = ?4, config = ?5 \
             WHERE number = ?1",
            (run.number, finished_at, status.as_str(), checksum, config),
        )?;
    }
    Ok(checksum.is_some())
}

/// All columns of a run.
pub(super) const COLUMNS: &str = RunColumns::LIST;

/// A run that is what was written, as far as can be checked without its rows.
pub(super) struct WholeRun {
    pub(super) run: Run,
    pub(super) status: RunStatus,
    pub(super) config: Map<String, Value>,
    pub(super) systems: Vec<SystemEntry>,
    pub(super) scorers: Vec<EvaluatorEntry>,
}

/// The run of a row with [`COLUMNS`], if it is what was written.
pub(super) fn whole(connection: &Connection, row: &Row<'_>) -> rusqlite::Result<Option<WholeRun>> {
    let (columns, stored) = RunColumns::read(row)?;
    let systems = systems(connection, columns.number)?;
    let scorers = scorers(connection, columns.number)?;
    if columns.checksum(&systems, &scorers) != stored {
        return Ok(None);
    }
    Ok(whole_of(&columns, systems, scorers))
}

/// The same of a run that format 1 wrote, with the checksum that it has now.
pub(super) fn whole_1(
    connection: &Connection,
    row: &Row<'_>,
) -> rusqlite::Result<Option<(WholeRun, i64)>> {
    let (columns, stored) = RunColumns::read(row)?;
    let systems = systems(connection, columns.number)?;
    let scorers = scorers(connection, columns.number)?;
    if columns.checksum_1(&systems, &scorers) != stored {
        return Ok(None);
    }
    let checksum = columns.checksum(&systems, &scorers);
    Ok(whole_of(&columns, systems, scorers).map(|whole| (whole, checksum)))
}

fn whole_of(
    columns: &RunColumns<'_>,
    systems: Vec<SystemEntry>,
    scorers: Vec<EvaluatorEntry>,
) -> Option<WholeRun> {
    let (Some(status), Ok(config)) = (
        RunStatus::parse(columns.status),
        serde_json::from_str(columns.config),
    ) else {
        return None;
    };
    Some(WholeRun {
        run: Run {
            number: columns.number,
            id: RunId(columns.id.into()),
        },
        status,
        config,
        systems,
        scorers,
    })
}

/// The runs whose id begins like that (all for an empty text), oldest first.
pub(super) fn list(
    connection: &Connection,
    prefix: &str,
    rows: RowCount,
    damage: &mut Damage,
) -> rusqlite::Result<Vec<StoredRun>> {
    let sql = format!(
        "SELECT {} FROM runs WHERE substr(id, 1, length(?1)) = ?1 ORDER BY number",
        RunColumns::LIST
    );
    let mut statement = connection.prepare_cached(&sql)?;
    let mut found = statement.query([prefix])?;
    let mut runs = Vec::new();
    loop {
        let row = match found.next() {
            Ok(Some(row)) => row,
            Ok(None) => return Ok(runs),
            // The rest of the tree cannot be walked; what was read so far counts.
            Err(error) => {
                damage.absorb(error)?;
                return Ok(runs);
            }
        };
        match read(connection, row, rows) {
            Ok(Some(run)) => runs.push(run),
            Ok(None) => damage.entries += 1,
            Err(error) => damage.absorb(error)?,
        }
    }
}

/// Whether the rows of a run are counted, which takes a while where there are millions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RowCount {
    Counted,
    /// The number is 0.
    LeftOut,
}

fn read(
    connection: &Connection,
    row: &Row<'_>,
    rows: RowCount,
) -> rusqlite::Result<Option<StoredRun>> {
    let Some(whole) = whole(connection, row)? else {
        return Ok(None);
    };
    let (columns, _) = RunColumns::read(row)?;
    let n_rows: i64 = match rows {
        RowCount::LeftOut => 0,
        RowCount::Counted => connection.query_row(
            "SELECT count(*) FROM run_rows WHERE run = ?1",
            [whole.run.number],
            |row| row.get(0),
        )?,
    };
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
    failed_wire::remove(tx, run)?;
    for table in ["run_systems", "run_scorers", "failures"] {
        tx.execute(&format!("DELETE FROM {table} WHERE run = ?1"), [run.number])?;
    }
    // What was merged into it can then be merged again.
    let plans = "SELECT plan FROM shards WHERE 'merged-' || substr(plan, 1, 12) = ?1";
    let gone = tx.execute(
        &format!("DELETE FROM shards WHERE plan IN ({plans})"),
        [run.id.as_str()],
    )?;
    if gone > 0 {
        tx.execute("DELETE FROM merged", ())?;
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
            let id = free_id(&tx, 0, 2).expect("a name");
            assert!(id.len() > "19700101-000000-0000".len(), "{id}");
            tx.execute("INSERT INTO runs VALUES (?1)", [&id])
                .expect("free");
        }
        let other = free_id(&tx, 1, 2).expect("a name");
        assert_eq!(other.len(), "19700101-000001-0000".len());
    }
}
