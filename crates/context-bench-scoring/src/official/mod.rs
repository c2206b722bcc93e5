//! The rules by which the authors of benchmarks score: one file each, written from the
//! definition of the benchmark, with the cases that it was worked out by.
//!
//! Pure functions from a text and what is right to a number. They are as strict, and as
//! odd, as the originals: a figure that is to stand beside a published one must be made
//! the same way. Lenient readings are evaluators of their own.

pub mod alpaca_eval;
pub mod bbh;
pub mod drop;
pub(crate) mod edit_ratio;
pub mod frames;
pub mod hotpotqa;
pub mod infinitebench;
pub(crate) mod letters;
pub mod locomo;
pub mod longbench;
pub mod longmemeval;
pub mod math;
pub mod mt_bench;
pub(crate) mod numbers;
pub(crate) mod rouge_sets;
pub mod scifact;
pub mod swebench;
pub mod triviaqa;
pub mod truthfulqa;

/// 1 for true.
pub(crate) fn one(is_true: bool) -> f64 {
    f64::from(u8::from(is_true))
}

/// The largest of some scores; 0 of none.
pub(crate) fn best(scores: impl IntoIterator<Item = f64>) -> f64 {
    scores.into_iter().fold(0.0, f64::max)
}
