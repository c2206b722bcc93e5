//! The scores of one task from the scores of its documents.

use std::collections::{BTreeMap, BTreeSet};

use indexmap::IndexMap;
use serde_json::{Map, Value, json};

use crate::error::{Error, Result, Warning};
use crate::function::Host;
use crate::metric::{Aggregation, AggregationKind, Metric, MetricKind, repeats};
use crate::python::value::{float, plain};
use crate::scoring::TaskScores;
use crate::task::Task;

/// Resamples for standard errors when not said otherwise.
pub const ITERATIONS: usize = 100_000;

/// The results of one task.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskResult {
    /// Its key in results.
    pub key: String,
    /// What tables show.
    pub alias: String,
    /// `"metric,filter"` and `"metric_stderr,filter"` to their values.
    pub scores: Map<String, Value>,
    /// Documents that were scored.
    pub sample_len: usize,
    /// How many documents each score is of, by its key in `scores`; `sample_len` for
    /// those that are not named.
    pub sizes: IndexMap<String, usize>,
    /// The version, when the task has one.
    pub version: Option<Value>,
    /// Examples per prompt, as shown.
    pub num_fewshot: Option<Value>,
    /// The direction of each metric.
    pub higher_is_better: BTreeMap<String, bool>,
    /// The metric that is quoted, when it is not an ordinary one: tables have it first.
    pub headline: Option<String>,
    /// Metrics that tables leave out, such as one for each kind of question.
    pub unlisted: BTreeSet<String>,
    /// Records of the split, if their number is known, and how many were evaluated.
    pub n_samples: (Option<usize>, usize),
    /// The settings it ran with.
    pub config: Map<String, Value>,
}

/// How standard errors are found.
#[derive(Debug, Clone, Copy)]
pub struct Resampling {
    /// How often documents are drawn again; 0 for no resampling.
    pub iterations: usize,
    /// On how many threads.
    pub threads: usize,
}

impl Default for Resampling {
    fn default() -> Self {
        Self {
            iterations: ITERATIONS,
            threads: std::thread::available_parallelism().map_or(1, usize::from),
        }
    }
}

/// The documents of a task, summed up.
#[derive(Debug, Clone, Default)]
pub struct Summary {
    /// `"metric,filter"` and `"metric_stderr,filter"` to their values; null where there
    /// is none.
    pub scores: Map<String, Value>,
    /// How many documents each value is of.
    pub sizes: IndexMap<String, usize>,
    /// The direction of each metric.
    pub higher_is_better: BTreeMap<String, bool>,
    /// Why metrics have no value.
    pub failed: Vec<Error>,
    /// What was noticed.
    pub warnings: Vec<Warning>,
}

impl Task {
    /// Sums up documents. A metric that cannot be summed up does not affect the others.
    pub fn sum_up(&self, scored: &TaskScores, how: Resampling, host: &dyn Host) -> Summary {
        let mut out = Summary {
            higher_is_better: self.directions(),
            ..Summary::default()
        };
        for (filter, documents) in &scored.filters {
            let mut values: IndexMap<&str, Vec<Value>> = IndexMap::new();
            let mut added_by: BTreeMap<&str, &str> = BTreeMap::new();
            for document in documents {
                for (metric, value) in &document.scores {
                    // A missing value is left out, never counted as 0.
                    if !value.is_null() {
                        values.entry(metric).or_default().push(value.clone());
                    }
                }
                let added = document.added_by.iter();
                added_by.extend(added.map(|(key, metric)| (key.as_str(), metric.as_str())));
            }
            for (metric, values) in values {
                let known = added_by.get(metric).copied().unwrap_or(metric);
                let known = self.metrics.iter().find(|one| one.name == known);
                match known {
                    Some(known) => {
                        let direction = known.higher_is_better;
                        out.higher_is_better.insert(metric.to_owned(), direction);
                    }
                    None if metric.starts_with("pass@") => {}
                    None => out.warnings.push(Warning::new(format!(
                        "task `{}`: `{metric}` is not in `metric_list`; its mean is taken",
                        self.name
                    ))),
                }
                let key = format!("{metric},{filter}");
                let (value, stderr) = match one(known, &values, how, host) {
                    Ok(found) => found,
                    Err(error) => {
                        let what = format!("task `{}`: no value for `{key}`", self.name);
                        out.failed.push(error.prefixed(what));
                        (Value::Null, None)
                    }
                };
                out.sizes.insert(key.clone(), values.len());
                out.scores.insert(key, value);
                out.scores.insert(
                    format!("{metric}_stderr,{filter}"),
                    stderr.map_or_else(|| json!("N/A"), |x| json!(x)),
                );
            }
        }
        out.warnings.dedup();
        out
    }

    /// The direction of each metric, of its pass@k too.
    fn directions(&self) -> BTreeMap<String, bool> {
        let mut directions = BTreeMap::new();
        for metric in &self.metrics {
            directions.insert(metric.name.clone(), metric.higher_is_better);
            let MetricKind::Exact(exact) = &metric.kind else {
                continue;
            };
            if self.repeats < 2 || exact.reduction == repeats::Reduction::First {
                continue;
            }
            for k in exact.reduction.ks(self.repeats) {
                directions.insert(repeats::name(k, &metric.name), metric.higher_is_better);
            }
        }
        directions
    }

    /// The number of examples that tables show: that of `metadata`, when it says one.
    pub fn shown_shots(&self, num_fewshot: usize) -> Value {
        self.metadata
            .get("num_fewshot")
            .cloned()
            .unwrap_or_else(|| json!(num_fewshot))
    }

    /// The settings with what applies by default, functions by name; for results.
    pub fn shown_config(&self, num_fewshot: usize) -> Map<String, Value> {
        let mut config = self.config.to_json();
        config.retain(|_, value| !value.is_null());
        config.insert("task".into(), json!(self.name));
        config.insert("output_type".into(), json!(self.output_type.name()));
        config.insert("num_fewshot".into(), json!(num_fewshot));
        config.insert("repeats".into(), json!(self.repeats));
        config.insert(
            "target_delimiter".into(),
            json!(self.prompting.target_delimiter),
        );
        config.insert(
            "fewshot_delimiter".into(),
            json!(self.prompting.fewshot_delimiter),
        );
        if !self.generation.is_empty() {
            config.insert(
                "generation_kwargs".into(),
                Value::Object(self.generation.clone()),
            );
        }
        config
    }
}

/// The value of a metric over documents, and its standard error; the mean where nothing
/// is known about it.
fn one(
    metric: Option<&Metric>,
    values: &[Value],
    how: Resampling,
    host: &dyn Host,
) -> Result<(Value, Option<f64>)> {
    let mean = AggregationKind::Builtin(Aggregation::Mean);
    match metric.map_or(&mean, |metric| &metric.aggregation) {
        AggregationKind::Builtin(aggregation) => {
            // Tuples of Python are pairs here.
            let values: Vec<Value> = values.iter().cloned().map(plain).collect();
            let value = aggregation.apply(&values)?;
            Ok((
                json!(value),
                aggregation.stderr(&values, how.iterations, how.threads)?,
            ))
        }
        AggregationKind::Function(function) => {
            let value = host.call(function, &[Value::Array(values.to_vec())])?;
            let value = float(&value).map_or_else(|| plain(value), |number| json!(number));
            Ok((value, None))
        }
    }
}
