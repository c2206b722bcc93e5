//! [`PairedScores`]: scores of two systems, some of which are missing, and what the missing ones
//! may stand for.

use crate::model::Interval;
use crate::stats::error::same_length;
use crate::stats::{PairedDifferences, StatsError};

/// Scores of baseline and system for the same examples; `None` where a call failed or an
/// answer has no score.
#[derive(Debug, Clone, PartialEq)]
pub struct PairedScores {
    baseline: Vec<Option<f64>>,
    system: Vec<Option<f64>>,
}

impl PairedScores {
    /// Scores example by example.
    ///
    /// # Errors
    ///
    /// If the lists differ in length.
    pub fn new(baseline: Vec<Option<f64>>, system: Vec<Option<f64>>) -> Result<Self, StatsError> {
        same_length("the scores of a system", system.len(), baseline.len())?;
        Ok(Self { baseline, system })
    }

    /// The examples that both have a score for, as places in the lists: marks of clusters are
    /// chosen with them.
    pub fn both(&self) -> Vec<usize> {
        let scored = |at: &usize| self.baseline[*at].is_some() && self.system[*at].is_some();
        (0..self.baseline.len()).filter(scored).collect()
    }

    /// Differences of the examples that both have a score for.
    ///
    /// # Errors
    ///
    /// If there is none, or a score is not finite.
    pub fn on_both(&self) -> Result<PairedDifferences, StatsError> {
        let each = self.both().into_iter().filter_map(|at| {
            let (baseline, system) = (self.baseline[at]?, self.system[at]?);
            Some(system - baseline)
        });
        PairedDifferences::new(each.collect())
    }

    /// Differences of all examples, where a missing score counts as `value`: 0 takes failures
    /// for wrong answers.
    ///
    /// # Errors
    ///
    /// If there is no example, or a score is not finite.
    pub fn missing_as(&self, value: f64) -> Result<PairedDifferences, StatsError> {
        self.filled(value, value)
    }

    /// The mean difference over all examples when every missing score is as bad for the system as
    /// the range of scores allows, and as good (Horowitz & Manski 2000). No assumption about
    /// why scores are missing can lead outside.
    ///
    /// # Errors
    ///
    /// If there is no example, or a score is not finite.
    pub fn bounds(&self, scores: Interval) -> Result<Interval, StatsError> {
        Ok(Interval {
            low: self.worst(scores)?.mean().value,
            high: self.best(scores)?.mean().value,
        })
    }

    /// Differences when missing scores are as bad for the system as can be.
    ///
    /// # Errors
    ///
    /// If there is no example, or a score is not finite.
    pub fn worst(&self, scores: Interval) -> Result<PairedDifferences, StatsError> {
        self.filled(scores.high, scores.low)
    }

    /// Differences when missing scores are as good for the system as can be.
    ///
    /// # Errors
    ///
    /// If there is no example, or a score is not finite.
    pub fn best(&self, scores: Interval) -> Result<PairedDifferences, StatsError> {
        self.filled(scores.low, scores.high)
    }

    fn filled(&self, baseline: f64, system: f64) -> Result<PairedDifferences, StatsError> {
        let pairs = self.system.iter().zip(&self.baseline);
        let each = pairs.map(|(new, old)| new.unwrap_or(system) - old.unwrap_or(baseline));
        PairedDifferences::new(each.collect())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SHARE: Interval = Interval {
        low: 0.0,
        high: 1.0,
    };

    #[test]
    fn missing_scores_are_left_out_filled_or_bounded() {
        let scores = PairedScores::new(
            vec![Some(1.0), Some(0.5), None, None],
            vec![Some(0.5), None, Some(1.0), None],
        )
        .unwrap();
        assert_eq!(scores.both(), [0]);
        assert_eq!(scores.on_both().unwrap().values(), [-0.5]);
        assert_eq!(
            scores.missing_as(0.0).unwrap().values(),
            [-0.5, -0.5, 1.0, 0.0]
        );
        assert_eq!(
            scores.worst(SHARE).unwrap().values(),
            [-0.5, -0.5, 0.0, -1.0]
        );
        assert_eq!(scores.best(SHARE).unwrap().values(), [-0.5, 0.5, 1.0, 1.0]);
        let bounds = scores.bounds(SHARE).unwrap();
        assert_eq!((bounds.low, bounds.high), (-0.5, 0.5));
    }

    proptest! {
        #[test]
        fn whatever_is_missing_lies_between_the_bounds(
            pairs in prop::collection::vec((0.0..=1.0_f64, any::<bool>(), 0.0..=1.0_f64, any::<bool>()), 1..30),
        ) {
            let side = |known: bool, value: f64| known.then_some(value);
            let scores = PairedScores::new(
                pairs.iter().map(|pair| side(pair.1, pair.0)).collect(),
                pairs.iter().map(|pair| side(pair.3, pair.2)).collect(),
            ).unwrap();
            let truth = pairs.iter().map(|pair| pair.2 - pair.0).sum::<f64>() / pairs.len() as f64;
            let bounds = scores.bounds(SHARE).unwrap();
            prop_assert!(bounds.low <= truth + 1e-12 && truth <= bounds.high + 1e-12);
        }
    }
}
