//! [`NonInferiority`]: whether a system lost less than a margin, and how many further examples would
//! probably tell.

use super::Verdict;
use crate::model::Interval;
use crate::stats::distribution::{normal_cdf, normal_quantile};
use crate::stats::error::{not_negative, open_share};
use crate::stats::{PairedDifferences, Resampling, StatsError};

/// How sure "probably" is.
const PROBABLY: f64 = 0.8;
/// More examples than anybody would run; also keeps the search finite.
const MOST_EXAMPLES: f64 = 1e12;

/// What is asked about differences.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NonInferiorityTest {
    /// How much may be lost, 0 or more, in the unit of the score.
    pub margin: f64,
    /// The confidence of the interval.
    pub confidence: f64,
    /// How the interval is drawn.
    pub resampling: Resampling,
}

impl NonInferiorityTest {
    /// A margin with 95 % confidence and the default resamples.
    pub fn new(margin: f64) -> Self {
        Self {
            margin,
            confidence: 0.95,
            resampling: Resampling::default(),
        }
    }
}

/// A verdict with what it rests on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NonInferiority {
    /// What is shown.
    pub verdict: Verdict,
    /// The mean difference.
    pub difference: f64,
    /// Its interval; `None` when there is no spread to take one from, which is inconclusive.
    pub interval: Option<Interval>,
    /// How many further examples would decide it with a probability of 80 %, if it is inconclusive
    /// and that can be said.
    pub further_examples: Option<u64>,
}

impl NonInferiorityTest {
    /// The verdict about differences of which more is better. Where less is better (tokens,
    /// seconds, money) the differences go in with the other sign.
    ///
    /// # Errors
    ///
    /// If the margin is negative or the confidence is not between 0 and 1.
    pub fn judge(&self, differences: &PairedDifferences) -> Result<NonInferiority, StatsError> {
        let margin = not_negative("margin", self.margin)?;
        let interval = differences.interval(self.confidence, &self.resampling)?;
        let verdict = interval.map_or(Verdict::Inconclusive, |found| Verdict::of(found, margin));
        Ok(NonInferiority {
            verdict,
            difference: differences.mean().value,
            interval,
            further_examples: match verdict.is_decided() {
                true => None,
                false => self.further_examples(differences)?,
            },
        })
    }

    /// The fewest further examples after which the interval would lie on one side of −margin with a
    /// probability of 80 %, given what was seen. The true difference is not taken for known: it is
    /// as uncertain as the data leaves it (the predictive probability of Spiegelhalter et al.
    /// 1986), so that there is always an answer, a large one near the margin.
    ///
    /// # Errors
    ///
    /// If the confidence is not between 0 and 1.
    pub fn further_examples(
        &self,
        differences: &PairedDifferences,
    ) -> Result<Option<u64>, StatsError> {
        let tail = (1.0 - open_share("confidence", self.confidence)?) / 2.0;
        let mean = differences.mean();
        let n = mean.n as f64;
        if mean.stderr.is_none() {
            return Ok(None);
        }
        let Some(stderr) = differences.spread() else {
            let total = self.all_equal_suffices(differences, mean.value, tail);
            return Ok(total.map(|clusters| {
                let examples = clusters * n / mean.clusters as f64;
                (examples.ceil() - n).max(1.0) as u64
            }));
        };
        let z = normal_quantile(1.0 - tail);
        let above = (mean.value + self.margin) / stderr;
        // In units of the standard error now: n examples have error 1, n·r examples √(1/r).
        let decides = |ratio: f64| {
            let critical = z / ratio.sqrt();
            let spread = ((ratio - 1.0) / ratio).sqrt();
            normal_cdf((above - critical) / spread) + normal_cdf((-above - critical) / spread)
        };
        let (mut low, mut high) = (1.0, 2.0);
        while decides(high) < PROBABLY {
            low = high;
            high *= 2.0;
            if n * high > MOST_EXAMPLES {
                return Ok(None);
            }
        }
        for _ in 0..60 {
            let middle = 0.5 * (low + high);
            match decides(middle) < PROBABLY {
                true => low = middle,
                false => high = middle,
            }
        }
        Ok(Some(((high - 1.0) * n).ceil().max(1.0) as u64))
    }

    /// How many clusters, all equal as these are, leave so little open that it is less than what
    /// separates them from −margin.
    fn all_equal_suffices(
        &self,
        differences: &PairedDifferences,
        value: f64,
        tail: f64,
    ) -> Option<f64> {
        let range = differences.range()?;
        let distance = value + self.margin;
        let reach = match distance > 0.0 {
            true => value - range.low,
            false => range.high - value,
        };
        let unseen = distance.abs() / reach;
        let clusters = tail.ln() / (-unseen).ln_1p();
        (unseen > 0.0 && clusters <= MOST_EXAMPLES).then_some(clusters.floor() + 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn differences(lost: usize, gained: usize, same: usize) -> PairedDifferences {
        let values = [(lost, -1.0), (gained, 1.0), (same, 0.0)];
        let values = values.iter().flat_map(|(n, value)| vec![*value; *n]);
        let made = PairedDifferences::new(values.collect()).unwrap();
        made.within(-1.0, 1.0).unwrap()
    }

    fn judged(differences: &PairedDifferences, margin: f64) -> NonInferiority {
        let mut test = NonInferiorityTest::new(margin);
        test.resampling.resamples = 2000;
        test.judge(differences).unwrap()
    }

    #[test]
    fn verdicts_of_worked_cases() {
        for (lost, gained, same, margin, expected) in [
            (5, 60, 935, 0.02, Verdict::Better),
            (10, 10, 980, 0.02, Verdict::NotWorse),
            (150, 20, 830, 0.02, Verdict::Worse),
            (20, 15, 65, 0.02, Verdict::Inconclusive),
            (0, 0, 30, 0.02, Verdict::Inconclusive),
            (0, 0, 30, 0.2, Verdict::NotWorse),
        ] {
            let found = judged(&differences(lost, gained, same), margin);
            assert_eq!(found.verdict, expected, "{lost} {gained} {same}: {found:?}");
            let open = expected == Verdict::Inconclusive;
            assert_eq!(found.further_examples.is_some(), open);
        }
    }

    #[test]
    fn equal_outcomes_decide_when_there_are_enough() {
        let ties = differences(0, 0, 30);
        let further = judged(&ties, 0.02).further_examples.unwrap() as usize;
        // ln 0.025 / ln 0.98 = 182.6
        assert_eq!(further, 183 - 30);
        let decided = judged(&differences(0, 0, 30 + further), 0.02);
        assert_eq!(decided.verdict, Verdict::NotWorse);
        let open = judged(&differences(0, 0, 29 + further), 0.02);
        assert_eq!(open.verdict, Verdict::Inconclusive);
    }

    #[test]
    fn the_nearer_to_the_margin_the_more_examples() {
        let mut last = 0;
        // From no loss towards a loss of the margin.
        for lost in [40, 46, 52, 56] {
            let found = judged(&differences(lost, 40, 400 - 40 - lost), 0.04);
            assert_eq!(found.verdict, Verdict::Inconclusive, "{found:?}");
            let further = found.further_examples.unwrap();
            assert!(further > last, "{lost}: {further} after {last}");
            last = further;
        }
        // Exactly at the margin it takes 60 times what was seen: 2Φ(−1.96/√59.9) = 0.8.
        assert!((23_000..=25_000).contains(&last), "{last}");
    }

    #[test]
    fn nothing_to_go_by_is_inconclusive() {
        let one = PairedDifferences::new(vec![0.3]).unwrap();
        let found = judged(&one, 0.1);
        assert_eq!(found.verdict, Verdict::Inconclusive);
        assert_eq!((found.interval, found.further_examples), (None, None));
        assert!(NonInferiorityTest::new(-0.1).judge(&one).is_err());
    }
}
