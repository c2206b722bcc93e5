//! How LoCoMo's own score relates to what judges said about the same answers, on recorded
//! grades. Information, no measure of quality: nothing is fitted to it.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use context_bench_scoring::official::locomo::{self, Category};
use context_bench_scoring::text::stringify::python_str;
use context_bench_testkit_macros::needs_shared;
use serde_json::Value;

/// One answer: the official score, and whether the judge took it for right.
type Answer = (f64, bool);

fn records(file: &str) -> Vec<Value> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    let root = std::env::var_os("CONTEXT_BENCH_SHARED").map_or(beside, Into::into);
    let text = fs::read_to_string(root.join("data/responses").join(file)).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn official(category: &str, answer: &Value, gold: &Value) -> f64 {
    let category = Category::named(category).unwrap();
    locomo::score(category, answer.as_str().unwrap(), &python_str(gold))
}

/// The correlation of a score with a verdict (point-biserial, which is Pearson's).
fn correlation(answers: &[Answer]) -> f64 {
    let n = answers.len() as f64;
    let pairs = answers
        .iter()
        .map(|(score, right)| (*score, f64::from(u8::from(*right))));
    let pairs: Vec<(f64, f64)> = pairs.collect();
    let (x, y) = pairs
        .iter()
        .fold((0.0, 0.0), |sum, p| (sum.0 + p.0, sum.1 + p.1));
    let (x, y) = (x / n, y / n);
    let sums = pairs.iter().fold((0.0, 0.0, 0.0), |sum, p| {
        let (dx, dy) = (p.0 - x, p.1 - y);
        (sum.0 + dx * dy, sum.1 + dx * dx, sum.2 + dy * dy)
    });
    sums.0 / (sums.1 * sums.2).sqrt()
}

/// How often an answer that was taken for right scores higher than one that was not; ties
/// are half.
fn ordered(answers: &[Answer]) -> f64 {
    let of = |right: bool| {
        answers
            .iter()
            .filter(move |one| one.1 == right)
            .map(|one| one.0)
    };
    let (mut won, mut pairs) = (0.0, 0.0);
    for right in of(true) {
        for wrong in of(false) {
            pairs += 1.0;
            won += if right > wrong {
                1.0
            } else if right == wrong {
                0.5
            } else {
                0.0
            };
        }
    }
    won / pairs
}

fn line(name: &str, answers: &[Answer]) -> String {
    let n = answers.len() as f64;
    let right = answers.iter().filter(|one| one.1).count() as f64 / n;
    let score = answers.iter().map(|one| one.0).sum::<f64>() / n;
    let (r, order) = (correlation(answers), ordered(answers));
    format!("| {name} | {n} | {right:.3} | {score:.3} | {r:.2} | {order:.2} |")
}

#[needs_shared(
    "data/responses/locomo.judged.jsonl",
    "data/responses/locomo.cognee_gemini.jsonl"
)]
#[test]
fn the_documented_figures_are_those_of_the_recorded_grades() {
    let mut systems: BTreeMap<&str, Vec<Answer>> = BTreeMap::new();
    let mut kinds: BTreeMap<String, Vec<Answer>> = BTreeMap::new();
    for record in records("locomo.judged.jsonl") {
        let category = record["category"].as_str().unwrap();
        let score = official(
            category,
            &record["generated_answer"],
            &record["golden_answer"],
        );
        let verdicts = record["llm_judgments"].as_object().unwrap().values();
        let right = verdicts.filter(|verdict| **verdict == true).count() >= 2;
        if record["model"].as_str().unwrap().starts_with("gpt-4o-mini") {
            systems
                .entry("gpt-4o-mini, whole history")
                .or_default()
                .push((score, right));
            let kind = match category {
                "1" => "multi_hop",
                "2" => "temporal",
                "3" => "open_domain",
                _ => "single_hop",
            };
            kinds
                .entry(format!("– `{kind}`"))
                .or_default()
                .push((score, right));
        } else {
            systems
                .entry("vague, wrong answers")
                .or_default()
                .push((score, right));
        }
    }
    for record in records("locomo.cognee_gemini.jsonl") {
        // Its names are not those of the authors: each stands for another number.
        let category = match record["meta"]["category"].as_str().unwrap() {
            "single-hop" => "1",
            "temporal" => "2",
            "multi-hop" => "3",
            _ => "4",
        };
        let score = official(category, &record["answer"], &record["gold_answers"][0]);
        let right = record["correct"].as_bool().unwrap();
        systems
            .entry("cognee with gemini")
            .or_default()
            .push((score, right));
    }
    let documented = include_str!("../../../../docs/reference/memory.md");
    let kinds = kinds.iter().map(|(name, answers)| line(name, answers));
    let lines = systems
        .iter()
        .map(|(name, answers)| line(name, answers))
        .chain(kinds);
    let missing: Vec<String> = lines.filter(|line| !documented.contains(line)).collect();
    assert!(
        missing.is_empty(),
        "docs/reference/memory.md lacks\n{}",
        missing.join("\n")
    );
}
