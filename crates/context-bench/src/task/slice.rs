//! `train[:100]`, `test[10%:20%]`: a part of a split, as the hub's loader writes it.

use context_bench_tasks::{Error, Result};

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
            Error::new(format!("`{text}` is no split")).with_hint(
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

    /// The part of the records that is meant.
    pub(super) fn apply<T>(&self, mut records: Vec<T>) -> Vec<T> {
        let n = records.len();
        let place = |bound: Option<Bound>, default: usize| match bound {
            None => default,
            Some(Bound::At(at)) => from_end(at, n),
            Some(Bound::Percent(share)) => {
                // Rounded to the nearest record, as the hub's loader does.
                let at = (n as f64 * share as f64 / 100.0).round() as i64;
                from_end(if share < 0 { at.min(-1) } else { at }, n)
            }
        };
        let (from, to) = (place(self.from, 0), place(self.to, n));
        records.truncate(to);
        records.split_off(from.min(records.len()))
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
            let found = slice.apply((0..10).collect::<Vec<_>>());
            assert_eq!(found, expected.collect::<Vec<_>>(), "{text}");
        }
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
            assert!(error.to_string().contains("is no split"), "{text}: {error}");
        }
    }
}
