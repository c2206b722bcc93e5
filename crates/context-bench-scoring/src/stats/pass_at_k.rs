//! `pass_at_k`: how likely one of k attempts passes, from n attempts.

/// The unbiased estimate of Chen et al. (2021), `1 - C(n - c, k) / C(n, k)`: the
/// chance that at least one of `k` attempts passes, when `c` of `n` attempts did.
/// `None` when there are fewer than `k` attempts, when `k` is 0 or `c` above `n`.
///
/// ```
/// use context_bench_scoring::stats::pass_at_k;
///
/// assert_eq!(pass_at_k(10, 3, 1), Some(0.3));
/// assert_eq!(pass_at_k(10, 10, 5), Some(1.0));
/// assert_eq!(pass_at_k(3, 1, 5), None);
/// ```
pub fn pass_at_k(n: u64, c: u64, k: u64) -> Option<f64> {
    if k == 0 || n < k || c > n {
        return None;
    }
    if n - c < k {
        return Some(1.0);
    }
    if k == 1 {
        return Some(c as f64 / n as f64);
    }
    // A product of at most n factors below 1, so nothing overflows.
    let none: f64 = (n - c + 1..=n).map(|i| 1.0 - k as f64 / i as f64).product();
    Some(1.0 - none)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By counting all choices of k attempts.
    fn counted(n: u64, c: u64, k: u64) -> f64 {
        let choices: Vec<u64> = (0..1_u64 << n)
            .filter(|set| u64::from(set.count_ones()) == k)
            .collect();
        // The first c attempts are those that passed.
        let passed = (1 << c) - 1;
        let good = choices.iter().filter(|set| *set & passed != 0).count();
        good as f64 / choices.len() as f64
    }

    #[test]
    fn it_is_the_share_of_choices_that_pass() {
        for n in 1..=8 {
            for c in 0..=n {
                for k in 1..=n {
                    let found = pass_at_k(n, c, k).expect("enough attempts");
                    assert!((found - counted(n, c, k)).abs() < 1e-12, "{n} {c} {k}");
                }
            }
        }
    }

    #[test]
    fn bad_numbers_give_nothing() {
        for (n, c, k) in [(0, 0, 0), (5, 1, 0), (5, 6, 1), (4, 1, 5)] {
            assert_eq!(pass_at_k(n, c, k), None);
        }
        assert_eq!(pass_at_k(1_000_000, 0, 1000), Some(0.0));
    }
}
