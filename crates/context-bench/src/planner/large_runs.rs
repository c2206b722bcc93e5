//! Two stored runs beside each other when they are too large to be held: in the score that verdicts are
//! about, from a few bytes of each row, with the texts of what flipped read one by one.

use super::compared_runs::remarks;
use super::row_reader::RowReader;
use super::{PlanError, ReopenedPlan, Surroundings};
use crate::comparison::{
    ContentKey, Flip, Matched, RunComparison, ScoreColumns, by_key, compare_columns,
};
use crate::example_keys::ExampleKeys;
use crate::reopened_run::RowPlace;
use crate::store::StoreError;

/// The score of every row of a system, in their order.
#[derive(Default)]
struct Column {
    /// Position and repeat.
    places: Vec<(u32, u16)>,
    quality: Vec<f64>,
    datasets: Vec<u16>,
}

/// Compares systems of the same name, or the only ones, of a run and a later one, with so many flips of
/// each direction. Rows are matched as [`compare_runs`](super::compare_runs) matches them. Blocks while
/// it reads.
///
/// # Errors
///
/// When a store cannot be read, or nothing belongs together.
pub fn compare_large_runs(
    base: &ReopenedPlan,
    new: &ReopenedPlan,
    flips: usize,
    around: &Surroundings,
) -> Result<RunComparison, PlanError> {
    let names = |run: &ReopenedPlan| -> Vec<String> {
        let systems = run.stored.run.systems.iter();
        systems.map(|one| one.name.clone()).collect()
    };
    let (old_names, new_names) = (names(base), names(new));
    let mut pairs: Vec<(usize, usize)> = Vec::new();
    for (at, name) in new_names.iter().enumerate() {
        let same = old_names.iter().position(|old| old == name);
        let only = (old_names.len() == 1 && new_names.len() == 1).then_some(0);
        pairs.extend(same.or(only).map(|old| (old, at)));
    }
    if pairs.is_empty() {
        let what = format!(
            "no system of the other run has a name of run {}",
            base.stored.run.run.id()
        );
        return Err(PlanError::new(what).with_hint(
            "`context-bench compare BASE NEW --baseline NAME` compares systems of other names",
        ));
    }
    let ExampleKeys {
        runs: keys,
        prompts_differ,
    } = ExampleKeys::read(&[&base.stored, &new.stored])?;
    let readers = [base.row_reader(around)?, new.row_reader(around)?];
    let mut tags: Vec<String> = Vec::new();
    let settings = readers[0].comparison_settings();
    let mut columns = Vec::with_capacity(pairs.len());
    for (old, new) in pairs {
        let old_column = Column::read(&readers[0], old, &mut tags)?;
        let new_column = Column::read(&readers[1], new, &mut tags)?;
        let beside = Beside {
            readers: [&readers[0], &readers[1]],
            columns: [&old_column, &new_column],
            systems: [old, new],
            threshold: settings.threshold,
        };
        columns.push(beside.scores(keys_of(&keys, 0, old), keys_of(&keys, 1, new), flips)?);
    }
    let found = compare_columns(
        columns.into_iter(),
        &tags,
        readers[0].score_name(),
        settings,
    );
    let mut found = found.ok_or_else(|| PlanError::new("there is nothing to compare"))?;
    let differs = prompts_differ.get(1).copied().unwrap_or(false);
    for system in &mut found.systems {
        system.notes = remarks(base, new, differs);
    }
    Ok(found)
}

fn keys_of(keys: &[Vec<Vec<ContentKey>>], run: usize, system: usize) -> &[ContentKey] {
    let found = keys.get(run).and_then(|run| run.get(system));
    found.map_or(&[], Vec::as_slice)
}

impl Column {
    fn read(reader: &RowReader, system: usize, tags: &mut Vec<String>) -> Result<Self, StoreError> {
        let mut column = Self::default();
        let first = RowPlace::before(system);
        for row in reader.rows_after(first) {
            let (place, row) = row?;
            if place.system != first.system {
                break;
            }
            let known = tags.iter().position(|tag| **tag == *row.dataset);
            let tag = known.unwrap_or_else(|| {
                tags.push(row.dataset.to_string());
                tags.len() - 1
            });
            column.places.push((
                u32::try_from(place.position).unwrap_or(u32::MAX),
                u16::try_from(place.repeat).unwrap_or(u16::MAX),
            ));
            column
                .quality
                .push(reader.quality(&row).unwrap_or(f64::NAN));
            column.datasets.push(u16::try_from(tag).unwrap_or(u16::MAX));
        }
        Ok(column)
    }
}

/// A system of one run beside one of another.
struct Beside<'a> {
    readers: [&'a RowReader; 2],
    columns: [&'a Column; 2],
    systems: [usize; 2],
    threshold: f64,
}

impl Beside<'_> {
    fn scores(
        &self,
        old_keys: &[ContentKey],
        new_keys: &[ContentKey],
        flips: usize,
    ) -> Result<ScoreColumns, StoreError> {
        let [old, new] = self.columns;
        let pairs = by_key(
            old_keys.iter().take(old.quality.len()),
            new_keys.iter().take(new.quality.len()),
        );
        let mut found = ScoreColumns {
            baseline: self.who(0),
            system: self.who(1),
            matched: Matched::of(pairs.len(), old.quality.len(), new.quality.len()),
            ..ScoreColumns::default()
        };
        // Attempts at one example are drawn together.
        let is_repeated = old.places.iter().any(|(_, repeat)| *repeat > 0);
        let (mut lost, mut gained) = (Vec::new(), Vec::new());
        for (was, is) in &pairs {
            let (was, is) = (*was as usize, *is as usize);
            let values = (old.quality[was], new.quality[is]);
            found.values.push(values);
            found.datasets.push(old.datasets[was]);
            if is_repeated {
                found.clusters.push(old.places[was].0);
            }
            let passed = (values.0 >= self.threshold, values.1 >= self.threshold);
            let list = match passed {
                _ if values.0.is_nan() || values.1.is_nan() => continue,
                (true, false) => &mut lost,
                (false, true) => &mut gained,
                _ => continue,
            };
            if list.len() < flips {
                list.extend(self.flip(was, is, values)?);
            }
        }
        lost.append(&mut gained);
        found.flips = lost;
        Ok(found)
    }

    fn who(&self, side: usize) -> (String, Option<String>) {
        let run = &self.readers[side].run().run;
        let name = run.systems.get(self.systems[side]);
        let name = name.map(|one| one.name.clone()).unwrap_or_default();
        (name, Some(run.run.id().to_string()))
    }

    /// The flip with its texts; `None` when a row can no longer be read.
    fn flip(&self, was: usize, is: usize, values: (f64, f64)) -> Result<Option<Flip>, StoreError> {
        let row = |side: usize, at: usize| {
            let (position, repeat) = self.columns[side].places[at];
            self.readers[side].row_at(RowPlace {
                position: i64::from(position),
                repeat: i64::from(repeat),
                ..RowPlace::before(self.systems[side])
            })
        };
        let (Some(old), Some(new)) = (row(0, was)?, row(1, is)?) else {
            return Ok(None);
        };
        Ok(Flip::of((&old, values.0), (&new, values.1), self.threshold))
    }
}
