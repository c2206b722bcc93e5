//! [`SweepCurve`]: quality against tokens, with bands, and the area under it.

use super::SweepExamples;
use crate::model::Interval;
use crate::stats::error::open_share;
use crate::stats::resampling::{JointResamples, quantile};
use crate::stats::{Resampling, StatsError};

/// The arms of a sweep of one layer: tokens and quality for each example, arm by arm.
#[derive(Debug, Clone, PartialEq)]
pub struct SweepCurve {
    examples: SweepExamples,
    /// In order of their mean tokens.
    arms: Vec<Arm>,
}

#[derive(Debug, Clone, PartialEq)]
struct Arm {
    /// The place in which it was added.
    number: usize,
    tokens: Vec<f64>,
    quality: Vec<f64>,
}

/// An arm as a point with its bands.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CurvePoint {
    /// Which arm, in the order in which they were given.
    pub arm: usize,
    /// Mean tokens.
    pub tokens: f64,
    /// Their interval.
    pub tokens_interval: Interval,
    /// Mean quality.
    pub quality: f64,
    /// Its interval.
    pub quality_interval: Interval,
}

/// The area under a curve over a range of tokens, divided by its width: the quality that a budget
/// chosen at random from the range would give.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SweepArea {
    /// The mean height of the curve.
    pub area: f64,
    /// Its interval.
    pub interval: Interval,
    /// The range of tokens that it is taken over.
    pub tokens: Interval,
}

impl SweepCurve {
    /// A curve from tokens and quality of each example under each arm.
    ///
    /// # Errors
    ///
    /// If there is no arm, or an arm lacks a value or has one that is not finite.
    pub fn new(
        examples: SweepExamples,
        arms: impl IntoIterator<Item = (Vec<f64>, Vec<f64>)>,
    ) -> Result<Self, StatsError> {
        let arms = arms.into_iter().enumerate();
        let mut arms: Vec<Arm> = arms
            .map(|(number, (tokens, quality))| Arm {
                number,
                tokens,
                quality,
            })
            .collect();
        if arms.is_empty() {
            return Err(StatsError::Empty {
                what: "the arms of a sweep",
            });
        }
        for arm in &arms {
            examples.check("the tokens of an arm", &arm.tokens)?;
            examples.check("the quality of an arm", &arm.quality)?;
        }
        arms.sort_by(|a, b| mean(&a.tokens).total_cmp(&mean(&b.tokens)));
        Ok(Self { examples, arms })
    }

    /// The arms as points with intervals, in order of their tokens.
    ///
    /// # Errors
    ///
    /// If the confidence is not between 0 and 1.
    pub fn points(
        &self,
        confidence: f64,
        resampling: &Resampling,
    ) -> Result<Vec<CurvePoint>, StatsError> {
        let confidence = open_share("confidence", confidence)?;
        let resamples = self.resamples(resampling);
        let each = self.arms.iter().enumerate().map(|(at, arm)| CurvePoint {
            arm: arm.number,
            tokens: mean(&arm.tokens),
            tokens_interval: middle(&resamples.sorted(|means| means[2 * at]), confidence),
            quality: mean(&arm.quality),
            quality_interval: middle(&resamples.sorted(|means| means[2 * at + 1]), confidence),
        });
        Ok(each.collect())
    }

    /// The area under the curve between its smallest and its largest arm. Whole examples are drawn
    /// again for all arms at once, and the ends of the range stay where they are. `None` when all
    /// arms have the same tokens.
    ///
    /// # Errors
    ///
    /// If the confidence is not between 0 and 1.
    pub fn area(
        &self,
        confidence: f64,
        resampling: &Resampling,
    ) -> Result<Option<SweepArea>, StatsError> {
        let confidence = open_share("confidence", confidence)?;
        let points = self.means();
        let tokens = self.span();
        if tokens.high <= tokens.low {
            return Ok(None);
        }
        let resamples = self.resamples(resampling);
        let areas = resamples.sorted(|means| mean_height(&pairs(means), tokens));
        Ok(Some(SweepArea {
            area: mean_height(&points, tokens),
            interval: middle(&areas, confidence),
            tokens,
        }))
    }

    /// From the tokens of the smallest arm to those of the largest.
    pub(super) fn span(&self) -> Interval {
        let end = |arm: Option<&Arm>| arm.map_or(0.0, |arm| mean(&arm.tokens));
        Interval {
            low: end(self.arms.first()),
            high: end(self.arms.last()),
        }
    }

    pub(super) fn examples(&self) -> &SweepExamples {
        &self.examples
    }

    /// Tokens and quality of each arm.
    pub(super) fn means(&self) -> Vec<(f64, f64)> {
        let each = self.arms.iter();
        each.map(|arm| (mean(&arm.tokens), mean(&arm.quality)))
            .collect()
    }

    /// Tokens and quality, arm after arm.
    pub(super) fn columns(&self) -> Vec<&[f64]> {
        let each = self.arms.iter();
        each.flat_map(|arm| [arm.tokens.as_slice(), arm.quality.as_slice()])
            .collect()
    }

    fn resamples(&self, resampling: &Resampling) -> JointResamples {
        JointResamples::draw(&self.columns(), self.examples.clusters(), resampling)
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Columns of means as points in order of their tokens.
pub(super) fn pairs(means: &[f64]) -> Vec<(f64, f64)> {
    let each = means.chunks_exact(2).map(|pair| (pair[0], pair[1]));
    let mut points: Vec<(f64, f64)> = each.collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    points
}

/// The middle part of sorted numbers: the percentile interval.
pub(super) fn middle(sorted: &[f64], confidence: f64) -> Interval {
    let tail = (1.0 - confidence) / 2.0;
    Interval {
        low: quantile(sorted, tail),
        high: quantile(sorted, 1.0 - tail),
    }
}

/// The height of the curve at some tokens: straight between points, level beyond the last.
pub(super) fn height(points: &[(f64, f64)], tokens: f64) -> f64 {
    let after = points.partition_point(|point| point.0 < tokens);
    match (after.checked_sub(1).map(|at| points[at]), points.get(after)) {
        (Some(left), Some(right)) if right.0 > left.0 => {
            let part = (tokens - left.0) / (right.0 - left.0);
            left.1 + part * (right.1 - left.1)
        }
        (_, Some(right)) => right.1,
        (Some(left), None) => left.1,
        (None, None) => f64::NAN,
    }
}

/// The mean height of the curve over a range, by trapezoids.
pub(super) fn mean_height(points: &[(f64, f64)], range: Interval) -> f64 {
    let Interval { low, high } = range;
    let inside = points
        .iter()
        .filter(|point| low < point.0 && point.0 < high);
    let mut corners = vec![(low, height(points, low))];
    corners.extend(inside.copied());
    corners.push((high, height(points, high)));
    let areas = corners.windows(2).map(|pair| {
        let (left, right) = (pair[0], pair[1]);
        (right.0 - left.0) * (left.1 + right.1) / 2.0
    });
    areas.sum::<f64>() / (high - low)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn settings() -> Resampling {
        Resampling {
            resamples: 500,
            ..Resampling::seeded(4)
        }
    }

    #[test]
    fn areas_are_trapezoids() {
        let points = [(100.0, 0.2), (200.0, 0.6), (400.0, 0.8)];
        let range = |low, high| Interval { low, high };
        for (low, high, expected) in [
            (100.0, 400.0, (0.4 * 100.0 + 0.7 * 200.0) / 300.0),
            (100.0, 200.0, 0.4),
            (150.0, 300.0, (0.5 * 50.0 + 0.65 * 100.0) / 150.0),
            // Beyond the last arm the curve is level.
            (400.0, 500.0, 0.8),
        ] {
            let found = mean_height(&points, range(low, high));
            assert!((found - expected).abs() < 1e-12, "{low} {high}: {found}");
        }
        assert_eq!(height(&points, 50.0), 0.2);
    }

    #[test]
    fn points_and_area_have_intervals() {
        let quality = |share: usize| -> Vec<f64> {
            (0..80)
                .map(|at| f64::from(u8::from(at % 8 < share)))
                .collect()
        };
        let tokens = |n: f64| -> Vec<f64> { (0..80).map(|at| n + f64::from(at % 5)).collect() };
        // Given out of order.
        let arms = [
            (tokens(400.0), quality(6)),
            (tokens(100.0), quality(2)),
            (tokens(200.0), quality(4)),
        ];
        let examples = SweepExamples::independent(80).unwrap();
        let curve = SweepCurve::new(examples, arms).unwrap();
        let points = curve.points(0.95, &settings()).unwrap();
        let found: Vec<(usize, f64)> = points.iter().map(|one| (one.arm, one.quality)).collect();
        assert_eq!(found, [(1, 0.25), (2, 0.5), (0, 0.75)]);
        for point in &points {
            let Interval { low, high } = point.quality_interval;
            assert!(low < point.quality && point.quality < high && high - low < 0.3);
        }
        let area = curve.area(0.95, &settings()).unwrap().unwrap();
        assert!((area.area - (0.375 * 100.0 + 0.625 * 200.0) / 300.0).abs() < 1e-12);
        assert!(area.interval.low < area.area && area.area < area.interval.high);
        // The same tokens everywhere are no range.
        let flat = [(tokens(5.0), quality(1)), (tokens(5.0), quality(2))];
        let examples = SweepExamples::clustered_by(&(0..80).collect::<Vec<_>>()).unwrap();
        let curve = SweepCurve::new(examples, flat).unwrap();
        assert_eq!(curve.area(0.95, &settings()).unwrap(), None);
    }

    #[test]
    fn unfit_arms_are_errors() {
        let examples = SweepExamples::independent(2).unwrap();
        assert!(SweepCurve::new(examples.clone(), []).is_err());
        assert!(SweepCurve::new(examples.clone(), [(vec![1.0], vec![1.0, 0.0])]).is_err());
        assert!(SweepCurve::new(examples, [(vec![1.0, f64::NAN], vec![1.0, 0.0])]).is_err());
        assert!(SweepExamples::independent(0).is_err());
    }

    proptest! {
        /// The area lies between the lowest and the highest arm.
        #[test]
        fn areas_lie_within(qualities in prop::collection::vec(0.0..=1.0_f64, 2..12)) {
            let points: Vec<(f64, f64)> =
                qualities.iter().enumerate().map(|(at, y)| (at as f64, *y)).collect();
            let range = Interval { low: 0.0, high: (points.len() - 1) as f64 };
            let area = mean_height(&points, range);
            let least = qualities.iter().copied().fold(f64::INFINITY, f64::min);
            let most = qualities.iter().copied().fold(0.0, f64::max);
            prop_assert!(least - 1e-12 <= area && area <= most + 1e-12);
        }
    }
}
