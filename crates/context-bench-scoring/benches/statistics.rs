//! `make bench ONLY=statistics`: what resampling costs, beside a plain sum of as many numbers, and
//! how often intervals and verdicts are right.
//!
//! Everything is measured in one run and printed as rows of a Markdown table. Nothing here asserts.
#![allow(
    clippy::expect_used,
    clippy::print_stdout,
    missing_docs,
    reason = "a measuring program, not part of the product"
)]

// In a separate folder, or cargo would take the file for a bench.
#[path = "statistics/simulation.rs"]
mod simulation;

use std::hint::black_box;
use std::time::{Duration, Instant};

use context_bench_scoring::model::Interval;
use context_bench_scoring::stats::{
    DifferenceMonitor, PairedDifferences, RandomStream, Resampling,
};

fn main() {
    // `cargo test --all-targets` runs benches too; only `make bench` measures.
    let is_asked = |flag: &str| std::env::args().any(|arg| arg == flag);
    if !is_asked("--bench") {
        println!("nothing measured: run `make bench`");
        return;
    }
    if is_asked("--simulate") {
        simulation::coverage();
        simulation::monitored();
        return;
    }
    println!("| What | Measured | Beside | Ratio |");
    println!("|---|---|---|---|");
    for n in [10_000, 1_000_000] {
        let sums = sums(n);
        for (kind, value) in [
            ("all different", different as fn(&mut RandomStream) -> f64),
            ("shares of 20", share),
            ("pass or fail", pass_or_fail),
        ] {
            resamples(n, kind, value, sums);
        }
    }
    monitor();
}

fn different(stream: &mut RandomStream) -> f64 {
    stream.unit() - stream.unit()
}

fn share(stream: &mut RandomStream) -> f64 {
    f64::from(stream.below(20)) / 20.0 - 0.475
}

fn pass_or_fail(stream: &mut RandomStream) -> f64 {
    match stream.below(20) {
        0 => -1.0,
        1 => 1.0,
        _ => 0.0,
    }
}

/// How long 10,000 sums over the numbers take on one thread: less is impossible for resamples
/// that look at each.
fn sums(n: usize) -> Duration {
    let mut stream = RandomStream::new(1, 0);
    let values: Vec<f64> = (0..n).map(|_| different(&mut stream)).collect();
    // A part of them says how long all would take.
    let rounds = 100_000_000 / n;
    let start = Instant::now();
    for _ in 0..rounds {
        black_box(black_box(&values).iter().sum::<f64>());
    }
    start.elapsed().mul_f64(10_000.0 / rounds as f64)
}

fn resamples(n: usize, kind: &str, value: fn(&mut RandomStream) -> f64, sums: Duration) {
    let mut stream = RandomStream::new(2, 0);
    let values = (0..n).map(|_| value(&mut stream)).collect();
    let differences = PairedDifferences::new(values).expect("finite numbers");
    let settings = Resampling::default();
    let row = |what: &str, taken: Duration| {
        let ratio = taken.as_secs_f64() / sums.as_secs_f64();
        println!(
            "| {what}, 10,000 of {n} differences, {kind} | {:.3} s | 10,000 sums of them, one thread, {:.2} s | {ratio:.3} |",
            taken.as_secs_f64(),
            sums.as_secs_f64()
        );
    };
    let start = Instant::now();
    black_box(differences.bootstrap(0.95, &settings).expect("a share"));
    row("BCa bootstrap", start.elapsed());
    let start = Instant::now();
    black_box(differences.sign_flip(&settings));
    row("sign flips", start.elapsed());
}

/// A look after every example.
fn monitor() {
    const EXAMPLES: usize = 100_000;
    let range = Interval {
        low: -1.0,
        high: 1.0,
    };
    let mut monitor = DifferenceMonitor::new(range, 0.02, 0.05).expect("a range");
    let mut stream = RandomStream::new(3, 0);
    let start = Instant::now();
    for _ in 0..EXAMPLES {
        black_box(
            monitor
                .observe(pass_or_fail(&mut stream))
                .expect("in range"),
        );
    }
    let each = start.elapsed().as_secs_f64() / EXAMPLES as f64;
    println!(
        "| a look after every example, {EXAMPLES} of them | {:.2} µs each | | |",
        each * 1e6
    );
}
