//! What a tap saw of rows without an answer: their calls were made and billed all the same.
//!
//! Answers bring their facts along, and rows of `run_rows` have no place for them, so these
//! stand in a table beside the others. It comes with the first row that needs it: a store
//! without it is a whole one, and earlier versions do not mind it.

use rusqlite::{Connection, OptionalExtension as _, Transaction};
use serde::Deserialize as _;
use serde_json::Value;

use super::checksum::Checksum;
use super::error::Damaged;
use super::run::Run;
use crate::model::WireFacts;

const TABLE: &str = "failed_wire";

/// Which row of a run: system, position and repeat.
pub(super) type Place = (i64, i64, u32);

/// Whether there is such a table.
pub(super) fn is_there(connection: &Connection) -> rusqlite::Result<bool> {
    let sql = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?1";
    let found = connection.query_row(sql, [TABLE], |_| Ok(())).optional()?;
    Ok(found.is_some())
}

/// Makes the table in a file, which has the name under which it is attached.
pub(super) fn create(connection: &Connection, file: &str) -> rusqlite::Result<()> {
    connection.execute_batch(&format!(
        "CREATE TABLE IF NOT EXISTS {file}.{TABLE} (
  run INTEGER NOT NULL REFERENCES runs (number),
  system INTEGER NOT NULL,
  position INTEGER NOT NULL,
  repeat INTEGER NOT NULL,
  checksum INTEGER NOT NULL,
  facts TEXT NOT NULL,
  PRIMARY KEY (run, system, position, repeat)
) WITHOUT ROWID"
    ))
}

/// Keeps the facts of a row.
pub(super) fn put(
    tx: &Transaction<'_>,
    run: &Run,
    place: Place,
    facts: &str,
) -> rusqlite::Result<()> {
    create(tx, "main")?;
    let (system, position, repeat) = place;
    let sum = checksum(run.id.as_str(), place, facts);
    tx.prepare_cached(&format!(
        "INSERT OR REPLACE INTO {TABLE} (run, system, position, repeat, checksum, facts)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6)"
    ))?
    .execute((run.number, system, position, repeat, sum, facts))?;
    Ok(())
}

/// The facts of a row, if it has some and they are what was written.
pub(super) fn read(
    connection: &Connection,
    run: &Run,
    place: Place,
) -> rusqlite::Result<Result<Option<Box<WireFacts>>, Damaged>> {
    let text = read_text(connection, run, place)?;
    Ok(text.map(|text| {
        let facts: Value = serde_json::from_str(&text?).unwrap_or_default();
        WireFacts::deserialize(&facts).ok().map(Box::new)
    }))
}

/// The same as it is stored.
pub(super) fn read_text(
    connection: &Connection,
    run: &Run,
    place: Place,
) -> rusqlite::Result<Result<Option<String>, Damaged>> {
    let (system, position, repeat) = place;
    let found: Option<(i64, String)> = connection
        .prepare_cached(&format!(
            "SELECT checksum, facts FROM {TABLE}
             WHERE run = ?1 AND system = ?2 AND position = ?3 AND repeat = ?4"
        ))?
        .query_row((run.number, system, position, repeat), |row| {
            Ok((row.get(0)?, row.get(1)?))
        })
        .optional()?;
    let Some((stored, facts)) = found else {
        return Ok(Ok(None));
    };
    if checksum(run.id.as_str(), place, &facts) != stored {
        return Ok(Err(Damaged));
    }
    Ok(Ok(Some(facts)))
}

/// Removes those of a row.
pub(super) fn remove_row(tx: &Transaction<'_>, run: i64, place: Place) -> rusqlite::Result<()> {
    let (system, position, repeat) = place;
    tx.prepare_cached(&format!(
        "DELETE FROM {TABLE} WHERE run = ?1 AND system = ?2 AND position = ?3 AND repeat = ?4"
    ))?
    .execute((run, system, position, repeat))?;
    Ok(())
}

/// Removes those of a run.
pub(super) fn remove(tx: &Transaction<'_>, run: &Run) -> rusqlite::Result<()> {
    if is_there(tx)? {
        let sql = format!("DELETE FROM {TABLE} WHERE run = ?1");
        tx.execute(&sql, [run.number])?;
    }
    Ok(())
}

/// Takes over those of a run that can be read in a damaged file.
pub(super) fn save(damaged: &Connection, tx: &Transaction<'_>, run: &Run) -> rusqlite::Result<()> {
    let sql =
        format!("SELECT system, position, repeat, checksum, facts FROM {TABLE} WHERE run = ?1");
    // A table that is not there has no rows.
    let Ok(mut statement) = damaged.prepare(&sql) else {
        return Ok(());
    };
    let mut rows = statement.query([run.number])?;
    while let Some(row) = rows.next()? {
        let place = (row.get(0)?, row.get(1)?, row.get(2)?);
        let facts = row.get_ref(4)?.as_str()?;
        if checksum(run.id.as_str(), place, facts) == row.get::<_, i64>(3)? {
            put(tx, run, place, facts)?;
        }
    }
    Ok(())
}

fn checksum(run: &str, (system, position, repeat): Place, facts: &str) -> i64 {
    Checksum::of(TABLE)
        .text(Some(run))
        .int(system)
        .int(position)
        .int(i64::from(repeat))
        .text(Some(facts))
        .finish()
}
