//! [`ArmIndex`], [`AnswerIndex`]: calls found by what they carry and by when they were open, so
//! that long runs are attributed in a time that grows with their calls and not with its square.

use std::collections::HashMap;

use super::client_call::{AnswerIdentity, ClientCall, Sign};
use super::rules::Candidates;
use crate::record::CallRecord;

/// How many client calls are looked at beyond those that are open.
pub(super) const REMEMBERED: usize = 1024;

/// The client calls of one arm; all numbers are places in the list of all client calls.
#[derive(Debug, Default)]
pub(super) struct ArmIndex<'a> {
    pub(super) by_credential: HashMap<&'a str, Vec<usize>>,
    pub(super) by_id: HashMap<&'a str, Vec<usize>>,
    /// In the order in which they were sent.
    by_time: Vec<usize>,
    /// The latest end of all up to each of them.
    latest_end: Vec<u64>,
}

impl<'a> ArmIndex<'a> {
    /// The index of every arm.
    pub(super) fn of(clients: &'a [ClientCall]) -> HashMap<&'a str, Self> {
        let mut arms: HashMap<&str, Self> = HashMap::new();
        for (at, client) in clients.iter().enumerate() {
            let arm = arms.entry(&client.arm).or_default();
            arm.by_id.entry(&client.id).or_default().push(at);
            if let Some(credential) = &client.credential {
                arm.by_credential.entry(credential).or_default().push(at);
            }
            arm.by_time.push(at);
        }
        for arm in arms.values_mut() {
            arm.by_time.sort_by_key(|at| clients[*at].sent);
            let mut latest = 0;
            let ends = arm.by_time.iter().map(|at| {
                latest = clients[*at].ended.unwrap_or(u64::MAX).max(latest);
                latest
            });
            arm.latest_end = ends.collect();
        }
        arms
    }

    /// Those that were sent before this moment, the latest first, as far back as may matter.
    pub(super) fn sent_before(
        &self,
        clients: &[ClientCall],
        at: u64,
    ) -> impl Iterator<Item = usize> {
        let sent = self
            .by_time
            .partition_point(|client| clients[*client].sent <= at);
        let latest = self.by_time[..sent].iter().rev();
        latest.take(REMEMBERED).copied()
    }

    /// Those that were open at this moment, or had ended no longer ago than the grace.
    pub(super) fn open(&self, clients: &[ClientCall], at: u64, grace: u64) -> Candidates {
        let sent = self
            .by_time
            .partition_point(|client| clients[*client].sent <= at);
        let may_be_open = |place: &usize| self.latest_end[*place].saturating_add(grace) >= at;
        let places = (0..sent).rev().take_while(may_be_open);
        let open = places.map(|place| self.by_time[place]);
        open.filter(|client| clients[*client].was_open(at, grace))
            .collect()
    }
}

/// Answers that passed the tap, by what they are known by.
#[derive(Debug)]
pub(super) struct AnswerIndex {
    by_sign: HashMap<(Sign, String), Vec<usize>>,
}

impl AnswerIndex {
    pub(super) fn of(calls: &[CallRecord]) -> Self {
        let mut by_sign: HashMap<(Sign, String), Vec<usize>> = HashMap::new();
        for (at, call) in calls.iter().enumerate() {
            let answer = AnswerIdentity::of_call(call);
            for sign in Sign::ALL {
                if let Some(value) = answer.value(sign) {
                    by_sign
                        .entry((sign, value.to_owned()))
                        .or_default()
                        .push(at);
                }
            }
        }
        Self { by_sign }
    }

    /// The calls whose answers are this one, by this sign.
    pub(super) fn same(&self, answer: &AnswerIdentity, sign: Sign) -> &[usize] {
        let value = answer.value(sign).map(|value| (sign, value.to_owned()));
        let found = value.and_then(|value| self.by_sign.get(&value));
        found.map_or(&[], Vec::as_slice)
    }
}
