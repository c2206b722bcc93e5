//! From the rows of a run to the results of its tasks and groups.
//!
//! A document that failed is neither a zero nor silently gone: it is left out of the
//! scores, counted and named.

use std::collections::{BTreeMap, HashMap};

use context_bench_tasks::aggregate::MacroError;
use context_bench_tasks::metric::aggregation::sample_error;
use context_bench_tasks::outcome::Resampling;
use context_bench_tasks::sample::{Sample, hashes};
use context_bench_tasks::scoring::{Scored, TaskScores};
use context_bench_tasks::{Error, Response, Results, TaskResult, Warning};
use indexmap::IndexMap;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::class::ClassTask;
use super::evaluator::{Memory, TaskEvaluator, Told};
use super::plan::{Native, Planned, PlannedTask, TaskPlan};
use crate::model::{EvalRow, Example, ExampleId};
use crate::result::EvalResult;
use crate::system::{generation, messages};

/// How results are summed up.
#[derive(Debug, Clone, Copy, Default)]
pub struct SumUp {
    /// For standard errors that are not analytic.
    pub resampling: Resampling,
    /// The error of means over tasks.
    pub macro_error: MacroError,
    /// Whether to write down what was asked and said about each document.
    pub samples: bool,
}

/// What a run found about the tasks of one system.
#[derive(Debug, Clone)]
pub struct TaskOutcome {
    /// Scores of tasks and groups.
    pub results: Results,
    /// What became of the documents of each task.
    pub counts: IndexMap<String, DocumentCounts>,
    /// Logged samples by task, when asked for.
    pub samples: IndexMap<String, Vec<Map<String, Value>>>,
    /// Why tasks and metrics have no value; all others have theirs.
    pub failed: Vec<Error>,
    /// What was noticed.
    pub warnings: Vec<Warning>,
}

/// What became of the documents of a task.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct DocumentCounts {
    /// Documents that should have been asked about.
    pub planned: usize,
    /// Documents in the scores.
    pub scored: usize,
    /// Documents that got no answer, or not all of them.
    pub failed: usize,
    /// Documents with an answer that could not be scored.
    pub unscored: usize,
    /// Documents with an answer that no evaluator applies to, such as for lack of a
    /// gold answer.
    pub not_applicable: usize,
    /// Documents that nobody was asked about.
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

    fn lost(&mut self, document: &impl ToString, why: &str) {
        // Whose words they are is clear here.
        let whose = format!("{}: ", TaskEvaluator::NAME);
        let why = why.strip_prefix(&whose).unwrap_or(why);
        self.first
            .get_or_insert_with(|| (document.to_string(), why.to_owned()));
    }
}

/// Sums up a run, system by system. What cannot be summed up, such as by a function
/// that fails, costs nothing else its value.
pub fn results(
    plan: &TaskPlan,
    evaluator: &TaskEvaluator,
    result: &EvalResult,
    how: SumUp,
) -> IndexMap<String, TaskOutcome> {
    let mut outcomes = IndexMap::new();
    for system in result.counts.keys() {
        let mut rows: HashMap<&str, Vec<&EvalRow>> = HashMap::new();
        for row in result.rows_of(system) {
            rows.entry(&row.dataset).or_default().push(row);
        }
        let mut tasks = Vec::new();
        let mut outcome = TaskOutcome {
            results: Results::new(&Default::default(), &[], how.macro_error),
            counts: IndexMap::new(),
            samples: IndexMap::new(),
            failed: Vec::new(),
            warnings: Vec::new(),
        };
        for (key, planned) in plan.tasks() {
            let tag = match &**planned {
                Planned::Native(native) => native.tag.as_str(),
                _ => key.as_str(),
            };
            let of_task = rows.get(tag).map_or(&[][..], Vec::as_slice);
            let found = match &**planned {
                Planned::Task(task) => {
                    let memory = evaluator.memory(key, system);
                    of_planned(key, task, &memory, of_task, plan, how)
                }
                Planned::Class(class) => {
                    let memory = evaluator.memory(key, system);
                    of_class(key, class, &memory, of_task, how)
                }
                Planned::Native(native) => {
                    let memory = evaluator.memory(&native.tag, system);
                    of_native(key, native, &memory, of_task)
                }
            };
            tasks.push(found.result);
            outcome.counts.insert(key.clone(), found.counts);
            outcome.warnings.extend(found.warnings);
            outcome.failed.extend(found.failed);
            if how.samples {
                outcome.samples.insert(key.clone(), found.samples);
            }
        }
        outcome.results = Results::new(plan.tree(), &tasks, how.macro_error);
        outcome.warnings.extend(outcome.results.warnings.clone());
        outcomes.insert(system.clone(), outcome);
    }
    outcomes
}

/// One task of one system.
struct Found {
    result: TaskResult,
    counts: DocumentCounts,
    samples: Vec<Map<String, Value>>,
    failed: Vec<Error>,
    warnings: Vec<Warning>,
}

fn of_planned(
    key: &str,
    planned: &PlannedTask,
    memory: &Memory,
    rows: &[&EvalRow],
    plan: &TaskPlan,
    how: SumUp,
) -> Found {
    let task = &planned.task;
    let requests = &planned.requests.requests;
    let mut counts = DocumentCounts {
        planned: requests.len(),
        ..DocumentCounts::default()
    };
    let mut failures: HashMap<String, &str> = HashMap::new();
    let mut unscored: HashMap<String, String> = HashMap::new();
    for row in rows {
        let id = row.example_id.to_string();
        if let Some(failure) = &row.failure {
            failures.entry(id).or_insert(&failure.message);
        } else if let Some((_, why)) = row.scores.unscored().next() {
            unscored.entry(id).or_insert_with(|| why.to_owned());
        }
    }
    let answers: Vec<Option<Response>> = (0..requests.len())
        .map(|at| whole_answer(memory.answers.get(at)?, planned.repeats()))
        .collect();
    let mut failed = Vec::new();
    let scored = if planned.scores_alone() {
        scored_alone(planned, memory)
    } else {
        let scored = task.score(&planned.requests, &answers, &**plan.host());
        scored.unwrap_or_else(|error| {
            let answered = answers
                .iter()
                .enumerate()
                .filter(|(_, said)| said.is_some());
            let all = answered.map(|(at, _)| (at, error.clone())).collect();
            failed.push(error.prefixed(format!("task `{key}` could not be scored")));
            TaskScores {
                failed: all,
                ..TaskScores::default()
            }
        })
    };
    for (at, error) in &scored.failed {
        let id = requests[*at].doc_id.to_string();
        unscored.entry(id).or_insert_with(|| error.to_string());
    }
    let mut in_scores = vec![false; requests.len()];
    for scored in scored.filters.values().flatten() {
        in_scores[scored.request] = true;
    }
    for (request, in_scores) in requests.iter().zip(&in_scores) {
        let id = request.doc_id.to_string();
        if *in_scores {
            counts.scored += 1;
        } else if let Some(why) = failures.get(&id) {
            counts.failed += 1;
            counts.lost(&id, why);
        } else if let Some(why) = unscored.get(&id) {
            counts.unscored += 1;
            counts.lost(&id, why);
        } else {
            counts.not_run += 1;
        }
    }
    let summary = task.sum_up(&scored, how.resampling, &**plan.host());
    failed.extend(summary.failed);
    let samples = match how.samples {
        true => samples(planned, &scored, &answers),
        false => Vec::new(),
    };
    let num_fewshot = planned.requests.num_fewshot;
    let mut warnings = scored.warnings;
    warnings.extend(summary.warnings);
    Found {
        result: TaskResult {
            key: key.to_owned(),
            alias: task.alias.clone().unwrap_or_else(|| key.to_owned()),
            scores: summary.scores,
            sample_len: counts.scored,
            sizes: summary.sizes,
            version: task.version().cloned(),
            num_fewshot: Some(task.shown_shots(num_fewshot)),
            higher_is_better: summary.higher_is_better,
            n_samples: (planned.requests.n_original, requests.len()),
            config: task.shown_config(num_fewshot),
        },
        counts,
        samples,
        failed,
        warnings,
    }
}

/// The answer to a document, when all its parts are there.
fn whole_answer(parts: &[Option<Response>], repeats: usize) -> Option<Response> {
    if repeats == 1 {
        return parts.first()?.clone();
    }
    let mut texts = Vec::new();
    for at in 0..repeats {
        match parts.get(at)?.as_ref()? {
            Response::Texts(said) => texts.extend(said.iter().cloned()),
            other => return Some(other.clone()),
        }
    }
    Some(Response::Texts(texts))
}

/// The scores that documents got one by one, put together.
fn scored_alone(planned: &PlannedTask, memory: &Memory) -> TaskScores {
    let mut filters: IndexMap<String, Vec<Scored>> = IndexMap::new();
    for scored in memory.scored.iter().flatten().flatten() {
        for (filter, scored) in scored {
            match filters.get_mut(filter) {
                Some(list) => list.push(scored.clone()),
                None => {
                    filters.insert(filter.clone(), vec![scored.clone()]);
                }
            }
        }
    }
    TaskScores {
        filters,
        failed: BTreeMap::new(),
        warnings: planned
            .task
            .missing_gold(&planned.requests.requests)
            .into_iter()
            .collect(),
    }
}

fn samples(
    planned: &PlannedTask,
    scored: &TaskScores,
    answers: &[Option<Response>],
) -> Vec<Map<String, Value>> {
    let mut samples = Vec::new();
    for (filter, scored) in &scored.filters {
        for one in scored {
            let responses = answers.get(one.request).and_then(Option::as_ref);
            let responses = responses.map(Response::to_json).unwrap_or_default();
            let sample = Sample {
                record: &planned.requests.records[one.request],
                request: &planned.requests.requests[one.request],
                responses: &responses,
                filtered: &one.filtered,
                filter,
                scores: &one.scores,
            };
            samples.push(sample.to_json());
        }
    }
    samples
}

fn of_class(key: &str, class: &ClassTask, memory: &Memory, rows: &[&EvalRow], how: SumUp) -> Found {
    let alias = class.alias().unwrap_or(key);
    let outcome = class.sum_up(key, alias, memory);
    let mut counts = DocumentCounts {
        planned: class.n_documents(),
        scored: outcome.complete,
        unscored: outcome.unscored,
        ..DocumentCounts::default()
    };
    let mut failed = std::collections::HashSet::new();
    for row in rows {
        let id = row.example_id.to_string();
        let why = match (&row.failure, row.scores.unscored().next()) {
            (Some(failure), _) => failure.message.as_str(),
            (None, Some((_, why))) => why,
            (None, None) => continue,
        };
        counts.lost(&id, why);
        failed.extend(class.document(&id));
    }
    counts.failed = failed.len();
    let done = counts.scored + counts.unscored + counts.failed;
    counts.not_run = counts.planned.saturating_sub(done);
    Found {
        samples: match how.samples {
            true => outcome.samples,
            false => Vec::new(),
        },
        result: outcome.result,
        counts,
        failed: outcome.failed,
        warnings: Vec::new(),
    }
}

/// A dataset of the catalogue: the mean of each score of its evaluators, over the
/// documents that have it.
fn of_native(key: &str, native: &Native, memory: &Memory, rows: &[&EvalRow]) -> Found {
    let mut documents: IndexMap<&ExampleId, Vec<&EvalRow>> = IndexMap::new();
    for row in rows {
        documents.entry(&row.example_id).or_default().push(row);
    }
    let repeats = native.repeats.max(1);
    let mut values: IndexMap<String, Vec<f64>> = IndexMap::new();
    let mut counts = DocumentCounts {
        planned: native.documents.unwrap_or(0).max(documents.len()),
        ..DocumentCounts::default()
    };
    let mut samples = Vec::new();
    for (id, rows) in &documents {
        let means = means(rows, repeats);
        let failure = rows.iter().find_map(|row| row.failure.as_ref());
        let unscored = rows.iter().find_map(|row| row.scores.unscored().next());
        if let Some(failure) = failure {
            counts.failed += 1;
            counts.lost(id, &failure.message);
        } else if let Some((_, why)) = unscored {
            counts.unscored += 1;
            counts.lost(id, why);
        } else if rows.len() < repeats {
            counts.not_run += 1;
        } else if means.is_empty() {
            counts.not_applicable += 1;
        } else {
            counts.scored += 1;
        }
        if let Some(told) = memory
            .told
            .get(&id.to_string())
            .filter(|_| !means.is_empty())
        {
            samples.push(native_sample(samples.len(), told, &means));
        }
        for (name, mean) in means {
            values.entry(name).or_default().push(mean);
        }
    }
    counts.not_run += counts.planned - documents.len();
    let mut scores = Map::new();
    let mut sizes = IndexMap::new();
    for (name, values) in &values {
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        sizes.insert(format!("{name},none"), values.len());
        scores.insert(format!("{name},none"), json!(mean));
        let error = sample_error(values).map_or_else(|| json!("N/A"), |error| json!(error));
        scores.insert(format!("{name}_stderr,none"), error);
    }
    let config = json!({
        "task": key,
        "dataset": native.tag,
        "evaluators": native.evaluators,
        "score_field": native.score_field,
        "repeats": repeats,
    });
    Found {
        result: TaskResult {
            key: key.to_owned(),
            alias: native.alias.clone().unwrap_or_else(|| key.to_owned()),
            sample_len: sizes.values().copied().max().unwrap_or(0),
            sizes,
            version: None,
            num_fewshot: None,
            higher_is_better: values.keys().map(|name| (name.clone(), true)).collect(),
            n_samples: (Some(counts.planned), counts.planned),
            scores,
            config: config.as_object().cloned().unwrap_or_default(),
        },
        counts,
        samples,
        failed: Vec::new(),
        warnings: Vec::new(),
    }
}

/// What a document of a dataset was asked and answered, in the reference's schema.
fn native_sample(at: usize, told: &[Told], scores: &IndexMap<String, f64>) -> Map<String, Value> {
    let mut doc = told
        .first()
        .map(|one| one.fields.clone())
        .unwrap_or_default();
    let settings = doc.shift_remove(generation::FIELD).unwrap_or_default();
    let messages = Value::Array(messages(&Example::from(doc.clone()), None));
    let target = ["answers", "answer"]
        .iter()
        .find_map(|field| doc.get(*field));
    let target = target.cloned().unwrap_or_default();
    let said: Vec<&str> = told.iter().map(|one| one.response.as_str()).collect();
    let arguments: Vec<Value> = told.iter().map(|_| json!([messages, settings])).collect();
    let hashes = hashes(&Value::Object(doc.clone()), &messages.to_string(), &target);
    let mut out = Map::new();
    for (key, value) in [
        ("doc_id", json!(at)),
        ("doc", Value::Object(doc)),
        ("target", target),
        ("arguments", json!(arguments)),
        ("resps", json!(said)),
        ("filtered_resps", json!(said)),
        ("filter", json!("none")),
        ("metrics", json!(scores.keys().collect::<Vec<_>>())),
    ] {
        out.insert(key.to_owned(), value);
    }
    out.extend(hashes.map(|(key, hash)| (key.to_owned(), json!(hash))));
    out.extend(
        scores
            .iter()
            .map(|(name, value)| (name.clone(), json!(value))),
    );
    out
}

/// The mean of each score over the answers to one document, where all of them have it.
fn means(rows: &[&EvalRow], repeats: usize) -> IndexMap<String, f64> {
    let mut sums: IndexMap<String, (f64, usize)> = IndexMap::new();
    for row in rows {
        for (name, score) in row.scores.iter() {
            if let Some(value) = score.get().filter(|_| name.as_str() != super::plan::SCORE) {
                let (sum, n) = sums.entry(name.to_string()).or_default();
                *sum += value;
                *n += 1;
            }
        }
    }
    let whole = sums.into_iter().filter(|(_, (_, n))| *n == repeats);
    whole
        .map(|(name, (sum, n))| (name, sum / n as f64))
        .collect()
}
