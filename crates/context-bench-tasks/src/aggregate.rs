//! Scores of groups from the scores of their tasks.

use context_bench_error::suggest::{did_you_mean, quoted_list};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::config::Config;
use crate::error::{Error, Result, Warning};
use crate::function::Function;
use crate::truth;

const KEYS: &[&str] = &[
    "metric",
    "filter_list",
    "aggregation",
    "weight_by_size",
    "higher_is_better",
];

/// One entry of `aggregate_metric_list`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AggregateMetric {
    /// The metric that is aggregated.
    pub metric: String,
    /// The filters it is aggregated for; all that occur if `None`.
    pub filters: Option<Vec<String>>,
    /// Whether a task counts by its number of documents.
    pub weight_by_size: bool,
    /// Whether the mean is over the members as they are, each group among them with the
    /// score it has itself, and not over all tasks below.
    #[serde(default)]
    pub over_members: bool,
    /// The arrow in tables, when the group says.
    pub higher_is_better: Option<bool>,
}

/// The standard error of a mean over tasks that all count the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MacroError {
    /// sqrt(Σ s²)/k, which is right for a macro mean.
    #[default]
    Macro,
    /// The size-pooled formula, which the reference prints for every mean.
    Pooled,
}

impl AggregateMetric {
    /// Reads the list of a group, each entry for itself; a single one is a list of one.
    pub fn list(config: &Config, group: &str, warnings: &mut Vec<Warning>) -> Vec<Result<Self>> {
        let entries: Vec<&Value> = match config.get("aggregate_metric_list") {
            None => return Vec::new(),
            Some(Value::Array(entries)) => entries.iter().collect(),
            Some(entry) => vec![entry],
        };
        let placed = |error: Error| match config.place("aggregate_metric_list") {
            Some(place) => error.at(place),
            None => error,
        };
        entries
            .into_iter()
            .map(|entry| Self::parse(entry, group, warnings).map_err(placed))
            .collect()
    }

    fn parse(entry: &Value, group: &str, warnings: &mut Vec<Warning>) -> Result<Self> {
        let what = format!("`aggregate_metric_list` of group `{group}`");
        let Some(map) = entry.as_object() else {
            return Err(Error::new(format!(
                "{what} must hold mappings, found `{entry}`"
            )));
        };
        if let Some(unknown) = map.keys().find(|key| !KEYS.contains(&key.as_str())) {
            return Err(
                Error::new(format!("{what} has an unknown key `{unknown}`")).with_hint(
                    did_you_mean(unknown, KEYS.iter().copied())
                        .unwrap_or_else(|| format!("the keys are {}", quoted_list(KEYS, "and"))),
                ),
            );
        }
        // A function names a metric that no task has; the group then has no such score.
        let function = map.get("metric").and_then(Function::from_json);
        let function = function.map(|function| function.short_name().to_owned());
        let named = map.get("metric").and_then(Value::as_str).map(str::to_owned);
        let Some(metric) = named.or(function) else {
            return Err(Error::new(format!("{what} needs a `metric`")));
        };
        let over_members = match map.get("aggregation") {
            None | Some(Value::Null) => false,
            Some(Value::String(name)) if name == "mean" => false,
            Some(Value::String(name)) if name == "mean_of_members" => true,
            Some(function) if Function::from_json(function).is_some() => false,
            Some(other) => {
                return Err(
                    Error::new(format!("{what} has aggregation `{}`", plain(other)))
                        .with_hint("groups know `mean` and `mean_of_members`"),
                );
            }
        };
        let filters = match map.get("filter_list") {
            None | Some(Value::Null) => None,
            Some(Value::String(name)) => Some(vec![name.clone()]),
            Some(Value::Array(names)) if names.iter().all(Value::is_string) => Some(
                names
                    .iter()
                    .filter_map(Value::as_str)
                    .map(str::to_owned)
                    .collect(),
            ),
            Some(other) => {
                return Err(Error::new(format!(
                    "{what} has filters `{other}`; names are expected"
                )));
            }
        };
        let mut odd = Vec::new();
        let mut truth = |key: &str| {
            let value = map.get(key).filter(|value| !value.is_null())?;
            Some(truth::read(key, value, &mut odd))
        };
        // Members count the same, whatever is in them.
        let weight_by_size = truth("weight_by_size").unwrap_or(!over_members);
        let higher_is_better = truth("higher_is_better");
        let named = |warning: Warning| Warning::new(format!("{what}: {}", warning.message));
        warnings.extend(odd.into_iter().map(named));
        Ok(Self {
            metric,
            filters,
            weight_by_size,
            over_members,
            higher_is_better,
        })
    }
}

fn plain(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}

/// sqrt((Σ n(n−1)s² / (Σn − k)) / Σn): one standard error of all documents together.
/// `None` when every task has one document.
pub fn pooled_stderr(stderrs: &[f64], sizes: &[u64]) -> Option<f64> {
    let total: f64 = sizes.iter().map(|&n| n as f64).sum();
    let free = total - sizes.len() as f64;
    if free <= 0.0 {
        return None;
    }
    let sum: f64 = stderrs
        .iter()
        .zip(sizes)
        .map(|(s, &n)| n as f64 * (n as f64 - 1.0) * s * s)
        .sum();
    Some((sum / free / total).sqrt())
}

/// sqrt(Σ s²)/k: the standard error of a mean of independent means.
pub fn macro_stderr(stderrs: &[f64]) -> f64 {
    stderrs.iter().map(|s| s * s).sum::<f64>().sqrt() / stderrs.len() as f64
}

/// The scores of a group, in the schema of results, as `"metric,filter"` → value: those
/// of its leaves, depth first, and those of its members, groups among them.
pub fn aggregate(
    id: &str,
    alias: &str,
    metrics: &[AggregateMetric],
    leaves: &[(&str, &Map<String, Value>)],
    members: &[(&str, &Map<String, Value>)],
    macro_error: MacroError,
    warnings: &mut Vec<Warning>,
) -> Map<String, Value> {
    let mut out = Map::new();
    out.insert("alias".into(), Value::from(alias));
    out.insert("name".into(), Value::from(id));
    if metrics.is_empty() {
        return out;
    }
    let size =
        |task: &Map<String, Value>| task.get("sample_len").and_then(Value::as_u64).unwrap_or(0);
    // Not every document has every score.
    let size_of = |task: &Map<String, Value>, key: &str| {
        let counts = task.get("sample_count").and_then(|counts| counts.get(key));
        counts.and_then(Value::as_u64).unwrap_or_else(|| size(task))
    };
    let total: u64 = leaves.iter().map(|(_, task)| size(task)).sum();
    out.insert("sample_len".into(), json!(total));
    let mut counts = Map::new();
    for metric in metrics {
        let tasks = if metric.over_members { members } else { leaves };
        let filters = metric
            .filters
            .clone()
            .unwrap_or_else(|| discover(&metric.metric, tasks));
        for filter in filters {
            let key = format!("{},{filter}", metric.metric);
            let stderr_key = format!("{}_stderr,{filter}", metric.metric);
            let mut missing = Vec::new();
            let mut found: Vec<(f64, u64, Option<f64>)> = Vec::new();
            for (name, task) in tasks {
                match task.get(&key).and_then(Value::as_f64) {
                    Some(value) => {
                        let stderr = task.get(&stderr_key).and_then(Value::as_f64);
                        found.push((value, size_of(task, &key), stderr));
                    }
                    None => missing.push(*name),
                }
            }
            if found.is_empty() {
                let message = format!("no task of group `{id}` has `{key}`; it is not aggregated");
                warnings.push(Warning::new(message));
                continue;
            }
            if !missing.is_empty() {
                warnings.push(Warning::new(left_out(id, &key, &missing)));
            }
            let n: u64 = found.iter().map(|(_, n, _)| n).sum();
            let value = if metric.weight_by_size {
                if n == 0 {
                    let message =
                        format!("all tasks of group `{id}` are empty; `{key}` is not aggregated");
                    warnings.push(Warning::new(message));
                    continue;
                }
                found
                    .iter()
                    .map(|(value, n, _)| value * *n as f64)
                    .sum::<f64>()
                    / n as f64
            } else {
                found.iter().map(|(value, ..)| value).sum::<f64>() / found.len() as f64
            };
            let stderrs: Option<Vec<f64>> = found.iter().map(|(.., stderr)| *stderr).collect();
            let sizes: Vec<u64> = found.iter().map(|(_, n, _)| *n).collect();
            let stderr = stderrs.and_then(|stderrs| match (metric.weight_by_size, macro_error) {
                _ if stderrs.len() == 1 => stderrs.first().copied(),
                (false, MacroError::Macro) => Some(macro_stderr(&stderrs)),
                _ => pooled_stderr(&stderrs, &sizes),
            });
            out.insert(key.clone(), json!(value));
            out.insert(
                stderr_key,
                stderr.map_or_else(|| json!("N/A"), |stderr| json!(stderr)),
            );
            counts.insert(key, json!(n));
        }
    }
    out.insert("sample_count".into(), Value::Object(counts));
    out
}

/// All filters that some task reports for a metric, sorted.
fn discover(metric: &str, tasks: &[(&str, &Map<String, Value>)]) -> Vec<String> {
    let mut filters: Vec<String> = tasks
        .iter()
        .flat_map(|(_, task)| task.keys())
        .filter_map(|key| Some(key.strip_prefix(metric)?.strip_prefix(',')?.to_owned()))
        .collect();
    filters.sort();
    filters.dedup();
    filters
}

fn left_out(id: &str, key: &str, missing: &[&str]) -> String {
    let shown = quoted_list(&missing[..missing.len().min(5)], "and");
    let more = match missing.len().saturating_sub(5) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("group `{id}`: {shown}{more} have no `{key}` and are left out")
}
