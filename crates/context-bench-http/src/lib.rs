//! What the HTTP clients of context-bench share: the client for chat endpoints in the
//! library, the client for the Hugging Face hub, and the tap.
//!
//! [`client_builder`] sets up HTTP/1.1 over TLS and leaves the process alone: no default
//! crypto provider is installed. [`RetryPolicy`] decides whether and when a failed attempt
//! is repeated, [`asked_wait`] reads how long a server asks to wait (`Retry-After`),
//! [`EventReader`] takes streamed replies apart, and [`root_cause`] says in plain words why
//! there was no answer. Nothing here sends or waits.

mod client;
mod event_stream;
mod loopback;
mod reason;
mod retry;
mod retry_after;

pub use client::{RootCertificates, TlsError, client_builder, tls_config};
pub use event_stream::{Event, EventReader};
pub use loopback::is_loopback;
pub use reason::{plain_reason, root_cause};
pub use retry::{Decision, GaveUp, Jitter, RetryPolicy, is_retryable};
pub use retry_after::asked_wait;
