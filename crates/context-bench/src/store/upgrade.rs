//! From format 1 to format 2, in place and in one transaction.
//!
//! Format 1 had local numbers in the checksums of runs and rows, and the number of a repeat as a
//! member of the example. What does not pass its old checksum gets no new one: damage stays damage.

use std::collections::HashMap;
use std::path::Path;

use rusqlite::types::Value as Cell;
use rusqlite::{Connection, OptionalExtension as _, Transaction, TransactionBehavior};
use serde_json::{Map, Value};

use super::body::{Body, Packer};
use super::columns::{
    ResponseColumns, RowColumns, example_checksum, output_checksum, scores_checksum,
};
use super::key::{KEPT_APART, Key, ResponseKey};
use super::live;
use super::open::harden;
use super::run::RunId;
use super::run_table;
use super::schema;
use crate::model::{Example, REPEAT};

/// Rows that are rewritten at a time.
const PAGE: i64 = 4096;

/// An example of format 1 that is a repeat: which example it repeats, and how often before.
#[derive(Clone, Copy)]
struct Repeated {
    example: i64,
    key: Key,
    repeat: u32,
}

/// Upgrades a file that nobody else has, such as a copy.
pub(super) fn upgrade_file(path: &Path) -> rusqlite::Result<()> {
    let mut connection = Connection::open(path)?;
    harden(&connection)?;
    let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    upgrade(&tx, path)?;
    tx.commit()
}

/// Upgrades the store of a transaction, and says so.
pub(super) fn upgrade(tx: &Transaction<'_>, path: &Path) -> rusqlite::Result<String> {
    let runs = runs(tx)?;
    for (_, run) in &runs {
        if live::is_held(path, &run.id) {
            // Whoever writes it knows no other format.
            let code = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_READONLY);
            let told = "an earlier version of context-bench is writing to it";
            return Err(rusqlite::Error::SqliteFailure(code, Some(told.into())));
        }
    }
    let mut repeated = HashMap::new();
    for (number, run) in runs.iter().filter(|(_, run)| run.has_repeats) {
        find_repeats(tx, *number, run, &mut repeated)?;
    }
    for (example, to) in &repeated {
        move_answers(tx, *example, *to)?;
    }
    for (number, run) in &runs {
        tx.execute(
            "UPDATE runs SET checksum = ?2 WHERE number = ?1",
            (number, run.checksum),
        )?;
        rewrite_rows(tx, *number, run.id.as_str(), &repeated)?;
    }
    for example in repeated.keys() {
        tx.prepare_cached(
            "DELETE FROM examples WHERE id = ?1
             AND NOT EXISTS (SELECT 1 FROM responses WHERE example = ?1)",
        )?
        .execute([example])?;
    }
    schema::complete(tx)?;
    Ok(format!(
        "the store `{}` is of format 2 now; earlier versions of context-bench cannot open it",
        path.display()
    ))
}

/// A run that is what was written.
struct OldRun {
    id: RunId,
    /// As it is in format 2.
    checksum: i64,
    has_repeats: bool,
}

fn runs(tx: &Transaction<'_>) -> rusqlite::Result<Vec<(i64, OldRun)>> {
    let sql = format!("SELECT {} FROM runs", run_table::COLUMNS);
    let mut statement = tx.prepare(&sql)?;
    let mut rows = statement.query(())?;
    let mut runs = Vec::new();
    while let Some(row) = rows.next()? {
        if let Some((whole, checksum)) = run_table::whole_1(tx, row)? {
            let run = OldRun {
                id: whole.run.id().clone(),
                checksum,
                has_repeats: has_repeats(&whole.config),
            };
            runs.push((row.get(0)?, run));
        }
    }
    Ok(runs)
}

/// Whether a run asked more than once about its examples.
fn has_repeats(config: &Map<String, Value>) -> bool {
    let above_one = |value: Option<&Value>| value.and_then(Value::as_u64).is_some_and(|n| n > 1);
    let plan = config.get("plan");
    let benchmarks = plan
        .and_then(|plan| plan["benchmarks"].as_array())
        .into_iter();
    above_one(config.get("repeats"))
        || above_one(config.get("provenance").and_then(|of| of.get("repeats")))
        || above_one(plan.and_then(|plan| plan["scoring"].get("repeats")))
        || benchmarks
            .flatten()
            .any(|one| above_one(one.get("repeats")))
}

/// The examples of a run that are repeats. A member `repeat` alone may be the user's own: the row
/// so many places before must be about the same example.
fn find_repeats(
    tx: &Transaction<'_>,
    run: i64,
    of: &OldRun,
    repeated: &mut HashMap<i64, Repeated>,
) -> rusqlite::Result<()> {
    let list = RowColumns::LIST;
    let sql = format!(
        "SELECT {list}, e.key, e.encoding, e.checksum, e.body FROM run_rows w
         JOIN examples e ON e.id = w.example WHERE w.run = ?1"
    );
    const AFTER: usize = RowColumns::N;
    let mut statement = tx.prepare(&sql)?;
    let mut rows = statement.query([run])?;
    while let Some(row) = rows.next()? {
        let (columns, stored) = RowColumns::read(row)?;
        let key: Key = row.get(AFTER)?;
        if repeated.contains_key(&columns.example)
            || columns.checksum_1(of.id.as_str(), key) != stored
        {
            continue;
        }
        let (encoding, bytes) = (row.get(AFTER + 1)?, row.get_ref(AFTER + 3)?.as_bytes()?);
        if example_checksum(key, encoding, bytes) != row.get::<_, i64>(AFTER + 2)? {
            continue;
        }
        let Some(body) = body(encoding, bytes) else {
            continue;
        };
        let number = body.get(REPEAT).and_then(Value::as_u64);
        let Some(repeat) = number.and_then(|n| u32::try_from(n).ok()) else {
            continue;
        };
        if !(1..KEPT_APART).contains(&repeat) {
            continue;
        }
        let first: Option<(i64, bool)> = tx
            .prepare_cached(
                "SELECT example, example_id IS ?5 FROM run_rows
                 WHERE run = ?1 AND system = ?2 AND position = ?3 AND repeat = ?4",
            )?
            .query_row(
                (
                    run,
                    columns.system,
                    columns.position - i64::from(repeat),
                    columns.repeat,
                    columns.example_id,
                ),
                |row| Ok((row.get(0)?, row.get(1)?)),
            )
            .optional()?;
        let Some((first, true)) = first else { continue };
        let mut without = body.clone();
        without.shift_remove(REPEAT);
        if let Some((example, key)) = stands_for(tx, first, key, &body, without)? {
            let to = Repeated {
                example,
                key,
                repeat,
            };
            repeated.insert(columns.example, to);
        }
    }
    Ok(())
}

/// The example that a repeat is of: the first attempt if that is the same, else one of its own, as
/// where each attempt has a seed.
fn stands_for(
    tx: &Transaction<'_>,
    first: i64,
    key: Key,
    body_of: &Map<String, Value>,
    without: Map<String, Value>,
) -> rusqlite::Result<Option<(i64, Key)>> {
    let sql = "SELECT key, encoding, checksum, body FROM examples WHERE id = ?1";
    let found: Option<(Key, Option<Map<String, Value>>)> = tx
        .prepare_cached(sql)?
        .query_row([first], |row| {
            let (key, encoding): (Key, i64) = (row.get(0)?, row.get(1)?);
            let bytes = row.get_ref(3)?.as_bytes()?;
            let whole = example_checksum(key, encoding, bytes) == row.get::<_, i64>(2)?;
            Ok((key, whole.then(|| body(encoding, bytes)).flatten()))
        })
        .optional()?;
    if let Some((key, Some(first_body))) = found
        && first_body == without
    {
        return Ok(Some((first, key)));
    }
    // With a prompt, the key cannot be computed again.
    if Key::content(&Example::from(body_of.clone())) != key {
        return Ok(None);
    }
    let text = serde_json::to_vec(&without).unwrap_or_default();
    let key = Key::content(&Example::from(without));
    // Few examples need it.
    let body = Packer::default().pack(text);
    let checksum = example_checksum(key, body.encoding, &body.bytes);
    tx.prepare_cached(
        "INSERT OR IGNORE INTO examples (key, encoding, checksum, body) VALUES (?1, ?2, ?3, ?4)",
    )?
    .execute((key, body.encoding, checksum, &body))?;
    let id = tx
        .prepare_cached("SELECT id FROM examples WHERE key = ?1")?
        .query_row([key], |row| row.get(0))?;
    Ok(Some((id, key)))
}

fn body(encoding: i64, bytes: &[u8]) -> Option<Map<String, Value>> {
    let text = Body::unpack(encoding, bytes.to_vec()).ok()?;
    serde_json::from_slice(&text).ok()
}

/// Lets the answers to a repeat be answers to its example.
fn move_answers(tx: &Transaction<'_>, example: i64, to: Repeated) -> rusqlite::Result<()> {
    let sql = format!(
        "SELECT {}, r.id, r.repeat, s.key, r.removed, r.output, e.key FROM responses r
         JOIN systems s ON s.id = r.system JOIN examples e ON e.id = r.example
         WHERE r.example = ?1",
        ResponseColumns::LIST
    );
    const AFTER: usize = ResponseColumns::N;
    let mut moved = Vec::new();
    let mut statement = tx.prepare_cached(&sql)?;
    let mut rows = statement.query([example])?;
    while let Some(row) = rows.next()? {
        let (mut columns, stored) = ResponseColumns::read(row, 0)?;
        let (id, repeat, system): (i64, u32, Key) =
            (row.get(AFTER)?, row.get(AFTER + 1)?, row.get(AFTER + 2)?);
        let old = ResponseKey::new(row.get(AFTER + 5)?, system, repeat);
        let removed = row.get_ref(AFTER + 3)?.as_str_or_null()?;
        let output = row.get_ref(AFTER + 4)?.as_bytes()?;
        let sum = output_checksum(old, columns.encoding, removed, output);
        if columns.checksum(old) != stored || sum != columns.output_checksum {
            continue;
        }
        let repeat = match repeat {
            KEPT_APART.. => repeat.wrapping_add(to.repeat) | KEPT_APART,
            _ => to.repeat,
        };
        let new = ResponseKey::new(to.key, system, repeat);
        columns.output_checksum = output_checksum(new, columns.encoding, removed, output);
        let sums = (columns.checksum(new), columns.output_checksum);
        moved.push((id, old, new, sums));
    }
    for (id, old, new, (checksum, output)) in moved {
        let changed = tx
            .prepare_cached(
                "UPDATE OR IGNORE responses SET example = ?2, repeat = ?3, checksum = ?4,
                   output_checksum = ?5 WHERE id = ?1",
            )?
            .execute((id, to.example, new.repeat, checksum, output))?;
        if changed == 1 {
            move_scores(tx, id, old, new)?;
        }
    }
    Ok(())
}

fn move_scores(
    tx: &Transaction<'_>,
    response: i64,
    old: ResponseKey,
    new: ResponseKey,
) -> rusqlite::Result<()> {
    let mut statement = tx.prepare_cached(
        "SELECT c.scorer, k.key, c.checksum, c.scores, c.reasons FROM scores c
         JOIN scorers k ON k.id = c.scorer WHERE c.response = ?1",
    )?;
    let mut rows = statement.query([response])?;
    let mut sums: Vec<(i64, i64)> = Vec::new();
    while let Some(row) = rows.next()? {
        let scorer: Key = row.get(1)?;
        let (scores, reasons) = (row.get_ref(3)?.as_str()?, row.get_ref(4)?.as_str_or_null()?);
        if scores_checksum(old, scorer, scores, reasons) == row.get::<_, i64>(2)? {
            let sum = scores_checksum(new, scorer, scores, reasons);
            sums.push((row.get(0)?, sum));
        }
    }
    for (scorer, sum) in sums {
        tx.prepare_cached("UPDATE scores SET checksum = ?3 WHERE response = ?1 AND scorer = ?2")?
            .execute((response, scorer, sum))?;
    }
    Ok(())
}

/// Gives the rows of a run their new checksums, and repeats their number.
fn rewrite_rows(
    tx: &Transaction<'_>,
    run: i64,
    id: &str,
    repeated: &HashMap<i64, Repeated>,
) -> rusqlite::Result<()> {
    let sql = format!(
        "SELECT {}, e.key FROM run_rows w JOIN examples e ON e.id = w.example
         WHERE w.run = ?1 AND (w.system, w.position, w.repeat) > (?2, ?3, ?4)
         ORDER BY w.system, w.position, w.repeat LIMIT ?5",
        RowColumns::LIST
    );
    let mut after = (-1, -1, -1);
    loop {
        let mut changes: Vec<[Cell; 6]> = Vec::new();
        let mut last = None;
        {
            let mut statement = tx.prepare_cached(&sql)?;
            let mut rows = statement.query((run, after.0, after.1, after.2, PAGE))?;
            while let Some(row) = rows.next()? {
                let (columns, stored) = RowColumns::read(row)?;
                let place = (columns.system, columns.position, i64::from(columns.repeat));
                last = Some(place);
                let key: Key = row.get(RowColumns::N)?;
                if columns.checksum_1(id, key) != stored {
                    continue;
                }
                let (new, key) = match repeated.get(&columns.example) {
                    Some(to) => {
                        let new = RowColumns {
                            example: to.example,
                            repeat: to.repeat,
                            ..columns
                        };
                        (new, to.key)
                    }
                    None => (columns, key),
                };
                changes.push([
                    place.0.into(),
                    place.1.into(),
                    place.2.into(),
                    new.example.into(),
                    new.repeat.into(),
                    new.checksum(id, key).into(),
                ]);
            }
        }
        for [system, position, repeat, example, new_repeat, checksum] in changes {
            tx.prepare_cached(
                "UPDATE run_rows SET example = ?5, repeat = ?6, checksum = ?7
                 WHERE run = ?1 AND system = ?2 AND position = ?3 AND repeat = ?4",
            )?
            .execute((run, system, position, repeat, example, new_repeat, checksum))?;
        }
        match last {
            Some(place) => after = place,
            None => return Ok(()),
        }
    }
}
