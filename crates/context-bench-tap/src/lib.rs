//! A recording reverse proxy for calls to language models.
//!
//! A tap stands between a proxy under test and the provider. It relays both ways byte for byte
//! and keeps what passed, so that one can say what the proxy really did: what it sent, how often,
//! when, and to whom the answers went.
//!
//! ```text
//! client ──> proxy under test ──> tap ──> provider
//! ```
//!
//! | Module | What it holds |
//! |---|---|
//! | (root) | [`Tap`], [`TapSettings`]: the relay; the proxy never sees the real key |
//! | [`record`] | [`CallRecord`](record::CallRecord): a call with its timeline; the log; secrets taken out |
//! | [`wire`] | the APIs of OpenAI, Anthropic and Google: requests, answers, streams, usage |
//! | [`attribution`] | which call of the client caused a call of the proxy |
//! | [`figures`] | what a proxy changed, added and delayed |
//!
//! `wire`, `attribution` and `figures` are pure functions: the same input always gives the same
//! result. Nothing here prints, exits or reads the environment.

#![deny(missing_docs)]

pub mod attribution;
pub mod check;
pub mod figures;
mod hex;
mod http1;
pub mod record;
mod relay;
mod text_hash;
pub mod wire;

pub use http1::{Header, Headers};
pub use relay::{Credential, Tap, TapEncoding, TapError, TapReport, TapSettings, Upstream, Vendor};
