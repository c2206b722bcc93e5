//! Function calls against the verdicts of BFCL's own checker.

use context_bench::Example;
use context_bench::evaluator::{CallFormat, FunctionCallMatch};
use serde_json::Value;

use crate::data::records;
use crate::harness::Ignored;
use crate::report::{Report, Tally};

const NOT_DECODED: &str = "ast_decoder:decoder_failed";

/// The score of a reply, and why.
fn score(format: CallFormat, example: &Value, reply: &Value) -> (f64, String) {
    let example = Example::try_from(example.clone()).unwrap();
    let score = FunctionCallMatch::new(format)
        .check(&example, reply)
        .unwrap();
    let reason = score.reason().unwrap_or("valid").to_owned();
    (score.get().unwrap_or(0.0), reason)
}

pub(crate) fn graded(report: &mut Report) -> Result<(), Ignored> {
    let mut strict = Tally::new("bfcl", "gpt-4o, format=bfcl").note("BFCL's checker, August 2024");
    let mut lenient = Tally::new("bfcl", "gpt-4o, format=any, decoded by BFCL")
        .note("replies in a notation that BFCL refuses are left out");
    for record in records("responses/bfcl.gpt-4o_graded.jsonl") {
        let reply = &record.value["result"];
        let official = f64::from(u8::from(record.value["valid"].as_bool().unwrap()));
        let why = |reason: &str| {
            let (id, error) = (&record.value["id"], &record.value["error_type"]);
            format!("{id}: ours {reason}, official {error}")
        };
        let (ours, reason) = score(CallFormat::Bfcl, &record.value, reply);
        strict.add(&record, official, ours, || why(&reason));
        if record.value["error_type"] != NOT_DECODED {
            let (ours, reason) = score(CallFormat::Any, &record.value, reply);
            lenient.add(&record, official, ours, || why(&reason));
        }
    }
    strict.at_least(0.97, report);
    lenient.at_least(0.97, report);
    Ok(())
}

pub(crate) fn failures(report: &mut Report) -> Result<(), Ignored> {
    let mut tally = Tally::new("bfcl", "gpt-4o failures, format=bfcl")
        .note("only replies that BFCL's checker refused");
    for record in records("responses/bfcl.failures.jsonl") {
        if record.value["kind"] == "summary" {
            continue;
        }
        let mut example = record.value["prompt"].clone();
        example["possible_answer"] = record.value["possible_answer"].clone();
        example["test_category"] = record.value["test_category"].clone();
        let reply = &record.value["model_result_raw"];
        let (ours, reason) = score(CallFormat::Bfcl, &example, reply);
        let official = record.text("error_type");
        tally.add(&record, 0.0, ours, || {
            format!("{}: official {official}", example["id"])
        });
        if official == NOT_DECODED {
            assert!(reason.starts_with(official), "{}: {reason}", example["id"]);
        }
    }
    tally.at_least(1.0, report);
    Ok(())
}
