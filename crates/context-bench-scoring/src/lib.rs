//! Scoring for language models, without a runtime.
//!
//! What [context-bench](https://github.com/context-bench/context-bench) scores with, for
//! use on its own: no tokio, no network, no database, no files. Given the same bytes,
//! everything here gives the same answer.
//!
//! | Module | What it holds |
//! |---|---|
//! | [`text`] | normalisation, overlap, ROUGE, BM25, options and labels found in prose, judges' verdicts |
//! | [`math`] | mathematical answers: found, read and compared |
//! | [`stats`] | means with their errors, intervals, quantiles; two systems on the same examples: differences, verdicts, sample sizes |
//! | [`gate`] | rules that say when a run is not good enough |
//! | [`official`] | the rules by which the authors of benchmarks score |
//! | [`model`] | examples, outputs, scores and rows |
//! | [`evaluator`] | the `Evaluator` trait and every evaluator that asks nobody |
//! | [`price`] | price books: what calls of models cost, exactly |
//! | [`metric`] | rows into numbers, per system and across systems |
//!
//! ```
//! use context_bench_scoring::{math, text::overlap::Overlap};
//!
//! assert!(math::equivalent(r"\frac{1}{2}", "0.5"));
//! assert_eq!(Overlap::of("the Eiffel Tower", "Eiffel tower").f1, 1.0);
//! ```

pub mod digest;
pub mod evaluator;
pub mod gate;
pub mod math;
pub mod metric;
pub mod model;
pub mod official;
pub mod price;
pub mod stats;
pub mod text;

/// The example of the README, compiled with the documentation tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
