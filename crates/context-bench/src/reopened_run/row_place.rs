//! Single rows of a stored run, by their place, for readers that never hold all of them.

use std::sync::Arc;

use super::{ReopenedRun, result_row};
use crate::model::EvalRow;
use crate::runner::Wiring;
use crate::store::{StoreError, StoredRow};

/// Where a row of a run stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RowPlace {
    /// Number of the system within the run.
    pub system: i64,
    /// Position of the example in the dataset.
    pub position: i64,
    /// Which repeat, from 0.
    pub repeat: i64,
}

impl RowPlace {
    /// Before the first row of a system.
    pub fn before(system: usize) -> Self {
        Self {
            system: i64::try_from(system).unwrap_or(i64::MAX),
            position: -1,
            repeat: -1,
        }
    }

    fn of(row: &StoredRow) -> Self {
        Self {
            system: i64::try_from(row.system).unwrap_or(i64::MAX),
            position: i64::try_from(row.position).unwrap_or(i64::MAX),
            repeat: i64::from(row.repeat),
        }
    }
}

impl ReopenedRun {
    /// Rows without their texts, from the one after a place on.
    pub(crate) fn rows_after<'a>(
        &'a self,
        after: RowPlace,
        wiring: &'a Wiring,
    ) -> impl Iterator<Item = Result<(RowPlace, EvalRow), StoreError>> + 'a {
        let names: Vec<Arc<str>> = self.run.systems.iter().map(|s| (*s.name).into()).collect();
        let mut rows = self.store.run_rows(&self.run);
        rows.start_after((after.system, after.position, after.repeat));
        rows.filter_map(move |stored| match stored {
            Err(error) => Some(Err(error)),
            Ok(stored) => {
                let name = Arc::clone(names.get(stored.system)?);
                let row = result_row(name, &stored, wiring);
                Some(Ok((RowPlace::of(&stored), row)))
            }
        })
    }

    /// The row at a place with what is kept of its texts; `None` when it is damaged or not there.
    pub(crate) fn row_at(
        &self,
        place: RowPlace,
        wiring: &Wiring,
    ) -> Result<Option<EvalRow>, StoreError> {
        let mut rows = self.store.run_rows(&self.run);
        rows.start_after((place.system, place.position, place.repeat - 1));
        rows.read_few(1);
        let Some(stored) = rows.next().transpose()? else {
            return Ok(None);
        };
        let name = self.run.systems.get(stored.system);
        let Some(name) = name.filter(|_| RowPlace::of(&stored) == place) else {
            return Ok(None);
        };
        let name: Arc<str> = (*name.name).into();
        let (row, _) = self.whole_row(&name, &stored, wiring, false)?;
        Ok(Some(row))
    }
}
