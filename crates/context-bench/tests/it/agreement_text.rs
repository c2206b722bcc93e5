//! Agreement with official grades on real outputs of models.
//!
//! Each test prints its share (`cargo test agreement_ -- --nocapture`) and holds
//! a threshold; without the shared folder it is skipped with a message.

use std::collections::BTreeMap;

use context_bench::Example;
use context_bench::evaluator::{ChoiceExtraction, MultipleChoiceAccuracy};
use context_bench::text::choice::{self, ChoiceOptions, extract};
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

/// Both readings on all 602 rows. None of them has a null `pred`: where the
/// official script finds no letter (14 rows) it draws one with a fixed seed, and so
/// does the reading that stands for it. The default reading draws nothing.
#[test]
fn agreement_mmlu_pro() {
    let rows = records("data/responses/mmlu-pro.outputs.jsonl");
    let rows: Vec<&Value> = rows.iter().filter(|row| row["pred"].is_string()).collect();
    if rows.is_empty() {
        return;
    }
    let found = |extraction, row: &Value| {
        let text = row["model_outputs"].as_str().unwrap();
        letters(
            MultipleChoiceAccuracy::new(extraction),
            &row["options"],
            text,
        )
    };
    let show = |row: &Value, found: &str, why: &str| {
        let (model, id) = (row["model"].as_str().unwrap(), &row["question_id"]);
        let (pred, gold) = (&row["pred"], &row["answer"]);
        eprintln!("  {why}: {model} {id}: ours {found}, official {pred}, gold {gold}");
    };
    let share = |n: usize| 100.0 * n as f64 / rows.len() as f64;

    let published: Vec<String> = rows
        .iter()
        .map(|row| found(ChoiceExtraction::MmluPro, row))
        .collect();
    let drawn = rows
        .iter()
        .filter(|row| choice::extract_mmlu_pro(row["model_outputs"].as_str().unwrap(), 0).is_err())
        .count();
    let mut equal = 0;
    for (row, found) in rows.iter().zip(&published) {
        if row["pred"] == found.as_str() {
            equal += 1;
        } else {
            show(row, found, "differs");
        }
    }
    eprintln!(
        "MMLU-Pro, extraction=mmlu_pro: {equal} of {} agree ({:.2} %); {drawn} of them have no letter in the text and are drawn, as the official script does",
        rows.len(),
        share(equal),
    );
    assert!(share(equal) >= 98.0);

    // By default a letter counts only where the text decides for it, so the last
    // capital of an unfinished text is no choice.
    let (mut equal, mut stated, mut equal_stated, mut refused) = (0, 0, 0, 0);
    for row in &rows {
        let states = states_an_answer(row["model_outputs"].as_str().unwrap());
        let found = found(ChoiceExtraction::Decisive, row);
        let agrees = row["pred"] == found.as_str();
        equal += usize::from(agrees);
        stated += usize::from(states);
        equal_stated += usize::from(states && agrees);
        match (agrees, states) {
            (true, _) => {}
            (false, true) => show(row, &found, "differs"),
            (false, false) => {
                refused += usize::from(found.starts_with("none"));
                show(row, &found, "states no answer");
            }
        }
    }
    eprintln!(
        "MMLU-Pro, extraction=decisive: {equal} of {} agree ({:.2} %); of those that state an answer {equal_stated} of {stated} ({:.2} %); of the {} others {refused} give no letter",
        rows.len(),
        share(equal),
        100.0 * equal_stated as f64 / stated as f64,
        rows.len() - stated
    );
    assert!(equal_stated as f64 / stated as f64 >= 0.99);
    assert_eq!(refused, rows.len() - stated);
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
