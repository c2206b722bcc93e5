//! Calls in Java and JavaScript against verdicts that bfcl-eval gave for the same cases.

use context_bench::Example;
use context_bench::evaluator::{CallFormat, FunctionCallMatch};

#[test]
fn calls_in_java_and_javascript_get_the_official_verdict() {
    let cases = crate::worked::lines(include_str!("../fixtures/bfcl_languages.jsonl"));
    assert!(!cases.is_empty());
    let evaluator = FunctionCallMatch::new(CallFormat::Bfcl);
    let mut differ = Vec::new();
    for case in &cases {
        let mut example = case.clone();
        let language = case["language"].as_str().unwrap();
        example["category"] = format!("simple_{language}").into();
        let example = Example::try_from(example).unwrap();
        let score = evaluator.check(&example, &case["reply"]).unwrap();
        if (score.get() == Some(1.0)) != (case["valid"] == 1) {
            let reason = score.reason().unwrap_or("valid");
            differ.push(format!(
                "{} is {} officially, ours: {reason}",
                case["reply"], case["valid"]
            ));
        }
    }
    assert!(differ.is_empty(), "{}", differ.join("\n"));
}
