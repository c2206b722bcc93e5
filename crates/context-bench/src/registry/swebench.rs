//! `swebench_report` by name: the reports of SWE-bench's harness, read from files.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;

use super::{BuildError, Params};
use crate::evaluator::{Evaluator, SwebenchOutcome, SwebenchReport};
use crate::official::swebench;

pub(super) const ABOUT: &str =
    "what SWE-bench's own harness reports: file=REPORT.json or a folder, predictions=FILE";

/// The file of an instance's report, and the one beside it with its patch.
const REPORT: &str = "report.json";
const PATCH: &str = "patch.diff";
/// How deep the folders of a run are looked through.
const DEPTH: usize = 6;

type Outcomes = BTreeMap<String, Vec<SwebenchOutcome>>;

pub(super) fn make(params: &mut Params) -> Result<Arc<dyn Evaluator>, BuildError> {
    let Some(file) = params.take("file") else {
        // A misspelt parameter says more than a missing one.
        params.clone().finish()?;
        return Err(BuildError::Other {
            what: "`swebench_report` has no report".into(),
            hint: Some(
                "write `swebench_report:file=REPORT.json`, with what the harness wrote".into(),
            ),
        });
    };
    let predictions = params.take("predictions");
    let file = Path::new(&file);
    let mut outcomes = Outcomes::new();
    match file.is_dir() {
        true => {
            let mut reports = Vec::new();
            find(file, DEPTH, &mut reports).map_err(|error| unread(file, &error))?;
            reports.sort();
            for report in &reports {
                add(report, &mut outcomes)?;
            }
            if reports.is_empty() {
                return Err(BuildError::Other {
                    what: format!("{}: no `{REPORT}` below this folder", file.display()),
                    hint: Some("give `logs/run_evaluation/RUN_ID` of the harness".into()),
                });
            }
        }
        false => add(file, &mut outcomes)?,
    }
    if let Some(predictions) = predictions {
        patches(Path::new(&predictions), &mut outcomes)?;
    }
    Ok(Arc::new(SwebenchReport::new(outcomes)))
}

fn unread(file: &Path, error: &dyn std::fmt::Display) -> BuildError {
    BuildError::Other {
        what: format!("cannot read `{}`: {error}", file.display()),
        hint: Some("give the path as seen from the current folder".into()),
    }
}

/// All reports of instances below a folder.
fn find(folder: &Path, depth: usize, found: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() && depth > 0 {
            find(&path, depth - 1, found)?;
        } else if path.file_name().is_some_and(|name| name == REPORT) {
            found.push(path);
        }
    }
    Ok(())
}

/// Adds what a report says; the patch is the one that the harness put beside it.
fn add(file: &Path, outcomes: &mut Outcomes) -> Result<(), BuildError> {
    let text = fs::read_to_string(file).map_err(|error| unread(file, &error))?;
    let report: Value = serde_json::from_str(&text).map_err(|error| unread(file, &error))?;
    let report = swebench::report(&report).map_err(|error| {
        let BuildError::Other { what, hint } = BuildError::other(&error) else {
            return BuildError::other(&error);
        };
        let what = format!("{}: {what}", file.display());
        BuildError::Other { what, hint }
    })?;
    let of_one = report.len() == 1 && file.file_name().is_some_and(|name| name == REPORT);
    let patch = fs::read_to_string(file.with_file_name(PATCH)).ok();
    let patch = patch.filter(|_| of_one);
    for (id, outcome) in report {
        let known = outcomes.entry(id.clone()).or_default();
        let clashes = known
            .iter()
            .any(|one| (one.patch.is_none() || patch.is_none()) && one.outcome != outcome);
        if clashes {
            return Err(BuildError::Other {
                what: format!("two reports differ about `{id}`, and not both hold its patch"),
                hint: Some(
                    "give the reports of one system, or whole folders of the harness".into(),
                ),
            });
        }
        known.push(SwebenchOutcome {
            patch: patch.clone(),
            outcome,
        });
    }
    Ok(())
}

/// Takes down which patches a report is about, from the predictions that the harness got.
fn patches(file: &Path, outcomes: &mut Outcomes) -> Result<(), BuildError> {
    let text = fs::read_to_string(file).map_err(|error| unread(file, &error))?;
    let wrong = |what: String| BuildError::Other {
        what: format!("{}: {what}", file.display()),
        hint: Some("give the file that `export --output swebench` wrote".into()),
    };
    let mut found = BTreeMap::new();
    for (at, line) in text
        .lines()
        .enumerate()
        .filter(|(_, line)| !line.trim().is_empty())
    {
        let number = at + 1;
        let line: Value = serde_json::from_str(line)
            .map_err(|error| wrong(format!("line {number} is no JSON: {error}")))?;
        let member = |key: &str| line.get(key).and_then(Value::as_str).map(str::to_owned);
        let Some(id) = member("instance_id") else {
            return Err(wrong(format!("line {number} has no `instance_id`")));
        };
        found.insert(id, member("model_patch").unwrap_or_default());
    }
    for (id, known) in outcomes {
        for one in known.iter_mut().filter(|one| one.patch.is_none()) {
            match found.get(id) {
                Some(patch) => one.patch = Some(patch.clone()),
                None if one.outcome == swebench::Outcome::NotRun => {}
                None => {
                    return Err(wrong(format!(
                        "no prediction for `{id}`, which the report is about"
                    )));
                }
            }
        }
    }
    Ok(())
}
