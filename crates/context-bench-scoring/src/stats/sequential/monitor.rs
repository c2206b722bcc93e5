//! [`DifferenceMonitor`]: a verdict about a margin that may be acted upon as soon as it is there.

use super::ConfidenceSequence;
use super::confidence_sequence::Shown;
use crate::model::Interval;
use crate::stats::error::not_negative;
use crate::stats::{StatsError, Verdict};

/// Paired differences as they come in, example by example in random order, and what they show
/// about a margin at any time. A verdict, once there, is never taken back; with a
/// probability of at least 1 − α no verdict that ever comes is wrong, however often one looks.
///
/// Of clusters one value goes in, their mean: values of one cluster tell less than as many
/// examples on their own.
#[derive(Debug, Clone)]
pub struct DifferenceMonitor {
    sequence: ConfidenceSequence,
    at_zero: usize,
    at_margin: usize,
}

impl DifferenceMonitor {
    /// For differences in a range (−1 to 1 for scores from 0 to 1), of which more is better.
    ///
    /// # Errors
    ///
    /// If the margin is negative, the range is empty or `alpha` is not between 0 and 1.
    pub fn new(range: Interval, margin: f64, alpha: f64) -> Result<Self, StatsError> {
        let margin = not_negative("margin", margin)?;
        let mut sequence = ConfidenceSequence::new(range, alpha)?;
        Ok(Self {
            at_zero: sequence.watch(0.0),
            at_margin: sequence.watch(-margin),
            sequence,
        })
    }

    /// Takes in the difference of the next example, and says what is shown by now.
    ///
    /// # Errors
    ///
    /// If it lies outside the range.
    pub fn observe(&mut self, difference: f64) -> Result<Verdict, StatsError> {
        self.sequence.observe(difference)?;
        Ok(self.verdict())
    }

    /// What is shown by now.
    pub fn verdict(&self) -> Verdict {
        match (
            self.sequence.shown(self.at_zero),
            self.sequence.shown(self.at_margin),
        ) {
            (Shown::MeanIsMore, _) => Verdict::Better,
            (_, Shown::MeanIsMore) => Verdict::NotWorse,
            (_, Shown::MeanIsLess) => Verdict::Worse,
            _ => Verdict::Inconclusive,
        }
    }

    /// The interval of the mean difference by now.
    pub fn interval(&self) -> Interval {
        self.sequence.interval()
    }

    /// How many differences have been seen.
    pub fn seen(&self) -> u64 {
        self.sequence.seen()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::RandomStream;

    const RANGE: Interval = Interval {
        low: -1.0,
        high: 1.0,
    };

    /// A run of pass-or-fail differences that stops when decided, or after `most` examples.
    fn run(
        stream: &mut RandomStream,
        lost: f64,
        gained: f64,
        margin: f64,
        most: u64,
    ) -> (Verdict, DifferenceMonitor) {
        let mut monitor = DifferenceMonitor::new(RANGE, margin, 0.05).unwrap();
        loop {
            let u = stream.unit();
            let difference = match u {
                _ if u < lost => -1.0,
                _ if u < lost + gained => 1.0,
                _ => 0.0,
            };
            let verdict = monitor.observe(difference).unwrap();
            if verdict.is_decided() || monitor.seen() == most {
                return (verdict, monitor);
            }
        }
    }

    #[test]
    fn verdicts_are_wrong_in_fewer_than_5_of_100_runs() {
        // 200 runs with a look after every example: at a true error of 5 %, more than 20
        // wrong ones would come once in a thousand times.
        const RUNS: u64 = 200;
        for (case, (lost, gained, margin, wrong)) in [
            // No difference: whatever says that there is one.
            (0.1, 0.1, 0.1, &[Verdict::Better, Verdict::Worse][..]),
            // Exactly the margin: both verdicts say too much.
            (
                0.2,
                0.1,
                0.1,
                &[Verdict::Better, Verdict::NotWorse, Verdict::Worse],
            ),
            // A large loss.
            (
                0.5,
                0.1,
                0.1,
                &[Verdict::Better, Verdict::NotWorse, Verdict::Inconclusive],
            ),
        ]
        .into_iter()
        .enumerate()
        {
            let (mut mistakes, mut missed) = (0, 0);
            for at in 0..RUNS {
                let mut stream = RandomStream::new(case as u64, at);
                let (verdict, monitor) = run(&mut stream, lost, gained, margin, 600);
                mistakes += u32::from(wrong.contains(&verdict));
                let truth = gained - lost;
                let Interval { low, high } = monitor.interval();
                missed += u32::from(!(low..=high).contains(&truth));
            }
            assert!(
                mistakes <= 20 && missed <= 20,
                "{case}: {mistakes} {missed}"
            );
        }
    }

    #[test]
    fn large_differences_are_decided_early_and_stay_decided() {
        let mut monitor = DifferenceMonitor::new(RANGE, 0.02, 0.05).unwrap();
        let mut decided = None;
        for _ in 0..200 {
            let verdict = monitor.observe(-1.0).unwrap();
            match decided {
                Some(_) => assert_eq!(verdict, Verdict::Worse),
                None if verdict.is_decided() => decided = Some(monitor.seen()),
                None => {}
            }
        }
        assert!(decided.is_some_and(|seen| seen < 30), "{decided:?}");
        assert!(monitor.interval().high < -0.5);
    }

    #[test]
    fn the_margin_is_tested_exactly() {
        // A margin between two steps of the grid is decided at the margin, not at a step.
        let mut near = DifferenceMonitor::new(RANGE, 0.0211, 0.05).unwrap();
        let mut far = DifferenceMonitor::new(RANGE, 0.0219, 0.05).unwrap();
        let (mut first_near, mut first_far) = (None, None);
        for at in 0..20_000_u64 {
            // Alternating: mean 0, and a small variance.
            let value = if at % 2 == 0 { 0.05 } else { -0.05 };
            for (monitor, first) in [(&mut near, &mut first_near), (&mut far, &mut first_far)] {
                if first.is_none() && monitor.observe(value).unwrap().is_decided() {
                    *first = Some(at);
                }
            }
            if first_near.is_some() && first_far.is_some() {
                break;
            }
        }
        let (near, far) = (first_near.unwrap(), first_far.unwrap());
        assert!(far < near, "{far} {near}");
    }
}
