//! A reply as timed pieces of bytes and what becomes of the connection.
//!
//! `render` and `sse` make plans, `connection` carries them out. A plan knows
//! nothing of replies or requests, so every fault is just another plan.

use std::time::Duration;

/// What to send, when, and how to end.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) delay: Duration,
    pub(crate) steps: Vec<Step>,
    pub(crate) end: End,
}

/// Bytes that leave in one write after a pause.
#[derive(Debug)]
pub(crate) struct Step {
    pub(crate) pause: Duration,
    pub(crate) bytes: Vec<u8>,
}

/// What becomes of the connection after the last step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// The reply is complete; the next request may follow.
    KeepAlive,
    /// The reply is complete; the connection closes.
    Close,
    /// The reply is broken off by a clean close.
    Cut,
    /// The reply is broken off by a TCP reset.
    Reset,
    /// The reply never comes.
    Hang,
}

impl End {
    /// Whether the client got everything that HTTP promised it.
    pub(crate) fn is_complete(self) -> bool {
        matches!(self, Self::KeepAlive | Self::Close)
    }

    /// The end of a complete reply.
    pub(crate) fn complete(close: bool) -> Self {
        if close { Self::Close } else { Self::KeepAlive }
    }
}

impl Plan {
    /// A plan that sends nothing yet.
    pub(crate) fn new(delay: Duration, end: End) -> Self {
        Self {
            delay,
            steps: Vec::new(),
            end,
        }
    }

    /// A plan of one immediate write.
    pub(crate) fn whole(delay: Duration, bytes: Vec<u8>, end: End) -> Self {
        let mut plan = Self::new(delay, end);
        plan.push(Duration::ZERO, bytes);
        plan
    }

    /// Adds bytes; without a pause they leave together with those before.
    pub(crate) fn push(&mut self, pause: Duration, bytes: Vec<u8>) {
        match self.steps.last_mut() {
            Some(last) if pause.is_zero() => last.bytes.extend_from_slice(&bytes),
            _ => self.steps.push(Step { pause, bytes }),
        }
    }
}
