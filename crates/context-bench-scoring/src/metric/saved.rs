//! [`SavedShare`]: what became of an amount, as the share that is gone: of what two systems sent
//! about the same examples, or of what a proxy got and passed on.

use std::collections::HashMap;

use super::ComparedSystem;
use crate::model::{EvalRow, ExampleId, Measurement, Unit};

/// Amounts before and after, summed up.
#[derive(Debug, Default)]
pub(super) struct SavedShare {
    n: usize,
    before: u64,
    after: u64,
}

impl SavedShare {
    pub(super) fn add(&mut self, before: u64, after: u64) {
        self.n += 1;
        self.before += before;
        self.after += after;
    }

    /// 1 − Σ after / Σ before; negative where there is more after.
    pub(super) fn measurement(&self) -> Measurement {
        let share = 1.0 - self.after as f64 / self.before as f64;
        Measurement {
            value: (self.before > 0).then_some(share),
            unit: Unit::Share,
            n: Some(self.n),
            ..Measurement::default()
        }
    }
}

impl FromIterator<(u64, u64)> for SavedShare {
    fn from_iter<I: IntoIterator<Item = (u64, u64)>>(pairs: I) -> Self {
        let mut sums = Self::default();
        let pairs = pairs.into_iter();
        pairs.for_each(|(before, after)| sums.add(before, after));
        sums
    }
}

/// The system that others are set against: the one that is named, else the first.
pub(super) fn baseline<'s, 'a>(
    systems: &'s [ComparedSystem<'a>],
    named: Option<&str>,
) -> Option<&'s ComparedSystem<'a>> {
    match named {
        Some(name) => systems.iter().find(|one| one.name == name),
        None => systems.first(),
    }
}

/// An attempt at an example: its dataset, its id, and the how manieth it is.
pub(super) type Attempt<'a> = (&'a str, &'a ExampleId, u32);

/// What was counted for attempts, and by whom: only counts of one kind are compared.
pub(super) type Counted<'a, K> = HashMap<Attempt<'a>, (u64, K)>;

/// What was counted for each attempt of which `count` knows it.
pub(super) fn counted<K>(
    rows: &[EvalRow],
    count: impl Fn(&EvalRow) -> Option<(u64, K)>,
) -> impl Iterator<Item = (Attempt<'_>, (u64, K))> {
    let mut seen: HashMap<(&str, &ExampleId), u32> = HashMap::with_capacity(rows.len());
    rows.iter().filter_map(move |row| {
        let example = (&*row.dataset, &row.example_id);
        let number = seen.entry(example).or_default();
        *number += 1;
        Some(((example.0, example.1, *number), count(row)?))
    })
}

/// A system beside the baseline, over the attempts of which both are known.
pub(super) fn beside<'a, K: PartialEq>(
    own: impl Iterator<Item = (Attempt<'a>, (u64, K))>,
    baseline: &Counted<'_, K>,
) -> SavedShare {
    let pairs = own.filter_map(|(attempt, (own, kind))| {
        let (other, same) = baseline.get(&attempt)?;
        (kind == *same).then_some((*other, own))
    });
    pairs.collect()
}
