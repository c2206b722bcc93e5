//! From responses to scores: filters, then metrics, document by document.

use std::collections::BTreeMap;

use context_bench_template::python;
use indexmap::IndexMap;
use serde_json::{Map, Value, json};

use crate::error::{Error, Result, Warning};
use crate::filter::{Filter, Pipeline, Record};
use crate::function::{Function, Host};
use crate::metric::MetricKind;
use crate::metric::score::{self, Likelihoods, Scores};
use crate::prompt::Requests;
use crate::python::value::{items, plain, tagged};
use crate::request::{Ask, Request};
use crate::task::{OutputType, Task};

/// What a model gave for one request.
#[derive(Debug, Clone, PartialEq)]
pub enum Response {
    /// Generated texts, one per repeat.
    Texts(Vec<String>),
    /// Log-likelihood of each choice, and whether it was the most likely continuation.
    Choices {
        /// In the order of the continuations or contexts.
        likelihoods: Vec<(f64, bool)>,
        /// The same after an empty context, when the task asks for it.
        unconditional: Option<Vec<f64>>,
    },
    /// Log-likelihood of one continuation, and whether it was the most likely one.
    Likelihood(f64, bool),
    /// Log-likelihood of a whole text.
    Rolling(f64),
}

/// One document under one filter.
#[derive(Debug, Clone, PartialEq)]
pub struct ScoredDocument {
    /// Place of the request among the requests.
    pub request: usize,
    /// What the filter made of the responses.
    pub filtered: Value,
    /// Values by metric.
    pub scores: Scores,
    /// Of keys that the mapping of a metric added: that metric.
    pub added_by: BTreeMap<String, String>,
}

/// All documents of a task, by filter.
#[derive(Debug, Clone, Default)]
pub struct TaskScores {
    /// Documents in order; those without a response are not there.
    pub filters: IndexMap<String, Vec<ScoredDocument>>,
    /// Documents that could not be scored, by the place of their request. They are in
    /// none of the filters.
    pub failed: BTreeMap<usize, Error>,
    /// What was noticed.
    pub warnings: Vec<Warning>,
}

impl Response {
    /// What filters see.
    pub fn to_json(&self) -> Vec<Value> {
        match self {
            Response::Texts(texts) => texts.iter().map(|text| json!(text)).collect(),
            Response::Choices { likelihoods, .. } => {
                likelihoods.iter().map(|pair| json!(pair)).collect()
            }
            Response::Likelihood(ll, greedy) => vec![json!([ll, greedy])],
            Response::Rolling(ll) => vec![json!(ll)],
        }
    }
}

impl Task {
    /// Whether choices are also asked for after an empty context.
    pub fn needs_unconditional(&self) -> bool {
        self.metrics
            .iter()
            .any(|metric| metric.name == "acc_mutual_info")
    }

    /// Whether each document is scored by itself. A filter in Python sees all documents
    /// at once, and several answers are summed up together.
    pub fn scores_by_document(&self) -> bool {
        let steps = self.filters.iter().flat_map(|pipeline| &pipeline.steps);
        let mut whole = steps.filter(|step| matches!(step, Filter::Custom(_) | Filter::Class(..)));
        whole.next().is_none()
    }

    /// Scores responses; `None` is a document that failed, which is left out. One that
    /// cannot be scored does not affect the others.
    ///
    /// # Errors
    ///
    /// When nothing can be scored, such as by a filter over all documents that fails.
    pub fn score(
        &self,
        requests: &Requests,
        responses: &[Option<Response>],
        host: &dyn Host,
    ) -> Result<TaskScores> {
        if responses.len() != requests.requests.len() {
            let (asked, given) = (requests.requests.len(), responses.len());
            return Err(Error::new(format!(
                "{asked} requests, but {given} responses"
            )));
        }
        let present: Vec<AnsweredDocument<'_>> = responses
            .iter()
            .enumerate()
            .filter_map(|(at, response)| {
                Some(AnsweredDocument {
                    at,
                    request: &requests.requests[at],
                    record: &requests.records[at],
                    response: response.as_ref()?,
                })
            })
            .collect();
        Ok(TaskScores {
            warnings: self.missing_gold(&requests.requests).into_iter().collect(),
            ..self.score_all(&self.filters, &present, host)?
        })
    }

    /// Scores one document, by filter; see [`Task::scores_by_document`].
    pub fn score_document(
        &self,
        at: usize,
        requests: &Requests,
        response: &Response,
        host: &dyn Host,
    ) -> Result<IndexMap<String, ScoredDocument>> {
        let answered = AnsweredDocument::new(at, requests, response)?;
        self.score_one_document(&self.filters, answered, host)
    }

    /// Scores one of several answers to a document, by filter. A filter that wants more
    /// than one answer has nothing to say about it.
    pub fn score_answer(
        &self,
        at: usize,
        requests: &Requests,
        response: &Response,
        host: &dyn Host,
    ) -> Result<IndexMap<String, ScoredDocument>> {
        let answered = AnsweredDocument::new(at, requests, response)?;
        let mut found = IndexMap::new();
        for pipeline in self.filters.chunks(1) {
            if let Ok(scored) = self.score_one_document(pipeline, answered, host) {
                found.extend(scored);
            }
        }
        Ok(found)
    }

    fn score_one_document(
        &self,
        pipelines: &[Pipeline],
        answered: AnsweredDocument<'_>,
        host: &dyn Host,
    ) -> Result<IndexMap<String, ScoredDocument>> {
        let scored = self.score_all(pipelines, &[answered], host)?;
        if let Some(error) = scored.failed.into_values().next() {
            return Err(error);
        }
        let first = |(filter, scored): (String, Vec<ScoredDocument>)| {
            Some((filter, scored.into_iter().next()?))
        };
        Ok(scored.filters.into_iter().filter_map(first).collect())
    }

    fn score_all(
        &self,
        pipelines: &[Pipeline],
        present: &[AnsweredDocument<'_>],
        host: &dyn Host,
    ) -> Result<TaskScores> {
        let mut out = TaskScores::default();
        for pipeline in pipelines {
            let mut found = Vec::with_capacity(present.len());
            let mut passed = Vec::with_capacity(present.len());
            for (one, filtered) in present.iter().zip(self.filtered(pipeline, present, host)?) {
                match filtered {
                    Ok(filtered) => {
                        passed.push(*one);
                        found.push(filtered);
                    }
                    Err(error) => {
                        out.failed.entry(one.at).or_insert(error);
                    }
                }
            }
            let scores = match &self.process_results {
                Some(function) => processed(function, &passed, &found, host)?,
                None => self.measured(&passed, &found, host)?,
            };
            let mut scored = Vec::with_capacity(passed.len());
            for ((one, filtered), scores) in passed.iter().zip(found).zip(scores) {
                match scores {
                    Ok((scores, added_by)) => scored.push(ScoredDocument {
                        request: one.at,
                        filtered: plain(filtered),
                        scores,
                        added_by,
                    }),
                    Err(error) => {
                        out.failed.entry(one.at).or_insert(error);
                    }
                }
            }
            out.filters.insert(pipeline.name.clone(), scored);
        }
        // Half a document would count in some scores and not in others.
        for scored in out.filters.values_mut() {
            scored.retain(|one| !out.failed.contains_key(&one.request));
        }
        Ok(out)
    }

    /// What a pipeline makes of each document's responses.
    fn filtered(
        &self,
        pipeline: &Pipeline,
        present: &[AnsweredDocument<'_>],
        host: &dyn Host,
    ) -> Result<Vec<Result<Value>>> {
        // Filters are for texts; likelihoods are scored as they are.
        if self.output_type != OutputType::GenerateUntil {
            let raw = present.iter().map(|one| one.response.to_json());
            return Ok(raw.map(|raw| Ok(Value::Array(raw))).collect());
        }
        let apply = |present: &[AnsweredDocument<'_>]| -> Result<Vec<Value>> {
            let raw = present.iter().map(|one| one.response.to_json()).collect();
            let records: Vec<Record> = match pipeline.needs_records() {
                true => present.iter().map(|one| one.record.clone()).collect(),
                false => Vec::new(),
            };
            let filtered = pipeline.apply(raw, &records, host)?;
            match filtered.len() == present.len() {
                true => Ok(filtered),
                false => Err(Error::new(format!(
                    "filter `{}` lost documents",
                    pipeline.name
                ))),
            }
        };
        match apply(present) {
            Ok(filtered) => Ok(filtered.into_iter().map(Ok).collect()),
            // One document is to blame, and costs only itself.
            Err(_) if self.scores_by_document() => Ok(present
                .chunks(1)
                .flat_map(|one| match apply(one) {
                    Ok(filtered) => filtered.into_iter().map(Ok).collect(),
                    Err(error) => vec![Err(error)],
                })
                .collect()),
            Err(error) => Err(error),
        }
    }

    /// The scores that the metrics give. Those in Python are asked for all at once.
    fn measured(
        &self,
        present: &[AnsweredDocument<'_>],
        filtered: &[Value],
        host: &dyn Host,
    ) -> Result<Vec<DocumentScores>> {
        let mut all: Vec<DocumentScores> = present
            .iter()
            .zip(filtered)
            .map(|(one, filtered)| {
                let scores = self.score_one(one.request, one.response, filtered)?;
                Ok((scores, BTreeMap::new()))
            })
            .collect();
        for metric in &self.metrics {
            if let MetricKind::Function(function, arguments) = &metric.kind {
                let asked: Vec<Vec<Map<String, Value>>> = present
                    .iter()
                    .zip(filtered)
                    .map(|(one, filtered)| {
                        let choices = one.request.choices.as_deref();
                        score::asked(arguments, &one.request.target, choices, filtered)
                    })
                    .collect();
                let calls: Vec<Map<String, Value>> = asked.iter().flatten().cloned().collect();
                let mut given = host.call_many_with(function, &calls)?.into_iter();
                for ((one, asked), measured) in present.iter().zip(&asked).zip(&mut all) {
                    // All of them are taken, so that the next document gets its own.
                    let values: Vec<Result<Value>> = given.by_ref().take(asked.len()).collect();
                    let several = one.request.target.is_array();
                    match (
                        values.into_iter().collect::<Result<Vec<_>>>(),
                        &mut *measured,
                    ) {
                        (Ok(values), Ok((scores, added_by))) => {
                            for key in score::given(&metric.name, values, several, scores) {
                                added_by.insert(key, metric.name.clone());
                            }
                        }
                        (Err(error), Ok(_)) => *measured = Err(error),
                        (_, Err(_)) => {}
                    }
                }
            }
        }
        Ok(all)
    }

    fn score_one(
        &self,
        request: &Request,
        response: &Response,
        filtered: &Value,
    ) -> Result<Scores> {
        match (response, &request.ask) {
            (Response::Texts(_), Ask::Generation { .. }) => {
                let choices = request.choices.as_deref();
                score::generation(&self.metrics, &request.target, choices, filtered)
            }
            (
                Response::Choices {
                    likelihoods,
                    unconditional,
                },
                Ask::Choices { .. } | Ask::Contexts { .. },
            ) => {
                let choices = request.choices.as_deref().unwrap_or_default();
                let lls: Vec<f64> = likelihoods.iter().map(|(ll, _)| *ll).collect();
                let greedy: Vec<bool> = likelihoods.iter().map(|(_, greedy)| *greedy).collect();
                let found = Likelihoods {
                    lls: &lls,
                    greedy: &greedy,
                    unconditional: unconditional.as_deref(),
                };
                score::multiple_choice(&self.metrics, choices, request.gold(), found)
            }
            (Response::Likelihood(ll, greedy), Ask::Continuation { .. }) => {
                Ok(score::loglikelihood(&self.metrics, *ll, *greedy))
            }
            (Response::Rolling(ll), Ask::Text(text)) => {
                Ok(score::rolling(&self.metrics, text, *ll))
            }
            _ => Err(Error::new(
                "the response is of another kind than the request",
            )),
        }
    }

    /// Answers that are not among the choices score 0; a user should know.
    pub fn missing_gold(&self, requests: &[Request]) -> Option<Warning> {
        let missing = requests.iter().filter(|request| self.lacks_gold(request));
        self.gold_warning(missing.count(), requests.len())
    }

    /// Whether the answer of a document is not among its choices.
    pub fn lacks_gold(&self, request: &Request) -> bool {
        let choices = request.choices.as_deref().unwrap_or_default();
        self.output_type == OutputType::MultipleChoice
            && score::gold(request.gold(), choices)
                .iter()
                .all(Option::is_none)
    }

    /// What to say about so many documents without an answer among the choices.
    pub fn gold_warning(&self, missing: usize, documents: usize) -> Option<Warning> {
        (missing > 0).then(|| {
            Warning::new(format!(
                "task `{}`: the answer of {missing} of {documents} documents is not among the \
                 choices; they count as wrong",
                self.name
            ))
        })
    }
}

/// The scores of a document, with the metric that added each key of a mapping.
type DocumentScores = Result<(Scores, BTreeMap<String, String>)>;

/// A document with its answer.
#[derive(Clone, Copy)]
struct AnsweredDocument<'a> {
    /// Place of the request among the requests.
    at: usize,
    request: &'a Request,
    record: &'a Record,
    response: &'a Response,
}

impl<'a> AnsweredDocument<'a> {
    fn new(at: usize, requests: &'a Requests, response: &'a Response) -> Result<Self> {
        match (requests.requests.get(at), requests.records.get(at)) {
            (Some(request), Some(record)) => Ok(Self {
                at,
                request,
                record,
                response,
            }),
            _ => Err(Error::new(format!("there is no request {at}"))),
        }
    }
}

/// The scores that `process_results` gives, asked for all at once.
fn processed(
    function: &Function,
    present: &[AnsweredDocument<'_>],
    filtered: &[Value],
    host: &dyn Host,
) -> Result<Vec<DocumentScores>> {
    let arguments = |(one, filtered): (&AnsweredDocument<'_>, &Value)| {
        let results = match filtered {
            Value::Array(items) => Value::Array(items.clone()),
            one => json!([one]),
        };
        vec![Value::Object(one.record.clone()), results]
    };
    let calls: Vec<Vec<Value>> = present.iter().zip(filtered).map(arguments).collect();
    let given = host.call_many(function, &calls)?;
    let scores = |given: Result<Value>| Ok((given.and_then(scores_of)?, BTreeMap::new()));
    Ok(given.into_iter().map(scores).collect())
}

/// A mapping by name. Values keep what marks them as Python's: an aggregation of the
/// task's own may want them back.
fn scores_of(value: Value) -> Result<Scores> {
    let pairs = match tagged(&value) {
        Some(("dict", Value::Array(pairs))) => pairs.clone(),
        _ => match value {
            Value::Object(map) => return Ok(map),
            other => {
                return Err(Error::new(format!(
                    "`process_results` must give a mapping, found `{other}`"
                )));
            }
        },
    };
    Ok(pairs
        .into_iter()
        .filter_map(|pair| match items(&pair)? {
            [key, value] => Some((python::str(&plain(key.clone())), value.clone())),
            _ => None,
        })
        .collect())
}
