//! Measure what a context layer costs and what it loses.
//!
//! A run is a pipeline of four stages, each an open trait:
//!
//! ```text
//! Dataset (examples) -> System.process -> Evaluator.score -> Metric.compute
//! ```
//!
//! This page is the whole public API. The parts that score (text, mathematics, statistics,
//! the rules of benchmarks) are the crate `context-bench-scoring`, which needs no runtime.
//! Modules that are hidden from this page serve the program and the Python package: they
//! may change in any release. Layers point one way; see `ARCHITECTURE.md`.
//!
//! # Features
//!
//! All are on by default; leave out what you do not need.
//!
//! | Feature | What it adds |
//! |---|---|
//! | `hub` | datasets of the Hugging Face hub, fetched when a run asks for them |
//! | `parquet` | records in Parquet files |
//! | `sandbox` | the evaluator `code_execution`, which runs what a model wrote |
//! | `tasks` | run files, tasks and groups, and the planner behind them |

// What only planned runs or the hub use stays in the code of a library without them.
#![cfg_attr(
    not(all(feature = "hub", feature = "tasks")),
    allow(
        dead_code,
        unreachable_pub,
        unused_imports,
        reason = "used by plans or the hub"
    )
)]

mod aligned;
#[cfg(feature = "tasks")]
#[doc(hidden)]
pub mod benchmark;
#[cfg(not(feature = "tasks"))]
#[path = "benchmark/absent.rs"]
mod benchmark;
#[doc(hidden)]
pub mod bucket;
mod calendar;
pub mod chat;
pub mod comparison;
pub mod dataset;
mod embedded;
pub mod error;
mod evaluate;
pub mod evaluator;
mod example_keys;
pub mod gate;
mod json;
#[doc(hidden)]
pub mod mask;
mod measures;
pub mod memory;
pub mod noise;
#[cfg(feature = "tasks")]
#[doc(hidden)]
pub mod plan;
#[cfg(feature = "tasks")]
#[doc(hidden)]
pub mod planner;
#[cfg(feature = "tasks")]
#[doc(hidden)]
pub mod proxy;
#[doc(hidden)]
pub mod registry;
#[doc(hidden)]
pub mod reopened_run;
pub mod report;
mod result;
mod runner;
pub mod shard;
pub mod stopping;
#[doc(hidden)]
pub mod stopwatch;
pub mod store;
pub mod sweep;
pub mod system;
#[doc(hidden)]
pub mod tap;
#[cfg(feature = "tasks")]
#[doc(hidden)]
pub mod task;
pub mod tokens;

#[cfg(feature = "sandbox")]
pub use context_bench_sandbox as sandbox;
pub use context_bench_scoring::metric;
use context_bench_scoring::model;
use context_bench_scoring::{digest, official, stats, text};

#[cfg(feature = "tasks")]
pub use benchmark::Benchmark;
pub use comparison::{ComparisonSettings, RunComparison};
pub use dataset::{Dataset, UsedDataset};
pub use evaluate::{Error, Evaluate, UnknownScore, evaluate};
pub use evaluator::Evaluator;
pub use memory::MemorySystem;
pub use metric::{Comparison, Metric};
pub use model::{
    ArmRole, ArmWire, CallStats, Counts, DOCUMENT_ID, DocumentMark, Ending, EvalRow, Example,
    ExampleError, ExampleId, Failure, FailureKind, Identity, Interval, JudgeUsage, Measurement,
    OPTIONS_APART, Output, Prompt, PromptError, PromptLimit, PromptParts, QUESTION_IN_CONTEXT,
    RenderedPrompt, Reply, RowContexts, RowText, Score, ScoreName, Scores, SentContext, Shorten,
    Source, Summary, TextsKept, TokenUse, Turn, Unit, UsageShape, WireFacts,
};
#[cfg(feature = "tasks")]
pub use plan::{RunPlan, RunSpec};
pub use result::{ArmVerdict, EvalResult, StoreSummary, Unfinished};
pub use runner::{AskedElsewhere, MaxWorkers, NoProgress, Progress, RunEvent, Stop};
pub use system::System;

/// The code in the README is compiled and run as a test.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
