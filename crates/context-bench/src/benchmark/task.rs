//! `TaskBenchmark`: a task in YAML.
//!
//! Prompts are made when examples are taken. Everything that scoring needs is in
//! the example (the raw record) and the answer, so a document can be scored in
//! any process that has the task, from the store as well as from a run.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use async_trait::async_trait;
use context_bench_tasks::metric::{Aggregation, AggregationKind, MetricKind};
use context_bench_tasks::sample::Sample;
use context_bench_tasks::scoring::{Scored, TaskScores};
use context_bench_tasks::{Error, Host, OutputType, Requests, Response, Task, TaskResult};
use indexmap::IndexMap;
use serde_json::{Map, Value, json};

use super::answer::{Answer, Answered};
use super::documents::TaskDocuments;
use super::evidence::{has_filtered, row_scores, score_name, scored};
use super::examples::{REPEAT, request};
use super::outcome::{BenchmarkOutcome, DocumentCounts};
use super::response::response;
use super::{Benchmark, SumUp};
use crate::dataset::Dataset;
use crate::evaluator::{Evaluator, EvaluatorError};
use crate::model::{Example, Output, Scores};

/// A task in YAML.
pub struct TaskBenchmark {
    key: String,
    scorer: Arc<Scorer>,
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
        let scorer = Scorer { task, host };
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
                n_samples: (self.documents.original, self.documents.planned),
                config: task.shown_config(num_fewshot),
            },
            counts,
            samples,
            failed,
            warnings,
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

/// The rows about one document.
struct Document<'a> {
    id: String,
    rows: Vec<Answered<'a>>,
}

/// Rows by document, in the order of documents.
fn documents<'a>(rows: &[Answered<'a>]) -> Vec<Document<'a>> {
    let mut documents: IndexMap<String, Vec<Answered<'a>>> = IndexMap::new();
    for one in rows {
        let id = one.row.example_id.to_string();
        documents.entry(id).or_default().push(*one);
    }
    let documents = documents.into_iter();
    documents.map(|(id, rows)| Document { id, rows }).collect()
}

/// A task with who runs its Python: everything that scoring takes.
struct Scorer {
    task: Arc<Task>,
    host: Arc<dyn Host>,
}

impl Scorer {
    /// How many answers each document gets.
    fn repeats(&self) -> usize {
        match self.task.output_type {
            OutputType::GenerateUntil => self.task.repeats.max(1),
            _ => 1,
        }
    }

    /// Whether choices are also asked for after an empty context.
    fn asks_unconditionally(&self) -> bool {
        self.task.output_type == OutputType::MultipleChoice && self.task.needs_unconditional()
    }

    /// Whether scoring calls Python.
    fn scoring_needs_python(&self) -> bool {
        self.task.process_results.is_some()
            || self
                .task
                .metrics
                .iter()
                .any(|metric| metric.kind.is_function())
    }

    /// Whether what is said of each document alone is all there is to say.
    fn scores_alone(&self) -> bool {
        self.task.scores_by_document() && self.repeats() == 1
    }

    /// Whether a row has scores: one of several answers is scored alone only where that
    /// costs nothing.
    fn scores_rows(&self) -> bool {
        self.task.scores_by_document() && (self.repeats() == 1 || !self.scoring_needs_python())
    }

    /// The score of a row that stands for its document: the first metric whose values
    /// are numbers of which the mean counts.
    fn score_field(&self) -> Option<String> {
        const NUMBERS: [&str; 5] = [
            "acc",
            "acc_norm",
            "acc_bytes",
            "acc_mutual_info",
            "exact_match",
        ];
        let mean = AggregationKind::Builtin(Aggregation::Mean);
        let metric = self
            .task
            .metrics
            .iter()
            .filter(|metric| metric.aggregation == mean && metric.higher_is_better)
            .find(|metric| match &metric.kind {
                MetricKind::Builtin => NUMBERS.contains(&metric.name.as_str()),
                MetricKind::Exact(_) | MetricKind::Function(..) | MetricKind::Named => true,
            })?;
        let filter = self.task.filters.first();
        let filter = filter.map_or("none", |pipeline| pipeline.name.as_str());
        Some(score_name(&metric.name, filter))
    }

    /// The scores of one row.
    fn row(&self, example: &Example, output: &Output) -> Result<Scores, String> {
        let (asked, said) = self.asked(example, output)?;
        let scored = match self.repeats() {
            1 => self.task.score_document(0, &asked, &said, &*self.host),
            _ => self.task.score_answer(0, &asked, &said, &*self.host),
        };
        let scored = scored.map_err(|error| error.to_string())?;
        Ok(row_scores(&self.task, &scored))
    }

    /// What was asked in an example, as the only request of a list, and what was said.
    fn asked(&self, example: &Example, output: &Output) -> Result<(Requests, Response), String> {
        let (request, record) =
            request(&self.task, example, &*self.host).map_err(|error| error.to_string())?;
        let said = response(&request.ask, output)?;
        let asked = Requests {
            requests: vec![request],
            records: vec![record],
            n_original: None,
            num_fewshot: 0,
            warnings: Vec::new(),
        };
        Ok((asked, said))
    }

    /// The scores that rows have, put together.
    fn of_rows(&self, documents: &[Document<'_>]) -> TaskScores {
        let mut filters: IndexMap<String, Vec<Scored>> = IndexMap::new();
        for (at, document) in documents.iter().enumerate() {
            let rows = document.rows.iter().map(|one| one.row);
            let mut whole = rows.filter(|row| !row.has_error());
            let Some(row) = whole.next() else {
                continue;
            };
            for (filter, one) in scored(&self.task, &row.scores, at) {
                filters.entry(filter).or_default().push(one);
            }
        }
        TaskScores {
            filters,
            failed: BTreeMap::new(),
            warnings: Vec::new(),
        }
    }

    /// The scores that all answers together give.
    fn of_answers(&self, documents: &[Document<'_>]) -> Result<TaskScores, Error> {
        let mut asked = Requests {
            requests: Vec::new(),
            records: Vec::new(),
            n_original: None,
            num_fewshot: 0,
            warnings: Vec::new(),
        };
        let mut responses = Vec::new();
        let mut places = Vec::new();
        let mut failed = BTreeMap::new();
        for (at, document) in documents.iter().enumerate() {
            let Some(answers) = document.answers(self.repeats()) else {
                continue;
            };
            match self.whole_answer(&answers) {
                Ok((mut one, said)) => {
                    asked.requests.append(&mut one.requests);
                    asked.records.append(&mut one.records);
                    responses.push(Some(said));
                    places.push(at);
                }
                Err(why) => {
                    failed.insert(at, Error::new(why));
                }
            }
        }
        let mut scored = self.task.score(&asked, &responses, &*self.host)?;
        // Which documents are wrong is known since planning.
        scored.warnings.clear();
        for one in scored.filters.values_mut().flatten() {
            one.request = places[one.request];
        }
        failed.extend(
            scored
                .failed
                .into_iter()
                .map(|(place, error)| (places[place], error)),
        );
        Ok(TaskScores { failed, ..scored })
    }

    /// The answer to a document, of all its parts.
    fn whole_answer(&self, answers: &[&Answer]) -> Result<(Requests, Response), String> {
        let mut whole: Option<(Requests, Response)> = None;
        for answer in answers {
            let (asked, said) = self.asked(&answer.example, &answer.output)?;
            whole = Some(match (whole, said) {
                (None, said) => (asked, said),
                (Some((asked, Response::Texts(mut texts))), Response::Texts(more)) => {
                    texts.extend(more);
                    (asked, Response::Texts(texts))
                }
                (Some(first), _) => first,
            });
        }
        whole.ok_or_else(|| "there is no answer".to_owned())
    }

    fn samples(&self, documents: &[Document<'_>], scored: &TaskScores) -> Vec<Map<String, Value>> {
        let mut asked = HashMap::new();
        for (at, document) in documents.iter().enumerate() {
            if let Some(answers) = document.answers(self.repeats())
                && let Ok(found) = self.whole_answer(&answers)
            {
                asked.insert(at, found);
            }
        }
        let mut samples = Vec::new();
        for (filter, all) in &scored.filters {
            for one in all {
                let Some((asked, said)) = asked.get(&one.request) else {
                    continue;
                };
                let filtered = self.filtered(&documents[one.request], filter, one, asked, said);
                let sample = Sample {
                    record: &asked.records[0],
                    request: &asked.requests[0],
                    responses: &said.to_json(),
                    filtered: &filtered,
                    filter,
                    scores: &one.scores,
                };
                samples.push(sample.to_json());
            }
        }
        samples
    }

    /// What a filter made of an answer. Rows of scores that are all numbers do not
    /// have it; it is then made again, which costs nothing.
    fn filtered(
        &self,
        document: &Document<'_>,
        filter: &str,
        scored: &Scored,
        asked: &Requests,
        said: &Response,
    ) -> Value {
        let known = !self.scores_alone()
            || document
                .rows
                .iter()
                .any(|one| has_filtered(&one.row.scores));
        if known {
            return scored.filtered.clone();
        }
        let again = self.task.score_document(0, asked, said, &*self.host);
        let again = again.ok().and_then(|mut again| again.swap_remove(filter));
        again.map(|one| one.filtered).unwrap_or_default()
    }
}

impl<'a> Document<'a> {
    /// Its answers in the order of repeats, when all of them are there.
    fn answers(&self, repeats: usize) -> Option<Vec<&'a Answer>> {
        let mut answers: Vec<Option<&'a Answer>> = vec![None; repeats];
        for answer in self.rows.iter().filter_map(|one| one.answer) {
            let repeat = answer.example.get(REPEAT).and_then(Value::as_u64);
            let repeat = usize::try_from(repeat.unwrap_or(0)).unwrap_or(usize::MAX);
            if let Some(place) = answers.get_mut(repeat) {
                *place = Some(answer);
            }
        }
        answers.into_iter().collect()
    }
}
