//! `ClassTask`: a task that is a Python object (`class: !function module.Class`).
//!
//! The object builds its requests and makes scores of responses; here requests become
//! examples, and outputs responses. A document of which a request failed is left out.

use std::collections::{HashMap, HashSet};

use context_bench_tasks::metric::aggregation::sample_error;
use context_bench_tasks::python::value::{float, plain};
use context_bench_tasks::sample::hashes;
use context_bench_tasks::{Error, Object, Response, Result, TaskResult};
use serde_json::{Map, Value, json};

use super::examples::{CONTINUATIONS, REPEAT, TEXT, generation_settings};
use super::response::{LIKELIHOODS, answer};
use crate::model::{Example, Output};
use crate::system::generation;

/// Answers to one request; more are a mistake.
const MAX_REPEATS: usize = 1_000_000;

/// A task that is a Python object, with its requests.
pub struct ClassTask {
    object: Box<dyn Object>,
    config: Map<String, Value>,
    requests: Vec<ClassRequest>,
    /// Request and repeat of each example.
    examples: Vec<(usize, usize)>,
    /// The same, found by id and repeat.
    places: HashMap<(String, usize), usize>,
    pub(super) num_fewshot: usize,
}

/// One request of the object.
struct ClassRequest {
    doc_id: i64,
    id: String,
    kind: Kind,
    repeats: usize,
}

enum Kind {
    Loglikelihood {
        context: String,
        continuation: String,
    },
    Rolling(String),
    Generation {
        context: String,
        settings: Map<String, Value>,
    },
}

/// What happened to the documents of a class.
pub(super) struct ClassOutcome {
    pub(super) result: TaskResult,
    /// Documents with all their responses, which are scored.
    pub(super) complete: usize,
    /// Documents with all their responses that could not be scored.
    pub(super) unscored: usize,
    /// Why the task or a metric has no value.
    pub(super) failed: Vec<Error>,
    /// By document and filter: what the object made of it, in the reference's schema.
    pub(super) samples: Vec<Map<String, Value>>,
}

impl ClassTask {
    /// Lets an object build its requests. `keywords` are for its `build_all_requests`.
    ///
    /// # Errors
    ///
    /// When the object fails, or asks for something unknown.
    pub fn new(
        object: Box<dyn Object>,
        config: Map<String, Value>,
        keywords: &Map<String, Value>,
        generation: &Map<String, Value>,
        num_fewshot: usize,
    ) -> Result<Self> {
        let asked = object.requests(keywords)?;
        let mut requests = Vec::with_capacity(asked.len());
        for (at, request) in asked.iter().enumerate() {
            let request = ClassRequest::read(request, generation)
                .map_err(|error| error.prefixed(format!("request {at}")))?;
            requests.push(request);
        }
        let repeats = |(at, request): (usize, &ClassRequest)| {
            (0..request.repeats).map(move |repeat| (at, repeat))
        };
        let examples: Vec<_> = requests.iter().enumerate().flat_map(repeats).collect();
        let places = examples
            .iter()
            .enumerate()
            .map(|(place, (at, repeat))| ((requests[*at].id.clone(), *repeat), place))
            .collect();
        Ok(Self {
            object,
            config,
            requests,
            examples,
            places,
            num_fewshot,
        })
    }

    /// What tables show.
    pub(super) fn alias(&self) -> Option<&str> {
        self.config.get("task_alias").and_then(Value::as_str)
    }

    pub(super) fn asks_for_likelihoods(&self) -> bool {
        let mut kinds = self.requests.iter().map(|request| &request.kind);
        kinds.any(|kind| !matches!(kind, Kind::Generation { .. }))
    }

    pub(super) fn n_examples(&self) -> usize {
        self.examples.len()
    }

    pub(super) fn n_documents(&self) -> usize {
        let ids: HashSet<i64> = self.requests.iter().map(|request| request.doc_id).collect();
        ids.len()
    }

    /// The document that the example of an id belongs to.
    pub(super) fn document(&self, id: &str) -> Option<i64> {
        let place = self.places.get(&(id.to_owned(), 0))?;
        Some(self.requests[self.examples[*place].0].doc_id)
    }

    pub(super) fn example(&self, task: &str, at: usize) -> Option<Example> {
        let (request, repeat) = *self.examples.get(at)?;
        let request = self.requests.get(request)?;
        let example = Example::new()
            .with("id", request.id.as_str())
            .with("dataset", task);
        let example = match &request.kind {
            Kind::Loglikelihood {
                context,
                continuation,
            } => example
                .with("context", context.as_str())
                .with(CONTINUATIONS, json!([continuation])),
            Kind::Rolling(text) => example.with(TEXT, text.as_str()),
            Kind::Generation { context, settings } => example
                .with("context", context.as_str())
                .with(generation::FIELD, generation_settings(settings, repeat)),
        };
        Some(example.repeated(u32::try_from(repeat).unwrap_or(u32::MAX)))
    }

    /// What an output says, and to which example.
    pub(super) fn response(
        &self,
        example: &Example,
        output: &Output,
    ) -> std::result::Result<(usize, Response), String> {
        let repeat = example.get(REPEAT).and_then(Value::as_u64).unwrap_or(0);
        let repeat = usize::try_from(repeat).unwrap_or(usize::MAX);
        let id = example.stringified("id").into_owned();
        let place = self.places.get(&(id, repeat)).copied();
        let place = place.ok_or("the task has no such request")?;
        let likelihood = || {
            let first = output.get(LIKELIHOODS).and_then(|list| list.get(0));
            let pair =
                first.and_then(|pair| Some((pair.get(0)?.as_f64()?, pair.get(1)?.as_bool()?)));
            pair.ok_or("the system gave no likelihood")
        };
        let said = match &self.requests[self.examples[place].0].kind {
            Kind::Generation { settings, .. } => Response::Texts(vec![answer(settings, output)]),
            Kind::Loglikelihood { .. } => {
                let (ll, greedy) = likelihood()?;
                Response::Likelihood(ll, greedy)
            }
            Kind::Rolling(_) => Response::Rolling(likelihood()?.0),
        };
        Ok((place, said))
    }

    /// Lets the object score what was said.
    pub(super) fn scored(
        &self,
        key: &str,
        alias: &str,
        said: &HashMap<usize, Response>,
    ) -> ClassOutcome {
        let mut responses: Vec<Vec<Value>> = vec![Vec::new(); self.requests.len()];
        let mut incomplete: HashSet<i64> = HashSet::new();
        for (place, (request, _)) in self.examples.iter().enumerate() {
            match said.get(&place) {
                Some(said) => responses[*request].extend(said.to_json()),
                None => {
                    // The object wants an entry for each; its document is left out below.
                    let request = &self.requests[*request];
                    incomplete.insert(request.doc_id);
                }
            }
        }
        for (request, responses) in self.requests.iter().zip(&mut responses) {
            let blank = match request.kind {
                Kind::Generation { .. } => json!(""),
                Kind::Loglikelihood { .. } => json!([0.0, false]),
                Kind::Rolling(_) => json!(0.0),
            };
            responses.resize(request.repeats, blank);
        }
        let responses: Vec<Value> = responses.into_iter().map(Value::Array).collect();
        let is_complete = |one: &Value| {
            let id = one.get("doc_id").and_then(Value::as_i64);
            id.is_some_and(|id| !incomplete.contains(&id))
        };
        let complete = self.n_documents() - incomplete.len();
        let mut failed = Vec::new();
        let (mut samples, complete, unscored) = match self.object.scores(&responses) {
            Ok(samples) => (samples, complete, 0),
            Err(error) => {
                failed.push(error.prefixed(format!("task `{key}` could not be scored")));
                (Vec::new(), 0, complete)
            }
        };
        samples.retain(is_complete);
        let result = self.result(key, alias, &samples, complete, &mut failed);
        let samples = samples.iter();
        ClassOutcome {
            result,
            complete,
            unscored,
            failed,
            samples: samples.map(|one| self.logged(one, &responses)).collect(),
        }
    }

    /// What the object made of a document, as it is logged.
    fn logged(&self, sample: &Value, responses: &[Value]) -> Map<String, Value> {
        let taken = |name: &str| sample.get(name).cloned().unwrap_or_default();
        let doc_id = sample.get("doc_id").and_then(Value::as_i64);
        let asked = self.requests.iter().zip(responses);
        let asked: Vec<_> = asked
            .filter(|(request, _)| Some(request.doc_id) == doc_id)
            .collect();
        let arguments: Vec<Value> = asked.iter().map(|(one, _)| one.arguments()).collect();
        let said: Vec<&Value> = asked.iter().map(|(_, said)| *said).collect();
        let scores = match plain_keys(Some(taken("metrics"))) {
            Value::Object(scores) => scores,
            _ => Map::new(),
        };
        let (doc, target) = (plain(taken("doc")), plain(taken("target")));
        let context = asked.first().map_or("", |(one, _)| one.context());
        let mut out = Map::new();
        for (key, value) in [
            ("doc_id", taken("doc_id")),
            ("arguments", json!(arguments)),
            ("resps", json!(said)),
            ("filtered_resps", plain(taken("filtered_resps"))),
            ("filter", taken("filter")),
            ("metrics", json!(scores.keys().collect::<Vec<_>>())),
        ] {
            out.insert(key.to_owned(), value);
        }
        for (key, hash) in hashes(&doc, context, &target) {
            out.insert(key.to_owned(), json!(hash));
        }
        out.shift_insert(1, "doc".to_owned(), doc);
        out.shift_insert(2, "target".to_owned(), target);
        out.extend(scores.into_iter().map(|(key, value)| (key, plain(value))));
        out
    }

    fn result(
        &self,
        key: &str,
        alias: &str,
        samples: &[Value],
        n: usize,
        failed: &mut Vec<Error>,
    ) -> TaskResult {
        let mut values: indexmap::IndexMap<(String, String), Vec<Value>> = Default::default();
        for sample in samples {
            let filter = sample
                .get("filter")
                .and_then(Value::as_str)
                .unwrap_or("none");
            if let Value::Object(metrics) = plain_keys(sample.get("metrics").cloned()) {
                for (metric, value) in metrics {
                    let values = values.entry((metric, filter.to_owned())).or_default();
                    values.push(value);
                }
            }
        }
        let mut scores = Map::new();
        let mut sizes = indexmap::IndexMap::new();
        for ((metric, filter), values) in &values {
            let value = match self.object.aggregate(metric, values) {
                Ok(value) => float(&value).map_or_else(|| plain(value), |number| json!(number)),
                Err(error) => {
                    let what = format!("task `{key}`: no value for `{metric},{filter}`");
                    failed.push(error.prefixed(what));
                    Value::Null
                }
            };
            let stderr = mean_error(&value, values);
            sizes.insert(format!("{metric},{filter}"), values.len());
            scores.insert(format!("{metric},{filter}"), value);
            scores.insert(format!("{metric}_stderr,{filter}"), stderr);
        }
        let higher = self.object.call("higher_is_better", &[], &Map::new());
        let higher = match higher.map(|higher| plain_keys(Some(higher))) {
            Ok(Value::Object(map)) => map
                .into_iter()
                .filter_map(|(metric, higher)| Some((metric, higher.as_bool()?)))
                .collect(),
            _ => Default::default(),
        };
        let version = self
            .config
            .get("metadata")
            .and_then(|map| map.get("version"));
        let version = version.cloned().or_else(|| {
            let own = self.object.get("VERSION").ok()?;
            (!own.is_null()).then(|| plain(own))
        });
        TaskResult {
            key: key.to_owned(),
            alias: alias.to_owned(),
            scores,
            sample_len: n,
            sizes,
            version,
            num_fewshot: Some(json!(self.num_fewshot)),
            higher_is_better: higher,
            headline: None,
            unlisted: Default::default(),
            n_samples: (Some(self.n_documents()), self.n_documents()),
            config: self.config.clone(),
        }
    }
}

impl ClassRequest {
    /// What it is asked after, or about.
    fn context(&self) -> &str {
        match &self.kind {
            Kind::Loglikelihood { context, .. } | Kind::Generation { context, .. } => context,
            Kind::Rolling(text) => text,
        }
    }

    /// As the object gave them.
    fn arguments(&self) -> Value {
        match &self.kind {
            Kind::Loglikelihood {
                context,
                continuation,
            } => json!([context, continuation]),
            Kind::Rolling(text) => json!([text]),
            Kind::Generation { context, settings } => json!([context, settings]),
        }
    }

    fn read(request: &Value, generation: &Map<String, Value>) -> Result<Self> {
        let number = |name: &str| request.get(name).and_then(Value::as_i64).unwrap_or(0);
        let arguments = request.get("arguments").and_then(Value::as_array);
        let arguments = arguments.map(Vec::as_slice).unwrap_or_default();
        let text = |at: usize| {
            let found = arguments.get(at).and_then(Value::as_str).map(str::to_owned);
            found.ok_or_else(|| Error::new(format!("argument {at} must be text")))
        };
        let kind = match request.get("request_type").and_then(Value::as_str) {
            Some("loglikelihood" | "multiple_choice") => Kind::Loglikelihood {
                context: text(0)?,
                continuation: text(1)?,
            },
            Some("loglikelihood_rolling") => Kind::Rolling(text(0)?),
            Some("generate_until") => {
                let settings = arguments.get(1).cloned().map(plain);
                let mut settings = match settings {
                    Some(Value::Object(settings)) => settings,
                    _ => Map::new(),
                };
                settings.extend(generation.clone());
                Kind::Generation {
                    context: text(0)?,
                    settings,
                }
            }
            other => {
                let other = other.unwrap_or_default();
                return Err(Error::new(format!(
                    "requests of type `{other}` are not known"
                )));
            }
        };
        let doc_id = number("doc_id");
        let repeats = usize::try_from(number("repeats")).unwrap_or(1).max(1);
        if repeats > MAX_REPEATS {
            return Err(Error::new(format!(
                "{repeats} answers are asked for; {MAX_REPEATS} are the most"
            )));
        }
        Ok(Self {
            doc_id,
            id: format!("{doc_id}.{}", number("idx")),
            repeats,
            kind,
        })
    }
}

/// A mapping of Python by text keys; its values stay as they are.
fn plain_keys(value: Option<Value>) -> Value {
    match value {
        Some(value) if context_bench_tasks::python::value::tagged(&value).is_some() => plain(value),
        other => other.unwrap_or_default(),
    }
}

/// The standard error where the aggregate is the mean, as far as can be seen.
fn mean_error(aggregate: &Value, values: &[Value]) -> Value {
    let unknown = json!("N/A");
    let numbers: Option<Vec<f64>> = values.iter().map(float).collect();
    let (Some(numbers), Some(aggregate)) = (numbers, aggregate.as_f64()) else {
        return unknown;
    };
    let mean = numbers.iter().sum::<f64>() / numbers.len() as f64;
    if (mean - aggregate).abs() > 1e-12 * mean.abs().max(1.0) {
        return unknown;
    }
    sample_error(&numbers).map_or(unknown, |error| json!(error))
}
