//! `Benchmark`: what systems are measured with, one interface for every kind.
//!
//! A dataset of the catalog, a file of examples, a task in YAML and a task that
//! is a Python class all stream examples, say how they are scored, and sum
//! themselves up from rows and answers alone. So whatever happened between
//! (a run, a resumed run, a look into the store) leads to the same results.

mod answer;
mod class;
mod class_task;
mod dataset;
mod documents;
mod evaluator;
mod evidence;
pub mod examples;
mod figures;
mod harness;
mod outcome;
mod reporting;
pub mod response;
mod suite;
mod task;
mod task_scoring;
mod unavailable;

use std::sync::Arc;

use async_trait::async_trait;
use context_bench_tasks::aggregate::MacroError;
use context_bench_tasks::outcome::Resampling;
use serde_json::Value;

pub use answer::Answered;
pub use class::ClassBenchmark;
pub use class_task::ClassTask;
pub use dataset::DatasetBenchmark;
pub use documents::TaskDocuments;
pub use evaluator::SuiteEvaluator;
pub use harness::{HarnessFacts, RunTime, TaskReport, file_name};
pub use outcome::{BenchmarkOutcome, DocumentCounts, SuiteOutcome};
pub(crate) use reporting::in_order;
pub use reporting::{DatasetReport, Reporting};
pub use suite::{Suite, dataset_leaf};
pub use task::TaskBenchmark;
pub use unavailable::UnavailableBenchmark;

use crate::dataset::Dataset;
use crate::evaluator::{Evaluator, EvaluatorError};
use crate::model::{Example, Output, Prompt, Scores};

/// The score that stands for a document where benchmarks are scored differently.
pub const SCORE: &str = "score";

/// What systems are measured with.
#[async_trait]
pub trait Benchmark: Send + Sync {
    /// What results call it; unique within a run.
    fn key(&self) -> &str;

    /// The `dataset` of its examples, by which its rows are found again.
    fn tag(&self) -> &str {
        self.key()
    }

    /// Its examples, once: a second call gives none.
    fn examples(&self) -> Dataset;

    /// How many documents it has in this run; `None` when that shows only at the end.
    fn documents(&self) -> Option<usize>;

    /// How often each of its examples is to be asked about. Tasks with prompts of their
    /// own have an example for each answer already.
    fn repeats(&self) -> usize {
        1
    }

    /// Whether examples of one id are attempts at one document and not a mistake.
    fn keeps_ids(&self) -> bool {
        false
    }

    /// The evaluators that score its examples.
    fn evaluators(&self) -> &[Arc<dyn Evaluator>] {
        &[]
    }

    /// Whether it scores its documents itself, by [`score`](Self::score).
    fn scores_itself(&self) -> bool {
        false
    }

    /// Scores one document itself.
    async fn score(&self, example: &Example, output: &Output) -> Result<Scores, EvaluatorError> {
        let _ = (example, output);
        Ok(Scores::new())
    }

    /// Everything that can change what [`score`](Self::score) gives; `None` when
    /// that is not known, as for code.
    fn scoring(&self) -> Option<Value> {
        None
    }

    /// The score that stands for a document.
    fn score_field(&self) -> Option<&str>;

    /// The scores of its rows of which less is better.
    fn less_is_better(&self) -> Vec<String> {
        Vec::new()
    }

    /// What is reported of it beside the mean of each score, and by which rule.
    fn reporting(&self) -> Option<&Reporting> {
        None
    }

    /// Whether systems are asked how likely texts are, and not for answers alone.
    fn asks_for_likelihoods(&self) -> bool {
        false
    }

    /// Whether it makes its prompts itself, with examples where it is asked to.
    fn makes_prompts(&self) -> bool {
        true
    }

    /// How models are asked about its examples, where that is more than a layout.
    fn prompt(&self) -> Option<&Arc<Prompt>> {
        None
    }

    /// Whether its examples may say themselves which dataset they are of. Their rows are
    /// then summed up under that name.
    fn is_open(&self) -> bool {
        false
    }

    /// Whether summing up takes examples and answers, and not only rows.
    fn needs_answers(&self) -> bool {
        false
    }

    /// Sums up the rows of one system.
    fn sum_up(&self, rows: &[Answered<'_>], how: &SumUp) -> BenchmarkOutcome;
}

/// How results are summed up.
#[derive(Debug, Clone, Default)]
pub struct SumUp {
    /// For standard errors that are not analytic.
    pub resampling: Resampling,
    /// The error of means over tasks.
    pub macro_error: MacroError,
    /// Whether to write down what was asked and said about each document.
    pub samples: bool,
}
