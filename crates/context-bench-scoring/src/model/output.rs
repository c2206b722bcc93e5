//! `Output`: what a system made of one example.
//!
//! It holds the processed map (by convention the example's fields plus
//! `response`) and what the call cost. It never holds keys or headers.

use std::fmt;
use std::time::Duration;

use serde_json::{Map, Value};

use super::{Example, Source, Turn};
use crate::text::{reasoning, stringify};

/// The field of an output with what its endpoint said beside the text.
pub const API_REPLY: &str = "api_reply";

/// The processed map of one example, and what the call cost.
#[derive(Clone, Default)]
pub struct Output {
    fields: Map<String, Value>,
    call: Option<CallStats>,
    source: Option<Source>,
    is_lossy: bool,
}

impl fmt::Debug for Output {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Output")
            .field("fields", &self.fields)
            .field("call", &self.call)
            .finish_non_exhaustive()
    }
}

impl PartialEq for Output {
    fn eq(&self, other: &Self) -> bool {
        (&self.fields, self.call) == (&other.fields, other.call)
    }
}

impl Output {
    /// The example's fields plus `response`: what most systems return.
    pub fn reply(example: &Example, response: impl Into<Value>) -> Self {
        Self::from(example.fields().clone()).with("response", response)
    }

    /// The example's fields plus the replies of a conversation: `response` is
    /// the last reply (empty when there is none), `turn_responses` all of them.
    pub fn conversation(example: &Example, replies: &[Turn]) -> Self {
        let last = replies.last().map_or("", |turn| turn.content.as_str());
        let all: Vec<&str> = replies.iter().map(|turn| turn.content.as_str()).collect();
        Self::reply(example, last).with("turn_responses", all)
    }

    /// Sets one field and returns the output.
    #[must_use]
    pub fn with(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.source = None;
        self.fields.insert(key.into(), value.into());
        self
    }

    /// Remembers the object that the output was made from; see
    /// [`Example::with_source`].
    #[must_use]
    pub fn with_source(mut self, source: Source) -> Self {
        self.source = Some(source);
        self
    }

    /// The object that the output was made from, if there is one.
    pub fn source(&self) -> Option<&Source> {
        self.source.as_ref()
    }

    /// Says that the fields do not hold everything that the system gave. A stored copy could
    /// not replace such an output, so it is stored but never reused.
    #[must_use]
    pub fn lossy(mut self) -> Self {
        self.is_lossy = true;
        self
    }

    /// Whether the fields do not hold everything that the system gave.
    pub fn is_lossy(&self) -> bool {
        self.is_lossy
    }

    /// Attaches what the call cost.
    #[must_use]
    pub fn with_call(mut self, call: CallStats) -> Self {
        self.call = Some(call);
        self
    }

    /// All fields of the processed map, in order.
    pub fn fields(&self) -> &Map<String, Value> {
        &self.fields
    }

    /// Gives up the processed map.
    pub fn into_fields(self) -> Map<String, Value> {
        self.fields
    }

    /// The value of a field, if the key is there.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.fields.get(key)
    }

    /// A field as text for scoring: empty when missing, otherwise as Python's `str()` writes it.
    pub fn stringified(&self, key: &str) -> std::borrow::Cow<'_, str> {
        stringify::field(&self.fields, key)
    }

    /// The response as text for scoring; empty when missing.
    pub fn response(&self) -> std::borrow::Cow<'_, str> {
        self.stringified("response")
    }

    /// What the model thought aloud in its response, and the answer that follows; `None`
    /// when it did not.
    pub fn thought(&self) -> Option<(&str, &str)> {
        reasoning::split(self.get("response")?.as_str()?)
    }

    /// Usage as reported by the endpoint, when it reported any.
    pub fn api_usage(&self) -> Option<&Map<String, Value>> {
        self.get("api_usage")
            .and_then(Value::as_object)
            .filter(|usage| !usage.is_empty())
    }

    /// What the endpoint said about its reply beside the text: `finish_reason`,
    /// `reasoning`, `tool_calls`, `from_cache`. A map, so that none of it counts as text.
    pub fn api_reply(&self) -> Option<&Map<String, Value>> {
        self.get(API_REPLY).and_then(Value::as_object)
    }

    /// What the call cost, when the system knows.
    pub fn call(&self) -> Option<CallStats> {
        self.call
    }
}

impl From<Map<String, Value>> for Output {
    fn from(fields: Map<String, Value>) -> Self {
        Self {
            fields,
            ..Self::default()
        }
    }
}

/// What one call of a system cost besides its total time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CallStats {
    /// Requests sent, retries included.
    pub attempts: u32,
    /// Time spent waiting between attempts; never part of the latency.
    pub retry_wait: Duration,
    /// Time spent setting connections up; never part of the latency.
    pub connect: Duration,
    /// Time spent waiting for our own rate limits or threads; never part of the
    /// latency.
    pub pace_wait: Duration,
    /// Attempts that the endpoint refused because it had too much to do.
    pub throttled: u32,
    /// Attempts that took too long.
    pub timeouts: u32,
    /// From sending the attempt that succeeded to the head of its reply.
    pub first_byte: Option<Duration>,
    /// From sending the attempt that succeeded to its first token, when the reply was streamed.
    pub first_token: Option<Duration>,
}

impl CallStats {
    /// Whether there is anything to report besides times that are not latency: a
    /// system that sends nothing may still have had to wait for its turn.
    pub fn made_requests(&self) -> bool {
        self.attempts > 0
    }

    /// Adds a further call, for systems that make several; what came first stays.
    pub fn add(&mut self, other: Self) {
        self.attempts += other.attempts;
        self.retry_wait += other.retry_wait;
        self.pace_wait += other.pace_wait;
        self.throttled += other.throttled;
        self.timeouts += other.timeouts;
        self.connect += other.connect;
        self.first_byte = self.first_byte.or(other.first_byte);
        self.first_token = self.first_token.or(other.first_token);
    }
}
