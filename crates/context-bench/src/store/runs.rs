//! The runs of a store: begun, ended, listed, read row by row, and removed.

use serde_json::Value;

use super::live::{self, Lease};
use super::rows::{RunRows, StoredRow};
use super::run::{Removed, Run, RunStart, RunStatus, StoredRun};
use super::run_table::RowCount;
use super::{Cause, Store, StoreError, Tally, open, run_table, tally};
use crate::model::ExampleId;

impl Store {
    /// Begins a run. Blocks the thread until it is on disk.
    ///
    /// # Errors
    ///
    /// When the store has failed.
    pub(crate) fn begin_run(&self, start: RunStart) -> Result<Run, StoreError> {
        let path = self.0.path.clone();
        let (run, lease) = self.write(move |writer| {
            writer.transaction(|tx, ids| {
                let run = run_table::begin(tx, ids, &start)?;
                // Before anybody can see the run, so that it never looks dead.
                let lease = Lease::take(&path, run.id());
                Ok((run, lease))
            })
        })?;
        if let Some(lease) = lease {
            self.leases().insert(run.number, lease);
        }
        Ok(run)
    }

    /// Whether a process that lives, this one or another, works on a run.
    pub fn is_live(&self, run: &Run) -> bool {
        live::is_held(&self.0.path, &run.id)
    }

    /// Asks the process that works on a run to stop, as Ctrl-C in its terminal would; its id.
    /// Only a process that holds the lease of the run at this moment is asked.
    ///
    /// # Errors
    ///
    /// When no process works on the run, or it cannot be told which or be asked.
    pub fn interrupt(&self, run: &Run) -> Result<u32, StoreError> {
        let id = run.id.to_string();
        live::interrupt(&self.0.path, &run.id)
            .map_err(|problem| StoreError::NotStopped { id, problem })
    }

    #[cfg(test)]
    pub(crate) fn finish_run(&self, run: &Run, status: RunStatus) -> Result<(), StoreError> {
        self.finish_run_with(run, status, Vec::new())
    }

    /// Marks a run as ended, after everything put before, and leaves one file that
    /// holds everything. Blocks until it is on disk.
    ///
    /// # Errors
    ///
    /// When the store has failed.
    /// `notes` are members that its settings get.
    pub(crate) fn finish_run_with(
        &self,
        run: &Run,
        status: RunStatus,
        notes: Vec<(&'static str, Value)>,
    ) -> Result<(), StoreError> {
        let ended = run.clone();
        let finished = self.write(move |writer| {
            let there =
                writer.transaction(|tx, _| run_table::finish(tx, &ended, status, &notes))?;
            writer.fold();
            Ok(there)
        });
        self.leases().remove(&run.number);
        if open::identity(&self.0.path) != self.0.identity {
            return Err(StoreError::Failed {
                reason: "another file took its place, as another process found it damaged".into(),
                cause: Cause::Damaged,
            });
        }
        match finished? {
            true => Ok(()),
            false => Err(StoreError::Gone {
                id: run.id.to_string(),
            }),
        }
    }

    /// All runs, oldest first.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    pub fn runs(&self) -> Result<Vec<StoredRun>, StoreError> {
        self.list(RowCount::Counted)
    }

    /// All runs, oldest first, without the number of their rows, which is 0: for lists that are
    /// there at once however large the store is.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    pub fn runs_uncounted(&self) -> Result<Vec<StoredRun>, StoreError> {
        self.list(RowCount::LeftOut)
    }

    fn list(&self, rows: RowCount) -> Result<Vec<StoredRun>, StoreError> {
        let runs =
            self.read(|reader, damage| run_table::list(&reader.connection, "", rows, damage))?;
        Ok(self.alive_or_killed(runs))
    }

    /// Distinguishes runs that are still going from those whose process is gone.
    fn alive_or_killed(&self, mut runs: Vec<StoredRun>) -> Vec<StoredRun> {
        for run in &mut runs {
            if run.status == RunStatus::Running && !self.is_live(&run.run) {
                run.status = RunStatus::Killed;
            }
        }
        runs
    }

    /// The run with that id, or the only one whose id begins like that.
    ///
    /// # Errors
    ///
    /// When there is none, or more than one, or the store cannot be read.
    pub fn run(&self, id: &str) -> Result<StoredRun, StoreError> {
        self.one(id, RowCount::Counted)
    }

    /// The same without the number of its rows, which is 0: counting a million takes a second.
    ///
    /// # Errors
    ///
    /// As for [`run`](Self::run).
    pub fn run_uncounted(&self, id: &str) -> Result<StoredRun, StoreError> {
        self.one(id, RowCount::LeftOut)
    }

    fn one(&self, id: &str, rows: RowCount) -> Result<StoredRun, StoreError> {
        let runs =
            self.read(|reader, damage| run_table::list(&reader.connection, id, rows, damage))?;
        run_table::pick(id, self.alive_or_killed(runs))
    }

    /// The rows of a run: grouped by system, in dataset order, with the scores of
    /// the run's evaluators.
    pub fn run_rows(&self, run: &StoredRun) -> RunRows {
        RunRows::new(self.clone(), run.clone())
    }

    /// Counts the rows of a run, system by system, without looking at answers; `field`
    /// names the score of a dataset. Rows are not checked for damage.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    pub fn tally(
        &self,
        run: &StoredRun,
        field: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Vec<Tally>, StoreError> {
        let n_systems = run.systems.len();
        self.read(|reader, _| tally::tally(&reader.connection, &run.run, n_systems, field))
    }

    /// The rows of a run whose example has an id that is written like that: grouped by
    /// system, in dataset order.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    pub fn rows_of(&self, run: &StoredRun, id: &str) -> Result<Vec<StoredRow>, StoreError> {
        let places: Vec<(i64, i64, i64)> = self.read(|reader, _| {
            reader
                .connection
                .prepare_cached(
                    "SELECT system, position, repeat FROM run_rows
                     WHERE run = ?1 AND CAST(example_id AS TEXT) = ?2
                     ORDER BY system, position, repeat",
                )?
                .query_map((run.run.number, id), |row| {
                    Ok((row.get(0)?, row.get(1)?, row.get(2)?))
                })?
                .collect()
        })?;
        let mut found = Vec::with_capacity(places.len());
        for (system, position, repeat) in places {
            let mut rows = self.run_rows(run);
            rows.start_after((system, position, repeat - 1));
            // One that is damaged is left out, and the next is of another example.
            if let Some(row) = rows.next().transpose()?
                && row.example_id.to_string() == id
            {
                found.push(row);
            }
        }
        Ok(found)
    }

    /// The ids of the examples of a run, each once, at most so many.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    pub fn example_ids(&self, run: &StoredRun, most: usize) -> Result<Vec<ExampleId>, StoreError> {
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        self.read(|reader, _| {
            reader
                .connection
                .prepare_cached("SELECT DISTINCT example_id FROM run_rows WHERE run = ?1 LIMIT ?2")?
                .query_map((run.run.number, most), |row| {
                    Ok(match row.get_ref(0)? {
                        rusqlite::types::ValueRef::Integer(n) => ExampleId::Int(n),
                        text => ExampleId::from(text.as_str()?),
                    })
                })?
                .collect()
        })
    }

    /// Removes a run, the responses that no other run refers to, and the examples
    /// that then are not needed. Blocks until it is done.
    ///
    /// # Errors
    ///
    /// When the store has failed, or the run is still in progress.
    pub fn remove_run(&self, run: &Run) -> Result<Removed, StoreError> {
        if self.is_live(run) {
            return Err(StoreError::Live {
                id: run.id.to_string(),
            });
        }
        let run = run.clone();
        self.write(move |writer| {
            let before = writer.reusable()?;
            let removed = writer.transaction(|tx, ids| {
                // Nothing that is remembered may be among what goes.
                ids.doubt();
                run_table::remove(tx, &run)
            })?;
            let bytes = writer.reusable()?.saturating_sub(before);
            Ok(Removed { bytes, ..removed })
        })
    }
}
