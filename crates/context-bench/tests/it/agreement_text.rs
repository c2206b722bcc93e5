//! Agreement with official grades on real outputs of models.
//!
//! Each test prints its share (`cargo test agreement_ -- --nocapture`) and holds
//! a threshold; without the shared folder it is skipped with a message.

use std::collections::BTreeMap;

use context_bench::Example;
use context_bench::evaluator::{ChoiceExtraction, MultipleChoiceAccuracy};
use context_bench::text::choice::{ChoiceOptions, extract};
use serde_json::Value;

use crate::rouge::{agrees, texts};
use crate::worked::{lines, records};

/// Prints agreement and the cases that differ; asserts a lowest share.
fn report(what: &str, outcomes: &[(String, bool)], lowest: f64) {
    if outcomes.is_empty() {
        return;
    }
    let equal = outcomes.iter().filter(|(_, equal)| *equal).count();
    let share = equal as f64 / outcomes.len() as f64;
    eprintln!(
        "{what}: {equal} of {} agree ({:.2} %)",
        outcomes.len(),
        100.0 * share
    );
    for (case, _) in outcomes.iter().filter(|(_, equal)| !equal) {
        eprintln!("  differs: {case}");
    }
    assert!(share >= lowest, "{what}: {share}");
}

fn letters(evaluator: MultipleChoiceAccuracy, choices: &Value, response: &str) -> String {
    let example = Example::new().with("choices", choices.clone());
    match evaluator.extract(&example, response) {
        Ok(choice) => choice.letters.into_iter().collect(),
        Err(reason) => format!("none ({reason})"),
    }
}

#[test]
fn agreement_rouge_dialogsum() {
    let expected: BTreeMap<String, Value> =
        lines(include_str!("../fixtures/rouge/dialogsum.jsonl"))
            .into_iter()
            .map(|record| (record["id"].as_str().unwrap().to_owned(), record))
            .collect();
    let outcomes: Vec<_> = records("data/responses/dialogsum.bart.jsonl")
        .iter()
        .map(|row| {
            let id = row["id"].as_str().unwrap();
            let prediction = row["prediction"].as_str().unwrap();
            let references = texts(&row["references"]);
            (
                id.to_owned(),
                agrees(prediction, &references, &expected[id]),
            )
        })
        .collect();
    report(
        "ROUGE on DialogSum, plain and stemmed, within 1e-9",
        &outcomes,
        1.0,
    );
}

/// Whether the official script found the letter in an answer statement: the
/// other rows carry the last capital of the text (a variable, the pronoun of a
/// refusal) or, when there is none, a letter that the text does not have.
fn states_an_answer(text: &str) -> bool {
    let mut rest = text.split("answer is ").skip(1);
    rest.any(|rest| {
        let rest = rest.strip_prefix('(').unwrap_or(rest);
        rest.starts_with(|c| ('A'..='J').contains(&c))
    })
}

#[test]
fn agreement_mmlu_pro() {
    let rows = records("data/responses/mmlu-pro.outputs.jsonl");
    let outcome = |evaluator: MultipleChoiceAccuracy, row: &Value| {
        let text = row["model_outputs"].as_str().unwrap();
        let found = letters(evaluator, &row["options"], text);
        let pred = row["pred"].as_str().unwrap();
        let case = format!(
            "{} {}: ours {found}, official {pred}, gold {}",
            row["model"].as_str().unwrap(),
            row["question_id"],
            row["answer"]
        );
        (case, found == pred)
    };
    let decisive = MultipleChoiceAccuracy::default();
    let (stated, unstated): (Vec<&Value>, Vec<&Value>) = rows
        .iter()
        .filter(|row| row["pred"].is_string())
        .partition(|row| states_an_answer(row["model_outputs"].as_str().unwrap()));
    let outcomes: Vec<_> = stated.iter().map(|row| outcome(decisive, row)).collect();
    report(
        "MMLU-Pro letters, rows that state an answer",
        &outcomes,
        0.99,
    );

    // Where nothing is stated we choose nothing, instead of the last capital.
    let (none, some): (Vec<String>, Vec<String>) = unstated
        .iter()
        .map(|row| outcome(decisive, row).0)
        .partition(|case| case.contains("ours none"));
    for case in &some {
        eprintln!("  states no answer: {case}");
    }
    let refused = none.len();
    eprintln!(
        "MMLU-Pro rows that state no answer: {} of {} give no letter",
        refused,
        unstated.len()
    );
    assert_eq!(refused, unstated.len());

    // The published rule itself, on every row whose letter occurs in the text.
    let official = MultipleChoiceAccuracy::new(ChoiceExtraction::MmluPro);
    let outcomes: Vec<_> = rows
        .iter()
        .map(|row| outcome(official, row))
        .filter(|(case, _)| !case.contains("ours none"))
        .collect();
    report("MMLU-Pro letters by its published rule", &outcomes, 0.999);
    let all: Vec<_> = rows.iter().map(|row| outcome(decisive, row)).collect();
    let equal = all.iter().filter(|(_, equal)| *equal).count();
    eprintln!("MMLU-Pro letters, all rows: {equal} of {} agree", all.len());
}

#[test]
fn agreement_mmlu_predictions() {
    let outcomes: Vec<_> = records("data/responses/mmlu.predictions.jsonl")
        .iter()
        .map(|row| {
            let text = row["completion_tail"].as_str().unwrap();
            let found = letters(MultipleChoiceAccuracy::default(), &row["choices"], text);
            let pred = row["prediction"].as_str().unwrap();
            (
                format!("ours {found}, theirs {pred}: {text:?}"),
                found == pred,
            )
        })
        .collect();
    report("MMLU predictions", &outcomes, 0.99);
}

#[test]
fn agreement_leval_quality() {
    let outcomes: Vec<_> = records("data/responses/leval.predictions.jsonl")
        .iter()
        .filter(|row| row["task"] == "quality")
        .map(|row| {
            let text = row["pred"].as_str().unwrap();
            // Every prediction begins with its letter.
            let first = text.chars().find(|c| ('A'..='D').contains(c)).unwrap();
            let found = letters(MultipleChoiceAccuracy::default(), &Value::Null, text);
            (
                format!("ours {found}: {text:?}"),
                found == first.to_string(),
            )
        })
        .collect();
    report("L-Eval QuALITY", &outcomes, 0.99);
}

#[test]
fn agreement_infinitebench_choice() {
    let outcomes: Vec<_> = records("data/responses/infinitebench.preds.jsonl")
        .iter()
        .filter(|row| row["task"] == "longbook_choice_eng")
        .map(|row| {
            let text = row["prediction"].as_str().unwrap();
            let first = text.chars().next().unwrap().to_string();
            let found = letters(MultipleChoiceAccuracy::default(), &Value::Null, text);
            (format!("ours {found}: {text:?}"), found == first)
        })
        .collect();
    report("InfiniteBench choices", &outcomes, 0.97);
}

#[test]
fn agreement_bbh_letters() {
    let outcomes: Vec<_> = records("data/responses/bbh.code_davinci_002.jsonl")
        .iter()
        .filter(|row| row["target"].as_str().unwrap().starts_with('('))
        .map(|row| {
            let text = row["prediction"].as_str().unwrap();
            // The official rule: what follows the last "answer is", else the whole text.
            let answer = text.rsplit("answer is ").next().unwrap();
            let answer = answer.trim_matches(|c: char| " .()\n".contains(c));
            // Three outputs end before they answer.
            let answer = if answer.len() == 1 { answer } else { "" };
            // Some of these tasks have more than ten options.
            let options = ChoiceOptions::default().up_to('R');
            let found: String = extract(text, &options)
                .map(|choice| choice.letters.into_iter().collect())
                .unwrap_or_default();
            let tail: String = text.chars().rev().take(120).collect();
            let tail: String = tail.chars().rev().collect();
            (
                format!("ours {found}, official {answer:?}: {tail:?}"),
                found == answer,
            )
        })
        .collect();
    report("BBH letters", &outcomes, 0.99);
}

#[test]
fn agreement_evalscope_iquiz() {
    let outcomes: Vec<_> = records("data/responses/evalscope.reviews.jsonl")
        .iter()
        .filter(|row| row["task"].as_str().unwrap().starts_with("iquiz"))
        .map(|row| {
            let score = &row["sample_score"]["score"];
            let text = score["prediction"].as_str().unwrap();
            let theirs = score["extracted_prediction"].as_str().unwrap();
            let found = letters(MultipleChoiceAccuracy::default(), &Value::Null, text);
            (format!("ours {found}, theirs {theirs}"), found == theirs)
        })
        .collect();
    report("evalscope IQuiz", &outcomes, 0.99);
}
