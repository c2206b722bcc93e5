//! [`ComparisonSettings`]: what is compared with what, and how.

use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::sync::Arc;

use context_bench_scoring::price::RowPrices;

use super::{GroupShape, Scope};
use crate::metric::DEFAULT_THRESHOLD;
use crate::stats::Resampling;

/// How many resamples the score that verdicts are about gets, unless that is said.
const RESAMPLES: usize = 2_000;
/// The same for other scores and for costs, at the most.
const RESAMPLES_BESIDE: usize = 1_000;

/// What is compared with what, and how. The default compares everything with the first system.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ComparisonSettings {
    /// The system that others are compared with; the first one when `None`.
    pub baseline: Option<String>,
    /// The score that verdicts are about; the first one that rows have when `None`.
    pub score: Option<String>,
    /// How much of it may be lost.
    pub margin: Option<f64>,
    /// From this value on an example counts as passed.
    pub threshold: f64,
    /// How many resamples the score that verdicts are about gets; 2,000 when `None`. What stands
    /// beside it gets 1,000 at the most.
    pub resamples: Option<usize>,
    /// The seed of all resamples.
    pub seed: u64,
    /// How many threads; as many as there are cores when `None`. The outcome is the same.
    pub threads: Option<NonZeroUsize>,
    /// How many flips are kept for each system.
    pub flips: usize,
    /// What the tags of rows are: their name and whether they are tasks. Others are datasets
    /// under their tag.
    pub scopes: HashMap<String, (Scope, String)>,
    /// The groups of the run.
    pub groups: Vec<GroupShape>,
    /// Scores of which less is better.
    pub less_is_better: Vec<String>,
    /// What rows cost; without prices money is not compared.
    pub prices: Option<Arc<RowPrices>>,
}

impl Default for ComparisonSettings {
    fn default() -> Self {
        Self {
            baseline: None,
            score: None,
            margin: None,
            threshold: DEFAULT_THRESHOLD,
            resamples: None,
            seed: 0,
            threads: None,
            flips: 20,
            scopes: HashMap::new(),
            groups: Vec::new(),
            less_is_better: Vec::new(),
            prices: None,
        }
    }
}

impl ComparisonSettings {
    /// How to draw for the score that verdicts are about, or for something beside it.
    pub(super) fn resampling(&self, is_main: bool) -> Resampling {
        let asked = self.resamples.unwrap_or(RESAMPLES).max(1);
        Resampling {
            resamples: match is_main {
                true => asked,
                false => asked.min(RESAMPLES_BESIDE),
            },
            seed: self.seed,
            threads: self.threads,
        }
    }
}
