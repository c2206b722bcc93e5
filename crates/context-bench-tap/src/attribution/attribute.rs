//! [`attribute`]: all calls of a run at once, once it is over.
//!
//! The arm is exact and comes first: only client calls of the same arm are looked at.

use serde::{Deserialize, Serialize};

use super::client_call::{AnswerIdentity, ClientCall, Sign};
use super::index::{AnswerIndex, ArmIndex};
use super::rules::{self, Book, Candidates};
use crate::record::CallRecord;

/// What may be used beyond what calls carry.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AttributionRules {
    /// Whether the client had at most one call open in each arm. Everything between its being
    /// sent and a short while after its end is then its own.
    pub is_exclusive: bool,
    /// That while, in nanoseconds.
    pub grace: u64,
    /// The least likeness of texts.
    pub similarity: f64,
    /// How many times as like as the second best the best must be.
    pub lead: f64,
}

impl Default for AttributionRules {
    fn default() -> Self {
        Self {
            is_exclusive: false,
            grace: 250_000_000,
            similarity: 0.5,
            lead: 2.0,
        }
    }
}

/// What told whose call it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// The synthetic credential.
    Credential,
    /// The header `x-cb-call`.
    Header,
    /// The client got this very answer.
    AnswerIdentity,
    /// The texts are alike.
    Fingerprint,
    /// Nothing else was in flight.
    SingleFlight,
}

/// Whose call it is.
#[derive(Debug, Clone, PartialEq)]
pub struct Attribution {
    /// The call of the proxy, by the id of its record.
    pub call: u64,
    /// The call of the client, by its place in the list that was given.
    pub client: usize,
    /// What told it.
    pub method: Method,
    /// How sure that is, from 0 to 1.
    pub confidence: f64,
}

/// Why nobody can tell whose call it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unattributed {
    /// It came in no arm that the client has called in.
    UnknownArm,
    /// It began when the client had its answer already.
    Late,
    /// No client call has both its credential and its header.
    Contradiction,
    /// It carries nothing that tells, and is like no call, or like several.
    Unknown,
}

/// All calls of a run, with whose they are.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AttributionSummary {
    /// Those that could be told.
    pub attributed: Vec<Attribution>,
    /// Those that could not, by the id of their records, with the reason.
    pub unattributed: Vec<(u64, Unattributed)>,
}

impl AttributionSummary {
    /// The share of calls that could not be told; 0 without calls.
    pub fn unattributed_share(&self) -> f64 {
        let all = self.attributed.len() + self.unattributed.len();
        match all {
            0 => 0.0,
            all => self.unattributed.len() as f64 / all as f64,
        }
    }

    /// Whether figures of single examples may be shown: with more than one call in a hundred
    /// unattributed, only the totals of an arm mean something.
    pub fn tells_examples(&self) -> bool {
        self.unattributed_share() <= 0.01
    }

    /// The calls of one client call, in the order of the records.
    pub fn of_client<'a>(&'a self, client: usize) -> impl Iterator<Item = u64> + 'a {
        let own = self
            .attributed
            .iter()
            .filter(move |one| one.client == client);
        own.map(|one| one.call)
    }
}

/// Says of every call of the proxy which call of the client caused it.
pub fn attribute(
    calls: &[CallRecord],
    clients: &[ClientCall],
    rules: &AttributionRules,
) -> AttributionSummary {
    let arms = ArmIndex::of(clients);
    let answers = AnswerIndex::of(calls);
    let mut summary = AttributionSummary::default();
    for call in calls {
        let found = match call.arm.as_deref().and_then(|arm| arms.get(arm)) {
            Some(arm) => {
                let book = WholeRun {
                    calls,
                    clients,
                    answers: &answers,
                    arm,
                };
                rules::attribute(&book, rules, call)
            }
            None => Err(Unattributed::UnknownArm),
        };
        match found {
            Ok((client, method, confidence)) => summary.attributed.push(Attribution {
                call: call.id,
                client,
                method,
                confidence,
            }),
            Err(reason) => summary.unattributed.push((call.id, reason)),
        }
    }
    summary
}

/// One arm of a run that is over.
struct WholeRun<'a> {
    calls: &'a [CallRecord],
    clients: &'a [ClientCall],
    answers: &'a AnswerIndex,
    arm: &'a ArmIndex<'a>,
}

impl Book for WholeRun<'_> {
    fn client(&self, number: usize) -> &ClientCall {
        &self.clients[number]
    }

    fn with_credential(&self, credential: &str) -> Option<&[usize]> {
        self.arm.by_credential.get(credential).map(Vec::as_slice)
    }

    fn with_id(&self, id: &str) -> Option<&[usize]> {
        self.arm.by_id.get(id).map(Vec::as_slice)
    }

    fn open(&self, at: u64, grace: u64) -> Candidates {
        self.arm.open(self.clients, at, grace)
    }

    fn has_rival(&self, call: &CallRecord, answer: &AnswerIdentity, sign: Sign, of: usize) -> bool {
        let got = &self.clients[of];
        self.answers.same(answer, sign).iter().any(|other| {
            let other = &self.calls[*other];
            let accepted = other.timeline.accepted;
            let is_before = || got.ended.is_none_or(|ended| accepted <= ended);
            other.id != call.id
                && other.arm.as_deref() == Some(&got.arm)
                && match sign {
                    Sign::Output => is_before(),
                    _ => got.was_open(accepted, 0),
                }
        })
    }

    fn likeness_to_others(&self, call: &CallRecord, of: usize, _: f64) -> f64 {
        let example = &self.clients[of].example;
        let sent = self.arm.sent_before(self.clients, call.timeline.accepted);
        let others = sent.map(|other| &self.clients[other]);
        let others = others.filter(|other| other.example != *example);
        let likeness = others.map(|other| rules::likeness_of(call, &other.fingerprint));
        likeness.fold(0.0, f64::max)
    }
}
