//! [`SweepExamples`]: which examples all arms share, and which belong together.

use std::hash::Hash;

use indexmap::IndexMap;

use crate::stats::StatsError;
use crate::stats::error::{all_finite, same_length};

/// The examples of a sweep, of which whole clusters are drawn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SweepExamples {
    count: usize,
    clusters: Vec<Vec<usize>>,
}

impl SweepExamples {
    /// So many examples that stand for themselves.
    ///
    /// # Errors
    ///
    /// If there are none.
    pub fn independent(count: usize) -> Result<Self, StatsError> {
        Self::of((0..count).map(|at| vec![at]).collect(), count)
    }

    /// Examples with marks; those with equal marks belong together.
    ///
    /// # Errors
    ///
    /// If there are none.
    pub fn clustered_by<K: Hash + Eq>(marks: &[K]) -> Result<Self, StatsError> {
        let mut clusters: IndexMap<&K, Vec<usize>> = IndexMap::new();
        for (at, mark) in marks.iter().enumerate() {
            clusters.entry(mark).or_default().push(at);
        }
        Self::of(clusters.into_values().collect(), marks.len())
    }

    fn of(clusters: Vec<Vec<usize>>, count: usize) -> Result<Self, StatsError> {
        match count {
            0 => Err(StatsError::Empty {
                what: "the examples of a sweep",
            }),
            _ => Ok(Self { count, clusters }),
        }
    }

    /// How many examples.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The examples of each cluster.
    pub(super) fn clusters(&self) -> &[Vec<usize>] {
        &self.clusters
    }

    /// The clusters as marks, one per example.
    pub(super) fn marks(&self) -> Vec<usize> {
        let mut marks = vec![0; self.count];
        for (cluster, examples) in self.clusters.iter().enumerate() {
            for at in examples {
                marks[*at] = cluster;
            }
        }
        marks
    }

    /// A column has a finite value for each example.
    pub(super) fn check(&self, what: &'static str, values: &[f64]) -> Result<(), StatsError> {
        same_length(what, values.len(), self.count)?;
        all_finite(what, values)
    }
}
