//! Results and samples of tasks as files, in the schema of lm-evaluation-harness.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use context_bench::mask::{Mask, is_secret};
use context_bench::task::TaskOutcome;
use context_bench::task::tasks::options::Limit;
use context_bench::task::tasks::sample::{sha256, text};
use indexmap::IndexMap;
use serde_json::{Map, Value, json};

use crate::args::RunArgs;
use crate::backend::TaskSettings;
use crate::failure::Failure;
use crate::output;

/// What results say about the run they are from.
#[derive(Clone, Copy)]
pub(crate) struct RunFacts<'a> {
    pub(crate) args: &'a RunArgs,
    pub(crate) settings: &'a TaskSettings,
    pub(crate) started: SystemTime,
    pub(crate) system: &'a str,
    /// Examples per prompt that the user asked for, where tasks have any.
    pub(crate) num_fewshot: Option<usize>,
}

/// Where results go, checked before the run.
pub(crate) struct TaskFiles {
    path: Option<PathBuf>,
}

/// Checks that results can be written where the user wants them.
pub(crate) fn open(args: &RunArgs) -> Result<TaskFiles, Failure> {
    let Some(path) = &args.task.output_path else {
        return Ok(TaskFiles { path: None });
    };
    let folder = match is_file(path) {
        true => path.parent().unwrap_or(Path::new("")).to_owned(),
        false => path.clone(),
    };
    let folder = match folder.as_os_str().is_empty() {
        true => PathBuf::from("."),
        false => folder,
    };
    fs::create_dir_all(&folder).map_err(|error| cannot(&folder, &error))?;
    Ok(TaskFiles {
        path: Some(path.clone()),
    })
}

fn is_file(path: &Path) -> bool {
    path.extension()
        .is_some_and(|extension| extension == "json")
}

fn cannot(path: &Path, error: &std::io::Error) -> Failure {
    Failure::bad_input(format!("cannot write `{}`: {error}", path.display()))
        .hint("choose a folder that is writable for `--output-path`")
}

impl TaskFiles {
    /// Writes results, and samples where they were asked for.
    pub(crate) fn write(
        &self,
        facts: &RunFacts<'_>,
        outcomes: &IndexMap<String, TaskOutcome>,
    ) -> Result<(), Failure> {
        let Some(path) = &self.path else {
            return Ok(());
        };
        let time = iso(facts.started).replace(':', "-");
        for (system, outcome) in outcomes {
            let facts = facts.of(system);
            let name = match outcomes.len() {
                1 => sanitised(&facts.args.model),
                _ => sanitised(system),
            };
            let (folder, file) = match is_file(path) {
                true => {
                    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
                    let file = match outcomes.len() {
                        1 => format!("{stem}_{time}.json"),
                        _ => format!("{stem}_{name}_{time}.json"),
                    };
                    (path.parent().unwrap_or(Path::new("")).to_owned(), file)
                }
                false => (path.join(&name), format!("results_{time}.json")),
            };
            if !folder.as_os_str().is_empty() {
                fs::create_dir_all(&folder).map_err(|error| cannot(&folder, &error))?;
            }
            let results = Value::Object(facts.results(outcome));
            let text = serde_json::to_string_pretty(&results).unwrap_or_default();
            put(&folder.join(file), &(text + "\n"))?;
            for (task, samples) in &outcome.samples {
                // Beside one file of results per system, each has samples of its own.
                let whose = match is_file(path) && outcomes.len() > 1 {
                    true => format!("{name}_"),
                    false => String::new(),
                };
                let file = format!("samples_{whose}{}_{time}.jsonl", sanitised(task));
                let lines: String = samples
                    .iter()
                    .map(|sample| format!("{}\n", Value::Object(logged(sample.clone()))))
                    .collect();
                put(&folder.join(file), &lines)?;
            }
        }
        Ok(())
    }
}

fn put(path: &Path, text: &str) -> Result<(), Failure> {
    fs::write(path, text).map_err(|error| cannot(path, &error))?;
    output::note(&format!("wrote {}", path.display()));
    Ok(())
}

impl<'a> RunFacts<'a> {
    /// The same facts about one system.
    pub(crate) fn of<'b>(&self, system: &'b str) -> RunFacts<'b>
    where
        'a: 'b,
    {
        RunFacts { system, ..*self }
    }

    /// The line before the tables.
    pub(crate) fn line(&self) -> String {
        let shown = |map: &Map<String, Value>| {
            let pairs: Vec<String> = map
                .iter()
                .map(|(key, value)| match value {
                    Value::String(text) => format!("{key}={text}"),
                    other => format!("{key}={other}"),
                })
                .collect();
            pairs.join(",")
        };
        let model = self.settings.backend.as_deref().unwrap_or(self.system);
        let model_args = match self.settings.model_args.is_empty() {
            true => format!("model={}", self.args.model),
            false => shown(&without_credentials(&self.settings.model_args)),
        };
        let none = || "None".to_owned();
        let limit = match self.args.task.select.limit {
            Some(Limit::Count(n)) => n.to_string(),
            Some(Limit::Share(share)) => share.to_string(),
            None => self.args.max_examples.map_or_else(none, |n| n.to_string()),
        };
        format!(
            "{model} ({model_args}), gen_kwargs: ({}), limit: {limit}, num_fewshot: {}, batch_size: {}",
            self.args.task.gen_kwargs.join(","),
            self.num_fewshot.map_or_else(none, |n| n.to_string()),
            self.args.task.batch_size.unwrap_or(1)
        )
    }

    /// Results in the schema of the reference, with what we add: `counts`.
    pub(crate) fn results(&self, outcome: &TaskOutcome) -> Map<String, Value> {
        let args = self.args;
        let mut out = outcome.results.to_json();
        let prompt = &args.task.select.prompt;
        let limit = match args.task.select.limit {
            Some(Limit::Count(n)) => json!(n),
            Some(Limit::Share(share)) => json!(share),
            None => json!(args.max_examples),
        };
        let seed = args.seed;
        out.insert(
            "config".into(),
            json!({
                "model": self.settings.backend.as_deref().unwrap_or(self.system),
                "model_args": match self.settings.model_args.is_empty() {
                    true => json!({"model": args.model}),
                    false => Value::Object(without_credentials(&self.settings.model_args)),
                },
                "batch_size": args.task.batch_size.unwrap_or(1),
                "batch_sizes": [],
                "device": null,
                "use_cache": args.cache_dir.as_ref().map(|dir| dir.display().to_string()),
                "limit": limit,
                "bootstrap_iters": args.task.bootstrap_iters,
                "gen_kwargs": match args.task.gen_kwargs.is_empty() {
                    true => Value::Null,
                    false => json!(args.task.gen_kwargs.join(",")),
                },
                "random_seed": seed.unwrap_or(0),
                "numpy_seed": seed.unwrap_or(1234),
                "torch_seed": seed.unwrap_or(1234),
                "fewshot_seed": seed.unwrap_or(1234),
            }),
        );
        let date = self.started.duration_since(UNIX_EPOCH).unwrap_or_default();
        out.insert("git_hash".into(), Value::Null);
        out.insert("date".into(), json!(date.as_secs_f64()));
        out.insert(
            "context_bench_version".into(),
            json!(env!("CARGO_PKG_VERSION")),
        );
        if !outcome.samples.is_empty() {
            let hashes: Map<String, Value> = outcome
                .samples
                .iter()
                .map(|(task, samples)| (task.clone(), json!(task_hash(samples))))
                .collect();
            out.insert("task_hashes".into(), Value::Object(hashes));
        }
        out.insert(
            "model_source".into(),
            json!(self.settings.backend.as_deref().unwrap_or("context-bench")),
        );
        out.insert("model_name".into(), json!(args.model));
        out.insert("model_name_sanitized".into(), json!(sanitised(&args.model)));
        let instruction = prompt.system_instruction.as_deref();
        out.insert("system_instruction".into(), json!(instruction));
        out.insert(
            "system_instruction_sha".into(),
            json!(instruction.map(sha256)),
        );
        let chat = prompt
            .options(None, None)
            .ok()
            .and_then(|options| options.chat);
        let multi_turn = chat == Some(context_bench::task::tasks::options::Chat::MultiTurn);
        out.insert("fewshot_as_multiturn".into(), json!(multi_turn));
        out.insert("chat_template".into(), Value::Null);
        out.insert("chat_template_sha".into(), Value::Null);
        let seconds = self.started.elapsed().unwrap_or_default().as_secs_f64();
        out.insert(
            "total_evaluation_time_seconds".into(),
            json!(seconds.to_string()),
        );
        out.insert("counts".into(), json!(outcome.counts));
        out
    }
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

/// A sample as files hold it: arguments by name, responses and target as text.
fn logged(mut sample: Map<String, Value>) -> Map<String, Value> {
    let named = |prefix: &str, items: &[Value], inner: &dyn Fn(&Value) -> Value| -> Value {
        let named = items.iter().enumerate();
        let named = named.map(|(i, item)| (format!("{prefix}_{i}"), inner(item)));
        Value::Object(named.collect())
    };
    if let Some(Value::Array(requests)) = sample.get("arguments") {
        let arguments = named("gen_args", requests, &|request| match request {
            Value::Array(arguments) => named("arg", arguments, &Value::clone),
            other => other.clone(),
        });
        sample.insert("arguments".into(), arguments);
    }
    for key in ["resps", "filtered_resps"] {
        let value = match sample.get(key) {
            Some(Value::Array(items)) => json!(items.iter().map(text).collect::<Vec<_>>()),
            Some(one) => json!([text(one)]),
            None => continue,
        };
        sample.insert(key.into(), value);
    }
    if let Some(target) = sample.get("target").map(text) {
        sample.insert("target".into(), json!(target));
    }
    sample
}

/// Each run of characters that file names must not have becomes `__`.
fn sanitised(name: &str) -> String {
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

/// Arguments without user names, passwords and queries of URLs, and without keys.
fn without_credentials(given: &Map<String, Value>) -> Map<String, Value> {
    let shown = |(key, value): (&String, &Value)| {
        let value = match value {
            Value::String(text) if text.contains("://") => {
                json!(crate::command_line::without_credentials(text))
            }
            Value::String(text) if is_secret(key) => json!(Mask::Dots.secret(text)),
            other => Mask::Dots.value(other),
        };
        (key.clone(), value)
    };
    given.iter().map(shown).collect()
}

/// `2026-11-16T03:15:10.123456`, in UTC.
fn iso(time: SystemTime) -> String {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    let (days, rest) = (since.as_secs() / 86_400, since.as_secs() % 86_400);
    // Civil from days, as Howard Hinnant writes it.
    let z = days + 719_468;
    let era = z / 146_097;
    let of_era = z % 146_097;
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let day_of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    format!(
        "{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}.{:06}",
        rest / 3600,
        rest / 60 % 60,
        rest % 60,
        since.subsec_micros()
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn times_are_written_as_iso() {
        for (seconds, expected) in [
            (0, "1970-01-01T00:00:00.000000"),
            (951_782_399, "2000-02-28T23:59:59.000000"),
            (951_868_799, "2000-02-29T23:59:59.000000"),
            (1_795_230_910, "2026-11-21T03:15:10.000000"),
        ] {
            assert_eq!(iso(UNIX_EPOCH + Duration::from_secs(seconds)), expected);
        }
    }

    #[test]
    fn names_become_file_names() {
        assert_eq!(sanitised("org/model:1"), "org__model__1");
        assert_eq!(sanitised("group::task@cot"), "group__task@cot");
        assert_eq!(sanitised("../x"), "..__x");
        assert_eq!(sanitised(".."), "__");
    }

    #[test]
    fn samples_are_written_as_the_reference_does() {
        let sample = json!({
            "arguments": [["C", {"until": ["x"]}]], "resps": ["a", [1, true]],
            "filtered_resps": "a", "target": 3,
        });
        let expected = json!({
            "arguments": {"gen_args_0": {"arg_0": "C", "arg_1": {"until": ["x"]}}},
            "resps": ["a", "[1, True]"], "filtered_resps": ["a"], "target": "3",
        });
        let sample = sample.as_object().cloned().expect("a map");
        assert_eq!(Value::Object(logged(sample)), expected);
    }
}
