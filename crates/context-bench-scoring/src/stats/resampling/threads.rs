//! A function of an index, computed on several threads, with the outcomes in order.

use std::num::NonZeroUsize;

/// Below so many outcomes for each, a thread is not worth its start.
const FEWEST: usize = 64;

/// `make(0)`, `make(1)`, … up to `count`, which is the same however many threads there are as
/// long as `make` depends on nothing but its index.
pub(super) fn in_order<T: Send + Default + Clone>(
    count: usize,
    threads: Option<NonZeroUsize>,
    make: impl Fn(usize) -> T + Sync,
) -> Vec<T> {
    let threads = threads.or_else(|| std::thread::available_parallelism().ok());
    let threads = threads.map_or(1, NonZeroUsize::get);
    let share = count.div_ceil(threads).max(FEWEST);
    let mut outcomes = vec![T::default(); count];
    if share >= count {
        fill(&mut outcomes, 0, &make);
        return outcomes;
    }
    std::thread::scope(|scope| {
        for (part, outcomes) in outcomes.chunks_mut(share).enumerate() {
            let make = &make;
            scope.spawn(move || fill(outcomes, part * share, make));
        }
    });
    outcomes
}

fn fill<T>(outcomes: &mut [T], first: usize, make: &impl Fn(usize) -> T) {
    for (at, outcome) in outcomes.iter_mut().enumerate() {
        *outcome = make(first + at);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_is_that_of_the_indices() {
        for count in [0, 1, 63, 64, 65, 1000] {
            let expected: Vec<usize> = (0..count).map(|at| at * at).collect();
            for threads in [1, 2, 3, 7, 2000] {
                let found = in_order(count, NonZeroUsize::new(threads), |at| at * at);
                assert_eq!(found, expected, "{count} on {threads}");
            }
        }
    }
}
