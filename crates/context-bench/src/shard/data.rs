//! The data of a shard: the examples of the whole run, of which others are left out.
//!
//! All of them are read, so that positions are those of the whole run and every shard can say which
//! data it saw.

use std::sync::{Arc, OnceLock};

use sha2::{Digest as _, Sha256};

use super::{Shard, unit_key};
use crate::dataset::{Dataset, DatasetError, Examples};
use crate::model::Example;
use crate::store::{Key, WholeData};

/// What a shard learnt of the data of the whole run; there once all of it has been read.
#[derive(Debug, Clone, Default)]
pub(crate) struct DataFacts(Arc<OnceLock<(WholeData, usize)>>);

impl DataFacts {
    /// The data, once it has been read to its end.
    pub(crate) fn whole(&self) -> Option<WholeData> {
        self.0.get().map(|(whole, _)| whole.clone())
    }

    /// Rows that each system should get in the shard itself, once that is known.
    pub(crate) fn own_rows(&self) -> Option<usize> {
        self.0.get().map(|(_, own)| *own)
    }
}

/// The examples of a shard, in their places in the whole run.
pub(crate) fn sharded(dataset: Dataset, shard: Shard) -> (Dataset, DataFacts) {
    let facts = DataFacts::default();
    let told = facts.clone();
    let dataset = dataset.with_examples(move |examples| {
        Box::new(Sharded {
            examples,
            shard,
            facts: told,
            seen: WholeData::default(),
            digest: Sha256::new(),
            left_out: 0,
            is_ours: false,
        })
    });
    (dataset, facts)
}

struct Sharded {
    examples: Examples,
    shard: Shard,
    facts: DataFacts,
    seen: WholeData,
    digest: Sha256,
    /// Examples that were not handed on so far.
    left_out: i64,
    /// Whether the last example that was no repeat belongs to the shard: repeats follow theirs.
    is_ours: bool,
}

impl Sharded {
    fn assign(&mut self, example: &Example) -> bool {
        self.seen.rows += 1;
        if example.repeat() == 0 {
            let key = Key::example(example);
            self.seen.examples += 1;
            self.digest.update(key.as_bytes());
            self.is_ours = self.shard.holds(unit_key(key, example.fields()));
        }
        self.is_ours
    }
}

impl Iterator for Sharded {
    type Item = Result<Example, DatasetError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let Some(next) = self.examples.next() else {
                self.seen.digest = hex(&std::mem::take(&mut self.digest).finalize()[..16]);
                let all = usize::try_from(self.seen.rows).unwrap_or(usize::MAX);
                let left_out = usize::try_from(self.left_out).unwrap_or_default();
                let own = all.saturating_sub(left_out);
                let _ = self.facts.0.set((self.seen.clone(), own));
                return None;
            };
            let Ok(example) = next else {
                return Some(next);
            };
            if self.assign(&example) {
                let places = example.displacement().saturating_add(self.left_out);
                return Some(Ok(example.displaced(places)));
            }
            self.left_out += 1;
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(n: usize, repeats: usize) -> Dataset {
        let examples: Vec<Example> = (0..n)
            .map(|i| Example::new().with("context", format!("c{i}")))
            .collect();
        Dataset::from(examples).times(repeats)
    }

    /// The examples with their positions, as the runner numbers them.
    fn placed(dataset: Dataset) -> Vec<(i64, Example)> {
        let examples = dataset.into_iter().zip(0_i64..);
        examples
            .map(|(example, comes)| {
                let example = example.expect("good");
                (comes + example.displacement(), example)
            })
            .collect()
    }

    #[test]
    fn shards_together_are_the_whole_with_repeats_side_by_side() {
        for count in [1, 3, 7, 16, 64] {
            let mut all = Vec::new();
            let mut facts = Vec::new();
            for index in 0..count {
                let shard = Shard::new(index, count).expect("a shard");
                let (dataset, told) = sharded(whole(200, 3), shard);
                assert_eq!(told.whole(), None);
                let part = placed(dataset);
                for of_example in part.chunks(3) {
                    let id = |one: &(i64, Example)| one.1.get("id").cloned();
                    assert!(of_example.iter().all(|one| id(one) == id(&of_example[0])));
                    assert_eq!(of_example.len(), 3);
                }
                assert_eq!(told.own_rows(), Some(part.len()));
                all.extend(part);
                facts.push(told.whole().expect("read"));
            }
            all.sort_by_key(|(position, _)| *position);
            assert_eq!(all, placed(whole(200, 3)));
            assert!(facts.iter().all(|one| *one == facts[0]));
            assert_eq!((facts[0].examples, facts[0].rows), (200, 600));
        }
        let shard = Shard::new(0, 2).expect("a shard");
        let digest = |dataset: Dataset| {
            let (dataset, told) = sharded(dataset, shard);
            dataset.into_iter().for_each(drop);
            told.whole().expect("read").digest
        };
        assert_eq!(digest(whole(20, 1)), digest(whole(20, 2)));
        assert_ne!(digest(whole(20, 1)), digest(whole(21, 1)));
    }
}
