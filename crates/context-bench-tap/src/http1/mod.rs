//! HTTP/1.1 as a relay reads it: heads taken apart without losing their spelling, and bodies
//! whose bytes are looked at and passed on as they are. No I/O here.

mod body;
mod chunked;
mod framing;
mod head;
mod headers;
mod hop;

pub(crate) use body::BodyProgress;
pub(crate) use framing::Framing;
pub(crate) use head::{RequestHead, ResponseHead, is_readable};
pub use headers::{Header, Headers};
pub(crate) use headers::{contains_ignoring_case, write_line};
pub(crate) use hop::is_hop_by_hop;
