//! Mean and its standard error.

/// A mean, the number of values and the standard error.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Mean {
    /// The mean.
    pub value: f64,
    /// How many values.
    pub n: usize,
    /// Sample standard deviation / √n; `None` below two values.
    pub stderr: Option<f64>,
}

/// Mean of the values; `None` when there are none.
///
/// The sum runs left to right, as in the reference.
pub fn mean(values: &[f64]) -> Option<Mean> {
    let n = values.len();
    if n == 0 {
        return None;
    }
    let value = values.iter().sum::<f64>() / n as f64;
    let stderr = (n > 1).then(|| {
        let squares: f64 = values.iter().map(|x| (x - value).powi(2)).sum();
        (squares / (n - 1) as f64 / n as f64).sqrt()
    });
    Some(Mean { value, n, stderr })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn standard_error_uses_the_sample_deviation() {
        assert_eq!(mean(&[]), None);
        assert_eq!(mean(&[2.0]).and_then(|mean| mean.stderr), None);
        let mean = mean(&[0.0, 0.0, 1.0, 1.0]).expect("values");
        assert_eq!(mean.value, 0.5);
        assert!((mean.stderr.unwrap_or(0.0) - (1.0_f64 / 12.0).sqrt()).abs() < 1e-12);
    }
}
