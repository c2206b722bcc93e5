//! [`ExampleKeys`]: which examples the rows of stored runs are about, so that runs can be matched.
//!
//! Ids prove nothing across runs: a file may have changed, positions may have moved.

use std::collections::{HashMap, HashSet};

use crate::comparison::ContentKey;
use crate::model::Example;
use crate::reopened_run::ReopenedRun;
use crate::store::{Key, StoreError};

/// Per system and per row of a run.
type RunKeys = Vec<Vec<ContentKey>>;

/// The examples of several runs, each by a key that is the same wherever the content is.
pub(crate) struct ExampleKeys {
    /// Per run, per system and per row.
    pub(crate) runs: Vec<RunKeys>,
    /// Per run whether it was asked in other words than the first, so that content alone counts.
    pub(crate) prompts_differ: Vec<bool>,
}

impl ExampleKeys {
    /// Reads the keys of runs, of which the first is what the others are compared with: those of
    /// examples with their prompts where that finds every partner, else those of content alone,
    /// and where more partners are found so, of content without numbers as ids, which may be
    /// nothing but places in a file.
    pub(crate) fn read(runs: &[&ReopenedRun]) -> Result<Self, StoreError> {
        let keys = runs.iter().map(|run| run.example_keys());
        let mut found = Self {
            runs: keys.collect::<Result<_, _>>()?,
            prompts_differ: vec![false; runs.len()],
        };
        if found.has_every_partner() {
            return Ok(found);
        }
        let before = found.in_common();
        found.read_contents(runs, Key::content)?;
        let after = found.in_common();
        let differs = after.iter().zip(before).map(|(now, before)| *now > before);
        found.prompts_differ = differs.collect();
        if found.has_every_partner() {
            return Ok(found);
        }
        let whole = std::mem::take(&mut found.runs);
        found.read_contents(runs, Key::content_without_number)?;
        if found.in_common() == after {
            found.runs = whole;
        }
        Ok(found)
    }

    fn read_contents(
        &mut self,
        runs: &[&ReopenedRun],
        key: fn(&Example) -> Key,
    ) -> Result<(), StoreError> {
        let keys = runs.iter().map(|run| run.content_keys(key));
        self.runs = keys.collect::<Result<_, _>>()?;
        Ok(())
    }

    /// Whether every run is about examples of the first, or about all of them.
    fn has_every_partner(&self) -> bool {
        let set = |run: &RunKeys| run.iter().flatten().copied().collect::<HashSet<_>>();
        let mut sets = self.runs.iter().map(set);
        let Some(base) = sets.next() else {
            return true;
        };
        sets.all(|own| own.is_subset(&base) || base.is_subset(&own))
    }

    /// Per run how many of its rows have one in the first. Rows and not keys are counted: keys that
    /// say less are fewer, and find no fewer partners.
    fn in_common(&self) -> Vec<usize> {
        let count = |run: &RunKeys| {
            let mut counts: HashMap<ContentKey, usize> = HashMap::new();
            for key in run.iter().flatten() {
                *counts.entry(*key).or_default() += 1;
            }
            counts
        };
        let base = self.runs.first().map(count).unwrap_or_default();
        let shared = |run: &RunKeys| {
            let own = count(run).into_iter();
            own.map(|(key, n)| n.min(base.get(&key).copied().unwrap_or(0)))
                .sum()
        };
        self.runs.iter().map(shared).collect()
    }
}
