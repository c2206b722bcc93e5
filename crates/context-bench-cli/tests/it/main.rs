//! The program from outside: exit codes, stdout, stderr, against a real endpoint on loopback.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    missing_docs,
    reason = "tests"
)]

mod apis;
mod bad_input;
mod bench;
mod bucket;
mod catalog;
mod check_proxy;
#[cfg(unix)]
mod ci;
#[cfg(target_os = "linux")]
mod code_execution;
mod compare;
mod demo;
mod dry_run;
mod exports;
mod faults;
mod gates;
mod interrupt;
mod judge;
mod memory;
mod memory_examples;
mod memory_sweeps;
mod models;
mod named;
mod notices;
mod official_judges;
mod outputs;
#[cfg(unix)]
mod partial;
mod plain_files;
mod plan;
mod prices;
mod print_config;
mod program;
mod prompts;
#[cfg(target_os = "linux")]
mod proxy;
#[cfg(unix)]
mod read_only;
mod render;
mod reopened;
mod repeats;
mod replies;
mod report;
mod run_file;
#[cfg(target_os = "linux")]
mod sandbox;
mod score;
mod shards;
mod snapshots;
mod stopping;
mod store;
mod stored;
mod systems;
mod tap;
mod tap_arms;
mod task_runs;
mod tasks;
mod tasks_broken;
mod tasks_examples;
mod wild_tree;
