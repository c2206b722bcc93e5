//! Texts in groups, on all processors, however many calls there are at a time.

use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// What `compute` gives for each text, in their order. It gets texts of like length, so many
/// that they have at most `most_tokens` tokens, or a single longer one.
pub(super) fn in_groups<R: Send>(
    texts: &[Vec<u32>],
    most_tokens: usize,
    compute: impl Fn(&[&[u32]]) -> Vec<R> + Sync,
) -> Vec<R> {
    let groups = groups(texts, most_tokens);
    let next = AtomicUsize::new(0);
    let work = || {
        let mut done = Vec::new();
        while let Some(group) = groups.get(next.fetch_add(1, Ordering::Relaxed)) {
            let tokens: Vec<&[u32]> = group.iter().map(|at| &texts[*at][..]).collect();
            done.extend(group.iter().copied().zip(compute(&tokens)));
        }
        done
    };
    let helpers = Helpers::hire(groups.len().saturating_sub(1));
    let mut all = thread::scope(|scope| {
        let helpers: Vec<_> = (0..helpers.0).map(|_| scope.spawn(work)).collect();
        let mut all = work();
        for helper in helpers {
            match helper.join() {
                Ok(done) => all.extend(done),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        all
    });
    all.sort_by_key(|(at, _)| *at);
    all.into_iter().map(|(_, result)| result).collect()
}

/// Threads beside those that ask. All calls of the process share as many as there are
/// processors: conversations are taken in side by side, and each would else bring as many.
struct Helpers(usize);

static BUSY: AtomicUsize = AtomicUsize::new(0);

impl Helpers {
    /// At most so many, fewer when others have them, perhaps none.
    fn hire(most: usize) -> Self {
        let processors = thread::available_parallelism().map_or(1, NonZero::get);
        let free = |busy: usize| processors.saturating_sub(1 + busy).min(most);
        let before = BUSY.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |busy| {
            Some(busy + free(busy))
        });
        Self(before.map_or(0, free))
    }
}

impl Drop for Helpers {
    fn drop(&mut self) {
        BUSY.fetch_sub(self.0, Ordering::Relaxed);
    }
}

/// The positions of texts, the longest first: those that take longest are begun first.
fn groups(texts: &[Vec<u32>], most_tokens: usize) -> Vec<Vec<usize>> {
    let mut order: Vec<usize> = (0..texts.len()).collect();
    order.sort_by_key(|at| std::cmp::Reverse(texts[*at].len()));
    let mut groups: Vec<Vec<usize>> = Vec::new();
    let mut room = 0;
    for at in order {
        match groups.last_mut() {
            Some(group) if texts[at].len() <= room => {
                room -= texts[at].len();
                group.push(at);
            }
            _ => {
                room = most_tokens.saturating_sub(texts[at].len());
                groups.push(vec![at]);
            }
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_text_has_its_own_result() {
        let texts: Vec<Vec<u32>> = [3, 9, 1, 4, 4, 0, 2].iter().map(|n| vec![7; *n]).collect();
        let lengths = |group: &[&[u32]]| group.iter().map(|text| text.len()).collect();
        assert_eq!(in_groups(&texts, 8, lengths), [3, 9, 1, 4, 4, 0, 2]);
        assert_eq!(
            groups(&texts, 8),
            [vec![1], vec![3, 4], vec![0, 6, 2, 5]],
            "the longest alone, the others as they fit"
        );
        assert!(in_groups(&[], 8, lengths).is_empty());
    }

    #[test]
    fn helpers_are_fewer_than_processors_and_come_back() {
        let processors = thread::available_parallelism().map_or(1, NonZero::get);
        let first = Helpers::hire(usize::MAX);
        let second = Helpers::hire(usize::MAX);
        // Other tests may have some.
        assert!(first.0 + second.0 < processors);
        drop((first, second));
        assert!(BUSY.load(Ordering::Relaxed) < processors);
    }
}
