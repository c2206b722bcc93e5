//! What can go wrong on purpose.

use std::time::Duration;

/// A fault that one request meets.
#[derive(Clone, Debug)]
pub enum HubFault {
    /// The connection is cut after this many bytes of the body.
    CutAt(u64),
    /// The byte at this place of the file arrives changed.
    Corrupt(u64),
    /// A status instead of an answer, with `Retry-After` in seconds if given.
    Status(u16, Option<u64>),
    /// The body stops after this many bytes and the connection stays open.
    Stall(u64),
    /// A pause before the answer and after every 64 KiB of the body.
    Slow(Duration),
    /// The range that was asked for is ignored.
    NoRange,
    /// A body without a length that goes on and on: up to this many bytes, so that a
    /// client which takes it all is a failed test and not a full disk.
    Endless(u64),
    /// A body that is announced and sent with so many bytes more than the file has.
    Longer(u64),
    /// A redirect to an address that redirects again.
    Redirects,
    /// A body that is announced as compressed.
    Encoded(&'static str),
}

/// Listings that do not end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pages {
    /// Each page leads to itself.
    Same,
    /// Each page leads to a new one with the same files.
    Repeated,
    /// Each page leads to a new one without files.
    Empty,
    /// Each page leads to a new one with new files.
    New,
}
