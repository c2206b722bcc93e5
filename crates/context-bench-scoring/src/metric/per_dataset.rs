//! PerDatasetBreakdown: the mean of one score per dataset tag.

use std::collections::BTreeMap;

use super::sample::{Sample, attempts};
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
        let attempts = attempts(rows);
        let mut by_tag: BTreeMap<&str, (usize, Sample)> = BTreeMap::new();
        for (at, row) in rows.iter().enumerate() {
            let tag = if row.dataset.is_empty() {
                "unknown"
            } else {
                &row.dataset
            };
            let (n_rows, sample) = by_tag.entry(tag).or_default();
            *n_rows += 1;
            if let Some(value) = row.score(&self.score_field) {
                sample.push(value, attempts.as_ref().map(|numbers| numbers[at]));
            }
        }
        by_tag
            .into_iter()
            .map(|(tag, (n_rows, sample))| {
                let measurement = mean_measurement(sample.mean(), n_rows);
                (format!("dataset:{tag}"), measurement)
            })
            .collect()
    }
}
