//! Equivalence by two one-sided tests (TOST; Schuirmann 1987).

use crate::stats::distribution::t_above;
use crate::stats::error::positive;
use crate::stats::{PairedDifferences, StatsError};

/// How unlikely these differences are if the true one were as large as the margin.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EquivalenceTest {
    /// Of "lower by the margin or more".
    pub p_lower: f64,
    /// Of "higher by the margin or more".
    pub p_upper: f64,
}

impl EquivalenceTest {
    /// Of "not equivalent": the larger of the two.
    pub fn p_value(&self) -> f64 {
        self.p_lower.max(self.p_upper)
    }
}

/// Whether the mean difference lies within ±margin, with Student's t over clusters. `None` of a
/// single cluster and of differences without spread, of which t says nothing.
///
/// # Errors
///
/// If the margin is not above 0.
pub fn equivalence(
    differences: &PairedDifferences,
    margin: f64,
) -> Result<Option<EquivalenceTest>, StatsError> {
    let margin = positive("margin", margin)?;
    let mean = differences.mean();
    let Some(stderr) = differences.spread() else {
        return Ok(None);
    };
    let degrees = mean.clusters.saturating_sub(1);
    Ok(Some(EquivalenceTest {
        p_lower: t_above((mean.value + margin) / stderr, degrees),
        p_upper: t_above((margin - mean.value) / stderr, degrees),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_spread_there_is_no_test() {
        let equal = PairedDifferences::new(vec![0.5; 9]).unwrap();
        assert_eq!(equivalence(&equal, 0.1).unwrap(), None);
        assert!(equivalence(&equal, 0.0).is_err());
    }
}
