//! Answers to SWE-bench as its own harness takes them: a file of predictions per system.

use std::collections::HashSet;

use indexmap::IndexMap;
use serde_json::{Value, json};

use crate::model::EvalRow;
use crate::official::swebench;
use crate::result::EvalResult;
use crate::text::stringify::python_str;

/// What the datasets of SWE-bench are called, or begin with.
const DATASET: &str = "swebench";

/// The predictions of one system.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Predictions {
    /// One JSON object per line: `instance_id`, `model_name_or_path`, `model_patch`.
    pub lines: String,
    /// How many instances have a patch.
    pub patches: usize,
    /// How many were answered without one: the harness counts them as not resolved.
    pub empty: usize,
    /// How many have no answer, and so no line: the harness calls them incomplete.
    pub unanswered: usize,
    /// How many further answers there are to instances that have a line already: the
    /// harness takes one of each.
    pub further: usize,
}

/// The predictions of a run by system; empty when it has no answers to SWE-bench. The texts
/// of rows must be there.
pub fn swebench_predictions(result: &EvalResult) -> IndexMap<String, Predictions> {
    let mut found: IndexMap<String, Predictions> = IndexMap::new();
    let mut seen = HashSet::new();
    let own = result
        .rows
        .iter()
        .filter(|row| row.dataset.starts_with(DATASET));
    for row in own {
        let system = found.entry(row.system.to_string()).or_default();
        let Some(response) = response(row) else {
            system.unanswered += 1;
            continue;
        };
        let id = row.example_id.to_string();
        if !seen.insert((row.system.clone(), id.clone())) {
            system.further += 1;
            continue;
        }
        let patch = swebench::patch(&response);
        match patch.is_empty() {
            true => system.empty += 1,
            false => system.patches += 1,
        }
        let line = json!({
            "instance_id": id,
            "model_name_or_path": &*row.system,
            "model_patch": patch,
        });
        system.lines.push_str(&line.to_string());
        system.lines.push('\n');
    }
    found
}

fn response(row: &EvalRow) -> Option<String> {
    let response = row.text.as_ref()?.response.as_ref();
    let response = response.filter(|response| **response != Value::Null)?;
    Some(python_str(response).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{RowText, Scores};

    #[test]
    fn one_line_per_instance_and_a_file_per_system() {
        let row = |system: &str, id: &str, dataset: &str, response: Option<&str>| {
            let mut row = EvalRow::new(system, id, Scores::new(), 0, 0);
            row.dataset = dataset.into();
            row.text = Some(Box::new(RowText {
                response: response.map(Value::from),
                ..RowText::default()
            }));
            row
        };
        let diff = "--- a/f\n+++ b/f\n";
        let result = EvalResult {
            rows: vec![
                row("a", "x__y-1", "swebench-lite", Some(diff)),
                row("a", "x__y-1", "swebench-lite", Some("no")),
                row("a", "x__y-2", "swebench-lite", Some("I cannot.")),
                row("a", "x__y-3", "swebench-lite", None),
                row("a", "q", "gsm8k", Some("4")),
                row("b", "x__y-1", "swebench-lite", Some(diff)),
            ],
            ..EvalResult::default()
        };
        let found = swebench_predictions(&result);
        let counts: Vec<_> = found
            .iter()
            .map(|(name, one)| {
                (
                    name.as_str(),
                    [one.patches, one.empty, one.unanswered, one.further],
                )
            })
            .collect();
        assert_eq!(counts, [("a", [1, 1, 1, 1]), ("b", [1, 0, 0, 0])]);
        let lines: Vec<Value> = found["a"]
            .lines
            .lines()
            .map(|line| serde_json::from_str(line).expect("JSON"))
            .collect();
        assert_eq!(lines[0]["model_patch"], diff);
        assert_eq!(lines[1]["model_patch"], "");
        assert_eq!(lines[1]["instance_id"], "x__y-2");
    }
}
