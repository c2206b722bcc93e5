//! [`RunComparison`]: every system beside its baseline, as data. It is the member `comparison` of
//! results in JSON; its fields are documented in `docs/guide/verdicts.md` and only ever added to.

use serde::{Deserialize, Serialize};

use super::measure::UPSTREAM_TOKENS;
use super::{Difference, Flip, Scope};
use crate::stats::Verdict;

/// The number of the format; it changes when a field changes its meaning.
pub const COMPARISON_FORMAT: u32 = 1;

/// Systems beside a baseline, on the examples that both were asked about.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RunComparison {
    /// [`COMPARISON_FORMAT`].
    pub format: u32,
    /// The system that others are compared with.
    pub baseline: String,
    /// The score that verdicts are about; `None` when rows have none.
    pub score: Option<String>,
    /// How much of it may be lost, when the user said so.
    pub margin: Option<f64>,
    /// Of every interval.
    pub confidence: f64,
    /// From this value of the score on an example counts as passed: what flips are about.
    pub threshold: f64,
    /// The seed of all resamples.
    pub seed: u64,
    /// The systems but the baseline, in the order of the run.
    pub systems: Vec<SystemComparison>,
    /// What readers should know of all of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// One system beside its baseline.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SystemComparison {
    /// Its name.
    pub system: String,
    /// The stored run that it is of, where runs are compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// What it is compared with.
    pub baseline: String,
    /// The stored run of the baseline, where runs are compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline_run: Option<String>,
    /// What is shown about the score over all examples; `None` without a score that both have.
    pub verdict: Option<Verdict>,
    /// What a user can act on, in one sentence.
    pub sentence: String,
    /// How rows found their partners.
    pub matched: Matched,
    /// What was found, measure by measure: over all examples, then for each dataset, task and group.
    pub differences: Vec<Difference>,
    /// Examples that only one of the two passed, the first of them; all are counted in
    /// `differences`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flips: Vec<Flip>,
    /// What readers should know of this comparison.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// How rows found their partners.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Matched {
    /// Rows of an example that both were asked about.
    pub paired: usize,
    /// Rows that only the baseline has.
    pub only_baseline: usize,
    /// Rows that only the system has.
    pub only_system: usize,
}

impl Matched {
    /// So many pairs of so many rows of the baseline and of the system.
    pub fn of(paired: usize, baseline: usize, system: usize) -> Self {
        Self {
            paired,
            only_baseline: baseline.saturating_sub(paired),
            only_system: system.saturating_sub(paired),
        }
    }
}

impl SystemComparison {
    /// The difference in a measure over all examples.
    pub fn overall(&self, measure: &str) -> Option<&Difference> {
        self.difference(measure, Scope::All, "")
    }

    /// The difference in a measure over one dataset, task or group.
    pub fn difference(&self, measure: &str, scope: Scope, name: &str) -> Option<&Difference> {
        let mut all = self.differences.iter();
        all.find(|one| one.measure == measure && one.scope == scope && one.name == name)
    }

    /// The difference in tokens to go by: those that reached the provider, which say more than what a
    /// proxy reports, or prompt tokens where no tap saw them.
    pub fn tokens(&self) -> Option<&Difference> {
        let all = [UPSTREAM_TOKENS, "prompt_tokens"];
        all.into_iter().find_map(|measure| self.overall(measure))
    }

    /// The name of the system, with its run where several have one of that name.
    pub fn label(&self) -> String {
        labelled(&self.system, self.run.as_deref())
    }

    /// The name of the baseline, with its run where runs are compared.
    pub fn baseline_label(&self) -> String {
        labelled(&self.baseline, self.baseline_run.as_deref())
    }
}

fn labelled(name: &str, run: Option<&str>) -> String {
    match run {
        Some(run) => format!("{name} of run {run}"),
        None => name.to_owned(),
    }
}

impl RunComparison {
    /// A system by its name.
    pub fn system(&self, name: &str) -> Option<&SystemComparison> {
        self.systems.iter().find(|one| one.system == name)
    }

    /// The difference in the score that verdicts are about, over all examples.
    pub fn main<'a>(&self, system: &'a SystemComparison) -> Option<&'a Difference> {
        system.overall(self.score.as_deref()?)
    }
}
