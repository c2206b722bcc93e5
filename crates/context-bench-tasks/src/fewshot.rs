//! Examples: where they come from and which ones a document gets.

use std::sync::Arc;

use context_bench_error::suggest::{did_you_mean, quoted_list};
use serde_json::{Map, Value};

use crate::error::{Error, Result};
use crate::filter::Record;
use crate::function::Function;
use crate::random::Random;
use crate::source::Source;
use crate::task::Prompting;

/// How examples are chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sampler {
    /// At random, another set for each document.
    Random,
    /// The first ones, the same for each document.
    FirstN,
}

/// `fewshot_config`.
#[derive(Debug, Clone)]
pub struct ShotSource {
    /// How examples are chosen.
    pub sampler: Sampler,
    /// The split; beats `fewshot_split` and `samples`.
    pub split: Option<String>,
    /// Records, or a function that gives them.
    pub samples: Option<Samples>,
    /// Only these records of the source, in this order.
    pub indices: Option<Vec<usize>>,
    /// Applied to the source instead of the task's.
    pub process_docs: Option<Function>,
    fields: Map<String, Value>,
}

/// Examples that are not from a split.
#[derive(Debug, Clone)]
pub enum Samples {
    /// As written in the file.
    Records(Vec<Record>),
    /// From Python.
    Function(Function),
}

const KEYS: &[&str] = &[
    "sampler",
    "split",
    "samples",
    "process_docs",
    "fewshot_indices",
    "doc_to_text",
    "doc_to_target",
    "doc_to_choice",
    "gen_prefix",
    "fewshot_delimiter",
    "target_delimiter",
];

impl ShotSource {
    /// Without settings of its own.
    pub fn new(sampler: Sampler) -> Self {
        Self {
            sampler,
            split: None,
            samples: None,
            indices: None,
            process_docs: None,
            fields: Map::new(),
        }
    }

    /// Reads a `fewshot_config`.
    pub fn parse(value: &Value) -> Result<Self> {
        let Some(map) = value.as_object() else {
            return Err(Error::new(format!(
                "a mapping was expected, found `{value}`"
            )));
        };
        if let Some(unknown) = map.keys().find(|key| !KEYS.contains(&key.as_str())) {
            let hint = did_you_mean(unknown, KEYS.iter().copied())
                .unwrap_or_else(|| format!("the keys are {}", quoted_list(KEYS, "and")));
            return Err(Error::new(format!("unknown key `{unknown}`")).with_hint(hint));
        }
        let sampler = match map.get("sampler") {
            None | Some(Value::Null) => Sampler::Random,
            Some(Value::String(name)) if name == "default" => Sampler::Random,
            Some(Value::String(name)) if name == "first_n" => Sampler::FirstN,
            Some(other) => {
                return Err(Error::new(format!(
                    "unknown sampler `{}`",
                    other.as_str().unwrap_or("of Python")
                ))
                .with_hint("there are `default` and `first_n`"));
            }
        };
        let samples = match map.get("samples") {
            None | Some(Value::Null) => None,
            Some(Value::Array(items)) => {
                let record = |item: &Value| {
                    item.as_object().cloned().ok_or_else(|| {
                        Error::new(format!("a sample must be a mapping, found `{item}`"))
                    })
                };
                Some(Samples::Records(
                    items.iter().map(record).collect::<Result<_>>()?,
                ))
            }
            Some(other) => match Function::from_json(other) {
                Some(function) => Some(Samples::Function(function)),
                None => {
                    return Err(Error::new(format!(
                        "`samples` must be a list, found `{other}`"
                    )));
                }
            },
        };
        let indices = match map.get("fewshot_indices") {
            None | Some(Value::Null) => None,
            Some(Value::Array(items)) => {
                let index = |item: &Value| {
                    let index = item.as_u64().and_then(|index| usize::try_from(index).ok());
                    index.ok_or_else(|| {
                        Error::new(format!("an index must be a whole number, found `{item}`"))
                    })
                };
                Some(items.iter().map(index).collect::<Result<_>>()?)
            }
            Some(other) => {
                return Err(Error::new(format!(
                    "`fewshot_indices` must be a list, found `{other}`"
                )));
            }
        };
        Ok(Self {
            sampler,
            split: map.get("split").and_then(Value::as_str).map(str::to_owned),
            samples,
            indices,
            process_docs: map.get("process_docs").and_then(Function::from_json),
            fields: map.clone(),
        })
    }

    /// How examples are rendered: as the task is, except for what is set here.
    pub fn prompting(&self, task: &Prompting) -> Result<Prompting> {
        let source = |key: &str| -> Result<Option<Source>> {
            match self.fields.get(key) {
                None | Some(Value::Null) => Ok(None),
                Some(value) => Source::parse(&format!("fewshot_config.{key}"), value).map(Some),
            }
        };
        let text = |key: &str| {
            self.fields
                .get(key)
                .and_then(Value::as_str)
                .map(str::to_owned)
        };
        Ok(Prompting {
            text: source("doc_to_text")?.unwrap_or_else(|| task.text.clone()),
            target: source("doc_to_target")?.unwrap_or_else(|| task.target.clone()),
            choice: source("doc_to_choice")?.or_else(|| task.choice.clone()),
            gen_prefix: source("gen_prefix")?.or_else(|| task.gen_prefix.clone()),
            target_delimiter: text("target_delimiter")
                .unwrap_or_else(|| task.target_delimiter.clone()),
            fewshot_delimiter: text("fewshot_delimiter")
                .unwrap_or_else(|| task.fewshot_delimiter.clone()),
        })
    }
}

/// The examples of one task, drawn document after document.
#[derive(Debug)]
pub struct ShotSampler {
    pool: Arc<Vec<Record>>,
    n: usize,
    sampler: Sampler,
    /// Whether the evaluated record may be in the pool.
    exclude: bool,
    random: Random,
}

impl ShotSampler {
    /// Draws `n` of a pool; with `exclude`, a record never gets itself.
    pub fn new(
        pool: Arc<Vec<Record>>,
        n: usize,
        sampler: Sampler,
        exclude: bool,
        seed: i64,
    ) -> Self {
        Self {
            pool,
            n,
            sampler,
            exclude,
            random: Random::new(seed),
        }
    }

    /// The records that examples are drawn from.
    pub fn pool(&self) -> &[Record] {
        &self.pool
    }

    /// The places in the pool of the examples for the next document.
    pub fn next(&mut self, record: &Record) -> Result<Vec<usize>> {
        if self.n == 0 {
            return Ok(Vec::new());
        }
        let available = self.pool.len();
        let short = |n: usize| {
            Error::new(format!(
                "{n} examples are asked for, but there are {available}"
            ))
            .with_hint("lower `num_fewshot` or name a larger `fewshot_split`")
        };
        let allowed = |at: &usize| !self.exclude || self.pool[*at] != *record;
        let chosen: Vec<usize> = match self.sampler {
            Sampler::FirstN => (0..available).filter(allowed).take(self.n).collect(),
            Sampler::Random => {
                // One more, in case the record itself is drawn.
                let n = self.n + usize::from(self.exclude);
                let drawn = self.random.sample(available, n).ok_or_else(|| short(n))?;
                let mut chosen: Vec<usize> =
                    drawn.into_iter().filter(allowed).take(self.n).collect();
                // Of records that are there several times, more than one may be the
                // evaluated one: the next in order stand in for them.
                let others = (0..available).filter(allowed);
                let others: Vec<usize> = match chosen.len() < self.n {
                    true => others.filter(|at| !chosen.contains(at)).collect(),
                    false => Vec::new(),
                };
                chosen.extend(others.into_iter().take(self.n - chosen.len()));
                chosen
            }
        };
        if chosen.len() < self.n {
            return Err(short(self.n));
        }
        Ok(chosen)
    }
}
