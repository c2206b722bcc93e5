//! The library from outside: worked cases, runs, endpoints, commands.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::print_stdout,
    missing_docs,
    reason = "tests"
)]

mod apis;
mod catalog;
mod command;
mod comparison;
mod context_layers;
mod embedding_model;
mod evaluate;
mod llm_judge;
mod math;
mod memory_check;
mod memory_command;
mod memory_judge;
mod memory_run;
mod memory_summary;
mod multiple_choice;
mod nli;
mod official_judge;
mod openai;
mod patience;
mod properties;
mod properties_text;
mod retrieval;
mod reuse;
mod rouge;
mod tap_run;
mod task;
mod task_data;
mod vectors;
mod worked;
