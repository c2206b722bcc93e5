//! The program from outside: exit codes, stdout, stderr, against a real endpoint on loopback.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    missing_docs,
    reason = "tests"
)]

mod bad_input;
mod bench;
mod catalog;
#[cfg(target_os = "linux")]
mod code_execution;
mod demo;
mod dry_run;
mod faults;
mod interrupt;
mod judge;
mod memory;
mod memory_examples;
mod models;
mod named;
mod notices;
mod official_judges;
mod outputs;
#[cfg(unix)]
mod partial;
mod plain_files;
mod print_config;
mod program;
mod prompts;
#[cfg(unix)]
mod read_only;
mod render;
mod reopened;
mod repeats;
mod replies;
mod run_file;
#[cfg(target_os = "linux")]
mod sandbox;
mod score;
mod snapshots;
mod store;
mod stored;
mod systems;
mod task_runs;
mod tasks;
mod tasks_broken;
mod tasks_examples;
mod wild_tree;
