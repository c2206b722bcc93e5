//! The hub client against a hub on loopback: real sockets, real files, and no
//! part of the client replaced.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::print_stdout,
    reason = "tests: a broken expectation must stop the test at once"
)]

mod access;
mod bombs;
mod common;
mod disk;
mod download;
mod life;
mod models;
mod process;
mod ranged;
mod resolve;
mod shared_cache;
mod urls;
