//! `TaskEvaluator`: scores the documents of tasks, and remembers what was said about
//! them until the run is summed up.
//!
//! Scores over a whole corpus, filters that see all documents and several answers to
//! one document cannot be had row by row. So rows get what can be said of them alone,
//! and the rest is done at the end with what is remembered here.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use context_bench_tasks::scoring::Scored;
use context_bench_tasks::{Host, OutputType, Response, python};
use indexmap::IndexMap;
use serde_json::{Map, Value};

use super::examples::REPEAT;
use super::plan::{Planned, PlannedTask, score_name};
use super::response::response;
use crate::evaluator::{Evaluator, EvaluatorError};
use crate::model::{Example, JudgeUsage, Output, ScoreName, Scores};

/// Scores the documents of the tasks of a run.
pub struct TaskEvaluator {
    tasks: HashMap<String, Entry>,
    host: Arc<dyn Host>,
}

struct Entry {
    planned: Arc<Planned>,
    /// Place of each document by its id.
    places: HashMap<i64, usize>,
    /// By system.
    memory: Mutex<HashMap<String, Memory>>,
}

/// What a system said about the documents of a task.
#[derive(Debug, Default, Clone)]
pub(super) struct Memory {
    /// By document, then by repeat.
    pub(super) answers: Vec<Vec<Option<Response>>>,
    /// By document, where each is scored by itself.
    pub(super) scored: Vec<Option<Result<IndexMap<String, Scored>, String>>>,
    /// By id, of datasets of the catalogue whose samples are wanted.
    pub(super) told: HashMap<String, Vec<Told>>,
}

/// An example of a dataset of the catalogue, and what was said about it.
#[derive(Debug, Clone)]
pub(super) struct Told {
    pub(super) fields: Map<String, Value>,
    pub(super) response: String,
}

impl TaskEvaluator {
    /// Its name in runs.
    pub const NAME: &str = "task";

    /// With `samples` it also remembers what was said about datasets of the catalogue.
    pub(super) fn new(
        tasks: &IndexMap<String, Arc<Planned>>,
        host: Arc<dyn Host>,
        samples: bool,
    ) -> Self {
        let entry = |(key, planned): (&String, &Arc<Planned>)| {
            let mut key = key;
            let places = match &**planned {
                Planned::Task(planned) => {
                    let ids = planned.requests.requests.iter().enumerate();
                    ids.filter_map(|(at, request)| Some((i64::try_from(request.doc_id).ok()?, at)))
                        .collect()
                }
                Planned::Class(_) => HashMap::new(),
                Planned::Native(native) if samples => {
                    key = &native.tag;
                    HashMap::new()
                }
                Planned::Native(_) => return None,
            };
            let entry = Entry {
                planned: Arc::clone(planned),
                places,
                memory: Mutex::default(),
            };
            Some((key.clone(), entry))
        };
        Self {
            tasks: tasks.iter().filter_map(entry).collect(),
            host,
        }
    }

    /// What a system said about a task.
    pub(super) fn memory(&self, task: &str, system: &str) -> Memory {
        let entry = self.tasks.get(task);
        entry
            .and_then(|entry| entry.memory().get(system).cloned())
            .unwrap_or_default()
    }

    /// The scores of one document, or of one of several answers to it.
    async fn score_document(
        &self,
        planned: &Arc<Planned>,
        task: &PlannedTask,
        at: usize,
        said: Response,
    ) -> Result<IndexMap<String, Scored>, String> {
        if !task.scoring_needs_python() {
            let scored = match task.repeats() {
                1 => task
                    .task
                    .score_document(at, &task.requests, &said, &*self.host),
                _ => task
                    .task
                    .score_answer(at, &task.requests, &said, &*self.host),
            };
            return scored.map_err(|error| error.to_string());
        }
        // Python takes its time, and other rows wait for this thread.
        let (planned, host) = (Arc::clone(planned), Arc::clone(&self.host));
        let scoring = tokio::task::spawn_blocking(move || match &*planned {
            Planned::Task(task) => task
                .task
                .score_document(at, &task.requests, &said, &*host)
                .map_err(|error| error.to_string()),
            _ => Err("the task has no prompts of its own".into()),
        });
        scoring.await.unwrap_or_else(|error| Err(error.to_string()))
    }
}

impl Entry {
    fn memory(&self) -> std::sync::MutexGuard<'_, HashMap<String, Memory>> {
        // Every change is complete in one step.
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn remember(
        &self,
        system: &str,
        at: usize,
        repeat: usize,
        said: Response,
        scored: Option<Result<IndexMap<String, Scored>, String>>,
    ) {
        let mut memory = self.memory();
        if !memory.contains_key(system) {
            memory.insert(system.to_owned(), Memory::default());
        }
        let Some(memory) = memory.get_mut(system) else {
            return;
        };
        if memory.answers.len() <= at {
            memory.answers.resize_with(at + 1, Vec::new);
            memory.scored.resize_with(at + 1, || None);
        }
        let answers = &mut memory.answers[at];
        if answers.len() <= repeat {
            answers.resize_with(repeat + 1, || None);
        }
        answers[repeat] = Some(said);
        memory.scored[at] = scored;
    }
}

impl PlannedTask {
    /// Whether scoring calls Python.
    fn scoring_needs_python(&self) -> bool {
        use context_bench_tasks::metric::MetricKind;
        let metrics = &self.task.metrics;
        self.task.process_results.is_some()
            || metrics
                .iter()
                .any(|metric| matches!(metric.kind, MetricKind::Function(..)))
    }

    /// Whether what is said of each document alone is all there is to say.
    pub(super) fn scores_alone(&self) -> bool {
        self.task.scores_by_document() && self.repeats() == 1
    }

    /// Whether a row has scores: one of several answers is scored alone only where that
    /// costs nothing.
    fn scores_rows(&self) -> bool {
        self.task.scores_by_document() && (self.repeats() == 1 || !self.scoring_needs_python())
    }
}

/// The scores of a document that are numbers.
fn row_scores(filters: &IndexMap<String, Scored>, output: OutputType) -> Scores {
    let mut scores = Scores::new();
    for (filter, scored) in filters {
        for (metric, value) in &scored.scores {
            // A log-likelihood is no score of its own.
            let is_sum = output == OutputType::Loglikelihood && metric == "perplexity";
            if let Some(number) = python::value::float(value).filter(|_| !is_sum) {
                scores.set(ScoreName::from(score_name(metric, filter)), number);
            }
        }
    }
    scores
}

#[async_trait]
impl Evaluator for TaskEvaluator {
    fn name(&self) -> &str {
        Self::NAME
    }

    fn score_names(&self) -> &[ScoreName] {
        &[]
    }

    fn applies_to(&self, example: &Example) -> bool {
        self.tasks.contains_key(example.dataset())
    }

    async fn score(&self, example: &Example, output: &Output) -> Result<Scores, EvaluatorError> {
        self.score_of("", example, output).await.0
    }

    async fn score_of(
        &self,
        system: &str,
        example: &Example,
        output: &Output,
    ) -> (Result<Scores, EvaluatorError>, JudgeUsage) {
        let scores = self.remember_and_score(system, example, output).await;
        (scores.map_err(EvaluatorError), JudgeUsage::default())
    }
}

impl TaskEvaluator {
    async fn remember_and_score(
        &self,
        system: &str,
        example: &Example,
        output: &Output,
    ) -> Result<Scores, String> {
        let entry = self
            .tasks
            .get(example.dataset())
            .ok_or("the task is not planned")?;
        let number = |field: &str| example.get(field).and_then(Value::as_i64);
        let repeat = number(REPEAT)
            .and_then(|n| usize::try_from(n).ok())
            .unwrap_or(0);
        let task = match &*entry.planned {
            Planned::Task(task) => task,
            Planned::Class(class) => {
                let (at, said) = class.response(example, output)?;
                entry.remember(system, at, 0, said, None);
                return Ok(Scores::new());
            }
            Planned::Native(_) => {
                let told = Told {
                    fields: example.fields().clone(),
                    response: output.response().into_owned(),
                };
                let id = example.stringified("id").into_owned();
                let mut memory = entry.memory();
                let memory = memory.entry(system.to_owned()).or_default();
                memory.told.entry(id).or_default().push(told);
                return Ok(Scores::new());
            }
        };
        let at = number("id").and_then(|id| entry.places.get(&id)).copied();
        let at = at.ok_or("the task has no such document")?;
        let said = response(&task.requests.requests[at].ask, output)?;
        if !task.scores_rows() {
            entry.remember(system, at, repeat, said, None);
            return Ok(Scores::new());
        }
        let scored = self
            .score_document(&entry.planned, task, at, said.clone())
            .await;
        let scores = match &scored {
            Ok(filters) => Ok(row_scores(filters, task.task.output_type)),
            Err(error) => Err(error.clone()),
        };
        entry.remember(system, at, repeat, said, Some(scored));
        scores
    }
}
