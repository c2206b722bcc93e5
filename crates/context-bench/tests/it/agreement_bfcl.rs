//! Function calls against the verdicts of BFCL's own checker.

use context_bench::Example;
use context_bench::evaluator::{CallFormat, FunctionCallMatch};
use context_bench_testkit::shared;
use serde_json::Value;

fn records(path: &str) -> Option<Vec<Value>> {
    let text = std::fs::read_to_string(shared::path(path)?).unwrap();
    let records = text.lines().map(serde_json::from_str);
    Some(records.collect::<Result<_, _>>().unwrap())
}

/// The score of a reply, and why.
fn score(format: CallFormat, example: &Value, reply: &Value) -> (bool, String) {
    let example = Example::try_from(example.clone()).unwrap();
    let score = FunctionCallMatch::new(format)
        .check(&example, reply)
        .unwrap();
    (
        score.get() == Some(1.0),
        score.reason().unwrap_or("valid").to_owned(),
    )
}

#[test]
fn agreement_bfcl_with_graded_replies() {
    let Some(records) = records("data/responses/bfcl.gpt-4o_graded.jsonl") else {
        return;
    };
    for format in [CallFormat::Bfcl, CallFormat::Any] {
        let (mut equal, mut decoded, mut equal_decoded, mut recovered) = (0, 0, 0, 0);
        for record in &records {
            let (valid, reason) = score(format, record, &record["result"]);
            let official = record["valid"].as_bool().unwrap();
            let is_decoded = record["error_type"] != "ast_decoder:decoder_failed";
            decoded += usize::from(is_decoded);
            if valid == official {
                equal += 1;
                equal_decoded += usize::from(is_decoded);
            } else if is_decoded || format == CallFormat::Bfcl {
                let (id, error) = (&record["id"], &record["error_type"]);
                eprintln!("  {id}: ours {reason}, official {error}");
            } else {
                recovered += 1;
            }
        }
        let total = records.len();
        let share = |equal: usize, total: usize| 100.0 * equal as f64 / total as f64;
        eprintln!(
            "BFCL, {format:?}: {equal} of {total} equal ({:.2} %); of those that BFCL decoded {equal_decoded} of {decoded} ({:.2} %); {recovered} right calls in a notation that BFCL refuses",
            share(equal, total),
            share(equal_decoded, decoded),
        );
        assert!(share(equal_decoded, decoded) >= 97.0);
        if format == CallFormat::Bfcl {
            assert!(share(equal, total) >= 97.0);
        }
    }
}

#[test]
fn agreement_bfcl_with_failures() {
    let Some(records) = records("data/responses/bfcl.failures.jsonl") else {
        return;
    };
    let failures = records.iter().filter(|record| record["kind"] != "summary");
    let (mut total, mut invalid, mut recovered) = (0, 0, 0);
    for record in failures {
        let mut example = record["prompt"].clone();
        example["possible_answer"] = record["possible_answer"].clone();
        example["test_category"] = record["test_category"].clone();
        let reply = &record["model_result_raw"];
        let (valid, reason) = score(CallFormat::Bfcl, &example, reply);
        total += 1;
        invalid += usize::from(!valid);
        let official = record["error_type"].as_str().unwrap();
        if official == "ast_decoder:decoder_failed" {
            assert!(reason.starts_with(official), "{}: {reason}", example["id"]);
            recovered += usize::from(score(CallFormat::Any, &example, reply).0);
        } else {
            eprintln!("  {}: ours {reason}, official {official}", example["id"]);
            assert!(
                !score(CallFormat::Any, &example, reply).0,
                "{}",
                example["id"]
            );
        }
    }
    eprintln!(
        "BFCL failures: {invalid} of {total} invalid with format=bfcl; {recovered} of them are right calls in a notation that BFCL refuses"
    );
    assert_eq!(invalid, total);
}
