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
}
