//! [`ConfidenceSequence`]: an interval of a mean that holds after every observation at once.
//!
//! The hedged capital of Waudby-Smith & Ramdas (2023, "Estimating means of bounded random
//! variables by betting", theorem 3, with the predictable plug-in bets of their equation 26): for
//! every candidate mean somebody bets that the mean is higher, and somebody that it is lower. If
//! the candidate is true, neither can be expected to win, and by Ville's inequality the capital of
//! the two ever reaches 2/α with a probability of at most α together. A candidate whose bettor got
//! there is out for good.
//!
//! Bets need a range and nothing else: no normal distribution, no number of examples fixed
//! beforehand. Chosen over Howard et al. (2021), whose bounds have a closed form, because its
//! intervals are narrower for scores that vary little within their range, as differences do.

use crate::model::Interval;
use crate::stats::StatsError;
use crate::stats::error::open_share;

/// How many steps the range is cut into; ends of intervals are rounded outwards to one.
const STEPS: usize = 1000;
/// No bet risks more than this part of the capital.
const MOST_AT_STAKE: f64 = 0.5;

/// The capital of two bettors against one candidate mean.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Candidate {
    /// From 0 to 1: the place in the range.
    mean: f64,
    /// Logarithm of the capital of who bets on more than this.
    on_more: f64,
    /// And on less.
    on_less: f64,
}

impl Candidate {
    fn new(mean: f64) -> Self {
        Self {
            mean,
            on_more: 0.0,
            on_less: 0.0,
        }
    }

    fn observe(&mut self, value: f64, bet: f64) {
        let beyond = value - self.mean;
        self.on_more += (bet.min(MOST_AT_STAKE / self.mean) * beyond).ln_1p();
        self.on_less += (-bet.min(MOST_AT_STAKE / (1.0 - self.mean)) * beyond).ln_1p();
    }
}

/// Mean and variance so far, from which the next bet follows before its outcome is known.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Bets {
    /// ln(2/α): what a bettor must reach.
    goal: f64,
    seen: u64,
    sum: f64,
    squares: f64,
}

impl Bets {
    fn new(alpha: f64) -> Self {
        Self {
            goal: (2.0 / alpha).ln(),
            seen: 0,
            // One imagined observation, so that the first bets are no gamble.
            sum: 0.5,
            squares: 0.25,
        }
    }

    fn next(&self) -> f64 {
        let n = (self.seen + 1) as f64;
        let variance = self.squares / n;
        (2.0 * self.goal / (n * n.ln_1p() * variance)).sqrt()
    }

    fn observe(&mut self, value: f64) {
        self.seen += 1;
        self.sum += value;
        let mean = self.sum / (self.seen + 1) as f64;
        self.squares += (value - mean).powi(2);
    }
}

/// An interval that may be looked at after every value, and acted upon.
#[derive(Debug, Clone)]
pub struct ConfidenceSequence {
    range: Interval,
    bets: Bets,
    /// Those of the grid that are not out yet, from low to high.
    grid: Vec<Candidate>,
    interval: Interval,
    /// Candidates that somebody asks about, watched exactly, with what is shown of each.
    watched: Vec<(Candidate, Shown)>,
}

/// What is shown about a candidate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shown {
    Nothing,
    MeanIsMore,
    MeanIsLess,
}

impl ConfidenceSequence {
    /// Nothing seen yet of values that lie in a range, with an error of `alpha` over all times
    /// together.
    ///
    /// # Errors
    ///
    /// If the range is empty or not finite, or `alpha` is not between 0 and 1.
    pub fn new(range: Interval, alpha: f64) -> Result<Self, StatsError> {
        let alpha = open_share("alpha", alpha)?;
        let width = range.high - range.low;
        if !(width > 0.0 && width.is_finite()) {
            return Err(StatsError::Setting {
                setting: "width of the range",
                value: width,
                expected: "a number above 0",
            });
        }
        let grid = (0..=STEPS).map(|at| Candidate::new(at as f64 / STEPS as f64));
        Ok(Self {
            range,
            bets: Bets::new(alpha),
            grid: grid.collect(),
            interval: range,
            watched: Vec::new(),
        })
    }

    /// Also watches one mean, exactly and not only to a step of the grid; its number.
    pub(super) fn watch(&mut self, mean: f64) -> usize {
        let place = self.place(mean).clamp(0.0, 1.0);
        self.watched.push((Candidate::new(place), Shown::Nothing));
        self.watched.len() - 1
    }

    /// What is shown about a mean that is watched.
    pub(super) fn shown(&self, watched: usize) -> Shown {
        self.watched[watched].1
    }

    /// Takes in the next value.
    ///
    /// # Errors
    ///
    /// If it lies outside the range.
    pub fn observe(&mut self, value: f64) -> Result<(), StatsError> {
        let Interval { low, high } = self.range;
        if !(low..=high).contains(&value) {
            return Err(StatsError::OutsideRange {
                at: self.bets.seen as usize,
                value,
                low,
                high,
            });
        }
        let place = self.place(value);
        let bet = self.bets.next();
        for (candidate, shown) in &mut self.watched {
            candidate.observe(place, bet);
            if *shown == Shown::Nothing {
                if candidate.on_more >= self.bets.goal {
                    *shown = Shown::MeanIsMore;
                } else if candidate.on_less >= self.bets.goal {
                    *shown = Shown::MeanIsLess;
                }
            }
        }
        for candidate in &mut self.grid {
            candidate.observe(place, bet);
        }
        self.bets.observe(place);
        self.narrow();
        Ok(())
    }

    /// How many values have been seen.
    pub fn seen(&self) -> u64 {
        self.bets.seen
    }

    /// The interval now. It never grows.
    pub fn interval(&self) -> Interval {
        self.interval
    }

    /// Leaves out candidates from both ends. The capital against a candidate falls towards the
    /// mean, so what is left lies together; the last that is out on each side is the end.
    fn narrow(&mut self) {
        let goal = self.bets.goal;
        let too_low = self.grid.partition_point(|one| one.on_more >= goal);
        if let Some(last) = too_low.checked_sub(1) {
            self.interval.low = self.value(self.grid[last].mean);
            self.grid.drain(..too_low);
        }
        let first_too_high = self.grid.partition_point(|one| one.on_less < goal);
        if let Some(first) = self.grid.get(first_too_high) {
            self.interval.high = self.value(first.mean);
            self.grid.truncate(first_too_high);
        }
    }

    /// Where a value lies in the range, from 0 to 1.
    fn place(&self, value: f64) -> f64 {
        (value - self.range.low) / (self.range.high - self.range.low)
    }

    fn value(&self, place: f64) -> f64 {
        self.range.low + place * (self.range.high - self.range.low)
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
    fn unfit_input_is_an_error() {
        let upside_down = Interval {
            low: 1.0,
            high: 0.0,
        };
        assert!(ConfidenceSequence::new(upside_down, 0.05).is_err());
        assert!(ConfidenceSequence::new(SHARE, 0.0).is_err());
        let mut sequence = ConfidenceSequence::new(SHARE, 0.05).unwrap();
        for value in [1.5, -0.1, f64::NAN] {
            assert!(sequence.observe(value).is_err());
        }
        assert_eq!((sequence.seen(), sequence.interval()), (0, SHARE));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20))]

        /// Intervals only narrow and stay within the range, whatever comes.
        #[test]
        fn intervals_narrow(values in prop::collection::vec(0.0..=1.0_f64, 1..80)) {
            let mut sequence = ConfidenceSequence::new(SHARE, 0.05).unwrap();
            let mut last = SHARE;
            for value in values {
                sequence.observe(value).unwrap();
                let now = sequence.interval();
                prop_assert!(last.low <= now.low && now.high <= last.high);
                last = now;
            }
        }
    }
}
