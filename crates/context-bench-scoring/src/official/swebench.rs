//! SWE-bench: patches as its own harness takes them, and what its reports say.
//!
//! Jimenez et al. (2024), the layout of the harness (`swebench`, versions 2 to 5). Whether
//! an issue is resolved only the tests of its project tell, which the harness runs in
//! containers: nothing here scores a patch.

use std::collections::BTreeMap;

use serde_json::Value;

use context_bench_error::Hint;

/// The patch in a response: what stands between `<patch>` or `<diff>` and its end; else the
/// first fenced block called `diff` or `patch`; else the first that is one by its looks;
/// else everything from the first line that begins a patch. Empty when there is none. It
/// ends in one newline, without which `git apply` calls it corrupt.
pub fn patch(response: &str) -> String {
    let found = tagged(response)
        .or_else(|| fenced(response))
        .or_else(|| raw(response));
    let found = found.unwrap_or_default();
    let found = found.trim_matches(['\n', '\r']);
    match found.trim().is_empty() {
        true => String::new(),
        false => format!("{found}\n"),
    }
}

fn tagged(response: &str) -> Option<&str> {
    let between = ["patch", "diff"].map(|name| {
        let open = format!("<{name}>");
        let begin = response.find(&open)? + open.len();
        let length = response[begin..].find(&format!("</{name}>"))?;
        Some((begin, &response[begin..begin + length]))
    });
    let first = between.into_iter().flatten().min_by_key(|(at, _)| *at);
    // A tag may stand around a fence.
    first.map(|(_, inside)| fenced(inside).unwrap_or(inside))
}

/// The fenced blocks of a text with what they are called.
fn blocks(text: &str) -> Vec<(&str, &str)> {
    let mut blocks = Vec::new();
    let mut open: Option<(&str, usize)> = None;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let end = at + line.len();
        let mark = line.trim_end().strip_prefix("```");
        match (open, mark) {
            (None, Some(name)) => open = Some((name.trim(), end)),
            // A line of a diff begins with a sign, so this one is the end.
            (Some((name, begin)), Some(_)) => {
                blocks.push((name, &text[begin..at]));
                open = None;
            }
            _ => {}
        }
        at = end;
    }
    // An answer that was cut ends without its fence.
    if let Some((name, begin)) = open {
        blocks.push((name, &text[begin..]));
    }
    blocks
}

fn fenced(text: &str) -> Option<&str> {
    let blocks = blocks(text);
    let is_called = |name: &str| name == "diff" || name == "patch";
    let called = blocks.iter().find(|(name, _)| is_called(name));
    let found = called.or_else(|| blocks.iter().find(|(_, inside)| raw(inside).is_some()));
    found.map(|(_, inside)| *inside)
}

/// The text from the first line that begins a patch.
fn raw(text: &str) -> Option<&str> {
    let mut at = 0;
    let mut lines = text.split_inclusive('\n').peekable();
    while let Some(line) = lines.next() {
        let is_old = line.starts_with("--- ");
        let begins = line.starts_with("diff --git ")
            || (is_old && lines.peek().is_some_and(|next| next.starts_with("+++ ")));
        if begins {
            return Some(&text[at..]);
        }
        at += line.len();
    }
    None
}

/// What the harness found out about one instance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// All tests that must pass do.
    Resolved,
    /// They do not, and why.
    Unresolved(String),
    /// It was not run.
    NotRun,
}

/// Reads a report of the harness: the summary of a run (`resolved_ids` and its kin), or
/// the reports of instances (`FAIL_TO_PASS` and `PASS_TO_PASS` with what passed and failed).
///
/// # Errors
///
/// When it has neither layout, or contradicts itself.
pub fn report(report: &Value) -> Result<BTreeMap<String, Outcome>, ReportError> {
    let Value::Object(members) = report else {
        return Err(ReportError::Unknown);
    };
    if members.contains_key("resolved_ids") {
        return summary(report);
    }
    let mut found = BTreeMap::new();
    for (id, one) in members {
        found.insert(id.clone(), instance(one).ok_or(ReportError::Unknown)?);
    }
    match found.is_empty() {
        true => Err(ReportError::Unknown),
        false => Ok(found),
    }
}

fn summary(report: &Value) -> Result<BTreeMap<String, Outcome>, ReportError> {
    let not = |why: &str| Outcome::Unresolved(why.to_owned());
    let lists = [
        ("resolved_ids", Outcome::Resolved),
        ("unresolved_ids", not("tests that must pass fail")),
        (
            "error_ids",
            not("the harness could not apply the patch or run the tests"),
        ),
        ("empty_patch_ids", not("the patch is empty")),
        ("incomplete_ids", Outcome::NotRun),
    ];
    let mut found = BTreeMap::new();
    for (name, outcome) in lists {
        let ids = match report.get(name) {
            None | Some(Value::Null) => continue,
            Some(Value::Array(ids)) => ids,
            Some(_) => return Err(ReportError::Unknown),
        };
        for id in ids {
            let id = id.as_str().ok_or(ReportError::Unknown)?;
            let before = found.insert(id.to_owned(), outcome.clone());
            // An instance with an unreadable report is among the errors as well.
            let clashes = before.is_some_and(|before| {
                (before == Outcome::Resolved) != (outcome == Outcome::Resolved)
            });
            if clashes {
                return Err(ReportError::Clash(id.to_owned()));
            }
        }
    }
    Ok(found)
}

fn instance(report: &Value) -> Option<Outcome> {
    let resolved = report.get("resolved").and_then(Value::as_bool);
    let tests = report.get("tests_status").filter(|tests| !tests.is_null());
    let Some(tests) = tests else {
        let says = |key: &str| report.get(key).and_then(Value::as_bool);
        let why = match (says("patch_exists"), says("patch_successfully_applied")) {
            (Some(false), _) => "there is no patch",
            (_, Some(false)) => "the patch does not apply",
            _ => "tests that must pass fail",
        };
        return resolved.map(|resolved| match resolved {
            true => Outcome::Resolved,
            false => Outcome::Unresolved(why.to_owned()),
        });
    };
    let mut failed = Vec::new();
    for kind in ["FAIL_TO_PASS", "PASS_TO_PASS"] {
        let count = |key: &str| Some(tests.get(kind)?.get(key)?.as_array()?.len());
        let (success, failure) = (count("success")?, count("failure")?);
        if failure > 0 {
            failed.push(format!("{success} of {} {kind} pass", success + failure));
        }
    }
    Some(match failed.is_empty() {
        true => Outcome::Resolved,
        false => Outcome::Unresolved(failed.join(", ")),
    })
}

/// Why a report cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReportError {
    /// Neither layout.
    #[error("not a report of the SWE-bench harness")]
    Unknown,
    /// An instance is resolved and is not.
    #[error("the report calls `{0}` both resolved and not resolved")]
    Clash(String),
}

impl Hint for ReportError {
    fn hint(&self) -> Option<String> {
        let hint = "give the file that the harness writes at its end (`MODEL.RUN_ID.json`, with \
                    `resolved_ids`), the `report.json` of an instance, or the folder of a run's \
                    reports, as they are";
        Some(hint.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn patches_in_every_wrapping() {
        let diff = "diff --git a/f.py b/f.py\n--- a/f.py\n+++ b/f.py\n@@ -1 +1 @@\n-a\n+b\n";
        let plain = "--- a/f.py\n+++ b/f.py\n@@ -1 +1 @@\n-a\n+b";
        for (response, expected) in [
            (diff.to_owned(), diff.to_owned()),
            (format!("Here it is:\n\n{diff}"), diff.to_owned()),
            (
                format!("So:\n```diff\n{diff}```\nIt works."),
                diff.to_owned(),
            ),
            (
                format!("```python\nx = 1\n```\n```\n{plain}\n```"),
                format!("{plain}\n"),
            ),
            (
                format!("<patch>\n{plain}\n</patch> done"),
                format!("{plain}\n"),
            ),
            (
                format!("<diff>\n```diff\n{plain}\n```\n</diff>"),
                format!("{plain}\n"),
            ),
            (format!("```diff\n{plain}"), format!("{plain}\n")),
            ("Change a to b.".to_owned(), String::new()),
            ("--- \nno patch".to_owned(), String::new()),
            ("```diff\n\n```".to_owned(), String::new()),
            (String::new(), String::new()),
        ] {
            assert_eq!(patch(&response), expected, "{response}");
        }
    }

    fn tests_of(f2p: (usize, usize), p2p: (usize, usize)) -> Value {
        let list = |n: usize| vec!["t"; n];
        let kind = |(passed, failed): (usize, usize)| json!({"success": list(passed), "failure": list(failed)});
        json!({"x__y-1": {"patch_exists": true, "resolved": true, "tests_status": {
            "FAIL_TO_PASS": kind(f2p), "PASS_TO_PASS": kind(p2p),
        }}})
    }

    #[test]
    fn worked_cases() {
        for (f2p, p2p, expected) in [
            ((3, 0), (40, 0), true),
            ((3, 0), (39, 1), false),
            ((2, 1), (40, 0), false),
        ] {
            let found = report(&tests_of(f2p, p2p)).expect("a report");
            assert_eq!(
                found["x__y-1"] == Outcome::Resolved,
                expected,
                "{f2p:?} {p2p:?}"
            );
        }
        let found = report(&tests_of((2, 1), (40, 0))).expect("a report");
        let why = Outcome::Unresolved("2 of 3 FAIL_TO_PASS pass".into());
        assert_eq!(found["x__y-1"], why);
    }

    #[test]
    fn summaries_of_runs() {
        let found = report(&json!({
            "total_instances": 5, "resolved_ids": ["a"], "unresolved_ids": ["b"],
            "error_ids": ["c"], "empty_patch_ids": ["d"], "incomplete_ids": ["e"],
            "completed_ids": ["a", "b"], "schema_version": 2,
        }))
        .expect("a summary");
        let is_resolved: Vec<(&str, Option<bool>)> = found
            .iter()
            .map(|(id, outcome)| {
                let resolved = match outcome {
                    Outcome::NotRun => None,
                    other => Some(*other == Outcome::Resolved),
                };
                (id.as_str(), resolved)
            })
            .collect();
        let no = Some(false);
        let expected = [
            ("a", Some(true)),
            ("b", no),
            ("c", no),
            ("d", no),
            ("e", None),
        ];
        assert_eq!(is_resolved, expected);
        for (wrong, error) in [
            (json!([]), ReportError::Unknown),
            (json!({}), ReportError::Unknown),
            (json!({"resolved_ids": 3}), ReportError::Unknown),
            (json!({"a": {"score": 1}}), ReportError::Unknown),
            (
                json!({"resolved_ids": ["a"], "unresolved_ids": ["a"]}),
                ReportError::Clash("a".into()),
            ),
        ] {
            assert_eq!(report(&wrong), Err(error), "{wrong}");
        }
        let not_applied = json!({"a": {"patch_exists": true, "patch_successfully_applied": false,
            "resolved": false}});
        let found = report(&not_applied).expect("a report");
        assert_eq!(
            found["a"],
            Outcome::Unresolved("the patch does not apply".into())
        );
    }
}
