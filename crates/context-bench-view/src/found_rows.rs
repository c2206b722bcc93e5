//! Rows that were asked for: those that match a filter, and what a search through their texts has found
//! so far. A search goes on with each question, in the order in which rows are shown, so that what was
//! found stays where it is.

use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use context_bench::planner::RowReader;
use context_bench::reopened_run::{RowPlace, TextSearch};
use context_bench::store::StoreError;

use crate::row_index::RowIndex;
use crate::selection::Filter;

/// Selections that are kept for paging.
const KEPT: usize = 3;
/// How long one request searches texts; the next goes on from there. A search that nobody asks
/// for any more ends with that.
const SEARCH: Duration = Duration::from_millis(250);

/// Rows that were asked for.
pub(crate) struct Selection {
    filter: Filter,
    words: TextSearch,
    /// Rows that were in the index.
    of: usize,
    /// Those that match the filter.
    rows: Arc<Vec<u32>>,
    /// Of those, how many were searched for the words, and which have them.
    searched: usize,
    found: Arc<Vec<u32>>,
}

impl Selection {
    /// Whether all is known that was asked for.
    pub(crate) fn is_searched(&self) -> bool {
        self.words.is_empty() || self.searched == self.rows.len()
    }

    /// The rows that match, as far as they are known.
    pub(crate) fn found(&self) -> Arc<Vec<u32>> {
        match self.words.is_empty() {
            true => Arc::clone(&self.rows),
            false => Arc::clone(&self.found),
        }
    }

    /// The share of rows that was searched.
    pub(crate) fn share(&self) -> f64 {
        match self.is_searched() {
            true => 1.0,
            false => self.searched as f64 / self.rows.len() as f64,
        }
    }

    /// Searches texts for a while.
    pub(crate) fn search(
        &mut self,
        reader: &RowReader,
        place: impl Fn(u32) -> Option<RowPlace>,
    ) -> Result<(), StoreError> {
        let since = Instant::now();
        let rows = Arc::clone(&self.rows);
        let rest = rows.get(self.searched..).unwrap_or_default();
        // Rows of the index have a place for good.
        let places = rest.iter().filter_map(|row| place(*row));
        let found = Arc::make_mut(&mut self.found);
        let mut searched = 0;
        let done = reader.search(places, &self.words, |has_words| {
            found.extend(rest.get(searched).filter(|_| has_words));
            searched += 1;
            match since.elapsed() > SEARCH {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        });
        self.searched += searched;
        done
    }
}

/// The selections that were asked for last.
#[derive(Default)]
pub(crate) struct Selections(VecDeque<Selection>);

impl Selections {
    /// A selection that was made already, or a new one.
    pub(crate) fn take(
        &mut self,
        index: &RowIndex,
        filter: Filter,
        words: TextSearch,
    ) -> Selection {
        let same = |one: &Selection| one.filter == filter && one.words == words;
        let at = self.0.iter().position(same);
        let known = match at.and_then(|at| self.0.remove(at)) {
            Some(known) if known.of == index.len() => return known,
            known => known,
        };
        // The same rows were often chosen already, for other words or none.
        let chosen = self
            .0
            .iter()
            .find(|one| one.filter == filter && one.of == index.len());
        let rows = match chosen {
            Some(chosen) => Arc::clone(&chosen.rows),
            None => Arc::new(filter.select(index)),
        };
        // What was searched stays searched where rows were only added at the end.
        let kept =
            known.filter(|known| rows.get(..known.searched) == known.rows.get(..known.searched));
        let (searched, found) = match kept {
            Some(known) => (known.searched, known.found),
            None => (0, Arc::default()),
        };
        Selection {
            of: index.len(),
            filter,
            words,
            rows,
            searched,
            found,
        }
    }

    /// Keeps a selection for the next question about it.
    pub(crate) fn keep(&mut self, selection: Selection) {
        self.0.push_front(selection);
        self.0.truncate(KEPT);
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }
}
