//! Which call of the client caused a call of the proxy.

mod credential;
mod fingerprint;

pub use credential::SyntheticCredential;
pub use fingerprint::Fingerprint;

/// The header that carries the id of a call.
pub const CALL_HEADER: &str = "x-cb-call";
