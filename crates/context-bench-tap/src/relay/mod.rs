//! The relay: takes calls on loopback, passes them on byte for byte, and hands what it saw to
//! the recorder.

mod connection;
mod exchange;
mod open_call;
mod refusal;
mod rewrite;
mod settings;
mod tap;
mod target;
mod threads;
mod upstream;

pub use settings::{Credential, TapEncoding, TapSettings, Upstream, Vendor};
pub use tap::{Tap, TapError, TapReport};
pub(crate) use upstream::{Address, UpstreamStream};
