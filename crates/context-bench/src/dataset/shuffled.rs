//! Examples in a random order that a seed decides, for runs that may end before the last one.
//!
//! Only a random order makes the first examples a sample of all: files are sorted by topic, length or
//! difficulty. The whole dataset is read before the first example goes on, within a bound.

use std::sync::{Arc, OnceLock};

use indexmap::IndexMap;

use super::{Dataset, DatasetError, Examples};
use crate::memory::History;
use crate::model::Example;
use crate::stats::RandomStream;
use context_bench_records::map_bytes;

/// How many bytes of examples are held at the most.
const MAX_BYTES: usize = 1 << 30;

/// What belongs together and is asked about in a row: a conversation, or attempts at one example.
#[derive(PartialEq, Eq, Hash)]
enum Cluster {
    Conversation(usize),
    Example(String, String),
}

impl Dataset {
    /// The same examples in a random order; each keeps its place in results. What belongs together
    /// stays together. The second value is how many there are, once they are read.
    pub(crate) fn shuffled(self, seed: u64) -> (Self, Arc<OnceLock<usize>>) {
        let total = Arc::new(OnceLock::new());
        let known = Arc::clone(&total);
        let len = self.known_len();
        let shuffled = self.with_examples(move |examples| {
            // On the thread that reads, and not before: it may take long.
            let ordered = std::iter::once_with(move || read(examples, seed, MAX_BYTES, &known));
            Box::new(ordered.flatten())
        });
        let shuffled = match len {
            Some(len) => shuffled.with_len(len),
            None => shuffled,
        };
        (shuffled, total)
    }
}

/// Reads everything and puts it into order; what ended the dataset early comes last.
fn read(
    examples: Examples,
    seed: u64,
    max_bytes: usize,
    total: &OnceLock<usize>,
) -> Vec<Result<Example, DatasetError>> {
    let mut clusters: IndexMap<Cluster, Vec<Example>> = IndexMap::new();
    let (mut bytes, mut count, mut broken) = (0_usize, 0_usize, None);
    for (comes, example) in examples.enumerate() {
        let example = match example {
            Ok(example) => example,
            Err(error) => {
                broken = Some(error);
                break;
            }
        };
        let shared = History::of(&example);
        let shared = shared.map_or(0, |one| one.n_bytes / one.n_questions.max(1));
        bytes = bytes.saturating_add(map_bytes(example.fields()) + shared);
        if bytes > max_bytes {
            return vec![Err(DatasetError::TooLargeToShuffle {
                megabytes: max_bytes >> 20,
            })];
        }
        count += 1;
        let belongs = i64::try_from(comes).unwrap_or(i64::MAX);
        let belongs = belongs.saturating_add(example.displacement());
        let cluster = cluster(&example, comes);
        let members = clusters.entry(cluster).or_default();
        members.push(example.displaced(belongs));
    }
    let _ = total.set(count);
    let mut clusters: Vec<Vec<Example>> = clusters.into_values().collect();
    RandomStream::new(seed, 0).shuffle(&mut clusters);
    let ordered = clusters.into_iter().flatten().enumerate();
    let ordered = ordered.map(|(comes, example)| {
        let belongs = example.displacement();
        let comes = i64::try_from(comes).unwrap_or(i64::MAX);
        Ok(example.displaced(belongs - comes))
    });
    ordered.chain(broken.map(Err)).collect()
}

fn cluster(example: &Example, position: usize) -> Cluster {
    if let Some(history) = History::of(example) {
        return Cluster::Conversation(Arc::as_ptr(&history).addr());
    }
    let id = match example.fields().get("id") {
        Some(id) => id.to_string(),
        // Without an id nothing else belongs to it.
        None => format!("#{position}"),
    };
    Cluster::Example(example.dataset().to_owned(), id)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn examples(n: usize) -> Vec<Example> {
        let one = |i: usize| Example::new().with("id", i / 2).with("n", i);
        (0..n).map(one).collect()
    }

    fn order(n: usize, seed: u64) -> Vec<(usize, i64)> {
        let (dataset, total) = Dataset::from(examples(n)).shuffled(seed);
        assert_eq!((dataset.known_len(), total.get()), (Some(n), None));
        let read: Vec<Example> = dataset.into_iter().map(Result::unwrap).collect();
        assert_eq!(total.get(), Some(&n));
        let number = |example: &Example| example.fields()["n"].as_u64().unwrap() as usize;
        let places = read.iter().enumerate();
        places
            .map(|(comes, one)| (number(one), comes as i64 + one.displacement()))
            .collect()
    }

    #[test]
    fn a_seed_decides_the_order_and_every_example_knows_its_place() {
        let first = order(200, 7);
        assert_eq!(first, order(200, 7));
        assert_ne!(first, order(200, 8));
        assert_ne!(first, order(200, 7).into_iter().rev().collect::<Vec<_>>());
        // Each belongs where it was read.
        assert!(first.iter().all(|(number, place)| *number as i64 == *place));
        let mut sorted: Vec<usize> = first.iter().map(|one| one.0).collect();
        // Attempts at one example stay together.
        assert!(sorted.chunks(2).all(|pair| pair[0] / 2 == pair[1] / 2));
        assert!(sorted.windows(2).any(|pair| pair[0] > pair[1]));
        sorted.sort_unstable();
        assert!(sorted.into_iter().eq(0..200));
    }

    #[test]
    fn what_was_read_before_an_error_comes_first_and_too_much_is_refused() {
        let broken = || DatasetError::TooLargeToShuffle { megabytes: 0 };
        let all = examples(10).into_iter().map(Ok).chain([Err(broken())]);
        let total = OnceLock::new();
        let read = read(Box::new(all), 1, 1 << 20, &total);
        assert_eq!(read.iter().filter(|one| one.is_ok()).count(), 10);
        assert!(read.last().is_some_and(Result::is_err));
        let all = examples(10).into_iter().map(Ok);
        let refused = super::read(Box::new(all), 1, 50, &OnceLock::new());
        assert!(matches!(
            refused[..],
            [Err(DatasetError::TooLargeToShuffle { .. })]
        ));
    }

    #[test]
    fn every_place_is_as_likely_as_another() {
        // 2,000 orders of four: each example is first in 500 ± 100 of them (five sigma).
        let mut first = [0; 4];
        for seed in 0..2000 {
            let all = (0..4).map(|i: usize| Example::new().with("id", i).with("n", i));
            let (dataset, _) = Dataset::from(all.collect::<Vec<_>>()).shuffled(seed);
            let example = dataset.into_iter().next().unwrap().unwrap();
            first[example.fields()["n"].as_u64().unwrap() as usize] += 1;
        }
        assert!(first.iter().all(|n| (400..=600).contains(n)), "{first:?}");
    }
}
