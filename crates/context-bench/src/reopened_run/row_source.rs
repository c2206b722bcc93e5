//! [`StoredRows`]: the rows of a stored run, read a page at a time as often as they are asked for.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::sync::Arc;

use super::ReopenedRun;
use crate::dataset::UsedDatasets;
use crate::measures::{Measures, SystemSum, SystemSummary};
use crate::model::{Counts, TextsKept};
use crate::result::{RowShape, RowSource, Visit};
use crate::runner::Wiring;
use crate::store::{ExampleAt, StoreError};

/// The rows of a stored run, as they are in its result.
pub(crate) struct StoredRows {
    reopened: ReopenedRun,
    wiring: Wiring,
    /// Systems whose rows say nothing about the wire.
    withheld: Vec<String>,
}

/// What one reading of all rows shows, without their texts.
pub(crate) struct FirstPass {
    pub(crate) shape: RowShape,
    /// System by system.
    pub(crate) counts: Vec<Counts>,
    pub(crate) n_examples: usize,
    /// System by system; empty when nothing is summed up.
    pub(crate) summaries: Vec<SystemSummary>,
    /// The datasets that the examples are from, where something is.
    pub(crate) used: UsedDatasets,
}

impl StoredRows {
    pub(crate) fn new(reopened: &ReopenedRun, wiring: &Wiring, withheld: Vec<String>) -> Self {
        Self {
            reopened: reopened.clone(),
            wiring: wiring.clone(),
            withheld,
        }
    }

    /// Counts rows and learns what they have in common, and sums them up by measures that can do
    /// that. `planned` is how many rows each system should have, where that is known.
    pub(crate) fn first_pass(
        &self,
        planned: Option<usize>,
        measures: Option<&Measures>,
    ) -> Result<FirstPass, StoreError> {
        let new_sum = || measures.and_then(Measures::system_sum);
        let names = self.names();
        let mut shape = RowShape::default();
        let mut counts = vec![Counts::default(); names.len()];
        let mut positions = Positions::default();
        let mut sums: Vec<Option<SystemSum<'_>>> = Vec::new();
        sums.resize_with(names.len(), new_sum);
        let mut summaries: Vec<SystemSummary> = Vec::new();
        let mut used = UsedDatasets::default();
        // Nearly always the first system has a row for every example.
        let (mut covered, mut last) = (0, None);
        let mut without_text = self.wiring.clone();
        without_text.keep_text(TextsKept::None);
        for stored in self.reopened.store.run_rows(&self.reopened.run) {
            let stored = stored?;
            let Some(name) = names.get(stored.system) else {
                continue;
            };
            let reopened = &self.reopened;
            let (mut row, _) = reopened.whole_row(name, &stored, &without_text, false)?;
            counts[stored.system].add(&row);
            positions.add(stored.position);
            if measures.is_some() && stored.system == 0 && last != Some(stored.position) {
                last = Some(stored.position);
                covered += 1;
                if let Some(example) = reopened.store.example(&stored)? {
                    used.note(&example);
                }
            }
            // Rows are grouped by system: what is done with need not be kept.
            while summaries.len() < stored.system {
                let sum = sums[summaries.len()].take();
                summaries.push(sum.map(SystemSum::finish).unwrap_or_default());
            }
            if self.is_withheld(name) {
                row.wire = None;
            }
            if let Some(sum) = &mut sums[stored.system] {
                sum.add(&row);
            }
            shape.add(&row);
        }
        let rest = sums.into_iter().skip(summaries.len());
        summaries.extend(rest.map(|sum| sum.map(SystemSum::finish).unwrap_or_default()));
        if measures.is_some() && covered != positions.len() {
            used = self.used_in_order()?;
        }
        shape.has_text = self.wiring.keeps_text();
        let n_examples = positions.len();
        let planned = self.reopened.planned(planned, n_examples);
        for counts in &mut counts {
            counts.planned = planned;
        }
        Ok(FirstPass {
            shape,
            counts,
            n_examples,
            summaries,
            used,
        })
    }

    /// The datasets of the examples, where no system has rows for all of them.
    fn used_in_order(&self) -> Result<UsedDatasets, StoreError> {
        let store = &self.reopened.store;
        let mut examples: BTreeMap<usize, ExampleAt> = BTreeMap::new();
        for stored in store.run_rows(&self.reopened.run) {
            let stored = stored?;
            let at = examples.entry(stored.position);
            at.or_insert_with(|| stored.example_at());
        }
        let used = UsedDatasets::default();
        for at in examples.into_values() {
            if let Some(example) = store.example_of(&at)? {
                used.note(&example);
            }
        }
        Ok(used)
    }

    fn names(&self) -> Vec<Arc<str>> {
        let systems = self.reopened.run.systems.iter();
        systems.map(|system| (*system.name).into()).collect()
    }

    fn is_withheld(&self, system: &str) -> bool {
        self.withheld.iter().any(|name| name == system)
    }
}

impl RowSource for StoredRows {
    fn each(&self, visit: Visit<'_>) -> io::Result<()> {
        let names = self.names();
        for stored in self.reopened.store.run_rows(&self.reopened.run) {
            let stored = stored.map_err(io::Error::other)?;
            let Some(name) = names.get(stored.system) else {
                continue;
            };
            let row = self.reopened.whole_row(name, &stored, &self.wiring, false);
            let (mut row, _) = row.map_err(io::Error::other)?;
            if self.is_withheld(name) {
                row.wire = None;
            }
            visit(&row)?;
        }
        Ok(())
    }
}

/// Which positions were seen, in one bit each.
#[derive(Default)]
struct Positions(HashMap<usize, [u64; Positions::WORDS]>);

impl Positions {
    const WORDS: usize = 64;
    const BITS: usize = 64 * Self::WORDS;

    fn add(&mut self, position: usize) {
        let words = self.0.entry(position / Self::BITS);
        let words = words.or_insert([0; Self::WORDS]);
        let bit = position % Self::BITS;
        words[bit / 64] |= 1 << (bit % 64);
    }

    fn len(&self) -> usize {
        let words = self.0.values().flatten();
        words.map(|word| word.count_ones() as usize).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_count_once_wherever_they_are() {
        let mut seen = Positions::default();
        for position in [0, 63, 64, 4095, 4096, 63, 0, 10_000_000_000] {
            seen.add(position);
        }
        assert_eq!(seen.len(), 6);
    }
}
