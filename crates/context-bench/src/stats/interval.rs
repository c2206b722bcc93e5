//! 95 % confidence intervals.

use super::Mean;
use crate::model::Interval;

/// Two-sided 97.5 % quantile of the standard normal distribution.
const Z: f64 = 1.959_963_984_540_054;

/// Student's t interval of a mean; `None` below two values.
///
/// The t quantile comes from the Cornish–Fisher expansion about the normal one
/// (Abramowitz & Stegun 26.7.5), exact formulas for 1 and 2 degrees of freedom;
/// the error is below 0.3 % from 3 degrees of freedom on.
pub fn mean_interval(mean: &Mean) -> Option<Interval> {
    let half = t_quantile(mean.n - 1) * mean.stderr?;
    Some(Interval {
        low: mean.value - half,
        high: mean.value + half,
    })
}

/// Wilson score interval of a share (Wilson 1927): sensible near 0 and 1 and for few values.
pub fn wilson_interval(passed: usize, n: usize) -> Option<Interval> {
    if n == 0 {
        return None;
    }
    let (n, share) = (n as f64, passed as f64 / n as f64);
    let z2 = Z * Z;
    let centre = (share + z2 / (2.0 * n)) / (1.0 + z2 / n);
    let half = Z / (1.0 + z2 / n) * (share * (1.0 - share) / n + z2 / (4.0 * n * n)).sqrt();
    Some(Interval {
        low: (centre - half).max(0.0),
        high: (centre + half).min(1.0),
    })
}

fn t_quantile(degrees: usize) -> f64 {
    // For p = 0.975: tan(π·0.475) and 0.95·√(2 / (1 − 0.95²)).
    match degrees {
        0 => f64::INFINITY,
        1 => 12.706_204_736,
        2 => 4.302_652_730,
        _ => {
            let v = degrees as f64;
            let g1 = (Z.powi(3) + Z) / 4.0;
            let g2 = (5.0 * Z.powi(5) + 16.0 * Z.powi(3) + 3.0 * Z) / 96.0;
            let g3 = (3.0 * Z.powi(7) + 19.0 * Z.powi(5) + 17.0 * Z.powi(3) - 15.0 * Z) / 384.0;
            let g4 = (79.0 * Z.powi(9) + 776.0 * Z.powi(7) + 1482.0 * Z.powi(5)
                - 1920.0 * Z.powi(3)
                - 945.0 * Z)
                / 92160.0;
            Z + g1 / v + g2 / v.powi(2) + g3 / v.powi(3) + g4 / v.powi(4)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t_quantiles_equal_the_tables() {
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
            assert!(error < 3e-3, "{degrees}: {error}");
        }
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
}
