//! PerDatasetBreakdown: the mean of one score per dataset tag.

use std::collections::BTreeMap;

use super::{Metric, mean_measurement};
use crate::model::{EvalRow, Summary};

/// `dataset:<tag>`: mean of a score over the scored rows of each tag, sorted by
/// tag. Rows without a tag are `dataset:unknown`.
#[derive(Debug, Clone)]
pub struct PerDatasetBreakdown {
    score_field: String,
}

impl PerDatasetBreakdown {
    /// The breakdown of that score.
    pub fn of(score_field: impl Into<String>) -> Self {
        Self {
            score_field: score_field.into(),
        }
    }
}

impl Default for PerDatasetBreakdown {
    fn default() -> Self {
        Self::of("f1")
    }
}

impl Metric for PerDatasetBreakdown {
    fn name(&self) -> &str {
        "per_dataset"
    }

    fn score_field(&self) -> Option<&str> {
        Some(&self.score_field)
    }

    fn compute(&self, rows: &[EvalRow]) -> Summary {
        let mut by_tag: BTreeMap<&str, (usize, Vec<f64>)> = BTreeMap::new();
        for row in rows {
            let tag = if row.dataset.is_empty() {
                "unknown"
            } else {
                &row.dataset
            };
            let (n_rows, values) = by_tag.entry(tag).or_default();
            *n_rows += 1;
            values.extend(row.score(&self.score_field));
        }
        by_tag
            .into_iter()
            .map(|(tag, (n_rows, values))| {
                (format!("dataset:{tag}"), mean_measurement(&values, n_rows))
            })
            .collect()
    }
}
