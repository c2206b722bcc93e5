//! Mathematics: GSM8K, MATH, MGSM.

use context_bench::evaluator::MathEquivalence;
use context_bench_scoring::official;
use context_bench_testkit::shared;

use crate::data::{Record, records};
use crate::harness::Ignored;
use crate::report::{Report, Tally};

fn equivalent(response: &str, gold: &str) -> f64 {
    MathEquivalence::compare(response, gold).get().unwrap()
}

fn add(tally: &mut Tally, record: &Record, gold: &str, response: &str, official: bool) {
    let ours = equivalent(response, gold);
    tally.add(record, f64::from(u8::from(official)), ours, || {
        let tail: Vec<char> = response.chars().rev().take(80).collect();
        let tail: String = tail.into_iter().rev().collect();
        format!("official {official}, ours {ours}: gold `{gold}`, `…{tail}`")
    });
}

pub(crate) fn gsm8k(report: &mut Report) -> Result<(), Ignored> {
    let records = records("responses/gsm8k.openai_solutions.jsonl");
    for system in [
        "6b_finetuning",
        "6b_verification",
        "175b_finetuning",
        "175b_verification",
    ] {
        let mut tally = Tally::new("gsm8k", system).note("math_equiv against `is_correct`");
        for record in &records {
            let solution = &record.value[system];
            let official = solution["is_correct"].as_bool().unwrap();
            let text = solution["solution"].as_str().unwrap();
            add(
                &mut tally,
                record,
                record.text("ground_truth"),
                text,
                official,
            );
        }
        tally.at_least(0.99, report);
    }
    Ok(())
}

/// The last number is the answer where nothing announces one, as in the flexible reading of
/// GSM8K. A few solutions end in another number. No outputs: no row.
pub(crate) fn gsm8k_gold(_: &mut Report) -> Result<(), Ignored> {
    let records = records("raw/gsm8k.main.jsonl");
    let right = records.iter().filter(|record| {
        let gold = record.text("answer");
        let solution = gold.split("####").next().unwrap();
        equivalent(solution, gold) == 1.0
    });
    assert!(right.count() as f64 >= 0.97 * records.len() as f64);
    Ok(())
}

pub(crate) fn math(report: &mut Report) -> Result<(), Ignored> {
    let mut short = Tally::new("math", "math_equiv").note("against the verdicts of Qwen's grader");
    let mut long = Tally::new("math", "math_equiv, gold solution")
        .note("against the verdicts of Qwen's grader");
    let mut strict = Tally::new("math", "math")
        .note("the authors' comparison of texts against Qwen's grader, which accepts more")
        .out_of_sample();
    for record in records("responses/math.qwen_cot.jsonl") {
        let samples = record.value["code"].as_array().unwrap();
        let scores = record.value["score"].as_array().unwrap();
        for (sample, score) in samples.iter().zip(scores) {
            let (sample, official) = (sample.as_str().unwrap(), score.as_bool().unwrap());
            add(&mut short, &record, record.text("gt"), sample, official);
            add(
                &mut long,
                &record,
                record.text("solution"),
                sample,
                official,
            );
            let ours = official::math::score(sample, record.text("gt"));
            strict.add(&record, f64::from(u8::from(official)), ours, || {
                let said = official::math::last_box(sample);
                format!(
                    "official {official}, ours {ours}: {said:?}, gold {}",
                    record.text("gt")
                )
            });
        }
    }
    short.at_least(0.98, report);
    long.at_least(0.98, report);
    strict.tell(report);
    Ok(())
}

/// Every gold solution of MATH has an answer and equals itself, also in prose. No outputs.
pub(crate) fn math_gold(_: &mut Report) -> Result<(), Ignored> {
    let records = records("raw/math.jsonl");
    let mut found = 0;
    for record in &records {
        let solution = record.text("solution");
        assert_eq!(equivalent(solution, solution), 1.0, "{solution}");
        let answer = context_bench_scoring::math::extract_answer(solution).unwrap();
        let prose = format!("We compute step by step.\n\nThe final answer is ${answer}$. Done.");
        found += usize::from(equivalent(&prose, solution) == 1.0);
    }
    assert!(found as f64 >= 0.99 * records.len() as f64);
    Ok(())
}

/// The numbers of MGSM in the way in which its languages announce answers. The sentences are
/// ours: this shows that the languages are read, not how models write.
pub(crate) fn mgsm(report: &mut Report) -> Result<(), Ignored> {
    let announcements = [
        ("bn", "ধাপে ধাপে: 3 + 4 = 7। উত্তর হল {}।"),
        ("de", "Schritt für Schritt: 3 + 4 = 7. Die Antwort ist {}."),
        ("en", "Step by step: 3 + 4 = 7. The answer is {}."),
        ("es", "Paso a paso: 3 + 4 = 7. La respuesta es {}."),
        ("fr", "Étape par étape : 3 + 4 = 7. La réponse est {}."),
        ("ja", "順番に：3 + 4 = 7。答えは{}です。"),
        ("ru", "Шаг за шагом: 3 + 4 = 7. Ответ — {}."),
        ("sw", "Hatua kwa hatua: 3 + 4 = 7. Jibu ni {}."),
        ("te", "దశలవారీగా: 3 + 4 = 7. సమాధానం {}."),
        ("th", "ทีละขั้นตอน: 3 + 4 = 7 คำตอบคือ {}"),
        ("zh", "逐步解答：3 + 4 = 7。答案是 {}。"),
    ];
    let mut tally = Tally::new("mgsm", "math_equiv").note("outputs written by us, no model's");
    for (language, announcement) in announcements {
        let file = format!("raw/mgsm.{language}.jsonl");
        if shared::find(&format!("data/{file}")).is_none() {
            continue;
        }
        for record in records(&file) {
            let gold = record.value["answer_number"].to_string();
            let right = announcement.replace("{}", &gold);
            let wrong = announcement.replace("{}", &format!("{gold}7"));
            add(&mut tally, &record, &gold, &right, true);
            add(&mut tally, &record, &gold, &wrong, false);
        }
    }
    tally.at_least(1.0, report);
    Ok(())
}
