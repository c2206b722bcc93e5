//! Segments: what a store has of a run as a file of its own, closed and complete, that others may
//! take away and merge. Numbers in it are those of the store; nobody relies on them.

use std::path::Path;

use rusqlite::Connection;

use super::run::Run;
use super::{Store, StoreError, failed_wire, open, schema, sql};

/// Which rows of a run a segment has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SegmentRows {
    /// Those that no segment has yet.
    New,
    /// All of them.
    All,
}

impl Store {
    /// Notes rows from now on, so that a segment can have the new ones.
    ///
    /// # Errors
    ///
    /// When the store has failed.
    pub(crate) fn note_new_rows(&self) -> Result<(), StoreError> {
        self.write(|writer| {
            writer.connection().execute_batch(
                "CREATE TEMP TABLE IF NOT EXISTS new_rows (run, system, position, repeat);
                 CREATE TEMP TRIGGER IF NOT EXISTS note_new_rows AFTER INSERT ON main.run_rows
                 BEGIN
                   INSERT INTO new_rows VALUES (NEW.run, NEW.system, NEW.position, NEW.repeat);
                 END;",
            )
        })
    }

    /// Writes a segment to a file that is not there yet; how many rows it has. Without rows there
    /// is no file, unless all were asked for: that a run is over is news.
    ///
    /// # Errors
    ///
    /// When the store has failed or the file cannot be written.
    pub(crate) fn write_segment(
        &self,
        run: &Run,
        rows: SegmentRows,
        path: &Path,
    ) -> Result<u64, StoreError> {
        let (number, path) = (run.number, path.to_owned());
        self.write(move |writer| {
            let connection = writer.connection();
            let pick = match rows {
                SegmentRows::New => "SELECT system, position, repeat FROM new_rows WHERE run = ?1",
                SegmentRows::All => "SELECT system, position, repeat FROM run_rows WHERE run = ?1",
            };
            connection.execute_batch("DROP TABLE IF EXISTS temp.picked_rows")?;
            let picked = connection.execute(
                &format!(
                    "CREATE TEMP TABLE picked_rows AS {}",
                    pick.replace("?1", &number.to_string())
                ),
                (),
            );
            picked?;
            let n: i64 =
                connection.query_row("SELECT count(*) FROM temp.picked_rows", (), |row| {
                    row.get(0)
                })?;
            if n == 0 && rows == SegmentRows::New {
                return Ok(0);
            }
            let fresh = Connection::open(&path)?;
            schema::create(&fresh)?;
            sql::put_views(&fresh)?;
            fresh.close().map_err(|(_, error)| error)?;
            connection.execute("ATTACH ?1 AS segment", [path.to_string_lossy()])?;
            let copied = copy(connection, number);
            // Whatever happened, the next segment needs the name.
            connection.execute_batch("DETACH segment; DROP TABLE IF EXISTS temp.picked_rows")?;
            copied?;
            Ok(u64::try_from(n).unwrap_or_default())
        })
    }
}

/// Copies the rows that were picked, with all that they refer to.
fn copy(connection: &mut Connection, run: i64) -> rusqlite::Result<()> {
    let tx = connection.transaction()?;
    for statement in [
        "INSERT INTO segment.runs SELECT * FROM main.runs WHERE number = ?1",
        "INSERT INTO segment.run_systems SELECT * FROM main.run_systems WHERE run = ?1",
        "INSERT INTO segment.run_scorers SELECT * FROM main.run_scorers WHERE run = ?1",
        "INSERT INTO segment.systems SELECT * FROM main.systems
         WHERE id IN (SELECT system FROM main.run_systems WHERE run = ?1)",
        "INSERT INTO segment.scorers SELECT * FROM main.scorers
         WHERE id IN (SELECT scorer FROM main.run_scorers WHERE run = ?1)",
        "INSERT INTO segment.run_rows SELECT w.* FROM temp.picked_rows p JOIN main.run_rows w
         ON w.run = ?1 AND w.system = p.system AND w.position = p.position AND w.repeat = p.repeat",
        "INSERT INTO segment.examples SELECT * FROM main.examples
         WHERE id IN (SELECT example FROM segment.run_rows WHERE ?1 IS NOT NULL)",
        "INSERT INTO segment.responses SELECT * FROM main.responses
         WHERE id IN (SELECT response FROM segment.run_rows WHERE ?1 IS NOT NULL)",
        "INSERT INTO segment.scores SELECT * FROM main.scores
         WHERE response IN (SELECT id FROM segment.responses WHERE ?1 IS NOT NULL)",
        "DELETE FROM temp.new_rows WHERE run = ?1",
    ] {
        tx.execute(statement, [run])?;
    }
    if failed_wire::is_there(&tx)? {
        failed_wire::create(&tx, "segment")?;
        tx.execute(
            "INSERT INTO segment.failed_wire SELECT f.* FROM segment.run_rows w
             JOIN main.failed_wire f ON f.run = w.run AND f.system = w.system
               AND f.position = w.position AND f.repeat = w.repeat
             WHERE w.run = ?1 AND w.failure_kind IS NOT NULL",
            [run],
        )?;
    }
    tx.commit()
}

impl Store {
    /// Opens the store of a folder to look things up, and never writes to it: for stores that
    /// belong to somebody else.
    ///
    /// # Errors
    ///
    /// When there is none, or it cannot be read.
    pub fn source(dir: &Path) -> Result<super::MergeSource, StoreError> {
        super::MergeSource::open(&open::file(dir))
    }
}
