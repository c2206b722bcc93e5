//! Median and percentiles of measured values, such as p95 of latencies.
//!
//! Written by hand: a percentile must be a value that was measured, by the rule of the
//! original tool (the element at ⌊n·share⌋); `statrs` interpolates between values.

/// Middle value, or the mean of the two middle ones. `sorted` must be ascending.
pub fn median(sorted: &[f64]) -> Option<f64> {
    let n = sorted.len();
    let upper = *sorted.get(n / 2)?;
    Some(if n % 2 == 1 {
        upper
    } else {
        (sorted[n / 2 - 1] + upper) / 2.0
    })
}

/// The element at index ⌊n·share⌋, at most the last: always a value that was measured.
pub fn percentile(sorted: &[f64], share: f64) -> Option<f64> {
    let index = (sorted.len() as f64 * share) as usize;
    sorted.get(index.min(sorted.len().checked_sub(1)?)).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_measured_values() {
        let hundred: Vec<f64> = (1..=100).map(f64::from).collect();
        assert_eq!(percentile(&hundred, 0.95), Some(96.0));
        assert_eq!(percentile(&hundred, 0.99), Some(100.0));
        assert_eq!(percentile(&[], 0.5), None);
        assert_eq!(median(&[1.0, 2.0]), Some(1.5));
        assert_eq!(median(&[]), None);
    }
}
