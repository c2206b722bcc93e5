//! What a run found about benchmarks: of one, and of all with the groups they stand in.
//!
//! A document that failed is neither a zero nor silently gone: it is left out of the
//! scores, counted and named.

use context_bench_tasks::{Error, Results, TaskResult, Warning};
use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::evaluator::SuiteEvaluator;
use super::reporting::DatasetReport;

/// One benchmark of one system.
#[derive(Debug, Clone)]
pub struct BenchmarkOutcome {
    /// Its scores.
    pub result: TaskResult,
    /// What became of its documents.
    pub counts: DocumentCounts,
    /// What was asked and said about each document, when asked for.
    pub samples: Vec<Map<String, Value>>,
    /// Why scores have no value; all others have theirs.
    pub failed: Vec<Error>,
    /// What was noticed.
    pub warnings: Vec<Warning>,
    /// Of a dataset: what its authors quote, and by which rule.
    pub report: Option<DatasetReport>,
}

/// All benchmarks of one system.
#[derive(Debug, Clone)]
pub struct SuiteOutcome {
    /// Scores of tasks and groups.
    pub results: Results,
    /// What happened to the documents of each task.
    pub counts: IndexMap<String, DocumentCounts>,
    /// What is quoted of each dataset, and by which rule.
    pub datasets: IndexMap<String, DatasetReport>,
    /// Logged samples by task, when asked for.
    pub samples: IndexMap<String, Vec<Map<String, Value>>>,
    /// Why tasks and metrics have no value; all others have theirs.
    pub failed: Vec<Error>,
    /// What was noticed.
    pub warnings: Vec<Warning>,
}

/// What happened to the documents of a task.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct DocumentCounts {
    /// Documents that should have been asked about.
    pub planned: usize,
    /// Documents in the scores.
    pub scored: usize,
    /// Documents that got no answer, or not all of them.
    pub failed: usize,
    /// Documents with an answer that could not be scored.
    pub unscored: usize,
    /// Documents with an answer that no evaluator applies to, such as for want of a
    /// gold answer.
    pub not_applicable: usize,
    /// Documents that no system was asked about.
    pub not_run: usize,
    /// The first document without a score, and why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first: Option<(String, String)>,
}

impl DocumentCounts {
    /// Whether every document that can be scored is in the scores.
    pub fn is_complete(&self) -> bool {
        self.lacking() == 0
    }

    /// Documents that should be in the scores and are not.
    pub fn lacking(&self) -> usize {
        self.failed + self.unscored + self.not_run
    }

    /// Notes why a document is in no score; the first one counts.
    pub(super) fn lost(&mut self, document: &impl ToString, why: &str) {
        // Whose words they are is clear here.
        let whose = format!("{}: ", SuiteEvaluator::NAME);
        let why = why.strip_prefix(&whose).unwrap_or(why);
        self.first
            .get_or_insert_with(|| (document.to_string(), why.to_owned()));
    }
}
