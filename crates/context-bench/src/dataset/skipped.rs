//! `Skipped`: the bad records that a dataset left out because the user asked for that.
//!
//! A number that hides what it left out is a wrong number, so every skipped
//! record is counted and the first few are kept for the report. The counts are
//! shared with the reader: of a pipe they are complete only after the last example.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::DatasetError;
use crate::error::Place;

/// How many skipped records are kept for display; the rest is only counted.
const KEPT: usize = 5;

/// One record that was left out.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SkippedRecord {
    /// Where the record is.
    pub at: Place,
    /// What is wrong with it.
    pub problem: String,
}

/// The bad records that were left out; clones see the same counts.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Skipped {
    tallies: Vec<Tally>,
}

impl Skipped {
    /// How many records were left out so far.
    pub fn total(&self) -> usize {
        self.tallies.iter().map(|tally| tally.lock().total).sum()
    }

    /// The first few of them, in reading order.
    pub fn first(&self) -> Vec<SkippedRecord> {
        let mut first: Vec<SkippedRecord> = Vec::new();
        for tally in &self.tallies {
            first.extend(tally.lock().first.iter().cloned());
        }
        first.truncate(KEPT);
        first
    }

    /// Those of this dataset, then those of another.
    #[must_use]
    pub fn chain(mut self, other: Self) -> Self {
        self.tallies.extend(other.tallies);
        self
    }
}

impl From<Tally> for Skipped {
    fn from(tally: Tally) -> Self {
        Self {
            tallies: vec![tally],
        }
    }
}

/// What happens to bad records, wherever they are read; clones see the same counts.
#[derive(Debug, Clone, Default)]
pub(crate) struct BadRecords {
    skip: bool,
    tally: Tally,
    /// Where those are that were left out: several may read one file.
    seen: Arc<Mutex<HashSet<String>>>,
}

impl BadRecords {
    /// Leaves bad records out and counts them, or fails at the first.
    pub(crate) fn new(skip: bool) -> Self {
        Self {
            skip,
            ..Self::default()
        }
    }

    /// The record, or nothing when it was left out.
    pub(crate) fn pass<T>(
        &self,
        record: Result<T, DatasetError>,
    ) -> Result<Option<T>, DatasetError> {
        match record {
            Ok(record) => Ok(Some(record)),
            Err(error) if self.skip => {
                let record = error.into_skipped()?;
                let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
                let nth = seen.len();
                if seen.insert(record.at.to_string()) {
                    self.tally.note(nth, record);
                }
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// The good records, up to a number, and whether these are all there are: nothing is
    /// read beyond the last one that is needed.
    pub(crate) fn good<T>(
        &self,
        records: &mut impl Iterator<Item = Result<T, DatasetError>>,
        most: Option<usize>,
    ) -> Result<(Vec<T>, bool), DatasetError> {
        let mut good = Vec::new();
        while most.is_none_or(|most| good.len() < most) {
            let Some(record) = records.next() else {
                return Ok((good, true));
            };
            good.extend(self.pass(record)?);
        }
        Ok((good, false))
    }

    /// Whether bad records are left out.
    pub(crate) fn skips(&self) -> bool {
        self.skip
    }

    /// Those that were left out.
    pub(crate) fn skipped(&self) -> Skipped {
        self.tally.clone().into()
    }
}

/// The count of one file, shared by its readers and whoever reports it.
#[derive(Debug, Clone, Default)]
pub(super) struct Tally(Arc<Mutex<Counted>>);

#[derive(Debug, Default)]
struct Counted {
    total: usize,
    first: Vec<SkippedRecord>,
}

impl Tally {
    /// Notes the bad record that is number `nth` (from 0) of a pass over the
    /// file. A file is read twice, so one that an earlier pass noted is not counted again.
    pub(super) fn note(&self, nth: usize, record: SkippedRecord) {
        let mut counted = self.lock();
        if nth < counted.total {
            return;
        }
        counted.total = nth + 1;
        if counted.first.len() < KEPT {
            counted.first.push(record);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Counted> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(line: usize) -> SkippedRecord {
        SkippedRecord {
            at: Place::file("f.jsonl").line(line),
            problem: "bad".into(),
        }
    }

    #[test]
    fn a_second_pass_counts_only_what_is_new() {
        let tally = Tally::default();
        let skipped = Skipped::from(tally.clone());
        for nth in 0..3 {
            tally.note(nth, record(nth));
        }
        for nth in 0..4 {
            tally.note(nth, record(nth));
        }
        assert_eq!(skipped.total(), 4);
        assert_eq!(skipped.first(), [0, 1, 2, 3].map(record));
    }

    #[test]
    fn the_list_is_bounded_and_the_count_is_not() {
        let (a, b) = (Tally::default(), Tally::default());
        for nth in 0..4 {
            a.note(nth, record(nth));
        }
        for nth in 0..100 {
            b.note(nth, record(10 + nth));
        }
        let both = Skipped::from(a).chain(b.into());
        assert_eq!(both.total(), 104);
        assert_eq!(both.first(), [0, 1, 2, 3, 10].map(record));
    }
}
