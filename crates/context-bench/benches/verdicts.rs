//! `make bench ONLY=verdicts`: what comparing systems costs, from rows to sentences. Nothing here asserts.
#![allow(
    clippy::expect_used,
    clippy::print_stdout,
    missing_docs,
    reason = "a measuring program, not part of the product"
)]

use std::time::Instant;

use context_bench::{ComparisonSettings, EvalResult, EvalRow, Reply, Scores, TokenUse, UsageShape};
use context_bench_scoring::stats::RandomStream;
use serde_json::json;

fn main() {
    // `cargo test --all-targets` runs benches too; only `make bench` measures.
    if !std::env::args().any(|arg| arg == "--bench") {
        println!("nothing measured: run `make bench`");
        return;
    }
    println!("| Paired rows | Score | Resamples | Seconds | Peak MB, rows included |");
    println!("|---|---|---|---|---|");
    for (n, resamples) in [
        (110, None),
        (10_000, None),
        (1_000_000, None),
        (1_000_000, Some(10_000)),
    ] {
        for (kind, is_binary) in [("pass or fail", true), ("all different", false)] {
            let result = rows(n, is_binary);
            let mut settings = ComparisonSettings::default();
            settings.resamples = resamples;
            settings.margin = Some(0.02);
            let clock = Instant::now();
            let found = result.compare(&settings).expect("two systems");
            let seconds = clock.elapsed().as_secs_f64();
            let resamples = resamples.unwrap_or(2_000);
            println!("| {n} | {kind} | {resamples} | {seconds:.3} | {} |", peak());
            assert_eq!(found.systems.len(), 1);
        }
    }
}

/// Two systems with a score, tokens and latency each.
fn rows(n: usize, is_binary: bool) -> EvalResult {
    let mut result = EvalResult::default();
    for (number, system) in ["direct", "layer"].into_iter().enumerate() {
        result.summary.insert(system.to_owned(), Default::default());
        let name: std::sync::Arc<str> = system.into();
        let dataset: std::sync::Arc<str> = "d".into();
        for id in 0..n {
            let mut stream = RandomStream::new(number as u64, id as u64);
            let score = match is_binary {
                true => f64::from(u8::from(stream.unit() < 0.8)),
                false => stream.unit(),
            };
            let scores: Scores = [("f1", score)].into_iter().collect();
            let mut row = EvalRow::new(name.clone(), id, scores, 0, 0);
            row.dataset = dataset.clone();
            row.latency = 0.2 + stream.unit();
            let used = json!({"prompt_tokens": 500 + stream.below(2000), "completion_tokens": 20});
            row.reply = Some(Box::new(Reply {
                tokens: TokenUse::reported(UsageShape::default(), used.as_object().expect("a map")),
                ..Reply::default()
            }));
            result.rows.push(row);
        }
    }
    result
}

/// The most memory that this process had, where the system says.
fn peak() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kilobytes.map_or("?".to_owned(), |kilobytes| (kilobytes / 1024).to_string())
}
