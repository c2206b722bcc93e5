//! Agreement of MathEquivalence with the official grades of real responses.
//!
//! Each test prints its share and names every disagreement; see
//! `data/responses/README.md` in the shared folder for the sources.

use context_bench::evaluator::MathEquivalence;
use context_bench_testkit::shared;
use serde_json::Value;

fn records(relative: &str) -> Vec<Value> {
    let Some(path) = shared::path(relative) else {
        return Vec::new();
    };
    let text = std::fs::read_to_string(path).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str(line).unwrap());
    lines.collect()
}

/// Counts verdicts that equal the official ones.
struct Agreement {
    name: String,
    n_same: usize,
    n_all: usize,
}

impl Agreement {
    fn of(name: impl Into<String>) -> Self {
        let name = name.into();
        let (n_same, n_all) = (0, 0);
        Self {
            name,
            n_same,
            n_all,
        }
    }

    fn add(&mut self, gold: &str, response: &str, official: bool) {
        let right = MathEquivalence::compare(response, gold).get() == Some(1.0);
        self.n_all += 1;
        self.n_same += usize::from(right == official);
        if right != official {
            let tail: Vec<char> = response.chars().rev().take(80).collect();
            let tail: String = tail.into_iter().rev().collect();
            eprintln!(
                "{}: official {official}, ours {right}: gold `{gold}`, `…{tail}`",
                self.name
            );
        }
    }

    fn at_least(&self, share: f64) {
        if self.n_all == 0 {
            return;
        }
        #[expect(clippy::cast_precision_loss, reason = "a share of a few thousand")]
        let found = self.n_same as f64 / self.n_all as f64;
        eprintln!(
            "{}: {} of {} = {:.2} %",
            self.name,
            self.n_same,
            self.n_all,
            100.0 * found
        );
        assert!(
            found >= share,
            "{} agrees in {found}, not {share}",
            self.name
        );
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}

#[test]
fn agreement_gsm8k() {
    let records = records("data/responses/gsm8k.openai_solutions.jsonl");
    for system in [
        "6b_finetuning",
        "6b_verification",
        "175b_finetuning",
        "175b_verification",
    ] {
        let mut agreement = Agreement::of(format!("gsm8k {system}"));
        for record in &records {
            let solution = &record[system];
            let official = solution["is_correct"].as_bool().unwrap();
            agreement.add(
                text(&record["ground_truth"]),
                text(&solution["solution"]),
                official,
            );
        }
        agreement.at_least(0.99);
    }
}

#[test]
fn agreement_math() {
    let mut short = Agreement::of("math, gold answer");
    let mut long = Agreement::of("math, gold solution");
    for record in records("data/responses/math.qwen_cot.jsonl") {
        let samples = record["code"].as_array().unwrap();
        let scores = record["score"].as_array().unwrap();
        for (sample, score) in samples.iter().zip(scores) {
            let official = score.as_bool().unwrap();
            short.add(text(&record["gt"]), text(sample), official);
            long.add(text(&record["solution"]), text(sample), official);
        }
    }
    short.at_least(0.98);
    long.at_least(0.98);
}

/// Every gold solution of MATH has an answer and equals itself, and no two
/// different gold answers of neighbours are confused.
#[test]
fn agreement_math_with_itself() {
    let mut itself = Agreement::of("math, gold against itself");
    let mut found = Agreement::of("math, gold against its answer with prose");
    for record in records("data/raw/math.jsonl") {
        let solution = text(&record["solution"]);
        itself.add(solution, solution, true);
        let answer = context_bench::math::extract_answer(solution).unwrap();
        let prose = format!("We compute step by step.\n\nThe final answer is ${answer}$. Done.");
        found.add(solution, &prose, true);
    }
    itself.at_least(1.0);
    found.at_least(0.99);
}

/// The numbers of MGSM in the way in which its languages announce answers.
#[test]
fn agreement_mgsm() {
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
    for (language, announcement) in announcements {
        let mut agreement = Agreement::of(format!("mgsm {language}"));
        for record in records(&format!("data/raw/mgsm.{language}.jsonl")) {
            let gold = record["answer_number"].to_string();
            agreement.add(&gold, &announcement.replace("{}", &gold), true);
            let wrong = format!("{gold}7");
            agreement.add(&gold, &announcement.replace("{}", &wrong), false);
        }
        agreement.at_least(1.0);
    }
}

/// The last number is the answer where nothing announces one, as in the
/// flexible extraction of GSM8K. A few solutions end in another number.
#[test]
fn agreement_gsm8k_without_marker() {
    let mut agreement = Agreement::of("gsm8k, gold without its last line");
    for record in records("data/raw/gsm8k.main.jsonl") {
        let gold = text(&record["answer"]);
        let solution = gold.split("####").next().unwrap();
        agreement.add(gold, solution, true);
    }
    agreement.at_least(0.97);
}
