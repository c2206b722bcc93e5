//! IFEval against official verdicts on real model outputs.

use context_bench::evaluator::IfEvalChecker;
use context_bench_testkit::shared;
use serde_json::Value;

/// Verdicts of the official code (nltk 3.9.1, langdetect 1.0.9 with seed 0) on
/// the GPT-4 responses: a record's key and one digit per instruction.
const GPT4: &str = include_str!("../golden/ifeval/gpt4_verdicts.jsonl");

fn records(path: &str) -> Option<Vec<Value>> {
    let text = std::fs::read_to_string(shared::path(path)?).unwrap();
    let records = text.lines().map(serde_json::from_str);
    Some(records.collect::<Result<_, _>>().unwrap())
}

/// Counts equal verdicts and remembers the others.
#[derive(Default)]
struct Agreement {
    equal: usize,
    different: Vec<String>,
}

impl Agreement {
    fn compare(&mut self, record: &Value, ours: &[bool], official: &[bool]) {
        let ids = record["instruction_id_list"].as_array().unwrap();
        assert_eq!(ours.len(), official.len());
        for ((id, ours), official) in ids.iter().zip(ours).zip(official) {
            if ours == official {
                self.equal += 1;
            } else {
                let (key, model) = (&record["key"], &record["model"]);
                let line = format!("{id} of key {key}, {model}: ours {ours}, theirs {official}");
                self.different.push(line);
            }
        }
    }

    fn check(&self, what: &str, at_least: f64) {
        let total = self.equal + self.different.len();
        let share = self.equal as f64 / total as f64;
        eprintln!(
            "{what}: {} of {total} equal ({:.2} %)",
            self.equal,
            100.0 * share
        );
        for line in &self.different {
            eprintln!("  {line}");
        }
        assert!(share >= at_least, "{what}: {share} is below {at_least}");
    }
}

fn flags(value: &Value) -> Vec<bool> {
    let flags = value.as_array().unwrap().iter();
    flags.map(|flag| flag.as_bool().unwrap()).collect()
}

#[test]
fn agreement_ifeval_with_graded_responses() {
    let Some(records) = records("data/responses/ifeval.m_ifeval_graded.jsonl") else {
        return;
    };
    let (mut strict, mut loose) = (Agreement::default(), Agreement::default());
    for record in &records {
        let response = record["response"].as_str().unwrap();
        let ids = &record["instruction_id_list"];
        let verdicts = IfEvalChecker::check(ids, Some(&record["kwargs"]), response).unwrap();
        let official = flags(&record["strict_follow_instruction_list"]);
        strict.compare(record, &verdicts.strict, &official);
        let official = flags(&record["loose_follow_instruction_list"]);
        loose.compare(record, &verdicts.loose, &official);
    }
    // What differs: `#` and `!` as letters (an older official version checked a
    // random letter instead), and a language drawn without a seed.
    strict.check("IFEval strict, graded by M-IFEval", 0.99);
    loose.check("IFEval loose, graded by M-IFEval", 0.99);
}

#[test]
fn agreement_ifeval_with_the_official_code() {
    let (Some(prompts), Some(responses)) = (
        records("data/full/ifeval.jsonl"),
        records("data/responses/ifeval.gpt4_20231107.jsonl"),
    ) else {
        return;
    };
    let (mut strict, mut loose) = (Agreement::default(), Agreement::default());
    for line in GPT4.lines() {
        let golden: Value = serde_json::from_str(line).unwrap();
        let record = prompts.iter().find(|one| one["key"] == golden["key"]);
        let record = record.unwrap();
        let prompt = record["prompt"].as_str().unwrap().trim();
        let response = responses
            .iter()
            .find(|one| one["prompt"].as_str().unwrap().trim() == prompt);
        let response = response.unwrap()["response"].as_str().unwrap();
        let ids = &record["instruction_id_list"];
        let verdicts = IfEvalChecker::check(ids, Some(&record["kwargs"]), response).unwrap();
        let digits = |key: &str| -> Vec<bool> {
            let digits = golden[key].as_str().unwrap().chars();
            digits.map(|digit| digit == '1').collect()
        };
        strict.compare(record, &verdicts.strict, &digits("strict"));
        loose.compare(record, &verdicts.loose, &digits("loose"));
    }
    strict.check("IFEval strict, GPT-4 by the official code", 1.0);
    loose.check("IFEval loose, GPT-4 by the official code", 1.0);
}

/// All 541 published prompts can be judged.
#[test]
fn agreement_ifeval_knows_every_published_instruction() {
    for record in records("data/full/ifeval.jsonl").unwrap_or_default() {
        let ids = &record["instruction_id_list"];
        let verdicts = IfEvalChecker::check(ids, Some(&record["kwargs"]), "A response.");
        assert!(verdicts.is_ok(), "{}: {verdicts:?}", record["key"]);
    }
}
