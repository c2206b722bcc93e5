//! `TaskBenchmark`: a task in YAML.
//!
//! Prompts are made when examples are taken. Everything that scoring needs is in
//! the example (the raw record) and the answer, so a document can be scored in
//! any process that has the task, from the store as well as from a run.

use std::sync::Arc;

use async_trait::async_trait;
use context_bench_tasks::scoring::TaskScores;
use context_bench_tasks::{Host, OutputType, Task, TaskResult};
use serde_json::{Value, json};

use super::answer::Answered;
use super::documents::TaskDocuments;
use super::evidence::score_name;
use super::outcome::{BenchmarkOutcome, DocumentCounts};
use super::task_scoring::{Document, TaskScoring, documents};
use super::{Benchmark, SumUp};
use crate::dataset::Dataset;
use crate::evaluator::{Evaluator, EvaluatorError};
use crate::model::{Example, Output, Scores};

/// A task in YAML.
pub struct TaskBenchmark {
    key: String,
    scorer: Arc<TaskScoring>,
    documents: TaskDocuments,
    score_field: Option<String>,
    samples: bool,
    evaluators: Vec<Arc<dyn Evaluator>>,
}

impl TaskBenchmark {
    /// A task under the key that results have for it. With `samples` what was asked and
    /// said is written down.
    pub fn new(
        key: impl Into<String>,
        task: Arc<Task>,
        host: Arc<dyn Host>,
        documents: TaskDocuments,
        samples: bool,
    ) -> Self {
        let scorer = TaskScoring { task, host };
        Self {
            key: key.into(),
            score_field: scorer.score_field(),
            scorer: Arc::new(scorer),
            documents,
            samples,
            evaluators: Vec::new(),
        }
    }

    /// Lets these evaluators score its documents too.
    #[must_use]
    pub fn with_evaluators(mut self, evaluators: Vec<Arc<dyn Evaluator>>) -> Self {
        self.evaluators = evaluators;
        self
    }

    /// The task.
    pub fn task(&self) -> &Task {
        &self.scorer.task
    }
}

#[async_trait]
impl Benchmark for TaskBenchmark {
    fn key(&self) -> &str {
        &self.key
    }

    fn examples(&self) -> Dataset {
        let unconditional = self.scorer.asks_unconditionally();
        self.documents
            .examples(&self.key, unconditional, self.scorer.repeats())
    }

    fn documents(&self) -> Option<usize> {
        Some(self.documents.planned)
    }

    fn evaluators(&self) -> &[Arc<dyn Evaluator>] {
        &self.evaluators
    }

    fn scores_itself(&self) -> bool {
        true
    }

    fn less_is_better(&self) -> Vec<String> {
        let task = &self.scorer.task;
        let metrics = task.metrics.iter().filter(|one| !one.higher_is_better);
        let filters = || task.filters.iter().map(|pipeline| pipeline.name.as_str());
        let names = metrics.flat_map(|metric| {
            let filters = filters().chain(["none"]);
            filters.map(|filter| score_name(&metric.name, filter))
        });
        names.collect()
    }

    async fn score(&self, example: &Example, output: &Output) -> Result<Scores, EvaluatorError> {
        if !self.scorer.scores_rows() {
            return Ok(Scores::new());
        }
        if !self.scorer.task.needs_python() {
            return self.scorer.row(example, output).map_err(EvaluatorError);
        }
        // Python takes its time, and other rows wait for this thread.
        let (scorer, example, output) = (Arc::clone(&self.scorer), example.clone(), output.clone());
        let scoring = tokio::task::spawn_blocking(move || scorer.row(&example, &output));
        let scored = scoring.await.unwrap_or_else(|error| Err(error.to_string()));
        scored.map_err(EvaluatorError)
    }

    fn scoring(&self) -> Option<Value> {
        let task = &self.scorer.task;
        (!task.needs_python()).then(|| {
            json!({
                "config": task.config.to_json(),
                "format": task.format.as_ref().map(|format| &format.name),
                "repeats": task.repeats,
            })
        })
    }

    fn score_field(&self) -> Option<&str> {
        self.score_field.as_deref()
    }

    fn asks_for_likelihoods(&self) -> bool {
        self.scorer.task.output_type != OutputType::GenerateUntil
    }

    fn needs_answers(&self) -> bool {
        !self.scorer.scores_alone() || self.samples
    }

    fn sum_up(&self, rows: &[Answered<'_>], how: &SumUp) -> BenchmarkOutcome {
        let task = &self.scorer.task;
        let documents = documents(rows);
        let mut failed = Vec::new();
        let scored = match self.scorer.scores_alone() {
            true => self.scorer.of_rows(&documents),
            false => {
                let scored = self.scorer.of_answers(&documents);
                scored.unwrap_or_else(|error| {
                    let all = (0..documents.len()).map(|at| (at, error.clone()));
                    let all = all.collect();
                    let what = format!("task `{}` could not be scored", self.key);
                    failed.push(error.prefixed(what));
                    TaskScores {
                        failed: all,
                        ..TaskScores::default()
                    }
                })
            }
        };
        let counts = self.counts(&documents, &scored);
        let summary = task.sum_up(&scored, how.resampling, &*self.scorer.host);
        failed.extend(summary.failed);
        let samples = match how.samples {
            true => self.scorer.samples(&documents, &scored),
            false => Vec::new(),
        };
        let num_fewshot = self.documents.num_fewshot;
        let mut warnings = scored.warnings;
        warnings.extend(summary.warnings);
        BenchmarkOutcome {
            result: TaskResult {
                key: self.key.clone(),
                alias: task.alias.clone().unwrap_or_else(|| self.key.clone()),
                scores: summary.scores,
                sample_len: counts.scored,
                sizes: summary.sizes,
                version: task.version().cloned(),
                num_fewshot: Some(task.shown_shots(num_fewshot)),
                higher_is_better: summary.higher_is_better,
                headline: None,
                unlisted: Default::default(),
                n_samples: (self.documents.original, self.documents.planned),
                config: task.shown_config(num_fewshot),
            },
            counts,
            samples,
            failed,
            warnings,
            report: None,
        }
    }
}

impl TaskBenchmark {
    fn counts(&self, documents: &[Document<'_>], scored: &TaskScores) -> DocumentCounts {
        let mut in_scores = vec![false; documents.len()];
        for scored in scored.filters.values().flatten() {
            in_scores[scored.request] = true;
        }
        let mut counts = DocumentCounts {
            planned: self.documents.planned.max(documents.len()),
            ..DocumentCounts::default()
        };
        let repeats = self.scorer.repeats();
        for (at, document) in documents.iter().enumerate() {
            let failure = document
                .rows
                .iter()
                .find_map(|one| one.row.failure.as_ref());
            let unscored = document
                .rows
                .iter()
                .find_map(|one| Some(one.row.scores.unscored().next()?.1));
            if in_scores[at] {
                counts.scored += 1;
            } else if let Some(failure) = failure {
                counts.failed += 1;
                counts.lost(&document.id, &failure.message);
            } else if let Some(why) = unscored {
                counts.unscored += 1;
                counts.lost(&document.id, why);
            } else if let Some(error) = scored.failed.get(&at) {
                counts.unscored += 1;
                counts.lost(&document.id, &error.to_string());
            } else if document.rows.len() < repeats {
                counts.not_run += 1;
            } else {
                counts.unscored += 1;
                counts.lost(&document.id, "the scores of the document are not there");
            }
        }
        counts.not_run += counts.planned - documents.len();
        counts
    }
}
