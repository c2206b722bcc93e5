//! Calls in Java and JavaScript against the verdicts of BFCL's own decoder and checker, on
//! calls of our own (`tests/fixtures/README.md`).

use context_bench_scoring::evaluator::{CallFormat, FunctionCallMatch};
use context_bench_scoring::model::Example;
use serde_json::Value;

#[test]
fn agreement_bfcl_in_java_and_javascript() {
    let cases = include_str!("../fixtures/bfcl_languages.jsonl").lines();
    let cases: Vec<Value> = cases
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let mut differ = Vec::new();
    for case in &cases {
        let language = case["language"].as_str().unwrap();
        let example = Example::try_from(case.clone()).unwrap();
        let example = example.with("category", format!("simple_{language}"));
        let score = FunctionCallMatch::new(CallFormat::Bfcl).check(&example, &case["reply"]);
        let score = score.unwrap();
        if score.get() != case["valid"].as_f64() {
            let reason = score.reason().unwrap_or("valid");
            differ.push(format!(
                "{} is {} officially, ours: {reason}",
                case["reply"], case["valid"]
            ));
        }
    }
    let (equal, total) = (cases.len() - differ.len(), cases.len());
    eprintln!("BFCL, Java and JavaScript: {equal} of {total} verdicts of bfcl-eval equal");
    assert!(differ.is_empty(), "{}", differ.join("\n"));
}
