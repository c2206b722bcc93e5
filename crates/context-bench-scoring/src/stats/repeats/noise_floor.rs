//! [`NoiseFloor`]: the difference that pure noise makes, from a system against itself (A/A).

use crate::stats::distribution::t_quantile;
use crate::stats::{PairedDifferences, Resampling, SignFlipTest};

/// What a system differs from itself by.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NoiseFloor {
    /// The mean difference of the two runs.
    pub difference: f64,
    /// Differences up to this size come from noise alone in 95 of 100 comparisons of the same
    /// size; `None` of a single cluster.
    pub floor: Option<f64>,
    /// Whether the two runs differ more than noise explains, which would be a fault of the
    /// set-up: an order effect, a cache, a warm-up.
    pub test: SignFlipTest,
}

/// The noise floor from differences of two runs of the same system over the same examples. The
/// true difference is known to be 0, so the spread is taken about 0 and not about the mean.
pub fn noise_floor(differences: &PairedDifferences, resampling: &Resampling) -> NoiseFloor {
    let mean = differences.mean();
    let n = mean.n as f64;
    let squares = differences.squared_cluster_sums();
    NoiseFloor {
        difference: mean.value,
        floor: (mean.clusters > 1).then(|| t_quantile(0.975, mean.clusters) * squares.sqrt() / n),
        test: differences.sign_flip(resampling),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::RandomStream;

    #[test]
    fn noise_stays_below_its_floor() {
        // At a true rate of 5 %, more than 28 of 300 come once in a thousand times.
        let settings = Resampling {
            resamples: 100,
            ..Resampling::default()
        };
        let mut above = 0;
        for at in 0..300 {
            let mut stream = RandomStream::new(11, at);
            let mut run = || -> Vec<f64> {
                let each = (0..60).map(|_| f64::from(u8::from(stream.unit() < 0.3)));
                each.collect()
            };
            let differences = PairedDifferences::between(&run(), &run()).unwrap();
            let found = noise_floor(&differences, &settings);
            above += u32::from(found.difference.abs() > found.floor.unwrap());
        }
        assert!((3..=28).contains(&above), "{above}");
    }

    #[test]
    fn clusters_raise_the_floor() {
        let values: Vec<f64> = (0..60).map(|at| f64::from((at / 10) % 2) - 0.5).collect();
        let plain = PairedDifferences::new(values).unwrap();
        let marks: Vec<usize> = (0..60).map(|at| at / 10).collect();
        let clustered = plain.clone().clustered_by(&marks).unwrap();
        let floor = |one: &PairedDifferences| {
            let found = noise_floor(one, &Resampling::seeded(1));
            found.floor.unwrap()
        };
        assert!(floor(&clustered) > 3.0 * floor(&plain));
    }
}
