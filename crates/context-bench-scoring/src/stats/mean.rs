//! Mean and its standard error, also of values that belong together.

/// A mean, what it rests on and the standard error.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Mean {
    /// The mean.
    pub value: f64,
    /// How many values.
    pub n: usize,
    /// How many clusters the values come from; `n` when each stands for itself.
    pub clusters: usize,
    /// Standard error: of values that stand for themselves the sample standard
    /// deviation / √n. `None` below two clusters.
    pub stderr: Option<f64>,
}

/// Mean of values that stand for themselves; `None` when there are none.
///
/// The sum runs left to right, as in the reference.
pub fn mean(values: &[f64]) -> Option<Mean> {
    let value = mean_value(values)?;
    let n = values.len();
    let stderr = (n > 1).then(|| {
        let squares: f64 = values.iter().map(|x| (x - value).powi(2)).sum();
        (squares / (n - 1) as f64 / n as f64).sqrt()
    });
    Some(Mean {
        value,
        n,
        clusters: n,
        stderr,
    })
}

/// Mean of values of which some belong together, such as several attempts at one
/// example; `None` when there are none. `clusters` has a number for each value,
/// and values with the same number are one cluster; the numbers lie close together.
///
/// Attempts at one example resemble each other, so counting each as a finding of
/// its own would make the error too small, by up to √(attempts). The error is
/// the cluster-robust one of Liang & Zeger (1986) with the usual factor for few
/// clusters (Cameron & Miller 2015, II.C): with the sum u of the residuals of each
/// of G clusters, √(G/(G−1) · Σu²) / n. With one value per cluster it is the
/// error of [`mean`].
pub fn clustered_mean(values: &[f64], clusters: &[u32]) -> Option<Mean> {
    let value = mean_value(values)?;
    let n = values.len();
    let first = clusters.iter().min().copied().unwrap_or(0);
    let last = clusters.iter().max().copied().unwrap_or(0);
    let mut residuals: Vec<Option<f64>> = vec![None; (last - first) as usize + 1];
    for (x, cluster) in values.iter().zip(clusters) {
        let sum = residuals[(cluster - first) as usize].get_or_insert(0.0);
        *sum += x - value;
    }
    let n_clusters = residuals.iter().flatten().count();
    if n_clusters == n {
        // The same to the last digit, whichever way it was asked for.
        return mean(values);
    }
    let stderr = (n_clusters > 1).then(|| {
        let squares: f64 = residuals.iter().flatten().map(|u| u.powi(2)).sum();
        let few = n_clusters as f64 / (n_clusters - 1) as f64;
        (few * squares).sqrt() / n as f64
    });
    Some(Mean {
        value,
        n,
        clusters: n_clusters,
        stderr,
    })
}

fn mean_value(values: &[f64]) -> Option<f64> {
    let n = values.len();
    (n > 0).then(|| values.iter().sum::<f64>() / n as f64)
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

    #[test]
    fn clustered_errors_equal_statsmodels() {
        // statsmodels 0.15: OLS(x, ones).fit(cov_type="cluster",
        // cov_kwds={"groups": g, "use_correction": True}).bse
        let even = [0.2, 0.4, 0.3, 0.9, 1.0, 0.8, 0.5, 0.1, 0.6, 0.7, 0.7, 0.7];
        let uneven = [0.2, 0.4, 0.9, 1.0, 0.8, 0.5, 0.7, 0.7];
        // The same values in another order, and numbers with gaps.
        let mixed = [0.7, 0.2, 0.9, 0.5, 1.0, 0.4, 0.7, 0.8];
        let cases: [(&[f64], &[u32], f64, f64); 3] = [
            (
                &even,
                &[0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3],
                0.575,
                0.137_689_263_682_152_6,
            ),
            (
                &uneven,
                &[0, 0, 1, 1, 1, 2, 3, 3],
                0.65,
                0.150_346_821_272_239_3,
            ),
            (
                &mixed,
                &[90, 7, 8, 12, 8, 7, 90, 8],
                0.65,
                0.150_346_821_272_239_3,
            ),
        ];
        for (values, clusters, value, stderr) in cases {
            let mean = clustered_mean(values, clusters).expect("values");
            assert!((mean.value - value).abs() < 1e-12, "{mean:?}");
            assert!((mean.stderr.expect("some") - stderr).abs() < 1e-12);
            assert_eq!((mean.n, mean.clusters), (values.len(), 4));
        }
    }

    #[test]
    fn clusters_of_one_change_no_digit_and_one_cluster_has_no_error() {
        let values = [0.1, 0.7, 0.3, 0.3, 0.9];
        assert_eq!(clustered_mean(&values, &[4, 2, 0, 9, 1]), mean(&values));
        let one = clustered_mean(&values, &[3; 5]).expect("values");
        assert_eq!((one.n, one.clusters, one.stderr), (5, 1, None));
        assert_eq!(clustered_mean(&[], &[]), None);
    }
}
