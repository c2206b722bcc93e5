//! [`ClientCall`]: a call as the client made it.

use std::borrow::Cow;
use std::sync::Arc;

use crate::attribution::Fingerprint;
use crate::record::{CallRecord, ResponseRecord};
use crate::text_hash::text_hash;
use crate::wire::{WireReply, output_digest};

/// Shorter answers are the same for many calls.
const TELLING: usize = 24;

/// A call that the client made to a proxy, with what may be found again behind it.
#[derive(Debug, Clone, PartialEq)]
pub struct ClientCall {
    /// Its own id, as in `x-cb-call`.
    pub id: Arc<str>,
    /// The arm that it was made in.
    pub arm: Arc<str>,
    /// The example that it is about; calls of one conversation share it.
    pub example: Arc<str>,
    /// The id of the synthetic credential that it carried.
    pub credential: Option<Arc<str>>,
    /// When its request had been sent, on the clock of the tap.
    pub sent: u64,
    /// When the last byte of its answer was there; none while it is open.
    pub ended: Option<u64>,
    /// The status of its answer; none where there was none.
    pub status: Option<u16>,
    /// What its newest text looks like.
    pub fingerprint: Fingerprint,
    /// What identifies the answer that it got.
    pub answer: AnswerIdentity,
}

impl ClientCall {
    /// Whether it was open at this moment, or had ended no longer ago than the grace.
    pub(super) fn was_open(&self, at: u64, grace: u64) -> bool {
        self.sent <= at
            && self
                .ended
                .is_none_or(|ended| at <= ended.saturating_add(grace))
    }
}

/// What identifies an answer on both sides of a proxy.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AnswerIdentity {
    /// The id that the provider gave it.
    pub id: Option<String>,
    /// `x-request-id` or `request-id`.
    pub request_id: Option<String>,
    /// The digest of its output; none where its text is too short to tell anything.
    pub output: Option<String>,
    /// How many bytes of text it has. Short ones are the same for many calls.
    pub text_bytes: usize,
}

impl AnswerIdentity {
    /// Of an answer that a client read.
    pub fn of(reply: &WireReply, request_id: Option<String>) -> Self {
        Self {
            id: reply.id.clone(),
            request_id,
            output: Self::has_telling_text(reply)
                .then(|| output_digest(reply))
                .flatten(),
            text_bytes: reply.text().len(),
        }
    }

    /// Whether the text of an answer tells it from others.
    pub(crate) fn has_telling_text(reply: &WireReply) -> bool {
        reply.text().len() >= TELLING
    }

    /// Of an answer that passed the tap.
    pub fn of_call(call: &CallRecord) -> Self {
        let answered = call.answered.as_ref();
        Self {
            id: answered.and_then(|answered| answered.id.clone()),
            request_id: call
                .response
                .as_ref()
                .and_then(request_id)
                .map(Cow::into_owned),
            output: answered.and_then(|answered| answered.output_digest.clone()),
            text_bytes: answered.map_or(0, |answered| answered.text_bytes),
        }
    }

    /// What it is known by; none where it has no such sign, or one that tells nothing.
    pub(super) fn value(&self, sign: Sign) -> Option<&str> {
        match sign {
            Sign::Id => self.id.as_deref(),
            Sign::RequestId => self.request_id.as_deref(),
            Sign::Output => self
                .output
                .as_deref()
                .filter(|_| self.text_bytes >= TELLING),
        }
    }

    /// Whether both are the same answer, by this sign.
    pub(super) fn agrees(&self, other: &Self, sign: Sign) -> bool {
        let value = self.value(sign);
        value.is_some() && value == other.value(sign)
    }
}

/// The values of an answer's signs as hashes, where it is only asked whether two are the same: many
/// are kept at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct AnswerSigns([Option<u64>; Sign::ALL.len()]);

impl AnswerSigns {
    pub(super) fn of(answer: &AnswerIdentity) -> Self {
        Self(Sign::ALL.map(|sign| answer.value(sign).map(text_hash)))
    }

    /// Of an answer that passed the tap.
    pub(super) fn of_call(call: &CallRecord) -> Self {
        let answered = call.answered.as_ref();
        let request_id = call.response.as_ref().and_then(request_id);
        Self(Sign::ALL.map(|sign| {
            let value = match sign {
                Sign::Id => answered.and_then(|answered| answered.id.as_deref()),
                Sign::RequestId => request_id.as_deref(),
                Sign::Output => answered
                    .filter(|answered| answered.text_bytes >= TELLING)
                    .and_then(|answered| answered.output_digest.as_deref()),
            };
            value.map(text_hash)
        }))
    }

    pub(super) fn value(&self, sign: Sign) -> Option<u64> {
        self.0[sign as usize]
    }
}

/// What an answer is known by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Sign {
    Id,
    RequestId,
    Output,
}

impl Sign {
    /// The surest first. Proxies give answers ids of their own, so that another id does not
    /// make it another answer.
    pub(super) const ALL: [Self; 3] = [Self::Id, Self::RequestId, Self::Output];

    pub(super) fn confidence(self) -> f64 {
        match self {
            Self::Id | Self::RequestId => 1.0,
            Self::Output => 0.9,
        }
    }
}

fn request_id(response: &ResponseRecord) -> Option<Cow<'_, str>> {
    let names = ["x-request-id", "request-id"];
    names.iter().find_map(|name| response.header(name))
}
