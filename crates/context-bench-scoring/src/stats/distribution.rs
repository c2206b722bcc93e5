//! The distributions that tests and intervals need, from `statrs` within the bounds in which
//! it is exact (`docs/adr/0017-statrs.md`).

use statrs::distribution::{Binomial, ContinuousCDF, Discrete, DiscreteCDF, Normal, StudentsT};

/// Beyond so many degrees of freedom Student's t is expanded about the normal distribution.
const EXACT_DEGREES: usize = 1000;

/// Φ: the share of the standard normal distribution below `z`.
pub(super) fn normal_cdf(z: f64) -> f64 {
    Normal::standard().cdf(z)
}

/// Φ⁻¹; infinite at 0 and 1.
pub(super) fn normal_quantile(share: f64) -> f64 {
    Normal::standard().inverse_cdf(share.clamp(0.0, 1.0))
}

/// The quantile of Student's t distribution; infinite without a degree of freedom.
pub(super) fn t_quantile(share: f64, degrees: usize) -> f64 {
    if degrees > EXACT_DEGREES {
        // Abramowitz & Stegun 26.7.5; what is left out is below 1e-5 for usual levels.
        let (z, degrees) = (normal_quantile(share), degrees as f64);
        let first = (z.powi(3) + z) / (4.0 * degrees);
        let second = (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / (96.0 * degrees.powi(2));
        return z + first + second;
    }
    match StudentsT::new(0.0, 1.0, degrees as f64) {
        Ok(distribution) => distribution.inverse_cdf(share),
        Err(_) => f64::INFINITY.copysign(share - 0.5),
    }
}

/// The share of Student's t distribution above `t`; ½ without a degree of freedom.
pub(super) fn t_above(t: f64, degrees: usize) -> f64 {
    match StudentsT::new(0.0, 1.0, degrees as f64) {
        Ok(distribution) => distribution.sf(t),
        Err(_) => 0.5,
    }
}

/// Of `n` tosses of a fair coin: the chance of at most `k` heads, and of exactly `k`.
pub(super) fn fair_tosses(k: u64, n: u64) -> (f64, f64) {
    match Binomial::new(0.5, n) {
        Ok(distribution) => (distribution.cdf(k), distribution.pmf(k)),
        Err(_) => (1.0, 1.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_and_tails_equal_scipy() {
        // scipy.stats.t.ppf, scipy.stats.t.sf, scipy.stats.norm.ppf, version 1.17.1
        for (share, degrees, expected) in [
            (0.95, 7, 1.894_578_605_090_006),
            (0.975, 1000, 1.962_339_080_826_408),
            (0.95, 1001, 1.646_377_292_199_468),
            (0.995, 5000, 2.576_812_966_556_28),
            (0.975, 1_000_000, 1.959_966_356_814_107),
        ] {
            let found = t_quantile(share, degrees);
            assert!((found / expected - 1.0).abs() < 1e-7, "{degrees}: {found}");
        }
        for (t, degrees, expected) in [
            (2.0, 9, 0.038_276_411_885_350),
            (-1.0, 30, 0.837_345_692_286_985),
            (3.0, 100_000, 0.001_350_230_442_032),
        ] {
            let found = t_above(t, degrees);
            assert!((found / expected - 1.0).abs() < 1e-7, "{degrees}: {found}");
        }
        assert!((normal_quantile(0.8) - 0.841_621_233_572_914_2).abs() < 1e-12);
        assert!((normal_quantile(1e-9) + 5.997_807_015_007_687).abs() < 1e-8);
        assert_eq!(normal_quantile(0.0), f64::NEG_INFINITY);
        assert_eq!(t_quantile(0.975, 0), f64::INFINITY);
        assert_eq!(t_above(1.0, 0), 0.5);
    }
}
