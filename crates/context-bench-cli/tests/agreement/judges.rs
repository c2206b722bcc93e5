//! Verdicts of judges: what is read in them, and what is measured without one.

use context_bench_scoring::official;
use context_bench_scoring::text::overlap::Overlap;
use context_bench_scoring::text::verdict::{Scale, rating};
use serde_json::Value;

use crate::data::{Record, records};
use crate::harness::Ignored;
use crate::report::{Report, Tally};

const WITHOUT_A_JUDGE: &str = "a judge's verdict beside F1, which is what we have without a judge";

/// What GPT-4 wrote as MT-bench's judge, and the ratings that FastChat read in it.
pub(crate) fn mt_bench(report: &mut Report) -> Result<(), Ignored> {
    let scale = Scale::new(1.0, 10.0).unwrap();
    let mut tally = Tally::new("mt-bench", "claude-3-opus, judged by gpt-4")
        .note("ratings as FastChat read them");
    for record in records("responses/mt-bench.gpt4_single.jsonl") {
        let ours = rating(record.text("judgment"), scale).map(|rating| rating.value);
        let official = record.value["score"].as_f64().unwrap();
        tally.add(
            &record,
            official,
            ours.as_ref().copied().unwrap_or(-1.0),
            || format!("ours {ours:?}, official {official}"),
        );
    }
    tally.at_least(1.0, report);
    let mut first = Tally::new("mt-bench", "the same, by the official rule")
        .note("the first rating in brackets, as FastChat reads it");
    for record in records("responses/mt-bench.gpt4_single.jsonl") {
        let ours = official::mt_bench::rating(record.text("judgment")).unwrap_or(-1.0);
        let official = record.value["score"].as_f64().unwrap();
        first.add(&record, official, ours, || {
            format!("ours {ours}, official {official}")
        });
    }
    first.at_least(1.0, report);
    Ok(())
}

fn overlap(tally: &mut Tally, record: &Record, right: bool, output: &str, gold: &Value) {
    let gold = match gold {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let ours = Overlap::official(output, &gold).f1;
    tally.add(record, f64::from(u8::from(right)), ours, String::new);
}

pub(crate) fn longmemeval(report: &mut Report) -> Result<(), Ignored> {
    for (model, file) in [
        ("llama-3.1-8b", "longmemeval.llama3.1-8b"),
        ("gemini-2.5-flash", "longmemeval.gemini-2.5-flash"),
    ] {
        let mut tally = Tally::new("longmemeval", format!("{model}, f1"))
            .note(WITHOUT_A_JUDGE)
            .out_of_sample()
            .other_measure();
        for record in records(&format!("responses/{file}.jsonl")) {
            let right = match &record.value["autoeval_label"]["label"] {
                Value::Bool(label) => *label,
                // Some verdicts are written `Yes`.
                _ => record.text("evaluation").eq_ignore_ascii_case("yes"),
            };
            let gold = &record.value["answer"];
            overlap(&mut tally, &record, right, record.text("hypothesis"), gold);
        }
        tally.tell(report);
    }
    Ok(())
}

pub(crate) fn locomo(report: &mut Report) -> Result<(), Ignored> {
    let mut tally = Tally::new("locomo", "cognee with gemini, f1")
        .note(WITHOUT_A_JUDGE)
        .out_of_sample()
        .other_measure();
    for record in records("responses/locomo.cognee_gemini.jsonl") {
        let right = record.value["correct"].as_bool().unwrap();
        let gold = &record.value["gold_answers"][0];
        overlap(&mut tally, &record, right, record.text("answer"), gold);
    }
    tally.tell(report);
    Ok(())
}
