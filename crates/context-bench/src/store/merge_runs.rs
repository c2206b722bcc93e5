//! Runs of another store, taken over. Shards of one plan become one run, whose columns follow from
//! the table `shards` and from its rows, so that they too do not depend on any order.

use rusqlite::{OptionalExtension as _, Row, Transaction, params};
use serde_json::{Map, Value};

use super::checksum::Checksum;
use super::columns::RowColumns;
use super::failed_wire;
use super::insert::Ids;
use super::merge::{Merge, MergeSource, Merged};
use super::origin::{MergeOrigin, Origin, ShardOrigin};
use super::run::{Run, RunId, RunStatus};
use super::run_table::{self, NewRunColumns, WholeRun, unix_now};
use super::{Store, StoreError};

/// The members of a run's settings that are about what one process saw.
const OF_ONE_PROCESS: [&str; 2] = [crate::model::WIRE, "stopping"];

/// Which of so many shards are not covered by these (number and count of each).
pub(crate) type Missing = fn(u32, &[(u32, u32)]) -> Vec<u32>;

/// What became of a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct MergedPlan {
    /// The run that its shards are merged into.
    pub run: String,
    /// How much of it is there.
    pub origin: MergeOrigin,
}

impl MergeSource {
    /// Which parts of which runs a file holds.
    ///
    /// # Errors
    ///
    /// When it cannot be read.
    pub fn origins(&self) -> Result<Vec<ShardOrigin>, StoreError> {
        let mut origins = Vec::new();
        let sql = "SELECT config FROM runs UNION ALL SELECT config FROM shards";
        let mut statement = self.connection.prepare(sql)?;
        let mut rows = statement.query(())?;
        while let Some(row) = rows.next()? {
            let config: Map<String, Value> =
                serde_json::from_str(&row.get::<_, String>(0)?).unwrap_or_default();
            origins.extend(Origin::of(&config).shard);
        }
        Ok(origins)
    }
}

impl Store {
    /// Merges another store: its answers, scores and runs. `source` is a name by which it need not be
    /// read again; a store that may still change has none.
    ///
    /// # Errors
    ///
    /// When either store cannot be used.
    pub fn merge(&self, from: MergeSource, source: Option<&str>) -> Result<Merged, StoreError> {
        let source = source.map(str::to_owned);
        self.write(move |writer| {
            writer.transaction(|tx, ids| {
                ids.doubt();
                let mut merge = Merge::new(tx, &from.connection);
                merge.answers()?;
                merge.runs(ids)?;
                if let Some(source) = &source {
                    tx.execute(
                        "INSERT OR IGNORE INTO merged (source, merged_at) VALUES (?1, ?2)",
                        (source, unix_now()),
                    )?;
                }
                Ok(merge.done)
            })
        })
    }

    /// Whether a source was merged before.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    pub fn has_merged(&self, source: &str) -> Result<bool, StoreError> {
        self.read(|reader, _| {
            let sql = "SELECT EXISTS (SELECT 1 FROM merged WHERE source = ?1)";
            let mut statement = reader.connection.prepare_cached(sql)?;
            statement.query_row([source], |row| row.get(0))
        })
    }

    /// The shards that were merged so far.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    pub fn shard_origins(&self) -> Result<Vec<ShardOrigin>, StoreError> {
        self.read(|reader, _| {
            let mut statement = reader.connection.prepare("SELECT config FROM shards")?;
            let mut rows = statement.query(())?;
            let mut origins = Vec::new();
            while let Some(row) = rows.next()? {
                let config: Map<String, Value> =
                    serde_json::from_str(row.get_ref(0)?.as_str()?).unwrap_or_default();
                origins.extend(Origin::of(&config).shard);
            }
            Ok(origins)
        })
    }

    /// Judges how whole the plans are whose shards were merged.
    ///
    /// # Errors
    ///
    /// When the store has failed.
    pub(crate) fn settle_plans(&self, missing: Missing) -> Result<Vec<MergedPlan>, StoreError> {
        self.write(move |writer| {
            writer.transaction(|tx, ids| {
                let mut statement = tx.prepare("SELECT DISTINCT plan FROM shards ORDER BY plan")?;
                let plans: Vec<String> = statement
                    .query_map((), |row| row.get(0))?
                    .collect::<rusqlite::Result<_>>()?;
                let mut settled = Vec::new();
                for plan in plans {
                    settled.extend(settle(tx, ids, &plan, missing)?);
                }
                Ok(settled)
            })
        })
    }
}

/// The id of the run that shards of a plan become. It says nothing but the plan, so that it is the
/// same whichever shard comes first.
pub(super) fn merged_id(plan: &str) -> String {
    format!("merged-{}", plan.get(..12).unwrap_or(plan))
}

/// A shard as the table `shards` has it.
struct ShardRow {
    plan: String,
    run: String,
    shard: u32,
    shards: u32,
    created_at: i64,
    finished_at: Option<i64>,
    status: String,
    command: String,
    config: String,
}

impl ShardRow {
    const LIST: &'static str =
        "plan, run, shard, shards, created_at, finished_at, status, command, config, checksum";

    /// The shard of a row, if it is what was written.
    fn read(row: &Row<'_>) -> rusqlite::Result<Option<Self>> {
        let shard = Self {
            plan: row.get(0)?,
            run: row.get(1)?,
            shard: row.get(2)?,
            shards: row.get(3)?,
            created_at: row.get(4)?,
            finished_at: row.get(5)?,
            status: row.get(6)?,
            command: row.get(7)?,
            config: row.get(8)?,
        };
        let stored: i64 = row.get(9)?;
        Ok((shard.checksum() == stored).then_some(shard))
    }

    fn checksum(&self) -> i64 {
        Checksum::of("shards")
            .text(Some(&self.plan))
            .text(Some(&self.run))
            .int(self.shard.into())
            .int(self.shards.into())
            .int(self.created_at)
            .maybe_int(self.finished_at)
            .text(Some(&self.status))
            .text(Some(&self.command))
            .text(Some(&self.config))
            .finish()
    }

    /// Writes it, unless a later state of the same run is there.
    fn put(&self, tx: &Transaction<'_>) -> rusqlite::Result<()> {
        tx.prepare_cached(
            "INSERT INTO shards (plan, run, shard, shards, created_at, finished_at, status, command,
               config, checksum) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
             ON CONFLICT (plan, run) DO UPDATE SET shard = excluded.shard, shards = excluded.shards,
               created_at = excluded.created_at, finished_at = excluded.finished_at,
               status = excluded.status, command = excluded.command, config = excluded.config,
               checksum = excluded.checksum
             WHERE (coalesce(excluded.finished_at, -1), excluded.checksum)
               > (coalesce(shards.finished_at, -1), shards.checksum)",
        )?
        .execute(params![
            self.plan,
            self.run,
            self.shard,
            self.shards,
            self.created_at,
            self.finished_at,
            self.status,
            self.command,
            self.config,
            self.checksum(),
        ])?;
        Ok(())
    }
}

impl Merge<'_> {
    /// Takes over shards and runs, with their rows.
    pub(super) fn runs(&mut self, ids: &mut Ids) -> rusqlite::Result<()> {
        let sql = format!("SELECT {} FROM shards", ShardRow::LIST);
        self.each(&sql, (), |this, row| {
            let Some(shard) = ShardRow::read(row)? else {
                return Ok(false);
            };
            shard.put(this.tx)?;
            Ok(true)
        })?;
        let mut runs = Vec::new();
        let sql = format!("SELECT {} FROM runs", run_table::COLUMNS);
        self.each(&sql, (), |this, row| {
            let Some(whole) = run_table::whole(this.source, row)? else {
                return Ok(false);
            };
            let times: (i64, Option<i64>) = (row.get(2)?, row.get(3)?);
            let texts: (String, String) = (row.get(5)?, row.get(6)?);
            runs.push((whole, times, texts));
            Ok(true)
        })?;
        for (whole, (created_at, finished_at), (command, config)) in runs {
            let origin = Origin::of(&whole.config);
            let id = match (origin.shard, origin.merge) {
                (Some(shard), _) => {
                    let row = ShardRow {
                        plan: shard.plan.clone(),
                        run: whole.run.id().to_string(),
                        shard: shard.index,
                        shards: shard.count,
                        created_at,
                        finished_at,
                        status: whole.status.as_str().to_owned(),
                        command: command.clone(),
                        config: config.clone(),
                    };
                    row.put(self.tx)?;
                    merged_id(&shard.plan)
                }
                _ => whole.run.id().to_string(),
            };
            let columns = NewRunColumns {
                id: &id,
                created_at,
                finished_at,
                status: whole.status,
                command: &command,
                config: &config,
                systems: &whole.systems,
                scorers: &whole.scorers,
            };
            let number = run_table::put_if_later(self.tx, ids, &columns)?;
            let id = RunId(id.into());
            self.rows(&whole, created_at, &Run { number, id })?;
        }
        self.follow_answers()
    }

    /// The rows of a run. An answer is better than a failure, one of the run itself better than a
    /// reused one, and a later failure says more than an earlier one.
    fn rows(&mut self, run: &WholeRun, created_at: i64, target: &Run) -> rusqlite::Result<()> {
        let (number, id) = (target.number, target.id.as_str());
        let has_facts = failed_wire::is_there(self.source)?;
        let sql = format!(
            "SELECT {}, f.attempted_at FROM run_rows w LEFT JOIN failures f ON f.run = w.run
               AND f.system = w.system AND f.position = w.position AND f.repeat = w.repeat
             WHERE w.run = ?1",
            RowColumns::LIST
        );
        self.each(&sql, [run.run.number], |this, row| {
            let (columns, stored) = RowColumns::read(row)?;
            let Some((example, key)) = this.examples.get(&columns.example).copied() else {
                return Ok(false);
            };
            if columns.checksum(run.run.id().as_str(), key) != stored {
                return Ok(false);
            }
            let response = match columns.response {
                None if columns.failure_kind.is_none() => return Ok(false),
                None => None,
                Some(response) => match this.responses.get(&response) {
                    Some(response) => Some(*response),
                    // It is damaged, and was counted.
                    None => return Ok(true),
                },
            };
            let at: Option<i64> = row.get(RowColumns::N)?;
            let at = at.unwrap_or(created_at);
            let contested = response.filter(|response| this.contested.contains(response));
            let tokens = match contested {
                Some(response) => this.output_tokens(number, response)?,
                None => None,
            };
            let new = RowColumns {
                example,
                response,
                output_tokens: tokens.unwrap_or(columns.output_tokens),
                ..columns
            };
            let checksum = new.checksum(id, key);
            let rank = |failed: bool, cached: bool, at: i64, checksum: i64| match failed {
                true => (1, -at, checksum),
                false => (0, i64::from(cached), checksum),
            };
            let failed = new.failure_kind.is_some();
            let place = (number, new.system, new.position, new.repeat);
            let there: Option<(i64, i64, i64)> = this
                .tx
                .prepare_cached(
                    "SELECT w.failure_kind IS NOT NULL, w.cached, coalesce(f.attempted_at, 0),
                       w.checksum
                     FROM run_rows w LEFT JOIN failures f ON f.run = w.run AND f.system = w.system
                       AND f.position = w.position AND f.repeat = w.repeat
                     WHERE w.run = ?1 AND w.system = ?2 AND w.position = ?3 AND w.repeat = ?4",
                )?
                .query_row(place, |row| {
                    Ok(rank(row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
                })
                .optional()?;
            if there.is_some_and(|there| there <= rank(failed, new.cached, at, checksum)) {
                return Ok(true);
            }
            this.tx.prepare_cached(PUT_ROW)?.execute(params![
                number,
                new.system,
                new.position,
                new.repeat,
                new.example,
                new.response,
                new.example_id,
                new.dataset,
                new.input_tokens,
                new.output_tokens,
                new.cached,
                new.failure_kind,
                new.failure_message,
                new.latency,
                new.call.attempts,
                new.call.retry_wait,
                checksum,
            ])?;
            let sql = match failed {
                true => "INSERT OR REPLACE INTO failures VALUES (?1, ?2, ?3, ?4, ?5)",
                false => {
                    "DELETE FROM failures WHERE run = ?1 AND system = ?2 AND position = ?3
                       AND repeat = ?4 AND ?5 IS NOT NULL"
                }
            };
            this.tx
                .prepare_cached(sql)?
                .execute((place.0, place.1, place.2, place.3, at))?;
            let place = (new.system, new.position, new.repeat);
            let facts = match failed && has_facts {
                true => failed_wire::read_text(this.source, &run.run, place)?,
                false => Ok(None),
            };
            match &facts {
                Ok(Some(facts)) => failed_wire::put(this.tx, target, place, facts)?,
                // They were those of another attempt.
                _ if there.is_some() && failed_wire::is_there(this.tx)? => {
                    failed_wire::remove_row(this.tx, number, place)?;
                }
                _ => {}
            }
            this.done.damaged += u64::from(facts.is_err());
            this.done.rows += 1;
            Ok(true)
        })
    }
}

const PUT_ROW: &str = "INSERT OR REPLACE INTO run_rows (run, system, position, repeat, example,
   response, example_id, dataset, input_tokens, output_tokens, cached, failure_kind,
   failure_message, latency_s, attempts, retry_wait_s, checksum)
 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17)";

/// Writes the run of a plan from what is known of its shards.
fn settle(
    tx: &Transaction<'_>,
    ids: &mut Ids,
    plan: &str,
    missing: Missing,
) -> rusqlite::Result<Option<MergedPlan>> {
    let sql = format!(
        "SELECT {} FROM shards WHERE plan = ?1 ORDER BY created_at, run",
        ShardRow::LIST
    );
    let mut statement = tx.prepare_cached(&sql)?;
    let mut shards: Vec<ShardRow> = Vec::new();
    let mut rows = statement.query([plan])?;
    while let Some(row) = rows.next()? {
        shards.extend(ShardRow::read(row)?);
    }
    let (Some(first), Some(last)) = (shards.first(), shards.last()) else {
        return Ok(None);
    };
    let origin_of = |shard: &ShardRow| {
        let config: Option<Map<String, Value>> = serde_json::from_str(&shard.config).ok();
        config.and_then(|config| Origin::of(&config).shard)
    };
    let id = merged_id(plan);
    let sql = "SELECT number FROM runs WHERE id = ?1";
    let number: Option<i64> = tx.query_row(sql, [&id], |row| row.get(0)).optional()?;
    let Some(number) = number else {
        return Ok(None);
    };
    let (systems, scorers) = run_table::entries(tx, number)?;
    let (rows, failed): (i64, i64) = tx.query_row(
        "SELECT count(*), coalesce(sum(failure_kind IS NOT NULL), 0) FROM run_rows WHERE run = ?1",
        [number],
        |row| Ok((row.get(0)?, row.get(1)?)),
    )?;
    let count = |n: i64| u64::try_from(n).unwrap_or_default();
    let finished: Vec<(u32, u32)> = shards
        .iter()
        .filter(|shard| shard.status == RunStatus::Finished.as_str())
        .map(|shard| (shard.shard, shard.shards))
        .collect();
    let data = shards.iter().filter_map(|one| origin_of(one)?.data).next();
    let merge = MergeOrigin {
        plan: plan.to_owned(),
        parts: origin_of(first).map(|one| one.parts).unwrap_or_default(),
        shards: last.shards,
        missing: missing(last.shards, &finished),
        rows: count(rows),
        failed: count(failed),
        rows_planned: data.as_ref().map(|data| data.rows * systems.len() as u64),
        data,
    };
    let mut config: Map<String, Value> = serde_json::from_str(&first.config).unwrap_or_default();
    for member in OF_ONE_PROCESS {
        config.shift_remove(member);
    }
    Origin::take(&mut config);
    let whole = merge.is_whole();
    let origin = Origin {
        planned: merge
            .data
            .as_ref()
            .and_then(|data| usize::try_from(data.rows).ok()),
        merge: Some(merge.clone()),
        ..Origin::default()
    };
    origin.put(&mut config);
    let columns = NewRunColumns {
        id: &id,
        created_at: first.created_at,
        finished_at: shards.iter().filter_map(|shard| shard.finished_at).max(),
        status: match whole {
            true => RunStatus::Finished,
            false => RunStatus::Interrupted,
        },
        command: &first.command,
        config: &serde_json::to_string(&config).unwrap_or_default(),
        systems: &systems,
        scorers: &scorers,
    };
    run_table::put_run(tx, ids, &columns)?;
    Ok(Some(MergedPlan {
        run: id,
        origin: merge,
    }))
}
