//! Tasks and groups from outside: worked cases of the reference, files, trees.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    missing_docs,
    reason = "tests"
)]

mod examples;
mod mmlu;
mod nulls;
mod parts;
mod problems;
mod prompts;
mod python;
mod scoring;
mod tables;
mod trees;
mod vectors;
mod wild;
