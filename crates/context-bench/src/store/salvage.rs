//! Salvage: everything that can still be read in a damaged file goes into a fresh one.
//!
//! Every row carries a checksum over all of its columns and the keys it belongs to, so
//! each can be vouched for alone, whatever the pages around it look like. Rows keep their
//! numbers: nothing that refers to them changes. A tree that breaks off is walked on
//! behind the break, row by row. Nothing here touches the damaged file.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::path::{Path, PathBuf};

use rusqlite::types::Value;
use rusqlite::{Connection, OpenFlags, OptionalExtension as _, Row, Transaction, params_from_iter};

use super::columns::{
    ResponseColumns, RowColumns, example_checksum, output_checksum, scores_checksum,
};
use super::error::{StoreError, is_damage};
use super::failed_wire;
use super::key::{Key, ResponseKey};
use super::open::{fold, harden, with_suffix};
use super::origin::Origin;
use super::run::RunStatus;
use super::run_table::{self, WholeRun};

/// The tables whose rows have numbers that are never used twice.
const NUMBERED: [&str; 5] = ["systems", "scorers", "examples", "responses", "runs"];
/// A row takes at least so many bytes; for files that do not say how many there are.
const LEAST_ROW: u64 = 32;

/// What was saved.
#[derive(Debug, Default)]
pub(super) struct SalvagedRows {
    answers: u64,
    /// Answers that cannot be read any more.
    lost: u64,
    runs: u64,
    /// Runs that are missing rows or answers now.
    torn: u64,
}

impl fmt::Display for SalvagedRows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            answers,
            lost,
            runs,
            torn,
        } = self;
        if answers + lost + runs == 0 {
            return write!(f, "no answer in it could be read, and a new one was begun");
        }
        write!(
            f,
            "{answers} answers and {runs} runs were saved into a new one, {lost} answers could \
             not be read and count as not there"
        )?;
        match torn {
            0 => Ok(()),
            torn => write!(
                f,
                "; {torn} of the runs are missing rows now and count as interrupted"
            ),
        }
    }
}

/// Where what is saved waits to take the place of the damaged file.
pub(super) fn saved(path: &Path) -> PathBuf {
    with_suffix(path, ".saved")
}

/// Makes room for a fresh file; where it is to be made.
pub(super) fn begin(path: &Path) -> Result<PathBuf, StoreError> {
    let fresh = with_suffix(path, ".saving");
    for part in ["", "-wal", "-shm"] {
        // Of a process that was killed.
        let _ = std::fs::remove_file(with_suffix(&fresh, part));
    }
    Ok(fresh)
}

/// Puts what was saved where the damaged file was.
pub(super) fn put_in_place(path: &Path) -> std::io::Result<()> {
    match saved(path).exists() {
        // Another process may have done it.
        false => Ok(()),
        true => std::fs::rename(saved(path), path),
    }
}

/// Saves everything that can be read of a file into a fresh store, which is then to be
/// [put in place](put_in_place).
pub(super) fn save(path: &Path, mut fresh: Connection) -> Result<SalvagedRows, StoreError> {
    let made = PathBuf::from(fresh.path().unwrap_or_default());
    fold(&mut fresh);
    let done = match Source::open(path, &made) {
        Some(source) => {
            let tx = fresh.transaction()?;
            let done = source.save_into(&tx)?;
            tx.commit()?;
            done
        }
        None => SalvagedRows::default(),
    };
    fold(&mut fresh);
    // Closed, so that all of it is in the one file that is renamed.
    fresh.close().map_err(|(_, error)| error)?;
    std::fs::rename(&made, saved(path)).map_err(|error| StoreError::Unusable {
        path: made,
        problem: error.to_string(),
        cause: super::Cause::of_io(&error),
    })?;
    Ok(done)
}

/// A damaged file, open for reading.
struct Source {
    connection: Connection,
    /// The largest number that a row can have, where the file does not say.
    most: i64,
    /// Holds a copy with other pages in front.
    _copy: Option<tempfile::TempDir>,
}

impl Source {
    /// Opens a file as far as it can be read: as it is or, when its first pages are lost,
    /// with those of the fresh store, which say where tables begin.
    fn open(path: &Path, fresh: &Path) -> Option<Self> {
        let length = std::fs::metadata(path).ok()?.len();
        let most = i64::try_from(length / LEAST_ROW).ok()?;
        if let Some(connection) = connect(path) {
            return Some(Self {
                connection,
                most,
                _copy: None,
            });
        }
        let folder = tempfile::tempdir().ok()?;
        let copy = folder.path().join("store.sqlite");
        std::fs::copy(path, &copy).ok()?;
        // Often not there.
        let _ = std::fs::copy(with_suffix(path, "-wal"), with_suffix(&copy, "-wal"));
        graft(&copy, fresh).ok()?;
        Some(Self {
            connection: connect(&copy)?,
            most,
            _copy: Some(folder),
        })
    }

    fn save_into(&self, tx: &Transaction<'_>) -> rusqlite::Result<SalvagedRows> {
        let mut done = SalvagedRows::default();
        let systems = self.named(tx, "systems", "id, key, kind, name, settings", |row| {
            let settings: serde_json::Value = parsed(row, 4)?;
            Ok(Key::system(row.get_ref(2)?.as_str()?, &settings))
        })?;
        let scorers = self.named(tx, "scorers", "id, key, name, version, settings", |row| {
            let settings: serde_json::Value = parsed(row, 4)?;
            Ok(Key::scorer(
                row.get_ref(2)?.as_str()?,
                row.get(3)?,
                &settings,
            ))
        })?;
        let examples = self.examples(tx)?;
        let answers = self.responses(tx, &examples, &systems, &mut done)?;
        let lacking = self.scores(tx, &answers, &scorers)?;
        let mut whole = answers;
        whole.retain(|answer, _| !lacking.contains(answer));
        self.runs(tx, &examples, &whole, &mut done)?;
        for table in NUMBERED {
            // A number that is lost must not come to mean something else.
            if let Some(top) = self.top(table) {
                tx.execute("DELETE FROM sqlite_sequence WHERE name = ?1", [table])?;
                tx.execute(
                    "INSERT INTO sqlite_sequence (name, seq) VALUES (?1, ?2)",
                    (table, top),
                )?;
            }
        }
        Ok(done)
    }

    /// Systems or evaluators, which are what their key says.
    fn named(
        &self,
        tx: &Transaction<'_>,
        table: &str,
        columns: &str,
        key: impl Fn(&Row<'_>) -> rusqlite::Result<Key>,
    ) -> rusqlite::Result<HashMap<i64, Key>> {
        let mut known = HashMap::new();
        self.walk(table, "id", columns, |row| {
            let stored: Key = row.get(1)?;
            if key(row)? == stored {
                put(tx, table, columns, row)?;
                known.insert(row.get(0)?, stored);
            }
            Ok(())
        })?;
        Ok(known)
    }

    /// Examples by their number. Behind a damaged index one may have been stored twice; the
    /// first then stands for both.
    fn examples(&self, tx: &Transaction<'_>) -> rusqlite::Result<HashMap<i64, (i64, Key)>> {
        let (mut known, mut first) = (HashMap::new(), HashMap::new());
        let columns = "id, key, encoding, checksum, body";
        self.walk("examples", "id", columns, |row| {
            let (key, body): (Key, _) = (row.get(1)?, row.get_ref(4)?.as_bytes()?);
            if example_checksum(key, row.get(2)?, body) == row.get::<_, i64>(3)? {
                let id = row.get(0)?;
                let stands = *first.entry(key).or_insert(id);
                if stands == id {
                    put(tx, "examples", columns, row)?;
                }
                known.insert(id, (stands, key));
            }
            Ok(())
        })?;
        Ok(known)
    }

    /// Answers to examples that are known, by systems that are.
    fn responses(
        &self,
        tx: &Transaction<'_>,
        examples: &HashMap<i64, (i64, Key)>,
        systems: &HashMap<i64, Key>,
        done: &mut SalvagedRows,
    ) -> rusqlite::Result<HashMap<i64, ResponseKey>> {
        // Read as everywhere, and written as they are.
        let list = ResponseColumns::LIST.replace("r.", "");
        let columns = format!("{list}, id, example, system, repeat, removed, output");
        const AFTER: usize = ResponseColumns::N;
        let mut known = HashMap::new();
        let walked = self.walk("responses", "id", &columns, |row| {
            let keys = (
                examples.get(&row.get(AFTER + 1)?),
                systems.get(&row.get(AFTER + 2)?),
            );
            let (Some((stands, example)), Some(system)) = keys else {
                return Ok(());
            };
            let key = ResponseKey::new(*example, *system, row.get(AFTER + 3)?);
            let (read, stored) = ResponseColumns::read(row, 0)?;
            let removed = row.get_ref(AFTER + 4)?.as_str_or_null()?;
            let output = row.get_ref(AFTER + 5)?.as_bytes()?;
            let sum = output_checksum(key, read.encoding, removed, output);
            if read.checksum(key) == stored && sum == read.output_checksum {
                let stands = (AFTER + 1, (*stands).into());
                if put_with(tx, "responses", &columns, row, &[stands])? {
                    known.insert(row.get(AFTER)?, key);
                }
            }
            Ok(())
        })?;
        done.answers = known.len() as u64;
        // The index knows how many there were even where the table does not.
        let sql = "SELECT count(*) FROM responses";
        let counted: rusqlite::Result<i64> = self.connection.query_row(sql, (), |row| row.get(0));
        let there = match counted {
            Ok(n) => u64::try_from(n).unwrap_or(0).max(walked.met),
            Err(_) => walked.met + walked.unreached,
        };
        done.lost = there.saturating_sub(done.answers);
        Ok(known)
    }

    /// The scores of answers; and which answers are missing some.
    fn scores(
        &self,
        tx: &Transaction<'_>,
        answers: &HashMap<i64, ResponseKey>,
        scorers: &HashMap<i64, Key>,
    ) -> rusqlite::Result<HashSet<i64>> {
        let mut lacking = HashSet::new();
        let columns = "scorer, checksum, scores, reasons, response";
        let mut statement = self
            .connection
            .prepare(&format!("SELECT {columns} FROM scores WHERE response = ?1"))?;
        let mut sorted: Vec<_> = answers.iter().collect();
        sorted.sort_unstable_by_key(|(id, _)| **id);
        for (response, key) in sorted {
            // What cannot be read is made again.
            let copied = statement.query([response]).and_then(|mut rows| {
                let mut whole = true;
                while let Some(row) = rows.next()? {
                    let Some(scorer) = scorers.get(&row.get(0)?) else {
                        whole = false;
                        continue;
                    };
                    let texts = (row.get_ref(2)?.as_str()?, row.get_ref(3)?.as_str_or_null()?);
                    if scores_checksum(*key, *scorer, texts.0, texts.1) == row.get::<_, i64>(1)? {
                        put(tx, "scores", columns, row)?;
                    } else {
                        whole = false;
                    }
                }
                Ok(whole)
            });
            match copied {
                Ok(true) => continue,
                Ok(false) => {}
                Err(error) if is_damage(&error) => {}
                Err(error) => return Err(error),
            }
            lacking.insert(*response);
        }
        Ok(lacking)
    }

    fn runs(
        &self,
        tx: &Transaction<'_>,
        examples: &HashMap<i64, (i64, Key)>,
        answers: &HashMap<i64, ResponseKey>,
        done: &mut SalvagedRows,
    ) -> rusqlite::Result<()> {
        let mut whole = Vec::new();
        self.walk("runs", "number", run_table::COLUMNS, |row| {
            if let Some(found) = run_table::whole(&self.connection, row)? {
                put(tx, "runs", run_table::COLUMNS, row)?;
                whole.push(found);
            } else if let Some((found, sum)) = run_table::whole_1(&self.connection, row)? {
                let last = run_table::COLUMNS.split(',').count() - 1;
                put_with(tx, "runs", run_table::COLUMNS, row, &[(last, sum.into())])?;
                whole.push(found);
            }
            Ok(())
        })?;
        for found in whole {
            for (table, columns) in [
                ("run_systems", "run, number, name, system"),
                ("run_scorers", "run, number, scorer"),
            ] {
                // They have just been read, and the checksum of the run vouches for them.
                let sql = format!("SELECT {columns} FROM {table} WHERE run = ?1");
                let mut statement = self.connection.prepare(&sql)?;
                let mut rows = statement.query([found.run.number])?;
                while let Some(row) = rows.next()? {
                    put(tx, table, columns, row)?;
                }
            }
            let whole = self.rows(tx, &found, examples, answers)?;
            absorb(failed_wire::save(&self.connection, tx, &found.run))?;
            if !whole {
                done.torn += 1;
                if found.status == RunStatus::Finished {
                    run_table::finish(tx, &found.run, RunStatus::Interrupted, &[])?;
                }
            }
            done.runs += 1;
        }
        Ok(())
    }

    /// The rows of a run; whether all of them are there, with whole answers.
    fn rows(
        &self,
        tx: &Transaction<'_>,
        found: &WholeRun,
        examples: &HashMap<i64, (i64, Key)>,
        answers: &HashMap<i64, ResponseKey>,
    ) -> rusqlite::Result<bool> {
        /// The place of `example` among the columns of a row.
        const EXAMPLE: usize = 3;
        let list = RowColumns::LIST.replace("w.", "");
        let columns = format!("{list}, run");
        let planned = Origin::of(&found.config).planned;
        let planned = planned.and_then(|n| i64::try_from(n).ok());
        let top = planned.or_else(|| self.top("examples")).unwrap_or(0);
        let mut intact = true;
        // Every answer of a run is counted and scored before its row is written.
        let number = found.run.number;
        let last = "SELECT scorer FROM run_scorers WHERE run = ?1 ORDER BY number DESC LIMIT 1";
        let last: Option<i64> = tx.query_row(last, [number], |row| row.get(0)).optional()?;
        let mut scored =
            tx.prepare("SELECT EXISTS (SELECT 1 FROM scores WHERE response = ?1 AND scorer = ?2)")?;
        for system in 0..found.systems.len() {
            let which = format!("run = {number} AND system = {system}");
            let mut seen = HashSet::new();
            let walked =
                self.walk_where("run_rows", "position", &columns, (&which, top), |row| {
                    let (read, stored) = RowColumns::read(row)?;
                    let id = found.run.id().as_str();
                    let example = examples.get(&read.example);
                    let vouched = example.filter(|(_, key)| {
                        read.checksum(id, *key) == stored || read.checksum_1(id, *key) == stored
                    });
                    if let Some((stands, key)) = vouched
                        && seen.insert((read.position, read.repeat))
                    {
                        let read = RowColumns {
                            example: *stands,
                            ..read
                        };
                        let changed = [
                            (EXAMPLE, read.example.into()),
                            (RowColumns::N - 1, read.checksum(id, *key).into()),
                        ];
                        put_with(tx, "run_rows", &columns, row, &changed)?;
                        if let Some(response) = read.response {
                            intact &= answers.contains_key(&response);
                            if let Some(last) = last {
                                let is_scored: bool =
                                    scored.query_row((response, last), |row| row.get(0))?;
                                intact &= is_scored;
                            }
                        }
                    } else {
                        intact = false;
                    }
                    Ok(())
                })?;
            intact &= !walked.is_broken;
        }
        Ok(intact)
    }

    /// The largest number of a table that was ever given.
    fn top(&self, table: &str) -> Option<i64> {
        let sql = "SELECT max(seq) FROM sqlite_sequence WHERE name = ?1";
        let top = self.connection.query_row(sql, [table], |row| row.get(0));
        // A number that no file of this size can hold is damage itself.
        top.ok()
            .flatten()
            .filter(|top| (0..=self.most).contains(top))
    }

    /// Hands out every row of a table that can be reached.
    fn walk(
        &self,
        table: &str,
        number: &str,
        columns: &str,
        hand_out: impl FnMut(&Row<'_>) -> rusqlite::Result<()>,
    ) -> rusqlite::Result<TableWalk> {
        let top = self.top(table).unwrap_or(self.most);
        self.walk_where(table, number, columns, ("TRUE", top), hand_out)
    }

    /// Hands out the rows for which something holds, in the order of a number. Where the
    /// tree breaks off, the rows behind are asked for one by one, up to the last number.
    fn walk_where(
        &self,
        table: &str,
        number: &str,
        columns: &str,
        (which, top): (&str, i64),
        mut hand_out: impl FnMut(&Row<'_>) -> rusqlite::Result<()>,
    ) -> rusqlite::Result<TableWalk> {
        let head = format!("SELECT {columns}, {number} FROM {table} NOT INDEXED WHERE {which}");
        let place = columns.split(',').count();
        let after = format!("{head} AND {number} > ?1 ORDER BY {number}");
        let only = format!("{head} AND {number} = ?1");
        // A table that is not there at all has no rows.
        let (Ok(mut after), Ok(mut only)) = (
            self.connection.prepare(&after),
            self.connection.prepare(&only),
        ) else {
            return Ok(TableWalk::default());
        };
        let mut walked = TableWalk::default();
        let mut at = -1;
        let mut take = |row: &Row<'_>, walked: &mut TableWalk| -> rusqlite::Result<()> {
            walked.met += 1;
            absorb(hand_out(row))
        };
        loop {
            let mut rows = after.query([at])?;
            loop {
                match rows.next() {
                    Ok(None) => return Ok(walked),
                    Ok(Some(row)) => match row.get::<_, i64>(place) {
                        Ok(next) if next >= at => {
                            at = next;
                            take(row, &mut walked)?;
                        }
                        // Out of order: going on from here could go round in circles.
                        _ => break,
                    },
                    Err(error) if is_damage(&error) => break,
                    Err(error) => return Err(error),
                }
            }
            drop(rows);
            walked.is_broken = true;
            loop {
                at += 1;
                if at > top {
                    return Ok(walked);
                }
                let found = only
                    .query_row([at], |row| take(row, &mut walked))
                    .optional();
                match found {
                    Ok(Some(())) => break,
                    Ok(None) => {}
                    Err(error) if is_damage(&error) => walked.unreached += 1,
                    Err(error) => return Err(error),
                }
            }
        }
    }
}

/// What a walk through a table met.
#[derive(Debug, Default)]
struct TableWalk {
    /// Rows.
    met: u64,
    /// Numbers that cannot be reached; there may be rows.
    unreached: u64,
    /// Whether the tree breaks off somewhere.
    is_broken: bool,
}

/// A connection that reads as much as it can.
fn connect(path: &Path) -> Option<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags).ok()?;
    harden(&connection).ok()?;
    // Lets a file be read that is shorter than it says.
    connection
        .pragma_update(None, "writable_schema", true)
        .ok()?;
    let look = "SELECT 1 FROM systems, scorers, examples, responses, scores, runs, run_systems, \
                run_scorers, run_rows LIMIT 0";
    connection.prepare(look).ok()?;
    Some(connection)
}

/// Replaces the pages that say which tables there are by those of a fresh store. Stores
/// are all made in the same way, so their tables begin at the same pages; what does not
/// belong there passes no checksum.
fn graft(copy: &Path, fresh: &Path) -> std::io::Result<()> {
    use std::io::{Seek as _, SeekFrom, Write as _};
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY;
    let roots = || -> rusqlite::Result<HashSet<i64>> {
        let connection = Connection::open_with_flags(fresh, flags)?;
        let mut statement = connection.prepare("SELECT rootpage FROM sqlite_master")?;
        statement.query_map((), |row| row.get(0))?.collect()
    };
    let roots = roots().map_err(std::io::Error::other)?;
    let mut pages = std::fs::read(fresh)?;
    let size = match pages.get(16..18) {
        Some(&[high, low]) => usize::from(high) << 8 | usize::from(low),
        _ => return Err(std::io::ErrorKind::InvalidData.into()),
    };
    if size < 512 {
        return Err(std::io::ErrorKind::InvalidData.into());
    }
    let mut file = std::fs::File::options().write(true).open(copy)?;
    let n_pages = file.metadata()?.len() / size as u64;
    let n_pages = u32::try_from(n_pages).map_err(std::io::Error::other)?;
    // How many pages there are, and that none of them is free.
    pages[28..32].copy_from_slice(&n_pages.to_be_bytes());
    pages[32..40].fill(0);
    for (number, page) in (1_i64..).zip(pages.chunks_exact(size)) {
        if !roots.contains(&number) {
            let at = (number as u64 - 1) * size as u64;
            file.seek(SeekFrom::Start(at))?;
            file.write_all(page)?;
        }
    }
    Ok(())
}

/// Writes the first columns of a row as they are.
fn put(tx: &Transaction<'_>, table: &str, columns: &str, row: &Row<'_>) -> rusqlite::Result<()> {
    put_with(tx, table, columns, row, &[]).map(drop)
}

/// Writes the first columns of a row, some of them with another value; whether there was
/// none like it.
fn put_with(
    tx: &Transaction<'_>,
    table: &str,
    columns: &str,
    row: &Row<'_>,
    changed: &[(usize, Value)],
) -> rusqlite::Result<bool> {
    let n = columns.split(',').count();
    let values = (0..n).map(|at| row.get(at));
    let mut values: Vec<Value> = values.collect::<rusqlite::Result<_>>()?;
    for (at, value) in changed {
        values[*at] = value.clone();
    }
    let marks = vec!["?"; n].join(", ");
    // The first one counts, as in every store.
    let sql = format!("INSERT OR IGNORE INTO {table} ({columns}) VALUES ({marks})");
    let written = tx.prepare_cached(&sql)?.execute(params_from_iter(values))?;
    Ok(written == 1)
}

/// Damage costs the row that it is in.
fn absorb(done: rusqlite::Result<()>) -> rusqlite::Result<()> {
    match done {
        Err(error) if is_damage(&error) => Ok(()),
        done => done,
    }
}

fn parsed(row: &Row<'_>, at: usize) -> rusqlite::Result<serde_json::Value> {
    Ok(serde_json::from_str(row.get_ref(at)?.as_str()?).unwrap_or_default())
}
