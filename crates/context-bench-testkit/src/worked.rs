//! Worked cases of the tools that this one is measured against (`worked/README.md`).

use std::path::Path;

use serde_json::Value;

/// The cases of the original tool for one component, such as `MeanScore`.
///
/// # Panics
///
/// When there is none: a test that runs no case tests nothing.
pub fn cases_of(component: &str) -> Vec<Value> {
    let mut cases = original_tool();
    cases.retain(|case| case["component"] == component);
    assert!(!cases.is_empty(), "no worked case is of `{component}`");
    cases
}

/// All cases of the original tool.
pub fn original_tool() -> Vec<Value> {
    match read("context-bench.json") {
        Value::Array(cases) => cases,
        other => panic!("the worked cases are a list, found {other}"),
    }
}

/// The cases of lm-evaluation-harness by kind, such as `prompts`.
pub fn lm_evaluation_harness() -> Value {
    read("lmeval.json")
}

fn read(file: &str) -> Value {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("worked");
    let text = std::fs::read_to_string(folder.join(file)).expect("the worked cases can be read");
    serde_json::from_str(&text).expect("the worked cases are JSON")
}
