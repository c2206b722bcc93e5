//! ParetoRank: which systems nobody beats on both quality and cost.

use indexmap::IndexMap;

use super::Comparison;
use crate::model::{Measurement, Summary, Unit};

/// `pareto_rank` = 1 + the number of systems that dominate this one.
///
/// B dominates A when it is at least as good and at most as costly, and better
/// in one of the two. Missing quality counts as 0, missing cost as infinite.
#[derive(Debug, Clone)]
pub struct ParetoRank {
    quality_field: String,
    cost_field: String,
}

impl ParetoRank {
    /// Ranks by those two keys of the summaries.
    pub fn new(quality_field: impl Into<String>, cost_field: impl Into<String>) -> Self {
        Self {
            quality_field: quality_field.into(),
            cost_field: cost_field.into(),
        }
    }

    /// The rank of each system.
    pub fn rank_systems(&self, summaries: &IndexMap<String, Summary>) -> IndexMap<String, usize> {
        let points: Vec<(f64, f64)> = summaries
            .values()
            .map(|summary| {
                let value = |field: &str| summary.value(field).filter(|value| !value.is_nan());
                let quality = value(&self.quality_field).unwrap_or(0.0);
                let cost = value(&self.cost_field).unwrap_or(f64::INFINITY);
                (quality, cost)
            })
            .collect();
        let dominates =
            |b: &(f64, f64), a: &(f64, f64)| b.0 >= a.0 && b.1 <= a.1 && (b.0 > a.0 || b.1 < a.1);
        summaries
            .keys()
            .zip(&points)
            .map(|(name, point)| {
                let better = points
                    .iter()
                    .filter(|other| dominates(other, point))
                    .count();
                (name.clone(), 1 + better)
            })
            .collect()
    }
}

impl Default for ParetoRank {
    fn default() -> Self {
        Self::new("mean_score", "cost_of_pass")
    }
}

impl Comparison for ParetoRank {
    fn name(&self) -> &str {
        "pareto_rank"
    }

    fn compare(&self, summaries: &IndexMap<String, Summary>) -> IndexMap<String, Summary> {
        self.rank_systems(summaries)
            .into_iter()
            .map(|(name, rank)| {
                let rank = Measurement::new(rank as f64, Unit::Rank);
                (name, Summary::new().with("pareto_rank", rank))
            })
            .collect()
    }
}
