//! Drives the test server with bare sockets: every kind of reply, framing of
//! requests, streaming, recording, and the `mock-endpoint` program.
//!
//! Time is only ever checked with generous bounds.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests fail by panicking"
)]

mod apis;
mod client;
mod program;
mod recording;
mod replies;
mod requests;
mod shared;
mod streaming;
mod worked;
