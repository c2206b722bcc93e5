//! Holm's correction for many tests (1979, "A simple sequentially rejective multiple test
//! procedure").

/// p values as they count when all of these tests were made: the chance that one of the true
/// hypotheses is rejected stays below the level, whatever the tests have to do with each other. In
/// the order given. A p value that is not a number is no test: it stays and counts for nothing.
pub fn holm(p_values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p_values.len())
        .filter(|at| !p_values[*at].is_nan())
        .collect();
    order.sort_by(|a, b| p_values[*a].total_cmp(&p_values[*b]));
    let mut adjusted = p_values.to_vec();
    let mut largest = 0_f64;
    for (rank, at) in order.iter().enumerate() {
        let left = (order.len() - rank) as f64;
        largest = largest.max(left * p_values[*at]).min(1.0);
        adjusted[*at] = largest;
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_is_no_test_counts_for_nothing() {
        let adjusted = holm(&[0.01, f64::NAN, 0.02]);
        assert_eq!((adjusted[0], adjusted[2]), (0.02, 0.02));
        assert!(adjusted[1].is_nan());
        assert!(holm(&[]).is_empty());
    }

    proptest! {
        /// Never smaller than the p value, never larger than Bonferroni's, in the same order.
        #[test]
        fn between_none_and_bonferroni(values in prop::collection::vec(0.0..=1.0_f64, 0..20)) {
            let adjusted = holm(&values);
            let n = values.len() as f64;
            for (at, p) in values.iter().enumerate() {
                prop_assert!(*p <= adjusted[at] && adjusted[at] <= (n * p).min(1.0));
                for (other, q) in values.iter().enumerate() {
                    prop_assert!(p > q || adjusted[at] <= adjusted[other]);
                }
            }
        }
    }
}
