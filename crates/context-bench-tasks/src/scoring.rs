//! From responses to scores: filters, then metrics, document by document.

use context_bench_template::python;
use indexmap::IndexMap;
use serde_json::{Map, Value, json};

use crate::error::{Error, Result, Warning};
use crate::filter::{Filter, Record};
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
pub struct Scored {
    /// Place of the request among the requests.
    pub request: usize,
    /// What the filter made of the responses.
    pub filtered: Value,
    /// Values by metric.
    pub scores: Scores,
}

/// All documents of a task, by filter.
#[derive(Debug, Clone, Default)]
pub struct TaskScores {
    /// Documents in order; those without a response are not there.
    pub filters: IndexMap<String, Vec<Scored>>,
    /// What was noticed.
    pub warnings: Vec<Warning>,
}

impl TaskScores {
    /// The values of all documents by filter, for [`Task::sum_up`].
    pub fn values(&self) -> IndexMap<String, Vec<Scores>> {
        let scores = |scored: &[Scored]| scored.iter().map(|one| one.scores.clone()).collect();
        self.filters
            .iter()
            .map(|(filter, scored)| (filter.clone(), scores(scored)))
            .collect()
    }
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

    /// Scores responses; `None` is a document that failed, which is left out.
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
        let present: Vec<Answered<'_>> = responses
            .iter()
            .enumerate()
            .filter_map(|(at, response)| {
                Some(Answered {
                    at,
                    request: &requests.requests[at],
                    record: &requests.records[at],
                    response: response.as_ref()?,
                    among_others: true,
                })
            })
            .collect();
        Ok(TaskScores {
            filters: self.score_all(&present, host)?,
            warnings: self.missing_gold(&requests.requests).into_iter().collect(),
        })
    }

    /// Scores one document, by filter; see [`Task::scores_by_document`].
    pub fn score_document(
        &self,
        at: usize,
        requests: &Requests,
        response: &Response,
        host: &dyn Host,
    ) -> Result<IndexMap<String, Scored>> {
        let (Some(request), Some(record)) = (requests.requests.get(at), requests.records.get(at))
        else {
            return Err(Error::new(format!("there is no request {at}")));
        };
        let answered = Answered {
            at,
            request,
            record,
            response,
            among_others: false,
        };
        let filters = self.score_all(&[answered], host)?;
        let first =
            |(filter, scored): (String, Vec<Scored>)| Some((filter, scored.into_iter().next()?));
        Ok(filters.into_iter().filter_map(first).collect())
    }

    fn score_all(
        &self,
        present: &[Answered<'_>],
        host: &dyn Host,
    ) -> Result<IndexMap<String, Vec<Scored>>> {
        let mut out = IndexMap::new();
        for pipeline in &self.filters {
            // Filters are for texts; likelihoods are scored as they are.
            let filtered = if self.output_type == OutputType::GenerateUntil {
                let raw = present.iter().map(|one| one.response.to_json()).collect();
                let records: Vec<Record> = match pipeline.needs_records() {
                    true => present.iter().map(|one| one.record.clone()).collect(),
                    false => Vec::new(),
                };
                pipeline.apply(raw, &records, host)?
            } else {
                present
                    .iter()
                    .map(|one| Value::Array(one.response.to_json()))
                    .collect()
            };
            if filtered.len() != present.len() {
                return Err(Error::new(format!(
                    "filter `{}` lost documents",
                    pipeline.name
                )));
            }
            let scores = match &self.process_results {
                Some(function) => processed(function, present, &filtered, host)?,
                None => self.measured(present, &filtered, host)?,
            };
            let scored = present.iter().zip(filtered).zip(scores);
            let scored = scored.map(|((one, filtered), scores)| Scored {
                request: one.at,
                filtered: plain(filtered),
                scores,
            });
            out.insert(pipeline.name.clone(), scored.collect());
        }
        Ok(out)
    }

    /// The scores that the metrics give. Those in Python are asked for all at once.
    fn measured(
        &self,
        present: &[Answered<'_>],
        filtered: &[Value],
        host: &dyn Host,
    ) -> Result<Vec<Scores>> {
        let mut all = Vec::with_capacity(present.len());
        for (one, filtered) in present.iter().zip(filtered) {
            let scores = self.score_one(one.request, one.response, filtered);
            all.push(scores.map_err(|error| one.named(error))?);
        }
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
                for ((one, asked), scores) in present.iter().zip(&asked).zip(&mut all) {
                    let values: Result<Vec<Value>> = given.by_ref().take(asked.len()).collect();
                    let values = values.map_err(|error| one.named(error))?;
                    let several = one.request.target.is_array();
                    score::given(&metric.name, values, several, scores);
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
        if self.output_type != OutputType::MultipleChoice {
            return None;
        }
        let missing = requests.iter().filter(|request| {
            let choices = request.choices.as_deref().unwrap_or_default();
            score::gold(request.gold(), choices)
                .iter()
                .all(Option::is_none)
        });
        match missing.count() {
            0 => None,
            n => Some(Warning::new(format!(
                "task `{}`: the answer of {n} of {} documents is not among the choices; they count as wrong",
                self.name,
                requests.len()
            ))),
        }
    }
}

/// A document with its answer.
#[derive(Clone, Copy)]
struct Answered<'a> {
    /// Place of the request among the requests.
    at: usize,
    request: &'a Request,
    record: &'a Record,
    response: &'a Response,
    /// Whether an error must say which document it is about.
    among_others: bool,
}

impl Answered<'_> {
    fn named(&self, error: Error) -> Error {
        match self.among_others {
            true => error.prefixed(format!("document {}", self.request.doc_id)),
            false => error,
        }
    }
}

/// The scores that `process_results` gives, asked for all at once.
fn processed(
    function: &Function,
    present: &[Answered<'_>],
    filtered: &[Value],
    host: &dyn Host,
) -> Result<Vec<Scores>> {
    let arguments = |(one, filtered): (&Answered<'_>, &Value)| {
        let results = match filtered {
            Value::Array(items) => Value::Array(items.clone()),
            one => json!([one]),
        };
        vec![Value::Object(one.record.clone()), results]
    };
    let calls: Vec<Vec<Value>> = present.iter().zip(filtered).map(arguments).collect();
    let given = host.call_many(function, &calls)?;
    present
        .iter()
        .zip(given)
        .map(|(one, given)| given.and_then(scores_of).map_err(|error| one.named(error)))
        .collect()
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
