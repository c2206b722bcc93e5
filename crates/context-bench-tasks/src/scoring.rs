//! From responses to scores: filters, then metrics, document by document.

use indexmap::IndexMap;
use serde_json::{Value, json};

use crate::error::{Error, Result, Warning};
use crate::filter::Record;
use crate::function::Host;
use crate::metric::score::{self, Likelihoods, Scores};
use crate::prompt::Requests;
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
    fn to_json(&self) -> Vec<Value> {
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
        let present: Vec<(usize, &Response)> = responses
            .iter()
            .enumerate()
            .filter_map(|(i, response)| Some((i, response.as_ref()?)))
            .collect();
        let records: Vec<Record> = present
            .iter()
            .map(|(i, _)| requests.records[*i].clone())
            .collect();
        let mut out = TaskScores::default();
        for pipeline in &self.filters {
            // Filters are for texts; likelihoods are scored as they are.
            let filtered = if self.output_type == OutputType::GenerateUntil {
                let raw = present
                    .iter()
                    .map(|(_, response)| response.to_json())
                    .collect();
                pipeline.apply(raw, &records, host)?
            } else {
                present
                    .iter()
                    .map(|(_, response)| Value::Array(response.to_json()))
                    .collect()
            };
            if filtered.len() != present.len() {
                return Err(Error::new(format!(
                    "filter `{}` lost documents",
                    pipeline.name
                )));
            }
            let mut scored = Vec::with_capacity(present.len());
            for ((at, response), filtered) in present.iter().zip(filtered) {
                let request = &requests.requests[*at];
                let named = |error: Error| error.prefixed(format!("document {}", request.doc_id));
                let scores = match &self.process_results {
                    Some(function) => {
                        let record = Value::Object(requests.records[*at].clone());
                        let results = match &filtered {
                            Value::Array(items) => Value::Array(items.clone()),
                            one => json!([one]),
                        };
                        scores_of(host.call(function, &[record, results])?).map_err(named)?
                    }
                    None => self
                        .score_one(request, response, &filtered, host)
                        .map_err(named)?,
                };
                scored.push(Scored {
                    request: *at,
                    filtered,
                    scores,
                });
            }
            out.filters.insert(pipeline.name.clone(), scored);
        }
        out.warnings.extend(self.missing_gold(&requests.requests));
        Ok(out)
    }

    fn score_one(
        &self,
        request: &Request,
        response: &Response,
        filtered: &Value,
        host: &dyn Host,
    ) -> Result<Scores> {
        match (response, &request.ask) {
            (Response::Texts(_), Ask::Generation { .. }) => {
                let choices = request.choices.as_deref();
                score::generation(&self.metrics, &request.target, choices, filtered, host)
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
    fn missing_gold(&self, requests: &[Request]) -> Option<Warning> {
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

fn scores_of(value: Value) -> Result<Scores> {
    match value {
        Value::Object(map) => Ok(map),
        other => Err(Error::new(format!(
            "`process_results` must give a mapping, found `{other}`"
        ))),
    }
}
