//! [`CallRecord`]: one call that passed the tap.

use std::borrow::Cow;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::scrub::Scrubber;
use super::timeline::Timeline;
use crate::http1::Headers;
use crate::wire::{ReplySummary, RequestSummary, WireFormat};

/// One upstream call as the tap saw it. Where its sink writes records down, everything in it may
/// be written to a file: it holds no secret, and bodies only by digest.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CallRecord {
    /// Its number in the order of arrival, from 0.
    pub id: u64,
    /// The arm that it belongs to, from the path `/a/ARM/…`.
    pub arm: Option<Arc<str>>,
    /// The connection that it came on; calls of one connection share the number.
    pub connection: u64,
    /// When it was accepted, in milliseconds since 1970.
    pub started_at_ms: u64,
    /// What it is for.
    pub purpose: Purpose,
    /// The API that it speaks.
    pub format: WireFormat,
    /// What was asked.
    pub request: RequestRecord,
    /// What was answered, if there was an answer.
    pub response: Option<ResponseRecord>,
    /// What could be read of the request.
    pub asked: Option<RequestSummary>,
    /// What could be read of the answer.
    pub answered: Option<ReplySummary>,
    /// What may tell whose call it is.
    pub carriers: Carriers,
    /// When its stages happened.
    pub timeline: Timeline,
    /// How it ended.
    pub end: EndState,
    /// Why it ended like that, if more is known.
    pub problem: Option<String>,
}

impl CallRecord {
    /// The status of the answer.
    pub fn status(&self) -> Option<u16> {
        self.response.as_ref().map(|response| response.status)
    }

    /// Whether the model was asked and answered in full.
    pub fn is_success(&self) -> bool {
        self.end == EndState::Complete
            && self
                .status()
                .is_some_and(|status| (200..300).contains(&status))
            && self
                .answered
                .as_ref()
                .is_none_or(|answered| answered.error.is_none())
    }
}

/// What a call is for, as its route and method tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// A model is asked for an answer.
    Generation,
    /// Embeddings and reranking.
    Auxiliary,
    /// Lists, health, counting tokens: asks no model and costs nothing.
    Probe,
    /// `CONNECT`, which the tap refuses: it has no certificate to stand in for a provider.
    TlsAttempt,
    /// An upgrade to another protocol, which the tap refuses.
    Unsupported,
    /// Anything else, relayed as it is.
    Opaque,
}

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EndState {
    /// All of the answer was relayed.
    Complete,
    /// The upstream broke off.
    UpstreamReset,
    /// The proxy in front went away before it had all of the answer.
    AbortedByProxy,
    /// The upstream was silent for too long.
    Timeout,
    /// All of the answer was relayed, and its status is 400 or above.
    BadStatus,
    /// There was no connection to the upstream.
    Unreachable,
    /// The tap answered itself: the request was not one that it relays.
    Refused,
}

/// A request as it arrived.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestRecord {
    /// The method.
    pub method: String,
    /// The path without the prefix of the arm.
    pub path: String,
    /// What followed `?`; without secrets where it is written down.
    pub query: String,
    /// The headers in their order and spelling; without secrets where they are written down.
    pub headers: Headers,
    /// The body as it was on the wire.
    pub body: BodyRef,
}

/// An answer as it arrived.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResponseRecord {
    /// The status.
    pub status: u16,
    /// The headers in their order and spelling; without secrets where they are written down.
    pub headers: Headers,
    /// The body as it was on the wire, without the sizes of chunks.
    pub body: BodyRef,
    /// The pieces that the body came in.
    pub frames: Vec<Frame>,
    /// How many pieces are not listed because there were too many.
    pub frames_left_out: u64,
}

impl ResponseRecord {
    /// The value of the first header of this name.
    pub fn header(&self, name: &str) -> Option<Cow<'_, str>> {
        self.headers.text(name)
    }
}

/// A piece of a body: (offset, length, nanoseconds since the request had been sent).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Frame(pub u64, pub u64, pub u64);

impl Frame {
    /// Where in the body it begins.
    pub fn offset(self) -> u64 {
        self.0
    }

    /// How many bytes it has.
    pub fn length(self) -> u64 {
        self.1
    }

    /// Nanoseconds from the request being sent until it was there.
    pub fn after(self) -> u64 {
        self.2
    }
}

/// A body by its digest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BodyRef {
    /// `sha256:` and the digest of the bytes on the wire. Records that are written down always
    /// have it; who gets all the bytes themselves may have none.
    pub digest: Option<String>,
    /// How many bytes were on the wire.
    pub bytes: u64,
    /// Whether the log has them.
    pub stored: Stored,
}

/// What the log has of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stored {
    /// Its bytes.
    Whole,
    /// Its bytes with secrets replaced, or decoded because its encoding would hide them.
    Scrubbed,
    /// Nothing: it was empty.
    Empty,
    /// Nothing: there was no room for it, or its encoding could not be looked into.
    LeftOut,
}

/// What a request carries that may tell whose it is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Carriers {
    /// The id in a synthetic credential.
    pub credential: Option<Arc<str>>,
    /// The value of `x-cb-call`.
    pub header: Option<Arc<str>>,
    /// The value of `?cb=`.
    pub query: Option<Arc<str>>,
    /// `x-stainless-retry-count`, where it is not 0: an official client that asks again.
    pub retry_count: Option<u32>,
}

impl Carriers {
    /// The same without secrets: a client may put anything there.
    pub(crate) fn scrubbed(mut self, scrubber: &Scrubber) -> Self {
        for text in [&mut self.header, &mut self.query].into_iter().flatten() {
            if let Cow::Owned(scrubbed) = scrubber.bytes(text.as_bytes()) {
                *text = String::from_utf8_lossy(&scrubbed).into();
            }
        }
        self
    }

    /// The id of a client call, from the header or the query.
    pub fn call_id(&self) -> Option<&str> {
        self.header.as_deref().or(self.query.as_deref())
    }
}
