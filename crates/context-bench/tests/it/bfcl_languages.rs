//! Calls in Java and JavaScript against the verdicts of bfcl-eval on our own cases.

use context_bench::Example;
use context_bench::evaluator::{CallFormat, FunctionCallMatch};

#[test]
fn java_and_javascript() {
    let cases = crate::worked::lines(include_str!("../fixtures/bfcl_languages.jsonl"));
    let mut differ = Vec::new();
    for case in &cases {
        let mut example = case.clone();
        let language = case["language"].as_str().unwrap();
        example["category"] = format!("simple_{language}").into();
        let example = Example::try_from(example).unwrap();
        let score = FunctionCallMatch::new(CallFormat::Bfcl)
            .check(&example, &case["reply"])
            .unwrap();
        if (score.get() == Some(1.0)) != (case["valid"] == 1) {
            let (reply, valid) = (&case["reply"], &case["valid"]);
            differ.push(format!("{reply} is {valid} officially, ours: {score:?}"));
        }
    }
    assert!(cases.len() > 10);
    assert!(differ.is_empty(), "{}", differ.join("\n"));
}
