//! [`Discordance`]: examples that only one of two systems got right, and McNemar's test.

use crate::model::Interval;
use crate::stats::StatsError;
use crate::stats::distribution::{fair_tosses, normal_quantile};
use crate::stats::error::open_share;

/// Pass or fail of two systems on the same examples.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Discordance {
    /// Wrong with the baseline, right with the system.
    pub gained: u64,
    /// Right with the baseline, wrong with the system.
    pub lost: u64,
    /// The same with both.
    pub same: u64,
}

/// McNemar's test of "as many are gained as lost", exact.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct McNemarTest {
    /// Two-sided, from the binomial distribution.
    pub p_value: f64,
    /// The same with half the probability of what was observed (Fagerland et al. 2013): for
    /// information, because the exact one is larger than it needs to be.
    pub mid_p: f64,
}

impl Discordance {
    /// Counts pairs of "passed with the baseline" and "passed with the system".
    pub fn count(pairs: impl IntoIterator<Item = (bool, bool)>) -> Self {
        let mut counts = Self::default();
        for pair in pairs {
            match pair {
                (false, true) => counts.gained += 1,
                (true, false) => counts.lost += 1,
                _ => counts.same += 1,
            }
        }
        counts
    }

    /// The number of pairs.
    pub fn n(&self) -> u64 {
        self.gained + self.lost + self.same
    }

    /// The share of examples on which the systems differ; `None` without any.
    pub fn share(&self) -> Option<f64> {
        let n = self.n();
        (n > 0).then(|| (self.gained + self.lost) as f64 / n as f64)
    }

    /// McNemar's exact test.
    pub fn mcnemar(&self) -> McNemarTest {
        let fewer = self.gained.min(self.lost);
        let (at_most, exactly) = fair_tosses(fewer, self.gained + self.lost);
        McNemarTest {
            p_value: (2.0 * at_most).min(1.0),
            mid_p: (2.0 * at_most - exactly).min(1.0),
        }
    }

    /// The interval of the difference of the two shares by Bonett & Price (2012), who count one
    /// example more on each side. It stays honest where few examples differ and resamples of them
    /// show too little; examples must not come in clusters.
    ///
    /// # Errors
    ///
    /// If the confidence is not between 0 and 1.
    pub fn interval(&self, confidence: f64) -> Result<Interval, StatsError> {
        let z = normal_quantile(0.5 + open_share("confidence", confidence)? / 2.0);
        let n = self.n() as f64 + 2.0;
        let gained = (self.gained as f64 + 1.0) / n;
        let lost = (self.lost as f64 + 1.0) / n;
        let centre = gained - lost;
        let half = z * ((gained + lost - centre * centre) / n).max(0.0).sqrt();
        Ok(Interval {
            low: (centre - half).max(-1.0),
            high: (centre + half).min(1.0),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_counted() {
        let pairs = [(true, true), (false, true), (true, false), (false, true)];
        let counts = Discordance::count(pairs);
        let expected = Discordance {
            gained: 2,
            lost: 1,
            same: 1,
        };
        assert_eq!(counts, expected);
        assert_eq!(counts.share(), Some(0.75));
        assert_eq!(Discordance::default().share(), None);
        let nothing = Discordance::default().mcnemar();
        assert_eq!((nothing.p_value, nothing.mid_p), (1.0, 1.0));
    }

    #[test]
    fn the_interval_is_that_of_the_paper() {
        // Bonett & Price (2012), by hand: (13 − 5)/102 ± 1.96 · √((18/102 − 0.0784²)/102).
        let counts = Discordance {
            gained: 12,
            lost: 4,
            same: 84,
        };
        let found = counts.interval(0.95).unwrap();
        assert!((found.low + 0.001_658_9).abs() < 1e-6, "{found:?}");
        assert!((found.high - 0.158_521_6).abs() < 1e-6, "{found:?}");
        assert!(counts.interval(1.0).is_err());
    }
}
