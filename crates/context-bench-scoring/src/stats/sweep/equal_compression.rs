//! Two layers at the same number of tokens, between the arms that were run.

use super::SweepCurve;
use super::curve::{height, mean_height, middle, pairs};
use crate::model::Interval;
use crate::stats::error::{open_share, same_length};
use crate::stats::resampling::JointResamples;
use crate::stats::{Resampling, StatsError};

/// Tokens and quality of arms.
type Points = [(f64, f64)];

/// What one layer's curve is above another's.
#[derive(Debug, Clone, PartialEq)]
pub struct EqualCompression {
    /// The tokens that both curves reach.
    pub tokens: Interval,
    /// The mean difference "layer − baseline layer" over all of them.
    pub mean: f64,
    /// Its interval.
    pub interval: Interval,
    /// The difference at single numbers of tokens, each with an interval of its own.
    pub at: Vec<(f64, f64, Interval)>,
}

/// Compares two layers where both curves are, in straight lines between arms, at `steps` numbers of
/// tokens from the smallest to the largest. The examples of both are the same, in the same
/// order, and are drawn together. `None` when no number of tokens is reached by both.
///
/// # Errors
///
/// If the curves rest on different examples, or the confidence is not between 0 and 1.
pub fn at_equal_compression(
    baseline: &SweepCurve,
    layer: &SweepCurve,
    steps: usize,
    confidence: f64,
    resampling: &Resampling,
) -> Result<Option<EqualCompression>, StatsError> {
    let confidence = open_share("confidence", confidence)?;
    let examples = baseline.examples();
    same_length(
        "the examples of a second curve",
        layer.examples().count(),
        examples.count(),
    )?;
    let (one, other) = (baseline.span(), layer.span());
    let tokens = Interval {
        low: one.low.max(other.low),
        high: one.high.min(other.high),
    };
    if tokens.high <= tokens.low {
        return Ok(None);
    }
    let mut columns = baseline.columns();
    let split = columns.len();
    columns.extend(layer.columns());
    let resamples = JointResamples::draw(&columns, examples.clusters(), resampling);
    let curves: Vec<_> = resamples
        .means
        .iter()
        .map(|means| (pairs(&means[..split]), pairs(&means[split..])))
        .collect();
    let compare = |at: &dyn Fn(&Points) -> f64| {
        let each = curves
            .iter()
            .map(|(baseline, layer)| at(layer) - at(baseline));
        let mut differences: Vec<f64> = each.collect();
        differences.sort_unstable_by(f64::total_cmp);
        let found = at(&layer.means()) - at(&baseline.means());
        (found, middle(&differences, confidence))
    };
    let (mean, interval) = compare(&|points| mean_height(points, tokens));
    let at = (0..steps).map(|step| {
        let part = step as f64 / steps.saturating_sub(1).max(1) as f64;
        let here = tokens.low + part * (tokens.high - tokens.low);
        let (difference, interval) = compare(&|points| height(points, here));
        (here, difference, interval)
    });
    Ok(Some(EqualCompression {
        tokens,
        mean,
        interval,
        at: at.collect(),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::SweepExamples;

    /// Arms at so many tokens, whose quality is a share of 100 examples.
    fn curve(arms: &[(f64, usize)]) -> SweepCurve {
        let examples = SweepExamples::independent(100).unwrap();
        let arms = arms.iter().map(|(tokens, right)| {
            // Hard examples are hard for every arm.
            let quality = (0..100).map(|at| f64::from(u8::from(at < *right)));
            (vec![*tokens; 100], quality.collect())
        });
        SweepCurve::new(examples, arms).unwrap()
    }

    fn compared(one: &SweepCurve, other: &SweepCurve) -> Option<EqualCompression> {
        let settings = Resampling {
            resamples: 500,
            ..Resampling::seeded(2)
        };
        at_equal_compression(one, other, 3, 0.95, &settings).unwrap()
    }

    #[test]
    fn curves_are_compared_where_both_are() {
        let baseline = curve(&[(100.0, 20), (300.0, 60)]);
        let layer = curve(&[(200.0, 60), (400.0, 80)]);
        let found = compared(&baseline, &layer).unwrap();
        assert_eq!((found.tokens.low, found.tokens.high), (200.0, 300.0));
        // 0.60 against 0.40 at 200 tokens, 0.70 against 0.60 at 300.
        assert!((found.mean - 0.15).abs() < 1e-12, "{}", found.mean);
        let differences: Vec<f64> = found.at.iter().map(|one| one.1).collect();
        for (difference, expected) in differences.iter().zip([0.2, 0.15, 0.1]) {
            assert!((difference - expected).abs() < 1e-12, "{differences:?}");
        }
        assert!(found.interval.low > 0.0 && found.interval.high < 0.3);
    }

    #[test]
    fn a_layer_equals_itself_and_far_ones_do_not_meet() {
        let one = curve(&[(100.0, 20), (300.0, 60)]);
        let found = compared(&one, &one).unwrap();
        assert_eq!(
            (found.mean, found.interval.low, found.interval.high),
            (0.0, 0.0, 0.0)
        );
        let far = curve(&[(300.0, 60), (900.0, 61)]);
        assert_eq!(compared(&one, &far), None);
    }
}
