//! `swebench_report` by name: the reports of SWE-bench's harness, read from files.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;

use super::{BuildError, Params};
use crate::evaluator::{Evaluator, SwebenchOutcome, SwebenchReport};
use crate::official::swebench::{self, Outcome};

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
                match report.is_dir() {
                    true => add_without_report(report, &mut outcomes),
                    false => add(report, &mut outcomes)?,
                }
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

/// All reports of instances below a folder, and the folders of instances without one.
fn find(folder: &Path, depth: usize, found: &mut Vec<PathBuf>) -> std::io::Result<()> {
    let (mut has_report, mut has_patch) = (false, false);
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let is = |name: &str| path.file_name().is_some_and(|own| own == name);
        has_patch |= is(PATCH);
        if path.is_dir() && depth > 0 {
            find(&path, depth - 1, found)?;
        } else if is(REPORT) {
            has_report = true;
            found.push(path);
        }
    }
    if has_patch && !has_report {
        found.push(folder.to_owned());
    }
    Ok(())
}

/// Adds an instance that the harness began and wrote no report of: its patch could not be
/// applied, or its tests did not come to an end. It counts as not resolved there.
fn add_without_report(folder: &Path, outcomes: &mut Outcomes) {
    let Some(id) = folder.file_name().and_then(|name| name.to_str()) else {
        return;
    };
    let why = "no report: the patch could not be applied, or the tests did not end";
    let known = outcomes.entry(id.to_owned()).or_default();
    known.push(SwebenchOutcome {
        patch: fs::read_to_string(folder.join(PATCH)).ok(),
        outcome: Outcome::Unresolved(why.to_owned()),
    });
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
            .map_err(|error| wrong(format!("line {number} is not JSON: {error}")))?;
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
