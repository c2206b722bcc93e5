//! `Shard`: one of the parts that a run is divided into, so that many machines can share it.
//!
//! An example belongs to a shard by its content, with all systems and repeats: neither the order of
//! the data nor other datasets change where it belongs, and a shard of twice as many is half of one.
//! Nothing here knows who starts shards; `docs/guide/scale-out.md` does.

mod bucket_folder;
mod data;
mod environment;
mod folder;
mod local_folder;
mod merge;
mod shared_folder;

use std::fmt;
use std::str::FromStr;

use serde_json::{Map, Value};

pub use bucket_folder::BucketFolder;
pub(crate) use data::{DataFacts, sharded};
pub use environment::{Engine, detect};
pub use folder::ShardFolder;
pub use local_folder::LocalFolder;
pub use merge::{MergeError, MergeReport, MergeTarget, merge};
pub use shared_folder::{CheckIn, CheckedOut, FolderError, LocalFile, SegmentFile, SharedFolder};

use crate::error::Hint;
use crate::model::{CONVERSATION_ID, DOCUMENT_ID};
use crate::store::Key;

/// The most shards that a run can have: more than a scheduler starts.
const MOST: u32 = 1 << 20;

/// A part of a run, such as `3/8`: counted from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Shard {
    index: u32,
    count: u32,
}

/// What is wrong with a shard.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ShardError {
    /// It is not written as `i/n`.
    #[error("`{given}` is not a shard")]
    Malformed {
        /// What was given.
        given: String,
    },
    /// There is no shard of that number.
    #[error("there is no shard {index} of {count}: shards count from 0")]
    OutOfRange {
        /// The number.
        index: u64,
        /// How many there are.
        count: u64,
    },
    /// There cannot be so many, or none.
    #[error("a run cannot have {count} shards")]
    Count {
        /// How many were asked for.
        count: u64,
    },
    /// The environment does not say which shard this is.
    #[error("`--shard auto`: {problem}")]
    Environment {
        /// Why not.
        problem: String,
        /// What to do.
        hint: String,
    },
}

impl Hint for ShardError {
    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Malformed { .. } => {
                "write the number of the shard, from 0, and how many there are: `3/8`".into()
            }
            Self::OutOfRange { count, .. } => {
                let last = count.saturating_sub(1);
                format!("the first is `0/{count}`, the last `{last}/{count}`")
            }
            Self::Count { .. } => format!("from 1 to {MOST}"),
            Self::Environment { hint, .. } => hint.clone(),
        })
    }
}

impl Shard {
    /// The shard of that number, from 0, of so many.
    ///
    /// # Errors
    ///
    /// When there is no such shard.
    pub fn new(index: u64, count: u64) -> Result<Self, ShardError> {
        let bad = ShardError::Count { count };
        let n = u32::try_from(count).map_err(|_| bad.clone())?;
        if !(1..=MOST).contains(&n) {
            return Err(bad);
        }
        match u32::try_from(index) {
            Ok(index) if index < n => Ok(Self { index, count: n }),
            _ => Err(ShardError::OutOfRange { index, count }),
        }
    }

    /// Its number, from 0.
    pub fn index(self) -> u32 {
        self.index
    }

    /// How many there are.
    pub fn count(self) -> u32 {
        self.count
    }

    /// Whether what has this key belongs to it.
    pub(crate) fn holds(self, key: Key) -> bool {
        shard_of(key, self.count) == self.index
    }

    /// Whether something can belong to both.
    pub(crate) fn overlaps(self, other: Self) -> bool {
        let (a, b) = (self.range(), other.range());
        a.0 < b.1 && b.0 < a.1
    }

    /// From where to where it reaches among the numbers that keys begin with.
    pub(crate) fn range(self) -> (u128, u128) {
        let bound = |index: u32| (u128::from(index) << 64).div_ceil(u128::from(self.count));
        (bound(self.index), bound(self.index + 1))
    }

    /// The shards of so many that these do not cover.
    pub fn missing(count: u32, covered: &[Self]) -> Vec<u32> {
        let mut ranges: Vec<_> = covered.iter().map(|shard| shard.range()).collect();
        ranges.sort_unstable();
        let is_covered = |index: &u32| {
            let shard = Self {
                index: *index,
                count,
            };
            let (mut from, to) = shard.range();
            for (start, end) in &ranges {
                if *start <= from {
                    from = from.max(*end);
                }
            }
            from >= to
        };
        (0..count).filter(|index| !is_covered(index)).collect()
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.index, self.count)
    }
}

impl FromStr for Shard {
    type Err = ShardError;

    fn from_str(text: &str) -> Result<Self, ShardError> {
        let malformed = || ShardError::Malformed {
            given: text.to_owned(),
        };
        let number = |part: &str| -> Result<u64, ShardError> {
            // `+3` and ` 3` parse elsewhere; here they are typing mistakes.
            let digits = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
            let number = digits.then(|| part.parse().ok()).flatten();
            number.ok_or_else(malformed)
        };
        let (index, count) = text.split_once('/').ok_or_else(malformed)?;
        Self::new(number(index)?, number(count)?)
    }
}

/// The shard of so many that something with this key belongs to.
fn shard_of(key: Key, count: u32) -> u32 {
    let mut first = [0; 8];
    first.copy_from_slice(&key.as_bytes()[..8]);
    let place = u128::from(u64::from_be_bytes(first));
    // Below `count`, as `place` is below 2⁶⁴.
    ((place * u128::from(count)) >> 64) as u32
}

/// What an example is assigned by: the conversation or document that the data names, so that those
/// stay together, else its own key.
pub(crate) fn unit_key(key: Key, fields: &Map<String, Value>) -> Key {
    let named = |field: &str| fields.get(field).filter(|value| !value.is_null());
    match named(CONVERSATION_ID).or_else(|| named(DOCUMENT_ID)) {
        Some(name) => Key::group(name),
        None => key,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Example;
    use proptest::prelude::*;

    fn shard(index: u64, count: u64) -> Shard {
        Shard::new(index, count).expect("a shard")
    }

    #[test]
    fn shards_are_written_as_they_are_read() {
        for (text, expected) in [
            ("0/1", Some((0, 1))),
            ("3/8", Some((3, 8))),
            ("7/8", Some((7, 8))),
            ("8/8", None),
            ("1/0", None),
            ("-1/8", None),
            ("+1/8", None),
            ("1/ 8", None),
            ("1", None),
            ("auto", None),
            ("", None),
            ("/", None),
            ("99999999999999999999/8", None),
            ("0/1048577", None),
        ] {
            let found = text.parse::<Shard>();
            let pair = found.as_ref().ok().map(|one| (one.index(), one.count()));
            assert_eq!(pair, expected, "{text}");
            match found {
                Ok(found) => assert_eq!(found.to_string(), text),
                Err(error) => assert!(error.hint().is_some(), "{text}"),
            }
        }
        let hint = "8/8".parse::<Shard>().expect_err("none").hint();
        assert_eq!(hint.as_deref(), Some("the first is `0/8`, the last `7/8`"));
    }

    #[test]
    fn missing_shards_are_those_that_are_not_covered() {
        let all = |count: u64| -> Vec<Shard> { (0..count).map(|i| shard(i, count)).collect() };
        assert_eq!(Shard::missing(4, &[]), [0, 1, 2, 3]);
        assert_eq!(Shard::missing(4, &all(4)), [] as [u32; 0]);
        assert_eq!(Shard::missing(4, &all(7)), [] as [u32; 0]);
        assert_eq!(Shard::missing(4, &[shard(6, 8), shard(7, 8)]), [0, 1, 2]);
        assert_eq!(Shard::missing(4, &[shard(6, 8), shard(1, 4)]), [0, 2, 3]);
        assert_eq!(Shard::missing(3, &[shard(0, 2)]), [1, 2]);
    }

    proptest! {
        #[test]
        fn every_example_is_in_exactly_one_shard_and_multiples_nest(
            id in any::<u64>(), text in ".{0,20}", count in 1_u64..=64,
        ) {
            let example = Example::new().with("id", id).with("context", text);
            let key = Key::example(&example);
            let holding: Vec<u64> = (0..count).filter(|i| shard(*i, count).holds(key)).collect();
            prop_assert_eq!(holding.len(), 1);
            let (first, second) = (shard(2 * holding[0], 2 * count), shard(2 * holding[0] + 1, 2 * count));
            prop_assert!(first.holds(key) != second.holds(key));
            prop_assert!(shard(holding[0], count).overlaps(first));
            // What a shard holds is what its range says.
            let mut bytes = [0; 8];
            bytes.copy_from_slice(&key.as_bytes()[..8]);
            let place = u128::from(u64::from_be_bytes(bytes));
            for index in 0..count {
                let (from, to) = shard(index, count).range();
                prop_assert_eq!((from..to).contains(&place), index == holding[0]);
            }
        }

        #[test]
        fn a_conversation_stays_together(id in any::<u32>(), count in 1_u64..=64) {
            let of = |question: &str| {
                let example = Example::new().with("conversation_id", id).with("question", question);
                unit_key(Key::example(&example), example.fields())
            };
            let index = (0..count).find(|i| shard(*i, count).holds(of("a"))).expect("one");
            prop_assert!(shard(index, count).holds(of("b")));
        }
    }
}
