//! [`Pairing`]: which row of a system belongs to which row of the baseline.
//!
//! Within a run two rows belong together when dataset, id and number of the attempt are the same:
//! every system is asked about the same examples. Across runs ids prove nothing (a file may
//! have changed, positions may have moved), so there the content of examples is matched.

use std::collections::HashMap;
use std::hash::Hash;

use super::{ComparedRows, Matched};
use crate::metric;
use crate::model::{EvalRow, ExampleId};

/// The content address of an example, as the store has it.
pub type ContentKey = [u8; 16];

/// No further row of the same example.
const LAST: u32 = u32::MAX;

/// Rows of two systems about the same examples.
pub(crate) struct Pairing {
    /// Places of rows: of the baseline, and of the system. In the order of the baseline.
    pub(crate) pairs: Vec<(u32, u32)>,
    pub(crate) matched: Matched,
    /// Per pair the number of its cluster; `None` when each is its own.
    pub(crate) clusters: Option<Vec<u32>>,
}

impl Pairing {
    pub(crate) fn of(baseline: &ComparedRows<'_>, system: &ComparedRows<'_>) -> Self {
        let pairs = match (baseline.examples, system.examples) {
            (Some(old), Some(new)) if has_keys(baseline, old) && has_keys(system, new) => {
                by_key(old.iter(), new.iter())
            }
            _ if is_same_order(baseline.rows, system.rows) => {
                let places = 0..u32::try_from(baseline.rows.len()).unwrap_or(LAST);
                places.map(|at| (at, at)).collect()
            }
            _ => by_key(baseline.rows.iter().map(id), system.rows.iter().map(id)),
        };
        let matched = Matched {
            paired: pairs.len(),
            only_baseline: baseline.rows.len() - pairs.len(),
            only_system: system.rows.len() - pairs.len(),
        };
        let clusters = metric::clusters(baseline.rows).map(|numbers| {
            let of_pair = |pair: &(u32, u32)| numbers[pair.0 as usize];
            pairs.iter().map(of_pair).collect()
        });
        Self {
            pairs,
            matched,
            clusters,
        }
    }
}

fn has_keys(rows: &ComparedRows<'_>, keys: &[ContentKey]) -> bool {
    rows.rows.len() == keys.len()
}

fn id(row: &EvalRow) -> (&str, &ExampleId) {
    (&row.dataset, &row.example_id)
}

fn is_same_order(baseline: &[EvalRow], system: &[EvalRow]) -> bool {
    let mut both = baseline.iter().zip(system);
    baseline.len() == system.len() && both.all(|(old, new)| id(old) == id(new))
}

/// The n-th row with a key belongs to the n-th row with that key.
pub(crate) fn by_key<K: Hash + Eq>(
    baseline: impl DoubleEndedIterator<Item = K> + ExactSizeIterator,
    system: impl Iterator<Item = K>,
) -> Vec<(u32, u32)> {
    let n = baseline.len();
    let mut first: HashMap<K, u32> = HashMap::with_capacity(n);
    // The next row with the same key, so that no list is needed for each.
    let mut next = vec![LAST; n];
    for (at, key) in baseline.enumerate().rev() {
        let place = u32::try_from(at).unwrap_or(LAST);
        if let Some(later) = first.insert(key, place) {
            next[at] = later;
        }
    }
    let mut pairs = Vec::with_capacity(n);
    for (at, key) in system.enumerate() {
        if let Some(place) = first.get_mut(&key).filter(|place| **place != LAST) {
            pairs.push((*place, u32::try_from(at).unwrap_or(LAST)));
            *place = next[*place as usize];
        }
    }
    pairs.sort_unstable();
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Scores;

    fn rows(ids: &[(&str, &str)]) -> Vec<EvalRow> {
        let row = |(dataset, id): &(&str, &str)| {
            let mut row = EvalRow::new("s", *id, Scores::new(), 0, 0);
            row.dataset = (*dataset).into();
            row
        };
        ids.iter().map(row).collect()
    }

    fn paired(old: &[(&str, &str)], new: &[(&str, &str)]) -> (Vec<(u32, u32)>, Matched) {
        let (old, new) = (rows(old), rows(new));
        let found = Pairing::of(
            &ComparedRows::new("old", &old),
            &ComparedRows::new("new", &new),
        );
        (found.pairs, found.matched)
    }

    #[test]
    fn attempts_at_one_example_are_matched_in_order() {
        let all = [("d", "a"), ("d", "b"), ("d", "a"), ("é", "a")];
        assert_eq!(paired(&all, &all).0, [(0, 0), (1, 1), (2, 2), (3, 3)]);
        let other = [("é", "a"), ("d", "a"), ("d", "c"), ("d", "a"), ("d", "a")];
        let (pairs, matched) = paired(&all, &other);
        assert_eq!(pairs, [(0, 1), (2, 3), (3, 0)]);
        let counts = (matched.paired, matched.only_baseline, matched.only_system);
        assert_eq!(counts, (3, 1, 2));
        assert!(paired(&all, &[]).0.is_empty());
    }

    #[test]
    fn content_counts_where_it_is_known() {
        let (old, new) = (
            rows(&[("d", "0"), ("d", "1")]),
            rows(&[("d", "0"), ("d", "1")]),
        );
        let (keys, moved) = ([[1; 16], [2; 16]], [[2; 16], [3; 16]]);
        let mut old = ComparedRows::new("old", &old);
        let mut new = ComparedRows::new("new", &new);
        (old.examples, new.examples) = (Some(&keys[..]), Some(&moved[..]));
        assert_eq!(Pairing::of(&old, &new).pairs, [(1, 0)]);
    }
}
