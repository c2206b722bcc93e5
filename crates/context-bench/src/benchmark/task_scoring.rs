//! `TaskScoring`: scores of a task, from rows or from answers.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use context_bench_tasks::metric::{Aggregation, AggregationKind, MetricKind};
use context_bench_tasks::sample::Sample;
use context_bench_tasks::scoring::{ScoredDocument, TaskScores};
use context_bench_tasks::{Error, Host, OutputType, Requests, Response, Task};
use indexmap::IndexMap;
use serde_json::{Map, Value};

use super::answer::Answered;
use super::evidence::{has_filtered, row_scores, score_name, scored};
use super::examples::{REPEAT, request};
use super::response::response;
use crate::model::Answer;
use crate::model::{Example, Output, Scores};

/// The rows about one document.
pub(super) struct Document<'a> {
    pub(super) id: String,
    pub(super) rows: Vec<Answered<'a>>,
}

/// Rows by document, in the order of documents.
pub(super) fn documents<'a>(rows: &[Answered<'a>]) -> Vec<Document<'a>> {
    let mut documents: IndexMap<String, Vec<Answered<'a>>> = IndexMap::new();
    for one in rows {
        let id = one.row.example_id.to_string();
        documents.entry(id).or_default().push(*one);
    }
    let documents = documents.into_iter();
    documents.map(|(id, rows)| Document { id, rows }).collect()
}

/// A task with who runs its Python: everything that scoring takes.
pub(super) struct TaskScoring {
    pub(super) task: Arc<Task>,
    pub(super) host: Arc<dyn Host>,
}

impl TaskScoring {
    /// How many answers each document gets.
    pub(super) fn repeats(&self) -> usize {
        match self.task.output_type {
            OutputType::GenerateUntil => self.task.repeats.max(1),
            _ => 1,
        }
    }

    /// Whether choices are also asked for after an empty context.
    pub(super) fn asks_unconditionally(&self) -> bool {
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
    pub(super) fn scores_alone(&self) -> bool {
        self.task.scores_by_document() && self.repeats() == 1
    }

    /// Whether a row has scores: one of several answers is scored alone only where that
    /// costs nothing.
    pub(super) fn scores_rows(&self) -> bool {
        self.task.scores_by_document() && (self.repeats() == 1 || !self.scoring_needs_python())
    }

    /// The score of a row that stands for its document: the first metric whose values
    /// are numbers of which the mean counts.
    pub(super) fn score_field(&self) -> Option<String> {
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
                MetricKind::Pair => false,
                MetricKind::Exact(_)
                | MetricKind::External(_)
                | MetricKind::Function(..)
                | MetricKind::Named => true,
            })?;
        let filter = self.task.filters.first();
        let filter = filter.map_or("none", |pipeline| pipeline.name.as_str());
        Some(score_name(&metric.name, filter))
    }

    /// The scores of one row.
    pub(super) fn row(&self, example: &Example, output: &Output) -> Result<Scores, String> {
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
    pub(super) fn of_rows(&self, documents: &[Document<'_>]) -> TaskScores {
        let mut filters: IndexMap<String, Vec<ScoredDocument>> = IndexMap::new();
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
    pub(super) fn of_answers(&self, documents: &[Document<'_>]) -> Result<TaskScores, Error> {
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

    pub(super) fn samples(
        &self,
        documents: &[Document<'_>],
        scored: &TaskScores,
    ) -> Vec<Map<String, Value>> {
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
        scored: &ScoredDocument,
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
