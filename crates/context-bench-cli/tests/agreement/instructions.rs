//! IFEval, instruction by instruction.

use context_bench::evaluator::IfEvalChecker;
use serde_json::Value;

use crate::data::{Record, records};
use crate::harness::Ignored;
use crate::report::{Report, Tally};

/// Verdicts of the official code (nltk 3.9.1, langdetect 1.0.9 with seed 0) on
/// the GPT-4 responses: a record's key and one digit per instruction.
const GPT4: &str =
    include_str!("../../../context-bench-scoring/tests/golden/ifeval/gpt4_verdicts.jsonl");

fn compare(tally: &mut Tally, record: &Record, task: &Value, ours: &[bool], official: &[bool]) {
    let ids = task["instruction_id_list"].as_array().unwrap();
    assert_eq!(ours.len(), official.len());
    for ((id, ours), official) in ids.iter().zip(ours).zip(official) {
        let number = |verdict: bool| f64::from(u8::from(verdict));
        tally.add(record, number(*official), number(*ours), || {
            let (key, model) = (&task["key"], &record.value["model"]);
            format!("{id} of key {key}, {model}: ours {ours}, official {official}")
        });
    }
}

fn flags(value: &Value) -> Vec<bool> {
    let flags = value.as_array().unwrap().iter();
    flags.map(|flag| flag.as_bool().unwrap()).collect()
}

pub(crate) fn graded(report: &mut Report) -> Result<(), Ignored> {
    // What differs: `#` and `!` as letters (an older official version checked a random letter
    // instead), and a language drawn without a seed.
    let note = "per instruction, against the checker of M-IFEval";
    let mut strict = Tally::new("ifeval", "several models, strict").note(note);
    let mut loose = Tally::new("ifeval", "several models, loose").note(note);
    for record in records("responses/ifeval.m_ifeval_graded.jsonl") {
        let task = &record.value;
        let ids = &task["instruction_id_list"];
        let response = record.text("response");
        let verdicts = IfEvalChecker::check(ids, Some(&task["kwargs"]), response).unwrap();
        let official = flags(&task["strict_follow_instruction_list"]);
        compare(&mut strict, &record, task, &verdicts.strict, &official);
        let official = flags(&task["loose_follow_instruction_list"]);
        compare(&mut loose, &record, task, &verdicts.loose, &official);
    }
    strict.at_least(0.99, report);
    loose.at_least(0.99, report);
    Ok(())
}

pub(crate) fn official_code(report: &mut Report) -> Result<(), Ignored> {
    let tasks = records("full/ifeval.jsonl");
    let responses = records("responses/ifeval.gpt4_20231107.jsonl");
    // All published prompts can be judged.
    for task in &tasks {
        let ids = &task.value["instruction_id_list"];
        let verdicts = IfEvalChecker::check(ids, Some(&task.value["kwargs"]), "A response.");
        assert!(verdicts.is_ok(), "{}: {verdicts:?}", task.value["key"]);
    }
    let note = "per instruction, against Google's code";
    let mut strict = Tally::new("ifeval", "gpt-4, strict").note(note);
    let mut loose = Tally::new("ifeval", "gpt-4, loose").note(note);
    for line in GPT4.lines() {
        let golden: Value = serde_json::from_str(line).unwrap();
        let task = tasks.iter().find(|one| one.value["key"] == golden["key"]);
        let task = task.unwrap();
        let prompt = task.text("prompt").trim();
        let response = responses
            .iter()
            .find(|one| one.text("prompt").trim() == prompt);
        let response = response.unwrap();
        let ids = &task.value["instruction_id_list"];
        let kwargs = Some(&task.value["kwargs"]);
        let verdicts = IfEvalChecker::check(ids, kwargs, response.text("response")).unwrap();
        let digits = |key: &str| -> Vec<bool> {
            let digits = golden[key].as_str().unwrap().chars();
            digits.map(|digit| digit == '1').collect()
        };
        compare(
            &mut strict,
            response,
            &task.value,
            &verdicts.strict,
            &digits("strict"),
        );
        compare(
            &mut loose,
            response,
            &task.value,
            &verdicts.loose,
            &digits("loose"),
        );
    }
    strict.at_least(1.0, report);
    loose.at_least(1.0, report);
    Ok(())
}
