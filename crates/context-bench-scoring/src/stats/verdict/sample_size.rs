//! [`SampleSize`]: how many examples a verdict takes, before any is paid for.

use crate::stats::StatsError;
use crate::stats::distribution::{normal_cdf, normal_quantile};
use crate::stats::error::{not_negative, open_share, positive};

/// What a run is to show: that a system loses less than a margin, if the true difference is the
/// expected one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SampleSize {
    /// How much may be lost, above 0.
    pub margin: f64,
    /// The true difference that is expected, "system − baseline".
    pub expected: f64,
    /// The confidence of the two-sided interval that decides.
    pub confidence: f64,
    /// The probability with which the run is to decide.
    pub power: f64,
}

impl SampleSize {
    /// For a margin, when no difference is expected, with 95 % confidence and 80 % power.
    pub fn new(margin: f64) -> Self {
        Self {
            margin,
            expected: 0.0,
            confidence: 0.95,
            power: 0.8,
        }
    }

    /// Examples to show "not worse" for pass or fail, when systems differ on a share of examples:
    /// (z + z')² · (discordance − expected²) / (margin + expected)² (Liu et al. 2002). `None` when
    /// the expected loss is the margin or more: then no number suffices.
    ///
    /// # Errors
    ///
    /// If the discordance is not a share above 0 or is smaller than the expected difference, and
    /// if a setting means nothing.
    pub fn for_discordance(&self, discordance: f64) -> Result<Option<u64>, StatsError> {
        let variance = self.variance(discordance)?;
        let (z, more) = self.quantiles()?;
        Ok(self.distance()?.map(|distance| {
            let n = (z + more).powi(2) * variance / distance.powi(2);
            whole(n)
        }))
    }

    /// Examples to show "not worse" for any score, when differences have a standard deviation (from
    /// a pilot run): (z + z')² · σ² / (margin + expected)² + z² / 2, where the last term makes up
    /// for Student's t (Guenther 1981).
    ///
    /// # Errors
    ///
    /// If the deviation is not above 0, and if a setting means nothing.
    pub fn for_deviation(&self, deviation: f64) -> Result<Option<u64>, StatsError> {
        let deviation = positive("standard deviation", deviation)?;
        let (z, more) = self.quantiles()?;
        Ok(self.distance()?.map(|distance| {
            let n = (z + more).powi(2) * (deviation / distance).powi(2);
            whole(n + z * z / 2.0)
        }))
    }

    /// Examples to show equivalence: that the difference lies within ±margin, by two one-sided
    /// tests, each with the level of one end of the interval. `None` when the expected
    /// difference is the margin or more.
    ///
    /// # Errors
    ///
    /// If the deviation is not above 0, and if a setting means nothing.
    pub fn for_equivalence(&self, deviation: f64) -> Result<Option<u64>, StatsError> {
        let deviation = positive("standard deviation", deviation)?;
        let (z, _) = self.quantiles()?;
        let margin = positive("margin", self.margin)?;
        if self.expected.abs() >= margin {
            return Ok(None);
        }
        let power = |n: f64| {
            let root = n.sqrt() / deviation;
            let below = normal_cdf(root * (margin - self.expected) - z);
            below + normal_cdf(root * (margin + self.expected) - z) - 1.0
        };
        let mut high = 1.0;
        while power(high) < self.power {
            high *= 2.0;
        }
        let mut low = high / 2.0;
        for _ in 0..60 {
            let middle = 0.5 * (low + high);
            match power(middle) < self.power {
                true => low = middle,
                false => high = middle,
            }
        }
        Ok(Some(whole(high)))
    }

    /// Examples to show by McNemar's test that there is a difference at all, when the expected one
    /// is true (Connor 1987). `None` when none is expected.
    ///
    /// # Errors
    ///
    /// If the discordance is not a share above 0 or is smaller than the expected difference, and
    /// if a setting means nothing.
    pub fn to_detect(&self, discordance: f64) -> Result<Option<u64>, StatsError> {
        let variance = self.variance(discordance)?;
        let (z, more) = self.quantiles()?;
        let n = (z * discordance.sqrt() + more * variance.sqrt()) / self.expected;
        Ok((self.expected != 0.0).then(|| whole(n.powi(2))))
    }

    /// The probability that so many examples show "not worse", when differences have a standard
    /// deviation.
    ///
    /// # Errors
    ///
    /// If the deviation is not above 0, and if a setting means nothing.
    pub fn power_of(&self, examples: u64, deviation: f64) -> Result<f64, StatsError> {
        let deviation = positive("standard deviation", deviation)?;
        let (z, _) = self.quantiles()?;
        let distance = self.expected + self.margin;
        Ok(normal_cdf(
            (examples as f64).sqrt() * distance / deviation - z,
        ))
    }

    /// How far the expected difference is from the loss that is to be ruled out.
    fn distance(&self) -> Result<Option<f64>, StatsError> {
        let margin = positive("margin", self.margin)?;
        let distance = self.expected + margin;
        // A loss of exactly the margin, as 0.04 − 0.06 is one of 0.02, must not hang on rounding.
        Ok((distance > 1e-9 * margin).then_some(distance))
    }

    /// The variance of differences that are −1, 0 or 1.
    fn variance(&self, discordance: f64) -> Result<f64, StatsError> {
        let discordance = positive("discordance", discordance)?;
        if discordance > 1.0 || discordance < self.expected.abs() {
            return Err(StatsError::Setting {
                setting: "discordance",
                value: discordance,
                expected: "a share of at most 1, and at least the expected difference",
            });
        }
        not_negative("variance", discordance - self.expected.powi(2))
    }

    /// The quantiles of one end of the interval, and of the power.
    fn quantiles(&self) -> Result<(f64, f64), StatsError> {
        let confidence = open_share("confidence", self.confidence)?;
        let power = open_share("power", self.power)?;
        let end = normal_quantile(0.5 + confidence / 2.0);
        Ok((end, normal_quantile(power)))
    }
}

fn whole(n: f64) -> u64 {
    // A hair above a whole number is rounding.
    (n - 1e-9).ceil().max(1.0) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn worked_cases() {
        // (1.959964 + 0.841621)² = 7.848880
        let plan = SampleSize::new(0.02);
        assert_eq!(plan.for_discordance(0.1).unwrap(), Some(1963));
        assert_eq!(plan.for_discordance(0.04).unwrap(), Some(785));
        let loses = SampleSize {
            expected: -0.01,
            ..plan
        };
        assert_eq!(loses.for_discordance(0.1).unwrap(), Some(7842));
        let loses_all = SampleSize {
            expected: 0.04 - 0.06,
            ..plan
        };
        assert_eq!(loses_all.for_discordance(0.1).unwrap(), None);
        // Connor (1987): discordance 0.3, difference 0.1.
        let gains = SampleSize {
            expected: 0.1,
            ..plan
        };
        assert_eq!(gains.to_detect(0.3).unwrap(), Some(234));
        assert_eq!(plan.to_detect(0.3).unwrap(), None);
        // Equivalence without a difference: (1.959964 + 1.281552)² · 0.3² / 0.05² = 378.3.
        let within = SampleSize::new(0.05);
        assert_eq!(within.for_equivalence(0.3).unwrap(), Some(379));
    }

    #[test]
    fn power_grows_with_examples_and_is_reached() {
        let plan = SampleSize::new(0.03);
        let n = plan.for_deviation(0.4).unwrap().unwrap();
        let reached = plan.power_of(n, 0.4).unwrap();
        assert!((0.8..0.802).contains(&reached), "{reached}");
        assert!(plan.power_of(n / 2, 0.4).unwrap() < 0.6);
    }

    #[test]
    fn settings_that_mean_nothing_are_errors() {
        let plan = SampleSize::new(0.02);
        for (discordance, margin, confidence) in [
            (0.0, 0.02, 0.95),
            (1.1, 0.02, 0.95),
            (f64::NAN, 0.02, 0.95),
            (0.1, 0.0, 0.95),
            (0.1, 0.02, 1.0),
        ] {
            let plan = SampleSize {
                margin,
                confidence,
                ..plan
            };
            assert!(
                plan.for_discordance(discordance).is_err(),
                "{discordance} {margin}"
            );
        }
    }
}
