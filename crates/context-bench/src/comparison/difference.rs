//! [`Difference`]: how a system differs from its baseline in one measure, and how sure that is.

use serde::{Deserialize, Serialize};

use crate::model::Interval;
use crate::stats::Verdict;

/// What a difference is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// All examples of the run.
    All,
    /// Those of a dataset.
    Dataset,
    /// Those of a task.
    Task,
    /// The tasks of a group, weighted as the group says.
    Group,
}

/// What is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum MeasureKind {
    /// A score of an evaluator.
    Score,
    /// Tokens, of which fewer are better.
    Tokens,
    /// Seconds, of which fewer are better.
    Seconds,
    /// Money, of which less is better.
    Money,
}

/// By which test a p value is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum PairedTest {
    /// McNemar's exact test, for pass or fail without clusters.
    Mcnemar,
    /// The sign-flip permutation test.
    SignFlip,
}

/// "System − baseline" in one measure over one scope.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Difference {
    /// What it is over.
    pub scope: Scope,
    /// The dataset, task or group; empty over all examples.
    pub name: String,
    /// The name of the measure: that of a score, `prompt_tokens`, `completion_tokens`,
    /// `upstream_tokens` (those that reached the provider, where a tap saw them), `latency`, `cost`
    /// (money, where a price book knows it).
    pub measure: String,
    /// What the measure is.
    pub kind: MeasureKind,
    /// Whether less of it is better.
    pub less_is_better: bool,
    /// Whether every value lies between 0 and 1, so that differences read as points.
    pub is_share: bool,
    /// Rows that both have a value for.
    pub n: usize,
    /// Clusters that these rows are of; as many as rows where each is its own.
    pub clusters: usize,
    /// The mean of the baseline over these rows.
    pub baseline_mean: f64,
    /// The mean of the system over these rows.
    pub system_mean: f64,
    /// "System − baseline".
    pub difference: f64,
    /// Its 95 % interval; `None` when there is no spread to take one from.
    pub interval: Option<Interval>,
    /// Its standard error, over clusters.
    pub stderr: Option<f64>,
    /// The difference as a share of the baseline's mean, for costs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub relative: Option<Relative>,
    /// By which test the p value is.
    pub test: PairedTest,
    /// How unlikely so large a difference is by chance alone.
    pub p_value: f64,
    /// The same when all datasets and tasks of this measure count as tested (Holm 1979).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p_adjusted: Option<f64>,
    /// How much may be lost; `None` when verdicts are about any difference at all.
    pub margin: Option<f64>,
    /// What is shown. Without a margin *inconclusive* means that no difference is shown.
    pub verdict: Verdict,
    /// How many further examples would probably decide it, with a margin.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub further_examples: Option<u64>,
    /// Whether the two are shown to be as good as each other, with a margin.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub equivalence: Option<Equivalence>,
    /// How many examples passed with only one of the two, for the score that verdicts are about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flips: Option<FlipCounts>,
    /// What scores that are missing may stand for; `None` when none is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing: Option<MissingScores>,
}

/// A change as a share of the baseline: −0.41 is 41 % fewer.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Relative {
    /// The mean of the system over that of the baseline, minus one.
    pub value: f64,
    /// Its 95 % interval.
    pub interval: Option<Interval>,
}

/// Two one-sided tests of "the difference is as large as the margin".
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Equivalence {
    /// The larger p value of the two; `None` of differences without spread, of which t says nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p_value: Option<f64>,
    /// Whether the whole interval lies within the margin.
    pub is_shown: bool,
}

/// How many examples passed with only one of the two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct FlipCounts {
    /// Only with the system.
    pub gained: u64,
    /// Only with the baseline.
    pub lost: u64,
    /// With both or with neither.
    pub same: u64,
}

/// Paired rows of which a score is missing, because a call failed or an answer has no score.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct MissingScores {
    /// Rows without the baseline's score.
    pub baseline: usize,
    /// Rows without the system's score.
    pub system: usize,
    /// Rows without one of the two, or both.
    pub either: usize,
    /// What comes out when a missing score counts as wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub as_wrong: Option<Filled>,
    /// What comes out when missing scores are as bad for the system as can be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worst: Option<Filled>,
    /// What comes out when they are as good for it as can be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub best: Option<Filled>,
    /// Whether the verdict is another one in one of these cases. Also true when the range of the
    /// score is not known, so that nothing bounds what is missing.
    pub decides: bool,
}

/// A difference over all paired rows, with something in place of missing scores.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Filled {
    /// "System − baseline".
    pub difference: f64,
    /// Its 95 % interval.
    pub interval: Option<Interval>,
    /// What would be shown.
    pub verdict: Verdict,
}

impl Difference {
    /// The share of the way in which the system is ahead: the difference with the sign that makes
    /// more better.
    pub fn gain(&self) -> f64 {
        match self.less_is_better {
            true => -self.difference,
            false => self.difference,
        }
    }
}
