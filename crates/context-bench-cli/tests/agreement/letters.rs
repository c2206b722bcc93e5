//! Options that responses choose: MMLU-Pro, MMLU, QuALITY, BBH, IQuiz.

use context_bench::Example;
use context_bench::evaluator::{ChoiceExtraction, MathEquivalence, MultipleChoiceAccuracy};
use context_bench_scoring::text::choice::{ChoiceOptions, extract};
use serde_json::Value;

use crate::data::{Record, records};
use crate::harness::Ignored;
use crate::report::{Report, Tally};

/// The letters that a response chooses; in brackets why there are none.
fn chosen(extraction: ChoiceExtraction, choices: &Value, response: &str) -> String {
    let example = Example::new().with("choices", choices.clone());
    match MultipleChoiceAccuracy::new(extraction).extract(&example, response) {
        Ok(choice) => choice.letters.into_iter().collect(),
        Err(reason) => format!("none ({reason})"),
    }
}

/// Compares letters; the figures are shares of right ones.
fn add(tally: &mut Tally, record: &Record, gold: &str, official: &str, ours: &str) {
    let right = |letter: &str| f64::from(u8::from(letter == gold));
    let figures = (right(official), right(ours));
    tally.judge(record, figures, official == ours, || {
        format!("ours {ours}, official {official}, gold {gold}")
    });
}

/// Whether the official script found the letter in an answer statement: the other rows carry
/// the last capital of the text (a variable, the pronoun of a refusal) or, when there is none,
/// a letter that the text does not have.
fn states_an_answer(text: &str) -> bool {
    let mut rest = text.split("answer is ").skip(1);
    rest.any(|rest| {
        let rest = rest.strip_prefix('(').unwrap_or(rest);
        rest.starts_with(|c| ('A'..='J').contains(&c))
    })
}

pub(crate) fn mmlu_pro(report: &mut Report) -> Result<(), Ignored> {
    let mut published = Tally::new("mmlu-pro", "extraction=mmlu_pro").note("the published letter");
    let mut decisive = Tally::new("mmlu-pro", "extraction=decisive, answer stated")
        .note("outputs that state an answer; in the others we choose none");
    for record in records("responses/mmlu-pro.outputs.jsonl") {
        let (text, options) = (record.text("model_outputs"), &record.value["options"]);
        let (gold, official) = (record.text("answer"), record.text("pred"));
        let ours = chosen(ChoiceExtraction::MmluPro, options, text);
        add(&mut published, &record, gold, official, &ours);
        let ours = chosen(ChoiceExtraction::Decisive, options, text);
        if states_an_answer(text) {
            add(&mut decisive, &record, gold, official, &ours);
        } else if !record.held_out {
            assert!(
                ours.starts_with("none"),
                "{}: {ours}",
                record.value["question_id"]
            );
        }
    }
    published.at_least(1.0, report);
    decisive.at_least(0.99, report);
    Ok(())
}

pub(crate) fn mmlu(report: &mut Report) -> Result<(), Ignored> {
    let mut tally = Tally::new("mmlu", "extraction=decisive").note("the letter that was stored");
    for record in records("responses/mmlu.predictions.jsonl") {
        let text = record.text("completion_tail");
        let ours = chosen(ChoiceExtraction::Decisive, &record.value["choices"], text);
        let gold = record.value["answer"].as_u64().unwrap();
        let gold = char::from(b'A' + u8::try_from(gold).unwrap()).to_string();
        add(&mut tally, &record, &gold, record.text("prediction"), &ours);
    }
    tally.at_least(0.99, report);
    Ok(())
}

/// L-Eval takes the capitals from A to D that stand at the beginning of an output.
pub(crate) fn quality(report: &mut Report) -> Result<(), Ignored> {
    let mut tally = Tally::new("quality", "extraction=decisive").note("L-Eval's outputs and rule");
    for record in records("responses/leval.predictions.jsonl") {
        if record.value["task"] != "quality" {
            continue;
        }
        let text = record.text("pred");
        let letter = |text: &str| text.chars().find(|c| ('A'..='D').contains(c)).unwrap();
        let ours = chosen(ChoiceExtraction::Decisive, &Value::Null, text);
        let (gold, official) = (letter(record.text("gt")), letter(text));
        add(
            &mut tally,
            &record,
            &gold.to_string(),
            &official.to_string(),
            &ours,
        );
    }
    tally.at_least(0.99, report);
    Ok(())
}

pub(crate) fn bbh(report: &mut Report) -> Result<(), Ignored> {
    let mut tally = Tally::new("bbh", "letters, extraction=decisive").note("the published rule");
    for record in records("responses/bbh.code_davinci_002.jsonl") {
        let target = record.text("target");
        let Some(gold) = target.strip_prefix('(') else {
            continue;
        };
        let text = record.text("prediction");
        let said = context_bench_scoring::official::bbh::answer(text).trim_matches(['(', ')']);
        // Three outputs end before they answer.
        let official = if said.len() == 1 { said } else { "" };
        // Some of these tasks have more than ten options.
        let options = ChoiceOptions::default().up_to('R');
        let ours: String = extract(text, &options)
            .map(|choice| choice.letters.into_iter().collect())
            .unwrap_or_default();
        add(
            &mut tally,
            &record,
            gold.trim_end_matches(')'),
            official,
            &ours,
        );
    }
    tally.at_least(0.99, report);
    Ok(())
}

/// Reviews of another harness.
pub(crate) fn evalscope(report: &mut Report) -> Result<(), Ignored> {
    let mut quiz = Tally::new("iquiz", "extraction=decisive").note("evalscope's letter");
    let mut gsm8k = Tally::new("gsm8k", "qwen-plus").note("evalscope's verdict");
    for record in records("responses/evalscope.reviews.jsonl") {
        let score = &record.value["sample_score"]["score"];
        let text = score["prediction"].as_str().unwrap();
        let target = record.text("target");
        if record.text("task").starts_with("iquiz") {
            let official = score["extracted_prediction"].as_str().unwrap();
            let ours = chosen(ChoiceExtraction::Decisive, &Value::Null, text);
            add(&mut quiz, &record, target, official, &ours);
        } else if record.text("task").starts_with("gsm8k") {
            let ours = MathEquivalence::compare(text, target).get().unwrap();
            let official = score["value"]["acc"].as_f64().unwrap();
            gsm8k.add(&record, official, ours, || {
                format!("official {official}, ours {ours}")
            });
        }
    }
    quiz.at_least(0.99, report);
    gsm8k.at_least(0.99, report);
    Ok(())
}
