//! `ClassBenchmark`: a task that is a Python object, as a benchmark.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use serde_json::{Value, json};

use super::answer::Answered;
use super::class_task::ClassTask;
use super::outcome::{BenchmarkOutcome, DocumentCounts};
use super::{Benchmark, SumUp};
use crate::dataset::Dataset;

/// A task that is a Python object, as a benchmark.
pub struct ClassBenchmark {
    key: String,
    task: Arc<ClassTask>,
    samples: bool,
}

impl ClassBenchmark {
    /// A task under the key that results have for it. With `samples` what was asked and
    /// said is written down.
    pub fn new(key: impl Into<String>, task: ClassTask, samples: bool) -> Self {
        Self {
            key: key.into(),
            task: Arc::new(task),
            samples,
        }
    }

    /// Examples per prompt.
    pub fn num_fewshot(&self) -> usize {
        self.task.num_fewshot
    }
}

impl Benchmark for ClassBenchmark {
    fn key(&self) -> &str {
        &self.key
    }

    fn examples(&self) -> Dataset {
        let (task, tag) = (Arc::clone(&self.task), self.key.clone());
        let n = task.n_examples();
        let examples = (0..n).filter_map(move |at| task.example(&tag, at)).map(Ok);
        Dataset::from_results(examples)
            .with_len(n)
            .tagged(&*self.key)
    }

    fn documents(&self) -> Option<usize> {
        Some(self.task.n_documents())
    }

    /// Rows have no scores: the object makes them of all responses.
    fn scores_itself(&self) -> bool {
        true
    }

    fn scoring(&self) -> Option<Value> {
        Some(json!("class"))
    }

    fn score_field(&self) -> Option<&str> {
        None
    }

    fn asks_for_likelihoods(&self) -> bool {
        self.task.asks_for_likelihoods()
    }

    fn needs_answers(&self) -> bool {
        true
    }

    fn sum_up(&self, rows: &[Answered<'_>], how: &SumUp) -> BenchmarkOutcome {
        let task = &self.task;
        let mut said = HashMap::new();
        let mut failed = HashSet::new();
        let mut counts = DocumentCounts {
            planned: task.n_documents(),
            ..DocumentCounts::default()
        };
        for one in rows {
            let id = one.row.example_id.to_string();
            let why = match (&one.row.failure, one.answer) {
                (Some(failure), _) => failure.message.clone(),
                (None, Some(answer)) => match task.response(&answer.example, &answer.output) {
                    Ok((place, response)) => {
                        said.insert(place, response);
                        continue;
                    }
                    Err(why) => why,
                },
                (None, None) => "the answer is not there any more".to_owned(),
            };
            counts.lost(&id, &why);
            failed.extend(task.document(&id));
        }
        let outcome = task.scored(&self.key, task.alias().unwrap_or(&self.key), &said);
        counts.scored = outcome.complete;
        counts.unscored = outcome.unscored;
        counts.failed = failed.len();
        let done = counts.scored + counts.unscored + counts.failed;
        counts.not_run = counts.planned.saturating_sub(done);
        BenchmarkOutcome {
            samples: match how.samples && self.samples {
                true => outcome.samples,
                false => Vec::new(),
            },
            result: outcome.result,
            counts,
            failed: outcome.failed,
            warnings: Vec::new(),
            report: None,
        }
    }
}
