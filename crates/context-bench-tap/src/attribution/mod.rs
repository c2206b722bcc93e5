//! Which call of the client caused a call of the proxy, by what the proxy let through: the arm in
//! the path, a synthetic credential, a header, the answer that the client got, what the text
//! looks like, or that nothing else was in flight. What cannot be told is said to be unattributed
//! and counted; it is never put on the likeliest example.

mod attribute;
mod class;
mod client_call;
mod credential;
mod fingerprint;
mod index;
mod ledger;
mod rules;

pub use attribute::{
    Attribution, AttributionRules, AttributionSummary, Method, Unattributed, attribute,
};
pub use class::{CallClass, ClientOutcome, classify, outcome};
pub use client_call::{AnswerIdentity, ClientCall};
pub use credential::SyntheticCredential;
pub use fingerprint::Fingerprint;
pub use ledger::{ArmLedger, OwnedCall};

/// The header that carries the id of a call.
pub const CALL_HEADER: &str = "x-cb-call";
