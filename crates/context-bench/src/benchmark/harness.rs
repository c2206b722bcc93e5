//! Results in the schema of lm-evaluation-harness: what its files and tables say
//! about a run beside scores.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use context_bench_error::Hint as _;
use context_bench_tasks::sample::sha256;
use context_bench_tasks::table::Row;
use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::mask::Mask;

use super::outcome::{DocumentCounts, SuiteOutcome};
use super::reporting::DatasetReport;

/// What results say about the run they are from. Holds no keys.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct HarnessFacts {
    /// The name of `--model` as typed, when it is one of the reference's backends.
    pub backend: Option<String>,
    /// The arguments of the backend as typed.
    pub model_args: Map<String, Value>,
    /// The model that each system asks for, as far as that is known.
    pub models: IndexMap<String, String>,
    /// The model that the run asks for where systems do not say.
    pub model: String,
    /// Texts per request when likelihoods are asked for.
    pub batch_size: usize,
    /// Where answers are kept.
    pub cache_dir: Option<String>,
    /// Documents per task: a number, or a share below 1.
    pub limit: Option<f64>,
    /// Resamples for standard errors that are not analytic.
    pub bootstrap_iters: usize,
    /// Settings of generation as typed.
    pub gen_kwargs: Option<String>,
    /// The seed, when one was given.
    pub seed: Option<i64>,
    /// Text in front of every prompt.
    pub system_instruction: Option<String>,
    /// Whether each example is two messages of its own.
    pub fewshot_as_multiturn: bool,
    /// Examples per prompt that were asked for, where benchmarks have any.
    pub num_fewshot: Option<usize>,
    /// Whether reports for people have the tables of tasks.
    pub has_tasks: bool,
}

/// When a run began and how long it took.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RunTime {
    /// When it began.
    pub started: SystemTime,
    /// How long it took.
    pub elapsed: Duration,
}

/// What a run found about the benchmarks of one system.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TaskReport {
    /// Results in the schema of lm-evaluation-harness, with our `counts`, `headlines` and `rules`.
    pub results: Map<String, Value>,
    /// The line that says what was run.
    pub line: String,
    /// The table of tasks.
    pub table: String,
    /// The table of groups, when there are any.
    pub groups_table: Option<String>,
    /// The lines of both tables, to be put beside those of other systems.
    #[serde(skip)]
    pub rows: Vec<Row>,
    /// The lines of the table of groups.
    #[serde(skip)]
    pub group_rows: Vec<Row>,
    /// What happened to the documents of each task.
    pub counts: IndexMap<String, DocumentCounts>,
    /// What is quoted of each dataset, and by which rule.
    pub datasets: IndexMap<String, DatasetReport>,
    /// Why tasks and metrics have no value, each with a hint; all others have theirs.
    pub failed: Vec<(String, Option<String>)>,
    /// What was noticed.
    pub warnings: Vec<String>,
    /// Whether reports for people have the tables.
    pub is_shown: bool,
    /// What was asked and said about each document, by task, when asked for.
    #[serde(skip)]
    pub samples: IndexMap<String, Vec<Map<String, Value>>>,
}

impl HarnessFacts {
    /// The report about one system.
    pub fn report(&self, system: &str, outcome: SuiteOutcome, time: RunTime) -> TaskReport {
        let failed = outcome.failed.iter();
        TaskReport {
            results: self.results(system, &outcome, time),
            line: self.line(system),
            table: outcome.results.table(),
            rows: outcome.results.rows(),
            group_rows: outcome.results.group_rows(),
            groups_table: outcome.results.groups_table(),
            counts: outcome.counts,
            datasets: outcome.datasets,
            failed: failed
                .map(|error| (error.to_string(), error.hint()))
                .collect(),
            warnings: outcome.warnings.iter().map(ToString::to_string).collect(),
            is_shown: self.has_tasks,
            samples: samples(outcome.samples),
        }
    }

    fn model_of(&self, system: &str) -> &str {
        self.models.get(system).unwrap_or(&self.model)
    }

    /// The line before the tables.
    fn line(&self, system: &str) -> String {
        let shown = |(key, value): (&String, &Value)| match value {
            Value::String(text) => format!("{key}={text}"),
            other => format!("{key}={other}"),
        };
        let pairs: Vec<String> = self.model_args.iter().map(shown).collect();
        let model = self.backend.as_deref().unwrap_or(system);
        let model_args = match pairs.is_empty() {
            true => format!("model={}", self.model_of(system)),
            false => pairs.join(","),
        };
        let none = || "None".to_owned();
        format!(
            "{model} ({model_args}), gen_kwargs: ({}), limit: {}, num_fewshot: {}, batch_size: {}",
            self.gen_kwargs.as_deref().unwrap_or_default(),
            self.limit.map_or_else(none, |limit| limit.to_string()),
            self.num_fewshot.map_or_else(none, |n| n.to_string()),
            self.batch_size.max(1)
        )
    }

    /// Results in the schema of the reference, with what we add: `counts`, `headlines`
    /// and `rules`.
    fn results(&self, system: &str, outcome: &SuiteOutcome, time: RunTime) -> Map<String, Value> {
        let mut out = outcome.results.to_json();
        if let Some(Value::Object(configs)) = out.get_mut("configs") {
            for config in configs.values_mut() {
                if let Value::Object(settings) = config {
                    *settings = Mask::Dots.task(settings);
                }
            }
        }
        let model = self.model_of(system);
        let limit = self.limit.map(|limit| match limit {
            share if share < 1.0 => json!(share),
            count => json!(count as u64),
        });
        out.insert(
            "config".into(),
            json!({
                "model": self.backend.as_deref().unwrap_or(system),
                "model_args": match self.model_args.is_empty() {
                    true => json!({"model": model}),
                    false => json!(self.model_args),
                },
                "batch_size": self.batch_size.max(1),
                "batch_sizes": [],
                "device": null,
                "use_cache": self.cache_dir,
                "limit": limit,
                "bootstrap_iters": self.bootstrap_iters,
                "gen_kwargs": self.gen_kwargs,
                "random_seed": self.seed.unwrap_or(0),
                "numpy_seed": self.seed.unwrap_or(1234),
                "torch_seed": self.seed.unwrap_or(1234),
                "fewshot_seed": self.seed.unwrap_or(1234),
            }),
        );
        let date = time.started.duration_since(UNIX_EPOCH).unwrap_or_default();
        out.insert("git_hash".into(), Value::Null);
        out.insert("date".into(), json!(date.as_secs_f64()));
        out.insert(
            "context_bench_version".into(),
            json!(env!("CARGO_PKG_VERSION")),
        );
        if !outcome.samples.is_empty() {
            let hashes = outcome.samples.iter();
            let hashes = hashes.map(|(task, samples)| (task.clone(), json!(task_hash(samples))));
            out.insert("task_hashes".into(), Value::Object(hashes.collect()));
        }
        let source = self.backend.as_deref().unwrap_or("context-bench");
        out.insert("model_source".into(), json!(source));
        out.insert("model_name".into(), json!(model));
        out.insert("model_name_sanitized".into(), json!(file_name(model)));
        let instruction = self.system_instruction.as_deref();
        out.insert("system_instruction".into(), json!(instruction));
        let sha = instruction.map(sha256);
        out.insert("system_instruction_sha".into(), json!(sha));
        let multi_turn = self.fewshot_as_multiturn;
        out.insert("fewshot_as_multiturn".into(), json!(multi_turn));
        out.insert("chat_template".into(), Value::Null);
        out.insert("chat_template_sha".into(), Value::Null);
        let seconds = time.elapsed.as_secs_f64().to_string();
        out.insert("total_evaluation_time_seconds".into(), json!(seconds));
        out.insert("counts".into(), json!(outcome.counts));
        let headlines = outcome.datasets.iter().filter_map(|(key, report)| {
            let name = report.headline.as_ref()?;
            let figure = report.figures.get(name).copied().unwrap_or_default();
            let headline = json!({
                "name": name,
                "value": figure.value,
                "stderr": figure.stderr,
                "n": figure.n,
                "is_row_mean": report.is_row_mean,
            });
            Some((key.clone(), headline))
        });
        let headlines: Map<String, Value> = headlines.collect();
        let rules = outcome.datasets.iter();
        let rules = rules.filter_map(|(key, one)| Some((key.clone(), one.rule_json()?)));
        let rules: Map<String, Value> = rules.collect();
        for (key, entries) in [("headlines", headlines), ("rules", rules)] {
            if !entries.is_empty() {
                out.insert(key.into(), Value::Object(entries));
            }
        }
        out
    }
}

/// Samples with the settings of their requests as they may be written down; what was
/// asked and said is data, and stays as it was.
fn samples(
    mut samples: IndexMap<String, Vec<Map<String, Value>>>,
) -> IndexMap<String, Vec<Map<String, Value>>> {
    for sample in samples.values_mut().flatten() {
        let Some(Value::Array(requests)) = sample.get_mut("arguments") else {
            continue;
        };
        let arguments = requests.iter_mut().filter_map(Value::as_array_mut);
        for argument in arguments.flatten() {
            if let Value::Object(settings) = argument {
                *settings = Mask::Dots.map(settings);
            }
        }
    }
    samples
}

/// The hash of what a task's samples were made of.
fn task_hash(samples: &[Map<String, Value>]) -> String {
    let mut all = String::new();
    for sample in samples {
        for key in ["doc_hash", "prompt_hash", "target_hash"] {
            all += sample.get(key).and_then(Value::as_str).unwrap_or_default();
        }
    }
    sha256(&all)
}

/// A name as one of a file: each run of characters that file names must not have
/// becomes `__`.
pub fn file_name(name: &str) -> String {
    let mut out = String::new();
    let mut in_run = false;
    for c in name.chars() {
        if "\"<>:/|\\?*[]".contains(c) || c.is_control() {
            if !in_run {
                out.push_str("__");
            }
            in_run = true;
        } else {
            out.push(c);
            in_run = false;
        }
    }
    match out.as_str() {
        "" | "." | ".." => "__".to_owned(),
        _ => out,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_file_names() {
        assert_eq!(file_name("org/model:1"), "org__model__1");
        assert_eq!(file_name("group::task@cot"), "group__task@cot");
        assert_eq!(file_name("../x"), "..__x");
        assert_eq!(file_name(".."), "__");
    }
}
