//! PerDatasetBreakdown: the mean of one score per dataset tag.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::row_sum::{RowSum, RowValues, of_rows};
use super::sample::attempts;
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
        of_rows(Box::new(self.sum()), rows, attempts(rows).as_deref())
    }

    fn row_sum(&self) -> Option<Box<dyn RowSum + '_>> {
        Some(Box::new(self.sum()))
    }
}

impl PerDatasetBreakdown {
    fn sum(&self) -> TagSums<'_> {
        TagSums {
            score_field: &self.score_field,
            n_rows: 0,
            by_tag: BTreeMap::new(),
        }
    }
}

struct TagSums<'a> {
    score_field: &'a str,
    n_rows: usize,
    /// Rows and their values.
    by_tag: BTreeMap<Arc<str>, (usize, RowValues)>,
}

impl RowSum for TagSums<'_> {
    fn add(&mut self, row: &EvalRow) {
        let at = self.n_rows;
        self.n_rows += 1;
        let tag = match &*row.dataset {
            "" => "unknown",
            tag => tag,
        };
        let (n_rows, values) = match self.by_tag.get_mut(tag) {
            Some(known) => known,
            None => self.by_tag.entry(tag.into()).or_default(),
        };
        *n_rows += 1;
        if let Some(value) = row.score(self.score_field) {
            values.push(value, at);
        }
    }

    fn finish(self: Box<Self>, attempts: Option<&[u32]>) -> Summary {
        self.by_tag
            .into_iter()
            .map(|(tag, (n_rows, values))| {
                let measurement = mean_measurement(values.mean(attempts), n_rows);
                (format!("dataset:{tag}"), measurement)
            })
            .collect()
    }
}
