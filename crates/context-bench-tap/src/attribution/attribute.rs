//! [`attribute`]: the rules, in their order.
//!
//! The arm is exact and comes first: only client calls of the same arm are looked at. A credential
//! names an example and a header names a call; where no call has both, neither counts.
//! What begins after the client had its answer is background work of the proxy: it belongs to the
//! arm, whatever it carries.

use serde::{Deserialize, Serialize};

use super::client_call::{ClientCall, Sign};
use super::index::{AnswerIndex, ArmIndex};
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
    let run = Run {
        calls,
        clients,
        rules,
        answers: AnswerIndex::of(calls),
    };
    let mut summary = AttributionSummary::default();
    for (at, call) in calls.iter().enumerate() {
        let found = match call.arm.as_deref().and_then(|arm| arms.get(arm)) {
            Some(arm) => run.attribute(at, arm),
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

struct Run<'a> {
    calls: &'a [CallRecord],
    clients: &'a [ClientCall],
    rules: &'a AttributionRules,
    answers: AnswerIndex,
}

type Found = Result<(usize, Method, f64), Unattributed>;

impl Run<'_> {
    fn attribute(&self, at: usize, arm: &ArmIndex<'_>) -> Found {
        let call = &self.calls[at];
        let accepted = call.timeline.accepted;
        let named = self.named(call, arm)?;
        let open_after = |grace: u64| match named {
            Some((named, _)) => {
                let is_open = |client: &&usize| self.clients[**client].was_open(accepted, grace);
                named.iter().filter(is_open).copied().collect()
            }
            None => arm.open(self.clients, accepted, grace),
        };
        let open = open_after(0);
        if let Some((_, method)) = named {
            match open.as_slice() {
                [only] => return Ok((*only, method, 1.0)),
                // Its example is known and none of its calls was open: work after the answer.
                [] => return Err(Unattributed::Late),
                _ => {}
            }
        }
        self.by_answer(at, &open)
            .or_else(|| self.by_likeness(call, &open))
            .or_else(|| self.by_single_flight(&open, || open_after(self.rules.grace)))
            .ok_or(match open.is_empty() {
                true => Unattributed::Late,
                false => Unattributed::Unknown,
            })
    }

    /// The client calls that its carriers name, and which carrier did; none where it carries
    /// nothing that is known.
    fn named<'i>(
        &self,
        call: &CallRecord,
        arm: &'i ArmIndex<'_>,
    ) -> Result<Option<(&'i [usize], Method)>, Unattributed> {
        let carriers = &call.carriers;
        let credential = carriers.credential.as_deref();
        let by_credential = credential.and_then(|credential| arm.by_credential.get(credential));
        let id = carriers.header.as_deref().or(carriers.query.as_deref());
        let by_header = id.and_then(|id| arm.by_id.get(id));
        let by_credential = by_credential.map(Vec::as_slice);
        match (by_credential, by_header.map(Vec::as_slice)) {
            (Some(credential), Some(header)) => {
                // The header is the closer one: a credential serves a whole conversation, or
                // even a whole arm.
                let is_of_both = header.iter().any(|client| credential.contains(client));
                match is_of_both {
                    true if credential.len() > 1 => Ok(Some((header, Method::Header))),
                    true => Ok(Some((credential, Method::Credential))),
                    false => Err(Unattributed::Contradiction),
                }
            }
            (Some(named), None) => Ok(Some((named, Method::Credential))),
            (None, Some(named)) => Ok(Some((named, Method::Header))),
            (None, None) => Ok(None),
        }
    }

    /// The one open call whose client got this very answer, if no other answer is the same.
    fn by_answer(&self, at: usize, open: &[usize]) -> Option<(usize, Method, f64)> {
        let answer = self.answers.answer(at);
        for sign in Sign::ALL {
            let is_same = |client: &&usize| self.clients[**client].answer.agrees(answer, sign);
            let same: Vec<usize> = open.iter().filter(is_same).copied().collect();
            let client = match same.as_slice() {
                [] => continue,
                [client] => *client,
                _ => return None,
            };
            let got = &self.clients[client];
            let has_rival = self.answers.same(answer, sign).iter().any(|other| {
                let call = &self.calls[*other];
                *other != at
                    && call.arm.as_deref() == Some(&got.arm)
                    && got.was_open(call.timeline.accepted, 0)
            });
            let found = (client, Method::AnswerIdentity, sign.confidence());
            return (!has_rival).then_some(found);
        }
        None
    }

    /// The open call whose newest text is like this one's, and clearly more so than any other.
    fn by_likeness(&self, call: &CallRecord, open: &[usize]) -> Option<(usize, Method, f64)> {
        let fingerprint = &call.asked.as_ref()?.fingerprint;
        let likeness = |client: &usize| self.clients[*client].fingerprint.similarity(fingerprint);
        let mut ranked: Vec<(f64, usize)> = open
            .iter()
            .map(|client| (likeness(client), *client))
            .collect();
        ranked.sort_by(|one, two| two.0.total_cmp(&one.0));
        let (best, client) = *ranked.first()?;
        let second = ranked.get(1).map_or(0.0, |(second, _)| *second);
        let is_clear = best >= self.rules.similarity && best >= self.rules.lead * second;
        is_clear.then_some((client, Method::Fingerprint, best))
    }

    /// The only call that was open, or else had just ended, where the client made one at a time.
    fn by_single_flight(
        &self,
        open: &[usize],
        just_ended: impl FnOnce() -> Vec<usize>,
    ) -> Option<(usize, Method, f64)> {
        if !self.rules.is_exclusive {
            return None;
        }
        let only = match open {
            [only] => *only,
            [] => match just_ended().as_slice() {
                [only] => *only,
                _ => return None,
            },
            _ => return None,
        };
        Some((only, Method::SingleFlight, 0.8))
    }
}
