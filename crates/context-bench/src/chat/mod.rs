//! The one client for chat endpoints; systems and judges share it.
//!
//! `endpoint` says where, `client` sends through `http` and waits as long as
//! `clock` allows and as fast as `pace` lets it, `connecting` opens connections in turn,
//! `context-bench-http` decides about the next attempt, `api` has what differs between the APIs
//! (a file each), `request` and `reply` what they share, `models` asks which models there are,
//! `secret` keeps keys out of every text. Nothing here knows examples or scores.

mod api;
mod client;
mod clock;
mod connecting;
mod endpoint;
mod error;
mod headers;
mod http;
mod models;
mod observe;
mod pace;
mod reach;
mod reply;
mod request;
mod secret;

pub use api::{Api, UnknownApi};
pub use client::{ChatClient, ClientError, ClientSettings, TIMEOUT};
pub use context_bench_http::{GaveUp, RetryPolicy};
pub use endpoint::{Endpoint, EndpointError, derive_name};
pub use error::{ChatError, ChatFailure, Limit};
pub use pace::{Leases, Pace};
pub use reach::Unreachable;
pub use reply::{ChatReply, JsonReply};
pub use request::ChatRequest;
pub use secret::{Secret, Secrets};

/// The model that is asked for when none is named.
pub const DEFAULT_MODEL: &str = "claude-haiku-4-5-20251001";

pub(crate) use endpoint::host_part;
pub(crate) use error::seconds;
pub(crate) use observe::{CallObserver, ObservedAttempt, observed};
