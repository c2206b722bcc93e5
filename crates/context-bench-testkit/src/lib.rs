//! Loopback servers for the tests and measurements of context-bench: an
//! endpoint that speaks chat completions, Responses and Anthropic's Messages with
//! scripted answers, latency and faults, and a Hugging Face hub ([`hub::FakeHub`]). Real sockets throughout.
//!
//! This crate must not depend on the `context-bench` library, so that no test
//! can be right only because both sides share the same mistake.
//!
//! ```
//! use context_bench_testkit::{ChatServer, Reply};
//!
//! let server = ChatServer::start(|request| match request.attempt {
//!     0 => Reply::status(429).retry_after_seconds(1),
//!     _ => Reply::text("Paris"),
//! });
//! assert!(server.url().starts_with("http://127.0.0.1:"));
//! assert_eq!(server.request_count(), 0);
//! ```
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a test kit: a broken fixture must stop the test at once"
)]

mod alarm;
mod completion;
mod connection;
mod fault;
pub mod handlers;
mod headers;
pub mod hub;
mod life;
pub mod likelihood;
mod messages;
pub mod parquet;
mod plan;
pub mod proxy;
mod reader;
mod record;
mod render;
mod reply;
mod request;
mod responses;
mod server;
pub mod shared;
mod sse;
mod wire;
pub mod worked;

pub use context_bench_testkit_macros::{
    needs_moto, needs_proxy, needs_shared, proxy_path, shared_was_present,
};
pub use fault::Fault;
pub use headers::Headers;
pub use record::RecordedRequest;
pub use reply::Reply;
pub use request::Request;
pub use server::{ChatServer, ServerBuilder};
