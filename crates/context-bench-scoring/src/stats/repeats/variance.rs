//! [`VarianceComponents`]: variance between examples, and within them under repeats.

use crate::stats::StatsError;
use crate::stats::error::all_finite;

/// The variance of scores, taken apart by a one-way analysis of variance with random effects
/// (Searle, Casella & McCulloch 1992, chapter 3).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct VarianceComponents {
    /// How many examples.
    pub examples: usize,
    /// How many attempts in all.
    pub attempts: usize,
    /// Of the examples' true means: some are harder than others.
    pub between: f64,
    /// Of attempts at the same example: the system is not deterministic.
    pub within: f64,
    /// Mean squares between over within; infinite when attempts never differ.
    pub f_ratio: f64,
}

/// Takes the attempts at each example apart. `None` below two examples, or when no example has
/// two attempts.
///
/// # Errors
///
/// If a score is not finite.
pub fn variance_components<A: AsRef<[f64]>>(
    examples: &[A],
) -> Result<Option<VarianceComponents>, StatsError> {
    let groups: Vec<&[f64]> = examples.iter().map(AsRef::as_ref).collect();
    for attempts in &groups {
        all_finite("repeats", attempts)?;
    }
    let groups: Vec<&[f64]> = groups.into_iter().filter(|one| !one.is_empty()).collect();
    let attempts: usize = groups.iter().map(|one| one.len()).sum();
    if groups.len() < 2 || attempts == groups.len() {
        return Ok(None);
    }
    let n = attempts as f64;
    let grand = groups.iter().flat_map(|one| one.iter()).sum::<f64>() / n;
    let (mut between, mut within, mut squared_sizes) = (0.0, 0.0, 0.0);
    for one in &groups {
        let size = one.len() as f64;
        let mean = one.iter().sum::<f64>() / size;
        between += size * (mean - grand).powi(2);
        within += one.iter().map(|value| (value - mean).powi(2)).sum::<f64>();
        squared_sizes += size * size;
    }
    let degrees = (groups.len() - 1) as f64;
    let mean_between = between / degrees;
    let mean_within = within / (attempts - groups.len()) as f64;
    // The attempts per example, as far as one number can say it when they differ.
    let typical = (n - squared_sizes / n) / degrees;
    Ok(Some(VarianceComponents {
        examples: groups.len(),
        attempts,
        // By chance alone the difference may be negative; a variance is not.
        between: ((mean_between - mean_within) / typical).max(0.0),
        within: mean_within,
        f_ratio: mean_between / mean_within,
    }))
}

impl VarianceComponents {
    /// The share of the variance that examples make: 1 when repeats tell nothing new, 0 when a
    /// score is all chance. `None` when nothing varies.
    pub fn intraclass_correlation(&self) -> Option<f64> {
        let all = self.between + self.within;
        (all > 0.0).then(|| self.between / all)
    }

    /// The standard error of a mean over so many examples with so many attempts at each: whether
    /// further examples or further repeats are worth their price.
    pub fn stderr_of(&self, examples: usize, repeats: usize) -> f64 {
        ((self.between + self.within / repeats as f64) / examples as f64).sqrt()
    }

    /// The difference that two runs of the same system over the same examples show by chance: in
    /// 95 of 100 pairs of runs it is smaller.
    pub fn noise_of(&self, examples: usize, repeats: usize) -> f64 {
        const Z: f64 = 1.959_963_984_540_054;
        Z * (2.0 * self.within / (examples * repeats) as f64).sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn worked_case() {
        // Means 2 and 5, each ±1: mean squares 9 and 2.
        let found = variance_components(&[[1.0, 3.0], [4.0, 6.0]])
            .unwrap()
            .unwrap();
        assert_eq!(
            (found.between, found.within, found.f_ratio),
            (3.5, 2.0, 4.5)
        );
        let correlation = found.intraclass_correlation().unwrap();
        assert!((correlation - 3.5 / 5.5).abs() < 1e-12);
        assert!((found.stderr_of(100, 4) - 0.2).abs() < 1e-12);
        assert!((found.noise_of(100, 1) - 0.391_992_8).abs() < 1e-6);
    }

    #[test]
    fn what_cannot_be_taken_apart() {
        assert_eq!(variance_components(&[vec![1.0], vec![2.0]]).unwrap(), None);
        assert_eq!(variance_components(&[[1.0, 2.0]]).unwrap(), None);
        let same = variance_components(&[[1.0; 3]; 4]).unwrap().unwrap();
        assert_eq!((same.within, same.intraclass_correlation()), (0.0, None));
        assert!(variance_components(&[[f64::NAN, 1.0], [1.0, 2.0]]).is_err());
    }
}
