//! From paired values to a [`Difference`]: which interval, which test, and what missing scores may
//! stand for.

use super::measure::Measure;
use super::{Difference, Equivalence, Filled, FlipCounts, MissingScores, PairedTest, Relative};
use super::{MeasureKind, Scope};
use crate::model::Interval;
use crate::stats::{
    Discordance, NonInferiorityTest, PairedDifferences, PairedScores, Resampling, Verdict,
    equivalence,
};

/// Of every interval.
pub(super) const CONFIDENCE: f64 = 0.95;
/// Below so many examples that only one system passes, resamples show too little; see the table in
/// `docs/reference/statistics.md`.
const FEW_DISCORDANT: u64 = 10;
/// What a score between 0 and 1 can be.
const SHARE: Interval = Interval {
    low: 0.0,
    high: 1.0,
};

/// Values of two systems for the same examples, some of which are missing.
#[derive(Default)]
pub(super) struct PairedValues {
    pub(super) baseline: Vec<Option<f64>>,
    pub(super) system: Vec<Option<f64>>,
    /// Empty when each pair is a cluster of its own.
    pub(super) clusters: Vec<u32>,
}

/// What is asked of paired values.
pub(super) struct Question<'a> {
    pub(super) scope: Scope,
    pub(super) name: &'a str,
    pub(super) measure: &'a Measure,
    pub(super) less_is_better: bool,
    pub(super) is_share: bool,
    pub(super) margin: Option<f64>,
    /// From this value on an example counts as passed, if flips are counted.
    pub(super) threshold: Option<f64>,
    pub(super) resampling: Resampling,
}

impl PairedValues {
    /// Room for so many pairs.
    pub(super) fn with_room(n: usize) -> Self {
        Self {
            baseline: Vec::with_capacity(n),
            system: Vec::with_capacity(n),
            clusters: Vec::new(),
        }
    }

    pub(super) fn push(&mut self, values: (Option<f64>, Option<f64>), cluster: Option<u32>) {
        self.baseline.push(values.0);
        self.system.push(values.1);
        self.clusters.extend(cluster);
    }

    /// The values that both have, with their clusters.
    fn on_both(&self) -> (Vec<(f64, f64)>, Vec<u32>) {
        let mut values = Vec::with_capacity(self.baseline.len());
        let mut clusters = Vec::new();
        for (at, (old, new)) in self.baseline.iter().zip(&self.system).enumerate() {
            if let (Some(old), Some(new)) = (old, new) {
                values.push((*old, *new));
                clusters.extend(self.clusters.get(at));
            }
        }
        (values, clusters)
    }
}

impl Question<'_> {
    /// The difference; `None` when no pair has both values.
    pub(super) fn answer(&self, values: &PairedValues) -> Option<Difference> {
        let (both, clusters) = values.on_both();
        let differences: Vec<f64> = both.iter().map(|(old, new)| new - old).collect();
        let gains = self.gains(differences, &clusters)?;
        let n = both.len() as f64;
        let baseline_mean = both.iter().map(|pair| pair.0).sum::<f64>() / n;
        let system_mean = both.iter().map(|pair| pair.1).sum::<f64>() / n;
        let is_clustered = gains.mean().clusters < both.len();
        let discordance = self.discordance(&both).filter(|_| !is_clustered);
        let mut found = self.of_gains(&gains, discordance)?;
        (found.baseline_mean, found.system_mean) = (baseline_mean, system_mean);
        if self.measure.kind() != MeasureKind::Score {
            found.relative = self.relative(&both, &clusters, baseline_mean, system_mean);
        }
        found.flips = self.threshold.map(|threshold| {
            let passed = both.iter();
            let passed = passed.map(|(old, new)| (*old >= threshold, *new >= threshold));
            let counts = Discordance::count(passed);
            FlipCounts {
                gained: counts.gained,
                lost: counts.lost,
                same: counts.same,
            }
        });
        if both.len() < values.baseline.len() {
            found.missing = Some(self.missing(values, found.verdict));
        }
        Some(found)
    }

    /// What differences with the sign that makes more better say, without means and flips.
    pub(super) fn of_gains(
        &self,
        gains: &PairedDifferences,
        discordance: Option<Discordance>,
    ) -> Option<Difference> {
        let mean = gains.mean();
        let mut interval = gains.interval(CONFIDENCE, &self.resampling).ok()?;
        if let Some(counts) = discordance
            && counts.gained + counts.lost < FEW_DISCORDANT
            && let (Some(found), Ok(few)) = (&mut interval, counts.interval(CONFIDENCE))
        {
            found.low = found.low.min(few.low);
            found.high = found.high.max(few.high);
        }
        let (test, p_value) = match discordance {
            Some(counts) => (PairedTest::Mcnemar, counts.mcnemar().p_value),
            None => (
                PairedTest::SignFlip,
                gains.sign_flip(&self.resampling).p_value,
            ),
        };
        let verdict = self.verdict(interval, p_value);
        Some(Difference {
            scope: self.scope,
            name: self.name.to_owned(),
            measure: self.measure.name().to_owned(),
            kind: self.measure.kind(),
            less_is_better: self.less_is_better,
            is_share: self.is_share,
            n: mean.n,
            clusters: mean.clusters,
            baseline_mean: 0.0,
            system_mean: 0.0,
            difference: self.signed(mean.value),
            interval: interval.map(|found| self.as_difference(found)),
            stderr: mean.stderr,
            relative: None,
            test,
            p_value,
            p_adjusted: None,
            margin: self.margin,
            verdict,
            further_examples: self.further(gains, verdict),
            equivalence: self.equivalence(gains, interval),
            flips: None,
            missing: None,
        })
    }

    /// Differences with the sign that makes more better.
    pub(super) fn gains(
        &self,
        mut differences: Vec<f64>,
        clusters: &[u32],
    ) -> Option<PairedDifferences> {
        if self.less_is_better {
            differences.iter_mut().for_each(|value| *value = -*value);
        }
        let mut gains = PairedDifferences::new(differences).ok()?;
        if !clusters.is_empty() {
            gains = gains.clustered_by(clusters).ok()?;
        }
        match self.is_share {
            true => gains.within(-1.0, 1.0).ok(),
            false => Some(gains),
        }
    }

    /// Pass and fail, if the values are nothing else.
    fn discordance(&self, both: &[(f64, f64)]) -> Option<Discordance> {
        let is_binary = |value: f64| value == 0.0 || value == 1.0;
        let all = self.measure.kind() == MeasureKind::Score
            && both
                .iter()
                .all(|pair| is_binary(pair.0) && is_binary(pair.1));
        let right = |value: f64| (value == 1.0) != self.less_is_better;
        let pairs = both.iter().map(|pair| (right(pair.0), right(pair.1)));
        all.then(|| Discordance::count(pairs))
    }

    /// What is shown. Of few examples Student's t says more than they can: a difference counts as
    /// one only if the test finds it too.
    fn verdict(&self, gains: Option<Interval>, p_value: f64) -> Verdict {
        let margin = self.margin.unwrap_or(0.0);
        let Some(found) = gains else {
            return Verdict::Inconclusive;
        };
        match Verdict::of(found, margin) {
            Verdict::Better if p_value >= 1.0 - CONFIDENCE => match margin > 0.0 {
                true => Verdict::NotWorse,
                false => Verdict::Inconclusive,
            },
            Verdict::Worse if p_value >= 1.0 - CONFIDENCE => Verdict::Inconclusive,
            shown => shown,
        }
    }

    fn further(&self, gains: &PairedDifferences, verdict: Verdict) -> Option<u64> {
        let margin = self.margin.filter(|_| !verdict.is_decided())?;
        let test = NonInferiorityTest {
            confidence: CONFIDENCE,
            ..NonInferiorityTest::new(margin)
        };
        test.further_examples(gains).ok().flatten()
    }

    fn equivalence(
        &self,
        gains: &PairedDifferences,
        interval: Option<Interval>,
    ) -> Option<Equivalence> {
        let margin = self.margin.filter(|margin| *margin > 0.0)?;
        let test = equivalence(gains, margin).ok()?;
        let interval = interval?;
        Some(Equivalence {
            p_value: test.map(|test| test.p_value()),
            is_shown: interval.low > -margin && interval.high < margin,
        })
    }

    /// The change as a share of the baseline. Its interval is Student's t of the mean of
    /// (new − (1 + change) · old) / mean(old), the first-order error of a ratio of means.
    fn relative(
        &self,
        both: &[(f64, f64)],
        clusters: &[u32],
        baseline_mean: f64,
        system_mean: f64,
    ) -> Option<Relative> {
        let ratio = system_mean / baseline_mean;
        if !ratio.is_finite() || baseline_mean <= 0.0 {
            return None;
        }
        let errors = both.iter();
        let errors = errors.map(|(old, new)| (new - ratio * old) / baseline_mean);
        let mut errors = PairedDifferences::new(errors.collect()).ok()?;
        if !clusters.is_empty() {
            errors = errors.clustered_by(clusters).ok()?;
        }
        let interval = errors.t_interval(CONFIDENCE).ok()?;
        let value = ratio - 1.0;
        Some(Relative {
            value,
            interval: interval.map(|found| Interval {
                low: value + found.low,
                high: value + found.high,
            }),
        })
    }

    /// What missing scores may stand for. Without a known range nothing bounds them.
    fn missing(&self, values: &PairedValues, verdict: Verdict) -> MissingScores {
        let gaps = |side: &[Option<f64>]| side.iter().filter(|value| value.is_none()).count();
        let pairs = values.baseline.iter().zip(&values.system);
        let either = pairs.filter(|(old, new)| old.is_none() || new.is_none());
        let mut missing = MissingScores {
            baseline: gaps(&values.baseline),
            system: gaps(&values.system),
            either: either.count(),
            as_wrong: None,
            worst: None,
            best: None,
            decides: true,
        };
        let scores = PairedScores::new(values.baseline.clone(), values.system.clone());
        let (true, Ok(scores)) = (self.is_share, scores) else {
            return missing;
        };
        let filled = |differences: Result<PairedDifferences, _>| {
            let differences: PairedDifferences = differences.ok()?;
            let gains = self.gains(differences.values().to_vec(), &values.clusters)?;
            let interval = gains.interval(CONFIDENCE, &self.resampling).ok()?;
            Some(Filled {
                difference: self.signed(gains.mean().value),
                interval: interval.map(|found| self.as_difference(found)),
                verdict: self.verdict(interval, gains.sign_flip(&self.resampling).p_value),
            })
        };
        let wrong = if self.less_is_better { 1.0 } else { 0.0 };
        missing.as_wrong = filled(scores.missing_as(wrong));
        let ends = [filled(scores.worst(SHARE)), filled(scores.best(SHARE))];
        [missing.worst, missing.best] = match self.less_is_better {
            false => ends,
            true => [ends[1], ends[0]],
        };
        let cases = [missing.as_wrong, missing.worst, missing.best];
        let differs = |case: &Option<Filled>| case.is_none_or(|case| case.verdict != verdict);
        missing.decides = cases.iter().any(differs);
        missing
    }

    fn signed(&self, gain: f64) -> f64 {
        match self.less_is_better {
            // A plain zero, not a negative one.
            true => 0.0 - gain,
            false => gain,
        }
    }

    fn as_difference(&self, gains: Interval) -> Interval {
        match self.less_is_better {
            true => Interval {
                low: 0.0 - gains.high,
                high: 0.0 - gains.low,
            },
            false => gains,
        }
    }
}
