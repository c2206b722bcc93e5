//! The BCa bootstrap interval of a mean (Efron 1987, "Better bootstrap confidence intervals").

use super::Resampling;
use super::cells::{Population, Unit};
use crate::model::Interval;
use crate::stats::distribution::{normal_cdf, normal_quantile};

/// An interval of a mean from resamples, and what corrected it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BootstrapInterval {
    /// The interval.
    pub interval: Interval,
    /// z₀: how far the median of the resamples is from the estimate, in standard normal units.
    pub bias: f64,
    /// a: how the standard error changes with the mean, from the jackknife.
    pub acceleration: f64,
    /// The standard deviation of the resamples.
    pub stderr: f64,
}

/// The BCa interval of the mean over all units; `None` when they say nothing about a spread:
/// fewer than two, or all with the same mean.
pub(in crate::stats) fn bca(
    units: &[Unit],
    confidence: f64,
    resampling: &Resampling,
) -> Option<BootstrapInterval> {
    let sum: f64 = units.iter().map(|unit| unit.sum).sum();
    let size: f64 = units.iter().map(|unit| unit.size).sum();
    let acceleration = acceleration(units, sum, size)?;
    let population = Population::of(units);
    let mut means = resampling.each(|stream| population.resampled_mean(stream));
    means.sort_unstable_by(f64::total_cmp);
    let n = means.len() as f64;
    // Rounding must not decide whether a resample equals the estimate: on a lattice many do.
    let estimate = sum / size;
    let near = 1e-12
        * means
            .iter()
            .fold(estimate.abs(), |most, x| most.max(x.abs()));
    let below = means.partition_point(|mean| *mean < estimate - near) as f64;
    let not_above = means.partition_point(|mean| *mean <= estimate + near) as f64;
    let share = (below + not_above) / (2.0 * n);
    let bias = normal_quantile(share.clamp(0.5 / n, 1.0 - 0.5 / n));
    let corrected = |share: f64| {
        let z = bias + normal_quantile(share);
        normal_cdf(bias + z / (1.0 - acceleration * z))
    };
    let tail = (1.0 - confidence) / 2.0;
    let centre = means.iter().sum::<f64>() / n;
    let squares: f64 = means.iter().map(|mean| (mean - centre).powi(2)).sum();
    Some(BootstrapInterval {
        interval: Interval {
            low: quantile(&means, corrected(tail)),
            high: quantile(&means, corrected(1.0 - tail)),
        },
        bias,
        acceleration,
        stderr: (squares / (n - 1.0).max(1.0)).sqrt(),
    })
}

/// Σu³ / 6(Σu²)^1.5 over the jackknife: the mean without one unit after the other. `None` when
/// that makes no difference.
fn acceleration(units: &[Unit], sum: f64, size: f64) -> Option<f64> {
    if units.len() < 2 {
        return None;
    }
    let without: Vec<f64> = units
        .iter()
        .map(|unit| (sum - unit.sum) / (size - unit.size))
        .collect();
    let centre = without.iter().sum::<f64>() / without.len() as f64;
    let (mut squares, mut cubes, mut largest) = (0.0, 0.0, 0_f64);
    for mean in &without {
        let u = centre - mean;
        squares += u * u;
        cubes += u * u * u;
        largest = largest.max(u.abs());
    }
    // What is left of equal units is rounding.
    let scale = units
        .iter()
        .fold(0_f64, |most, unit| most.max(unit.sum.abs()))
        / size;
    let is_spread = largest > 1e-12 * scale;
    is_spread.then(|| cubes / (6.0 * squares.powf(1.5)))
}

/// The quantile of sorted values, between neighbours in a straight line, as numpy has it.
pub(in crate::stats) fn quantile(sorted: &[f64], share: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else {
        return f64::NAN;
    };
    let at = share.clamp(0.0, 1.0) * last as f64;
    let (low, part) = (at.floor() as usize, at.fract());
    let (below, above) = (sorted[low], sorted[(low + 1).min(last)]);
    below + (above - below) * part
}
