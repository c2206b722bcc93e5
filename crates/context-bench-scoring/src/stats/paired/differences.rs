//! [`PairedDifferences`]: what a system scored beyond its baseline, example by example.

use std::hash::Hash;

use indexmap::IndexSet;

use crate::model::Interval;
use crate::stats::distribution::{normal_cdf, t_quantile};
use crate::stats::error::{all_finite, open_share, same_length};
use crate::stats::resampling::{Unit, bca, sign_flip};
use crate::stats::{BootstrapInterval, Mean, Resampling, SignFlipTest, StatsError, clustered_mean};

/// Below so many clusters resamples are no guide to a spread.
const FEWEST_DRAWN: usize = 30;

/// Differences "system − baseline", a number per example, some of which may belong together.
#[derive(Debug, Clone, PartialEq)]
pub struct PairedDifferences {
    values: Vec<f64>,
    /// The cluster of each value, counted from 0 without gaps; each its own when absent.
    clusters: Option<Vec<u32>>,
    range: Option<Interval>,
}

impl PairedDifferences {
    /// What each example scored with the system beyond what it scored with the baseline.
    ///
    /// # Errors
    ///
    /// If the lists differ in length, are empty or have a value that is not finite.
    pub fn between(baseline: &[f64], system: &[f64]) -> Result<Self, StatsError> {
        same_length("the scores of a system", system.len(), baseline.len())?;
        Self::new(
            system
                .iter()
                .zip(baseline)
                .map(|(new, old)| new - old)
                .collect(),
        )
    }

    /// Differences that are known already.
    ///
    /// # Errors
    ///
    /// If there are none, or one is not finite.
    pub fn new(values: Vec<f64>) -> Result<Self, StatsError> {
        const WHAT: &str = "paired differences";
        all_finite(WHAT, &values)?;
        match values.is_empty() {
            true => Err(StatsError::Empty { what: WHAT }),
            false => Ok(Self {
                values,
                clusters: None,
                range: None,
            }),
        }
    }

    /// The same with a mark per example: those with equal marks (of one conversation, attempts at
    /// one example) are drawn and flipped as a whole.
    ///
    /// # Errors
    ///
    /// If there are not as many marks as examples.
    pub fn clustered_by<K: Hash + Eq>(mut self, marks: &[K]) -> Result<Self, StatsError> {
        same_length("marks of clusters", marks.len(), self.values.len())?;
        let mut known: IndexSet<&K> = IndexSet::new();
        let each = marks.iter().map(|mark| known.insert_full(mark).0 as u32);
        self.clusters = Some(each.collect());
        Ok(self)
    }

    /// The same with the range that a difference can have: −1 to 1 for scores from 0 to 1.
    /// Differences that are all equal then still have an interval.
    ///
    /// # Errors
    ///
    /// If a difference lies outside.
    pub fn within(mut self, low: f64, high: f64) -> Result<Self, StatsError> {
        let outside = |value: &f64| !(low..=high).contains(value);
        if let Some(at) = self.values.iter().position(outside) {
            let value = self.values[at];
            return Err(StatsError::OutsideRange {
                at,
                value,
                low,
                high,
            });
        }
        self.range = Some(Interval { low, high });
        Ok(self)
    }

    /// The differences.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// The range that was declared for them.
    pub fn range(&self) -> Option<Interval> {
        self.range
    }

    /// The mean difference, with the standard error over clusters.
    pub fn mean(&self) -> Mean {
        let mean = match &self.clusters {
            Some(clusters) => clustered_mean(&self.values, clusters),
            None => crate::stats::mean(&self.values),
        };
        // There is at least one value.
        mean.unwrap_or(Mean {
            value: 0.0,
            n: 0,
            clusters: 0,
            stderr: None,
        })
    }

    /// Student's t interval; `None` of a single cluster.
    ///
    /// # Errors
    ///
    /// If the confidence is not between 0 and 1.
    pub fn t_interval(&self, confidence: f64) -> Result<Option<Interval>, StatsError> {
        let tail = (1.0 - open_share("confidence", confidence)?) / 2.0;
        let mean = self.mean();
        let half = mean.stderr.map(|stderr| {
            let degrees = mean.clusters.saturating_sub(1);
            t_quantile(1.0 - tail, degrees) * stderr
        });
        Ok(half.map(|half| Interval {
            low: mean.value - half,
            high: mean.value + half,
        }))
    }

    /// The BCa bootstrap interval of the mean difference (Efron 1987). Whole clusters are drawn,
    /// and left out by the jackknife. `None` of a single cluster, and of differences that are
    /// all equal: see [`PairedDifferences::interval`].
    ///
    /// # Errors
    ///
    /// If the confidence is not between 0 and 1.
    pub fn bootstrap(
        &self,
        confidence: f64,
        resampling: &Resampling,
    ) -> Result<Option<BootstrapInterval>, StatsError> {
        let confidence = open_share("confidence", confidence)?;
        Ok(bca(&self.units(), confidence, resampling))
    }

    /// The interval to show, by how much there is to go by:
    ///
    /// - From 30 clusters on each end is the outer one of BCa and of Student's t: t alone errs where
    ///   differences are skewed, BCa alone where they are mostly 0 or come in clusters, and
    ///   both together are a few percent wider and cover as they should (simulated, in
    ///   `docs/reference/statistics.md`). BCa is taken at levels at which a percentile interval
    ///   equals t for normal data (Hesterberg 2015, "expanded"), because resamples of few
    ///   clusters vary too little.
    /// - Below, Student's t alone.
    /// - Of clusters that are all equal, what was not seen: another outcome has at most the
    ///   probability 1 − (α/2)^(1/G) (Clopper & Pearson 1934), and none is further away than the
    ///   ends of the range. `None` when the range is not known.
    ///
    /// # Errors
    ///
    /// If the confidence is not between 0 and 1.
    pub fn interval(
        &self,
        confidence: f64,
        resampling: &Resampling,
    ) -> Result<Option<Interval>, StatsError> {
        let tail = (1.0 - open_share("confidence", confidence)?) / 2.0;
        let mean = self.mean();
        let clusters = mean.clusters as f64;
        if self.spread().is_none() {
            let unseen = 1.0 - tail.powf(1.0 / clusters);
            return Ok(self.range.map(|range| Interval {
                low: mean.value + unseen * (range.low - mean.value),
                high: mean.value + unseen * (range.high - mean.value),
            }));
        }
        let drawn = (mean.clusters >= FEWEST_DRAWN).then(|| {
            let t = t_quantile(1.0 - tail, mean.clusters - 1);
            let z = t * (clusters / (clusters - 1.0)).sqrt();
            bca(&self.units(), 1.0 - 2.0 * normal_cdf(-z), resampling)
        });
        Ok(self.t_interval(confidence)?.map(|mut found| {
            if let Some(drawn) = drawn.flatten() {
                found.low = found.low.min(drawn.interval.low);
                found.high = found.high.max(drawn.interval.high);
            }
            if let Some(range) = self.range {
                found.low = found.low.max(range.low);
                found.high = found.high.min(range.high);
            }
            found
        }))
    }

    /// The standard error of the mean; `None` when there is none, or no more than rounding.
    pub(in crate::stats) fn spread(&self) -> Option<f64> {
        let mean = self.mean();
        let rounding = 1e-12 * mean.value.abs().max(f64::MIN_POSITIVE);
        mean.stderr.filter(|stderr| *stderr > rounding)
    }

    /// The sign-flip permutation test of "no difference"; clusters flip as a whole.
    pub fn sign_flip(&self, resampling: &Resampling) -> SignFlipTest {
        sign_flip(&self.units(), resampling)
    }

    /// Σu² over the sums u of clusters: n² times the variance of a mean that is known to be 0.
    pub(in crate::stats) fn squared_cluster_sums(&self) -> f64 {
        self.units().iter().map(|unit| unit.sum * unit.sum).sum()
    }

    /// The values of clusters, each added up.
    fn units(&self) -> Vec<Unit> {
        let Some(clusters) = &self.clusters else {
            let each = self.values.iter().map(|sum| Unit {
                sum: *sum,
                size: 1.0,
            });
            return each.collect();
        };
        let count = clusters.iter().max().map_or(0, |last| *last as usize + 1);
        let mut units = vec![Unit::default(); count];
        for (value, cluster) in self.values.iter().zip(clusters) {
            let unit = &mut units[*cluster as usize];
            unit.sum += value;
            unit.size += 1.0;
        }
        units
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroUsize;

    use proptest::prelude::*;

    use super::*;

    fn few(seed: u64, threads: usize) -> Resampling {
        Resampling {
            resamples: 400,
            seed,
            threads: NonZeroUsize::new(threads),
        }
    }

    #[test]
    fn threads_do_not_show() {
        let values: Vec<f64> = (0..300).map(|at| (at as f64 * 0.7).sin()).collect();
        let marks: Vec<usize> = (0..300).map(|at| at / 7).collect();
        let plain = PairedDifferences::new(values).unwrap();
        let clustered = plain.clone().clustered_by(&marks).unwrap();
        for differences in [plain, clustered] {
            let one = differences.bootstrap(0.95, &few(5, 1)).unwrap();
            let flips = differences.sign_flip(&few(5, 1));
            for threads in [2, 3, 16] {
                let settings = few(5, threads);
                assert_eq!(differences.bootstrap(0.95, &settings).unwrap(), one);
                assert_eq!(differences.sign_flip(&settings), flips);
            }
            assert_ne!(differences.bootstrap(0.95, &few(6, 2)).unwrap(), one);
        }
    }

    #[test]
    fn equal_differences_leave_open_what_was_not_seen() {
        let ties = PairedDifferences::new(vec![0.0; 30]).unwrap();
        assert_eq!(ties.interval(0.95, &few(1, 1)).unwrap(), None);
        let known = ties.within(-1.0, 1.0).unwrap();
        let interval = known.interval(0.95, &few(1, 1)).unwrap().unwrap();
        // scipy.stats.beta.ppf(0.975, 1, 30)
        assert!((interval.high - 0.115_703_308_222_0).abs() < 1e-9);
        assert_eq!(interval.low, -interval.high);
        assert_eq!(known.sign_flip(&few(1, 1)).p_value, 1.0);
        // Few of them are left to Student's t, within the range.
        let few_values = vec![0.9, 1.0, 0.8, -0.9];
        let differences = PairedDifferences::new(few_values).unwrap();
        let t = differences.t_interval(0.95).unwrap().unwrap();
        assert_eq!(differences.interval(0.95, &few(1, 1)).unwrap(), Some(t));
        let known = differences.within(-1.0, 1.0).unwrap();
        let cut = known.interval(0.95, &few(1, 1)).unwrap().unwrap();
        assert!(t.high > 1.0 && cut.high == 1.0 && cut.low == t.low.max(-1.0));
        let one = PairedDifferences::new(vec![0.25]).unwrap();
        assert_eq!(one.t_interval(0.95).unwrap(), None);
        assert_eq!(one.bootstrap(0.95, &few(1, 1)).unwrap(), None);
    }

    #[test]
    fn unfit_input_is_an_error() {
        let error = |made: Result<PairedDifferences, StatsError>| made.unwrap_err().to_string();
        for (found, expected) in [
            (
                error(PairedDifferences::between(&[0.0], &[0.0, 1.0])),
                "the scores of a system: 2 values where 1 belong",
            ),
            (
                error(PairedDifferences::new(vec![])),
                "paired differences: there are no values",
            ),
            (
                error(PairedDifferences::new(vec![0.0, f64::NAN])),
                "paired differences: value 1 is NaN, not a finite number",
            ),
            (
                error(
                    PairedDifferences::new(vec![0.0, 2.0])
                        .unwrap()
                        .within(-1.0, 1.0),
                ),
                "value 1 is 2, outside -1 to 1",
            ),
            (
                error(
                    PairedDifferences::new(vec![0.0])
                        .unwrap()
                        .clustered_by(&[1, 2]),
                ),
                "marks of clusters: 2 values where 1 belong",
            ),
        ] {
            assert_eq!(found, expected);
        }
        let fine = PairedDifferences::new(vec![0.0, 1.0]).unwrap();
        assert!(fine.bootstrap(95.0, &few(1, 1)).is_err());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]

        /// The other system's view is the mirror image, up to which resamples were drawn.
        #[test]
        fn swapped_systems_mirror(values in prop::collection::vec(-100_i32..100, 2..40)) {
            let values: Vec<f64> = values.into_iter().map(|x| f64::from(x) / 100.0).collect();
            let mirrored: Vec<f64> = values.iter().map(|x| -x).collect();
            let one = PairedDifferences::new(values).unwrap();
            let other = PairedDifferences::new(mirrored).unwrap();
            let settings = few(3, 1);
            prop_assert_eq!(one.mean().value, -other.mean().value);
            prop_assert_eq!(one.sign_flip(&settings), other.sign_flip(&settings));
            let (one, other) = (
                one.bootstrap(0.95, &settings).unwrap(),
                other.bootstrap(0.95, &settings).unwrap(),
            );
            prop_assert_eq!(one.is_some(), other.is_some());
            if let (Some(one), Some(other)) = (one, other) {
                let close = |a: f64, b: f64| (a - b).abs() < 1e-9;
                prop_assert!(close(one.acceleration, -other.acceleration));
                prop_assert!(close(one.stderr, other.stderr) && one.interval.low <= one.interval.high);
            }
        }

        /// A shift by a constant shifts the interval and nothing else.
        #[test]
        fn shifts_shift(values in prop::collection::vec(-8_i32..8, 4..40), by in -4_i32..4) {
            prop_assume!(values.iter().any(|x| *x != values[0]));
            // Eighths are exact, so that no rounding blurs ties.
            let make = |by: i32| {
                let values = values.iter().map(|x| f64::from(x + by) / 8.0).collect();
                PairedDifferences::new(values).unwrap().bootstrap(0.9, &few(3, 1)).unwrap().unwrap()
            };
            let (plain, shifted) = (make(0), make(by));
            let expected = plain.interval.low + f64::from(by) / 8.0;
            prop_assert!((shifted.interval.low - expected).abs() < 1e-9);
        }
    }
}
