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

mod agreement_math;
mod command;
mod context_layers;
mod evaluate;
mod math;
mod openai;
mod vectors;
