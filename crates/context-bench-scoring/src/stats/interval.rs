//! 95 % confidence intervals.

use statrs::distribution::{ContinuousCDF, StudentsT};

use super::Mean;
use crate::model::Interval;

/// Two-sided 97.5 % quantile of the standard normal distribution.
const Z: f64 = 1.959_963_984_540_054;

/// Up to so many degrees of freedom `statrs` is asked. Its inverse of the t distribution loses
/// digits beyond 10⁵ degrees and does not return at 10⁸ (statrs 0.18).
const EXACT_DEGREES: f64 = 1000.0;

/// Student's t interval of a mean; `None` below two clusters. Its degrees of
/// freedom are those of the clusters, of which each value may be one.
pub fn mean_interval(mean: &Mean) -> Option<Interval> {
    let half = t_quantile(mean.clusters.checked_sub(1)?) * mean.stderr?;
    Some(Interval {
        low: mean.value - half,
        high: mean.value + half,
    })
}

/// Wilson score interval of a share (Wilson 1927): sensible near 0 and 1 and for few values.
pub fn wilson_interval(passed: usize, n: usize) -> Option<Interval> {
    (n > 0).then(|| wilson(passed as f64 / n as f64, n as f64))
}

/// Wilson score interval of the mean of zeros and ones that come in clusters; with
/// one value per cluster it is [`wilson_interval`].
///
/// The values count as as many as they are worth: n / deff, where the design
/// effect (Kish 1965) is the variance of the clustered share over that of
/// independent values. Franco et al. (2019, PMC6690503) compare such intervals and
/// recommend Wilson's; all are a little too narrow for few clusters (10 clusters of
/// 5, simulated: 93 to 94 % instead of 95). Values are never
/// worth more than themselves. When all are the same, no variance says what they
/// are worth; then each cluster counts once.
pub fn share_interval(share: &Mean) -> Option<Interval> {
    let n = share.n as f64;
    let independent = share.value * (1.0 - share.value) / (n - 1.0);
    let worth = match share.stderr {
        _ if share.clusters == share.n => n,
        Some(stderr) if independent > 0.0 => n / (stderr.powi(2) / independent).max(1.0),
        _ => share.clusters as f64,
    };
    (share.n > 0).then(|| wilson(share.value, worth))
}

fn wilson(share: f64, n: f64) -> Interval {
    let z2 = Z * Z;
    let centre = (share + z2 / (2.0 * n)) / (1.0 + z2 / n);
    let half = Z / (1.0 + z2 / n) * (share * (1.0 - share) / n + z2 / (4.0 * n * n)).sqrt();
    Interval {
        low: (centre - half).max(0.0),
        high: (centre + half).min(1.0),
    }
}

/// The 97.5 % quantile of Student's t distribution.
fn t_quantile(degrees: usize) -> f64 {
    let degrees = degrees as f64;
    if degrees > EXACT_DEGREES {
        // The first terms of the expansion about the normal quantile (Abramowitz & Stegun
        // 26.7.5); what is left out is below 3e-6.
        return Z + (Z.powi(3) + Z) / (4.0 * degrees);
    }
    match StudentsT::new(0.0, 1.0, degrees) {
        Ok(distribution) => distribution.inverse_cdf(0.975),
        // Without a degree of freedom anything is possible.
        Err(_) => f64::INFINITY,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::{clustered_mean, mean};

    #[test]
    fn t_quantiles_equal_scipy() {
        // scipy.stats.t.ppf(0.975, df)
        for (degrees, expected) in [
            (1, 12.706_204_736),
            (2, 4.302_652_730),
            (3, 3.182_446_305),
            (5, 2.570_581_836),
            (10, 2.228_138_852),
            (30, 2.042_272_456),
            (1000, 1.962_339_081),
        ] {
            let error = (t_quantile(degrees) / expected - 1.0).abs();
            assert!(error < 1e-9, "{degrees}: {error}");
        }
    }

    #[test]
    fn t_quantiles_of_many_degrees_approach_the_normal_one() {
        let mut last = f64::INFINITY;
        for degrees in [1, 999, 1000, 1001, 100_000, 100_000_000, usize::MAX] {
            let quantile = t_quantile(degrees);
            assert!((Z..=last).contains(&quantile), "{degrees}: {quantile}");
            last = quantile;
        }
        assert!(last - Z < 1e-12);
        assert_eq!(t_quantile(0), f64::INFINITY);
    }

    #[test]
    fn wilson_equals_scipy() {
        // scipy.stats.binomtest(15, 148).proportion_ci(method="wilson")
        let interval = wilson_interval(15, 148).expect("some");
        assert!((interval.low - 0.062_386_40).abs() < 1e-8, "{interval:?}");
        assert!((interval.high - 0.160_487_24).abs() < 1e-8, "{interval:?}");
        assert_eq!(wilson_interval(0, 5).map(|i| i.low), Some(0.0));
        assert_eq!(wilson_interval(0, 0), None);
    }

    #[test]
    fn clustered_shares_are_wilson_of_what_they_are_worth() {
        // numpy and statsmodels 0.15: the errors as in `mean.rs`, deff from them, then
        // proportion_confint(share * worth, worth, method="wilson").
        let by_three: Vec<u32> = (0..15).map(|i| i / 3).collect();
        let cases: [(&[u8], &[u32], f64, f64); 3] = [
            (
                &[1, 1, 0, 0, 0, 0, 1, 1, 1, 0, 1, 0, 1, 1, 1],
                &by_three,
                0.267_470_836_406_044,
                0.860_376_771_804_436,
            ),
            (
                &[1, 1, 0, 1, 0, 0, 1],
                &[0, 0, 0, 1, 2, 2, 3],
                0.232_786_122_982_762,
                0.854_209_977_110_572,
            ),
            // Attempts that differ as much as they can are worth what they count.
            (
                &[1, 0, 1, 0, 1, 0],
                &[0, 0, 1, 1, 2, 2],
                0.187_616_306_482_651,
                0.812_383_693_517_350,
            ),
        ];
        for (passed, clusters, low, high) in cases {
            let values: Vec<f64> = passed.iter().copied().map(f64::from).collect();
            let share = clustered_mean(&values, clusters).expect("values");
            let interval = share_interval(&share).expect("some");
            assert!((interval.low - low).abs() < 1e-12, "{interval:?}");
            assert!((interval.high - high).abs() < 1e-12, "{interval:?}");
        }
    }

    #[test]
    fn the_same_answers_again_say_nothing_new() {
        let by_three: Vec<u32> = (0..15).map(|i| i / 3).collect();
        for answers in [[1.0, 0.0, 1.0, 1.0, 0.0], [1.0; 5], [0.0; 5]] {
            let passed = answers.iter().sum::<f64>() as usize;
            let once = wilson_interval(passed, 5).expect("some");
            assert_eq!(share_interval(&mean(&answers).expect("values")), Some(once));
            let thrice: Vec<f64> = answers.iter().flat_map(|x| [*x; 3]).collect();
            let share = clustered_mean(&thrice, &by_three).expect("values");
            let found = share_interval(&share).expect("some");
            assert!(found.low <= once.low && once.high <= found.high);
            assert!(once.low - found.low < 0.02 && found.high - once.high < 0.02);
        }
        // One example, however often: worth one.
        let share = clustered_mean(&[1.0, 0.0, 1.0], &[0; 3]).expect("values");
        let interval = share_interval(&share).expect("some");
        assert!(interval.high - interval.low > 0.7, "{interval:?}");
    }
}
