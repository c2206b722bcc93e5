//! Result and sample files of tasks, in the schema of lm-evaluation-harness.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use chrono::{DateTime, Utc};
use context_bench::benchmark::{TaskReport, file_name};
use context_bench::plan::OutputSpec;
use context_bench::task::tasks::sample::text;
use indexmap::IndexMap;
use serde_json::{Map, Value, json};

use crate::failure::Failure;
use crate::output;

/// Where result files go. Checked before the run.
pub(crate) struct TaskFiles {
    path: Option<PathBuf>,
}

/// Checks that results can be written to the path the user gave.
pub(crate) fn open(spec: &OutputSpec) -> Result<TaskFiles, Failure> {
    let path = spec.harness_path.as_deref();
    if path.is_none() && spec.log_samples == Some(true) {
        return Err(
            Failure::bad_input("`--log-samples` needs a folder for the samples")
                .hint("add `--output-path FOLDER`"),
        );
    }
    let Some(path) = path else {
        return Ok(TaskFiles { path: None });
    };
    let folder = match is_file(path) {
        true => path.parent().unwrap_or(Path::new("")).to_owned(),
        false => path.to_owned(),
    };
    let folder = match folder.as_os_str().is_empty() {
        true => PathBuf::from("."),
        false => folder,
    };
    fs::create_dir_all(&folder).map_err(|error| cannot(&folder, &error))?;
    Ok(TaskFiles {
        path: Some(path.to_owned()),
    })
}

fn is_file(path: &Path) -> bool {
    path.extension()
        .is_some_and(|extension| extension == "json")
}

fn cannot(path: &Path, error: &std::io::Error) -> Failure {
    Failure::bad_input(format!("cannot write `{}`: {error}", path.display()))
        .hint("choose a writable folder for `--output-path`")
}

impl TaskFiles {
    /// Writes the results, and the samples if they were asked for.
    pub(crate) fn write(
        &self,
        started: SystemTime,
        reports: &IndexMap<String, TaskReport>,
    ) -> Result<(), Failure> {
        let Some(path) = &self.path else {
            return Ok(());
        };
        let time = iso(started).replace(':', "-");
        for (system, report) in reports {
            let model = report.results.get("model_name").and_then(Value::as_str);
            let name = match reports.len() {
                1 => file_name(model.unwrap_or(system)),
                _ => file_name(system),
            };
            let (folder, file) = match is_file(path) {
                true => {
                    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
                    let file = match reports.len() {
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
            let text = serde_json::to_string_pretty(&report.results).unwrap_or_default();
            put(&folder.join(file), &(text + "\n"))?;
            for (task, samples) in &report.samples {
                // Several systems in one folder need sample files with different names.
                let whose = match is_file(path) && reports.len() > 1 {
                    true => format!("{name}_"),
                    false => String::new(),
                };
                let file = format!("samples_{whose}{}_{time}.jsonl", file_name(task));
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

/// A sample as it is written: arguments by name, responses and target as text.
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

/// `2026-11-16T03:15:10.123456`, in UTC.
fn iso(time: SystemTime) -> String {
    let time = DateTime::<Utc>::from(time);
    time.format("%Y-%m-%dT%H:%M:%S%.6f").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, UNIX_EPOCH};

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
