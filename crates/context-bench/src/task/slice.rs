//! `train[:100]`, `test[10%:20%]`: a part of a split, as the hub's loader writes it.

use std::ops::Range;

use context_bench_tasks::{Error, Need, Result, Split};

use crate::dataset::catalog::RawRecords;

/// A split, or a part of it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Slice<'s> {
    /// The name of the split.
    pub(super) split: &'s str,
    from: Option<Bound>,
    to: Option<Bound>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Bound {
    /// A place; from the end when below zero.
    At(i64),
    /// A share of all records.
    Percent(i64),
}

impl<'s> Slice<'s> {
    /// Takes apart what stands in a task file.
    pub(super) fn parse(text: &'s str) -> Result<Self> {
        let wrong = || {
            Error::new(format!("`{text}` is not a split")).with_hint(
                "write a name, or a part of a split such as `train[:100]` or `train[10%:]`",
            )
        };
        let Some((split, rest)) = text.split_once('[') else {
            return Ok(Self {
                split: text,
                from: None,
                to: None,
            });
        };
        let (from, to) = rest
            .strip_suffix(']')
            .and_then(|inside| inside.split_once(':'))
            .ok_or_else(wrong)?;
        let bound = |text: &str| -> Result<Option<Bound>> {
            let text = text.trim();
            if text.is_empty() {
                return Ok(None);
            }
            let (digits, percent) = match text.strip_suffix('%') {
                Some(digits) => (digits, true),
                None => (text, false),
            };
            let number: i64 = digits.parse().map_err(|_| wrong())?;
            match percent {
                true if (-100..=100).contains(&number) => Ok(Some(Bound::Percent(number))),
                true => Err(wrong()),
                false => Ok(Some(Bound::At(number))),
            }
        };
        Ok(Self {
            split,
            from: bound(from)?,
            to: bound(to)?,
        })
    }

    /// How many records of the split are needed for so many of this part; `None` for
    /// all. Places that are counted from the end, and shares, need to know the end.
    pub(super) fn most(&self, need: Need) -> Option<usize> {
        let from = match self.from {
            None => 0,
            Some(Bound::At(at)) => usize::try_from(at).ok()?,
            Some(Bound::Percent(_)) => return None,
        };
        let needed = match need {
            Need::First(n) => Some(from.saturating_add(n)),
            Need::All => None,
        };
        match self.to {
            None => needed,
            Some(Bound::At(at)) => {
                let to = usize::try_from(at).ok()?;
                Some(needed.map_or(to, |needed| needed.min(to)))
            }
            Some(Bound::Percent(_)) => None,
        }
    }

    /// The part that is meant of the first records of a split, or of all.
    pub(super) fn apply(&self, found: RawRecords) -> Split {
        let RawRecords {
            mut records,
            n_original,
        } = found;
        let n_read = records.len();
        let part = self.range(n_read);
        records.truncate(part.end);
        let records = records.split_off(part.start.min(records.len()));
        let is_up_to = |bound| matches!(bound, Bound::At(at) if usize::try_from(at).is_ok_and(|at| at <= n_read));
        let n_original = match n_original {
            Some(n) => Some(self.range(n).len()),
            // The part may be all there although the split is not.
            None => self.to.is_some_and(is_up_to).then_some(records.len()),
        };
        Split::first(records, n_original)
    }

    /// The places of this part among `n` records.
    fn range(&self, n: usize) -> Range<usize> {
        let place = |bound: Option<Bound>, default: usize| match bound {
            None => default,
            Some(Bound::At(at)) => from_end(at, n),
            Some(Bound::Percent(share)) => {
                // Rounded to the nearest record, as the hub's loader does.
                let at = (n as f64 * share as f64 / 100.0).round() as i64;
                from_end(if share < 0 { at.min(-1) } else { at }, n)
            }
        };
        place(self.from, 0)..place(self.to, n)
    }
}

fn from_end(at: i64, n: usize) -> usize {
    let distance = usize::try_from(at.unsigned_abs()).unwrap_or(usize::MAX);
    if at < 0 {
        n.saturating_sub(distance)
    } else {
        distance.min(n)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Map;

    use super::*;

    #[test]
    fn parts_of_ten_records() {
        for (text, expected) in [
            ("train", 0..10),
            ("train[:3]", 0..3),
            ("train[7:]", 7..10),
            ("train[-2:]", 8..10),
            ("train[:-2]", 0..8),
            ("train[20%:50%]", 2..5),
            ("train[ 4 : 5 ]", 4..5),
            ("train[8:99]", 8..10),
            ("train[5:2]", 0..0),
        ] {
            let slice = Slice::parse(text).unwrap();
            assert_eq!(slice.split, "train", "{text}");
            let found = slice.apply(first(10, Some(10)));
            let n = expected.len();
            assert_eq!(places(&found), expected.collect::<Vec<_>>(), "{text}");
            assert_eq!(found.n_original(), Some(n), "{text}");
        }
    }

    fn first(n: usize, n_original: Option<usize>) -> RawRecords {
        let record = |i: usize| Map::from_iter([("i".to_owned(), i.into())]);
        RawRecords {
            records: (0..n).map(record).collect(),
            n_original,
        }
    }

    fn places(split: &Split) -> Vec<usize> {
        let places = split.records().iter().map(|record| record["i"].as_u64());
        places.map(|place| place.unwrap() as usize).collect()
    }

    /// How many of ten records are read for the first three of a part and for all of it,
    /// what these three are, and how many the part is known to have.
    #[test]
    fn a_part_needs_no_more_than_it_holds() {
        for (text, most, found, known) in [
            ("train", [Some(3), None], 0..3, None),
            ("train[:100]", [Some(3), Some(100)], 0..3, None),
            ("train[:2]", [Some(2), Some(2)], 0..2, Some(2)),
            ("train[4:]", [Some(7), None], 4..7, None),
            ("train[4:6]", [Some(6), Some(6)], 4..6, Some(2)),
            ("train[5:2]", [Some(2), Some(2)], 0..0, Some(0)),
            ("train[-2:]", [None, None], 8..10, Some(2)),
            ("train[:-2]", [None, None], 0..8, Some(8)),
            ("train[2:-2]", [None, None], 2..8, Some(6)),
            ("train[:50%]", [None, None], 0..5, Some(5)),
            ("train[50%:]", [None, None], 5..10, Some(5)),
        ] {
            let slice = Slice::parse(text).unwrap();
            let needs = [Need::First(3), Need::All].map(|need| slice.most(need));
            assert_eq!(needs, most, "{text}");
            let read = match needs[0] {
                Some(n) => first(n.min(10), None),
                None => first(10, Some(10)),
            };
            let part = slice.apply(read);
            assert_eq!(places(&part), found.collect::<Vec<_>>(), "{text}");
            assert_eq!(part.n_original(), known, "{text}");
        }
        // A file that says how many records it has says so about its parts.
        let slice = Slice::parse("train[4:8]").unwrap();
        assert_eq!(slice.apply(first(5, Some(10))).n_original(), Some(4));
    }

    #[test]
    fn what_is_no_part_is_an_error() {
        for text in [
            "train[",
            "train[3]",
            "train[a:]",
            "train[:101%]",
            "train[1:2:3]",
        ] {
            let error = Slice::parse(text).unwrap_err();
            assert!(
                error.to_string().contains("is not a split"),
                "{text}: {error}"
            );
        }
    }
}
