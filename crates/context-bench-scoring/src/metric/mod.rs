//! `Metric` (rows of one system → numbers) and `Comparison` (across systems).
//!
//! Metrics see rows only, so every summary can be rebuilt from a stored run.
//! They leave failed and unscored rows out and say on how many rows a number
//! rests; they never read a missing score as 0.

mod call_times;
mod compression_ratio;
mod cost_of_pass;
mod front_probability;
mod function;
mod latency;
mod mean_score;
mod pareto_rank;
mod pass_at_k;
mod pass_rate;
mod per_dataset;
mod repeat_variance;
mod row_costs;
mod row_sum;
mod sample;
mod saved;
mod token_means;
mod tokens_per_pass;
mod tokens_saved;
mod wire;
mod wire_usage;

pub use call_times::CallTimes;
pub use compression_ratio::CompressionRatio;
pub use cost_of_pass::CostOfPass;
pub use front_probability::FrontProbability;
pub use function::{FnMetric, from_fn};
pub use latency::Latency;
pub use mean_score::MeanScore;
pub use pareto_rank::ParetoRank;
pub use pass_at_k::PassAtK;
pub use pass_rate::PassRate;
pub use per_dataset::PerDatasetBreakdown;
pub use repeat_variance::RepeatVariance;
pub use row_costs::RowCosts;
pub use row_sum::{AttemptSum, RowSum};
pub use sample::{Attempt, clusters, numbered_attempts};
pub use token_means::TokenMeans;
pub use tokens_per_pass::{TOKENS_PER_PASS, TokensPerPass};
pub use tokens_saved::TokensSaved;
pub use wire::WireMetrics;
pub use wire_usage::WireUsageSaved;

use indexmap::IndexMap;

use crate::model::{EvalRow, Measurement, Summary, Unit};
use crate::stats::{self, Mean};

/// The default for metrics that ask whether a row passed.
pub const DEFAULT_THRESHOLD: f64 = 0.7;

/// Turns all rows of one system into named numbers.
pub trait Metric: Send + Sync {
    /// The name that reports show.
    fn name(&self) -> &str;

    /// The score that this metric reads, if it reads one. A run refuses a field
    /// that none of its evaluators yields.
    fn score_field(&self) -> Option<&str> {
        None
    }

    /// Whether it reads the token counts of whole maps (`input_tokens`, `output_tokens`),
    /// which a run may leave out where nobody sees them. The default is false.
    fn counts_maps(&self) -> bool {
        false
    }

    /// Computes the numbers. `rows` holds failed rows too.
    fn compute(&self, rows: &[EvalRow]) -> Summary;

    /// The same numbers from rows that come one at a time, where the metric can do that.
    fn row_sum(&self) -> Option<Box<dyn RowSum + '_>> {
        None
    }
}

/// A system among those that are compared.
#[derive(Debug, Clone, Copy)]
pub struct ComparedSystem<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its rows, failed ones too.
    pub rows: &'a [EvalRow],
    /// What the metrics say about it.
    pub summary: &'a Summary,
}

/// Compares all systems of a run and adds numbers to the summary of each.
pub trait Comparison: Send + Sync {
    /// The name that reports show.
    fn name(&self) -> &str;

    /// What to add to the summary of each system.
    fn compare(&self, systems: &[ComparedSystem<'_>]) -> IndexMap<String, Summary>;

    /// What it says of a system by itself, from rows that come one at a time, where that needs no
    /// other system.
    fn row_sum(&self) -> Option<Box<dyn RowSum + '_>> {
        None
    }

    /// Whether it looks at rows, and not only at summaries.
    fn needs_rows(&self) -> bool {
        true
    }
}

/// How many rows have a score, and how many of them pass: what costs are divided by.
#[derive(Default)]
struct Passing {
    n: usize,
    passing: usize,
}

impl Passing {
    fn add(&mut self, value: f64, threshold: f64) {
        self.n += 1;
        self.passing += usize::from(value >= threshold);
    }

    /// The number of passing rows.
    fn count(&self) -> Measurement {
        self.measured(self.passing as f64, Unit::Count)
    }

    /// What was spent per passing row; endless when none passes.
    fn share_of(&self, spent: u64) -> Measurement {
        let cost = match self.passing {
            0 => f64::INFINITY,
            passing => spent as f64 / passing as f64,
        };
        self.measured(cost, Unit::Tokens)
    }

    fn measured(&self, value: f64, unit: Unit) -> Measurement {
        Measurement {
            n: Some(self.n),
            ..Measurement::new(value, unit)
        }
    }
}

/// A mean with its error and interval. Nothing planned is 0 (as users know it);
/// rows without any value give no number.
fn mean_measurement(mean: Option<Mean>, n_rows: usize) -> Measurement {
    let Some(mean) = mean else {
        return if n_rows == 0 {
            Measurement::new(0.0, Unit::Number)
        } else {
            Measurement::missing(Unit::Number)
        };
    };
    Measurement {
        value: Some(mean.value),
        unit: Unit::Number,
        n: Some(mean.n),
        examples: fewer(&mean),
        stderr: mean.stderr,
        interval: stats::mean_interval(&mean),
    }
}

/// The number of examples, when several values are attempts at one.
fn fewer(mean: &Mean) -> Option<usize> {
    (mean.clusters < mean.n).then_some(mean.clusters)
}
