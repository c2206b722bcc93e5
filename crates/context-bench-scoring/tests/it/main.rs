//! The scoring crate from outside: tables of worked cases.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::print_stdout,
    missing_docs,
    reason = "tests"
)]

mod bfcl_languages;
mod gate;
mod statistics;
