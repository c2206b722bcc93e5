//! Runs the original tool's worked cases of one evaluator.
//!
//! Deliberate differences are listed by case id with our outcome; each must
//! still differ and be named in `docs/differences.md`.

use std::collections::BTreeMap;

use context_bench::{Evaluator, Example, Output};
use context_bench_testkit::{shared, worked};
use serde_json::{Map, Value, json};

/// Case ids and what ours is, as JSON.
pub(crate) type Differences = &'static [(&'static str, &'static str)];

/// Compares `ours` with every case of a component, numbers within 1e-9.
/// Of a map only the keys of the case count: we may give more scores.
pub(crate) fn check(component: &str, differences: Differences, ours: impl Fn(&Value) -> Value) {
    let differences: BTreeMap<&str, &str> = differences.iter().copied().collect();
    let mut wrong = Vec::new();
    let mut seen = 0;
    for case in worked::cases_of(component) {
        let id = case["id"].as_str().unwrap();
        let (found, theirs) = (ours(&case["input"]), &case["expected"]);
        let expected = match differences.get(id) {
            None => theirs.clone(),
            Some(other) => {
                seen += 1;
                if close(&found, theirs) {
                    wrong.push(format!("{id} no longer differs"));
                }
                if !include_str!("../../../../docs/differences.md").contains(id) {
                    wrong.push(format!("{id} is not named in docs/differences.md"));
                }
                serde_json::from_str(other).unwrap()
            }
        };
        if !close(&found, &expected) {
            wrong.push(format!(
                "{id}: {} gives {found}, expected {expected}",
                case["input"]
            ));
        }
    }
    assert_eq!(
        seen,
        differences.len(),
        "a listed difference is not a case of {component}"
    );
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The scores of an evaluator for a case with `original` and `processed`.
pub(crate) fn scores(evaluator: &dyn Evaluator, input: &Value) -> Value {
    let example = Example::try_from(input["original"].clone()).unwrap();
    let output = Output::from(input["processed"].as_object().unwrap().clone());
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let scores = runtime
        .block_on(evaluator.score(&example, &output))
        .unwrap();
    let values = scores
        .iter()
        .map(|(name, score)| (name.to_string(), json!(score.get())));
    values.collect::<Map<_, _>>().into()
}

fn close(found: &Value, expected: &Value) -> bool {
    match (found, expected) {
        (Value::Object(found), Value::Object(expected)) => expected
            .iter()
            .all(|(key, value)| found.get(key).is_some_and(|found| close(found, value))),
        (Value::Number(a), Value::Number(b)) => {
            (a.as_f64().unwrap() - b.as_f64().unwrap()).abs() < 1e-9
        }
        _ => found == expected,
    }
}

/// The records of a shared JSONL file.
pub(crate) fn records(relative: &str) -> Vec<Value> {
    lines(&std::fs::read_to_string(shared::path(relative)).unwrap())
}

/// The records of JSONL text.
pub(crate) fn lines(text: &str) -> Vec<Value> {
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}
