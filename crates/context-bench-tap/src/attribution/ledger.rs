//! [`ArmLedger`]: whose calls they are, while the run goes on. It keeps client calls that are
//! open or not yet summed up, and calls of the proxy that nobody can be told of yet: memory
//! grows with what is in flight and not with the run.
//!
//! A call that names one open client call is decided at once. Any other waits until every
//! client call that may have caused it has told what it got.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::attribute::{AttributionRules, Method, Unattributed};
use super::client_call::{AnswerIdentity, AnswerSigns, ClientCall, Sign};
use super::fingerprint::Fingerprint;
use super::index::REMEMBERED;
use super::rules::{self, Book, Candidates, Found};
use crate::record::{CallInFlight, CallRecord, Carriers};

/// A client call among so many that ended last may have caused a call, whatever its text was.
const JUST_NOW: usize = 64;

/// Answers of so many calls are kept without a look at whether they still matter.
const FEW_SEEN: usize = 256;

/// Numbers of client calls by a name that they carry; nearly always one. The names are our own, so
/// that nobody can choose them to be slow to find; this holds for all maps here.
type ByName = FxHashMap<Arc<str>, SmallVec<[usize; 2]>>;

/// A call of the proxy whose client call is known.
#[derive(Debug, Clone, PartialEq)]
pub struct OwnedCall<P> {
    /// The call.
    pub record: Box<CallRecord>,
    /// What was kept with it.
    pub kept: P,
    /// What told whose it is.
    pub method: Method,
    /// How sure that is, from 0 to 1.
    pub confidence: f64,
}

/// A client call that is still here.
#[derive(Debug)]
struct KnownClient<P> {
    call: ClientCall,
    /// Whether it is known what it got.
    is_told: bool,
    /// What it caused, as far as that is known.
    owned: Vec<OwnedCall<P>>,
}

/// A call of the proxy that was recorded: what its answer is known by.
#[derive(Debug)]
struct SeenAnswer {
    call: u64,
    accepted: u64,
    signs: AnswerSigns,
}

/// The client calls of one arm and what they caused, while the run goes on.
#[derive(Debug)]
pub struct ArmLedger<P> {
    rules: AttributionRules,
    next: usize,
    clients: FxHashMap<usize, KnownClient<P>>,
    has_bare_calls: bool,
    has_named_calls: bool,
    by_id: ByName,
    by_credential: ByName,
    undecided: BTreeMap<u64, (Box<CallRecord>, P)>,
    /// Answers of all calls that may matter to a client call that is still here.
    seen: Vec<SeenAnswer>,
    /// With more of them it is looked which still matter. As one slow client call keeps all that
    /// came since, the next look is after as many again.
    most_seen: usize,
    /// How often each output was seen, by its hash.
    outputs: FxHashMap<u64, u32>,
    /// The examples of client calls that were taken out, and what their texts looked like.
    past: VecDeque<(Arc<str>, Fingerprint)>,
    unattributed: Vec<(Box<CallRecord>, Unattributed)>,
}

impl<P> ArmLedger<P> {
    /// An arm in which nothing has happened yet.
    pub fn new(rules: AttributionRules) -> Self {
        Self {
            rules,
            next: 0,
            clients: FxHashMap::default(),
            has_bare_calls: false,
            has_named_calls: false,
            by_id: ByName::default(),
            by_credential: ByName::default(),
            undecided: BTreeMap::new(),
            seen: Vec::new(),
            most_seen: FEW_SEEN,
            outputs: FxHashMap::default(),
            past: VecDeque::new(),
            unattributed: Vec::new(),
        }
    }

    /// A client call is about to be sent. Its number is for what follows.
    pub fn begin(&mut self, call: ClientCall) -> usize {
        let number = self.next;
        self.next += 1;
        let same = self.by_id.entry(Arc::clone(&call.id)).or_default();
        same.push(number);
        if let Some(credential) = &call.credential {
            let same = self.by_credential.entry(Arc::clone(credential));
            let same = same.or_default();
            same.push(number);
        }
        let client = KnownClient {
            call,
            is_told: false,
            owned: Vec::new(),
        };
        self.clients.insert(number, client);
        number
    }

    /// A client call has ended. Nothing is decided by that: what it got is told later, when
    /// there is time to read it.
    pub fn end(&mut self, number: usize, ended: u64) {
        if let Some(client) = self.clients.get_mut(&number) {
            client.call.ended = Some(ended);
        }
    }

    /// What a client call that has ended had asked and got.
    pub fn tell(
        &mut self,
        number: usize,
        status: Option<u16>,
        answer: AnswerIdentity,
        fingerprint: Fingerprint,
    ) {
        let Some(client) = self.clients.get_mut(&number) else {
            return;
        };
        client.call.status = status;
        client.call.answer = answer;
        client.call.fingerprint = fingerprint;
        client.is_told = true;
        let waiting: Vec<u64> = self.undecided.keys().copied().collect();
        for call in waiting {
            self.decide(call, false);
        }
    }

    /// Whether texts are needed to tell calls apart: one came that carries nothing, or none has
    /// come yet that carries something.
    pub fn needs_texts(&self) -> bool {
        self.has_bare_calls || !self.has_named_calls
    }

    /// A client call that is still here.
    pub fn client(&self, number: usize) -> Option<&ClientCall> {
        self.clients.get(&number).map(|client| &client.call)
    }

    /// What is known by now to be caused by a client call that is still here.
    pub fn owned_mut(&mut self, number: usize) -> &mut [OwnedCall<P>] {
        let client = self.clients.get_mut(&number);
        client.map_or(&mut [], |client| client.owned.as_mut_slice())
    }

    /// A call of the proxy was recorded.
    pub fn record(&mut self, call: Box<CallRecord>, kept: P) {
        let id = call.id;
        let carriers = &call.carriers;
        let is_bare = carriers.credential.is_none() && carriers.call_id().is_none();
        self.has_bare_calls |= is_bare;
        self.has_named_calls |= !is_bare;
        let signs = AnswerSigns::of_call(&call);
        if let Some(output) = signs.value(Sign::Output) {
            *self.outputs.entry(output).or_default() += 1;
        }
        self.seen.push(SeenAnswer {
            call: id,
            accepted: call.timeline.accepted,
            signs,
        });
        match self.fate(&call, false) {
            Some(found) => self.put(call, kept, found),
            None => {
                self.undecided.insert(id, (call, kept));
            }
        }
    }

    /// Whether a call that is not recorded yet may turn out to be caused by one of these.
    pub fn may_own(&self, numbers: &[usize], call: &CallInFlight) -> bool {
        let grace = self.grace();
        let carriers = &call.carriers;
        let names = |name: Option<&str>, own: Option<&str>| name.is_none() || name == own;
        let mut own = numbers.iter().filter_map(|number| self.client(*number));
        own.any(|client| {
            client.was_open(call.accepted, grace)
                && names(carriers.credential.as_deref(), client.credential.as_deref())
                && names(carriers.call_id(), Some(&client.id))
        })
    }

    /// The client calls that a call with these carriers may be of: only those are concerned by
    /// it. None where it may be anybody's.
    pub fn concerned(&self, carriers: &Carriers) -> Option<&[usize]> {
        let by_id = carriers.call_id().and_then(|id| self.by_id.get(id));
        let credential = carriers.credential.as_ref();
        let by_credential = || credential.and_then(|one| self.by_credential.get(&**one));
        by_id.or_else(by_credential).map(SmallVec::as_slice)
    }

    /// Whether there is a recorded call of which it is not known whose it is.
    pub fn has_undecided(&self) -> bool {
        !self.undecided.is_empty()
    }

    /// Whether it is known of every recorded call whether one of these caused it.
    pub fn is_settled(&self, numbers: &[usize]) -> bool {
        let mut waiting = self.undecided.values();
        !waiting.any(|(call, _)| self.may_be_of(numbers, call))
    }

    /// Decides what can be decided about these with what is known by now.
    pub fn settle(&mut self, numbers: &[usize]) {
        let waiting = self.undecided.iter();
        let waiting = waiting.filter(|(_, (call, _))| self.may_be_of(numbers, call));
        let waiting: Vec<u64> = waiting.map(|(id, _)| *id).collect();
        for call in waiting {
            self.decide(call, true);
        }
    }

    /// Takes these client calls out, each with the calls that it caused. What comes for them
    /// later is late.
    pub fn take(&mut self, numbers: &[usize]) -> Vec<(ClientCall, Vec<OwnedCall<P>>)> {
        let mut taken = Vec::with_capacity(numbers.len());
        for number in numbers {
            let Some(KnownClient {
                call: client,
                mut owned,
                ..
            }) = self.clients.remove(number)
            else {
                continue;
            };
            forget(&mut self.by_id, &client.id, *number);
            if let Some(credential) = &client.credential {
                forget(&mut self.by_credential, credential, *number);
            }
            owned.sort_by_key(|call| call.record.id);
            if self.past.len() == REMEMBERED {
                self.past.pop_front();
            }
            let past = (Arc::clone(&client.example), client.fingerprint.clone());
            self.past.push_back(past);
            taken.push((client, owned));
        }
        if self.seen.len() > self.most_seen || self.clients.is_empty() {
            let oldest = self.clients.values().map(|client| client.call.sent).min();
            self.seen
                .retain(|seen| oldest.is_some_and(|oldest| seen.accepted >= oldest));
            self.most_seen = 2 * self.seen.len() + FEW_SEEN;
        }
        taken
    }

    /// The calls that turned out to be nobody's since the last time.
    pub fn take_unattributed(&mut self) -> Vec<(Box<CallRecord>, Unattributed)> {
        std::mem::take(&mut self.unattributed)
    }

    /// Nothing more will come: whatever is undecided is decided.
    pub fn finish(&mut self) {
        let waiting: Vec<u64> = self.undecided.keys().copied().collect();
        for call in waiting {
            self.decide(call, true);
        }
    }

    fn grace(&self) -> u64 {
        match self.rules.is_exclusive {
            true => self.rules.grace,
            false => 0,
        }
    }

    fn may_be_of(&self, numbers: &[usize], call: &CallRecord) -> bool {
        let named = rules::named(self, call).unwrap_or(None);
        let candidates = rules::candidates(self, named, call, self.grace());
        candidates.iter().any(|client| numbers.contains(client))
    }

    fn decide(&mut self, id: u64, is_last_word: bool) {
        let Some((call, _)) = self.undecided.get(&id) else {
            return;
        };
        let Some(found) = self.fate(call, is_last_word) else {
            return;
        };
        if let Some((record, kept)) = self.undecided.remove(&id) {
            self.put(record, kept, found);
        }
    }

    /// Puts a call where it belongs.
    fn put(&mut self, record: Box<CallRecord>, kept: P, found: Found) {
        match found {
            Ok((client, method, confidence)) => {
                let Some(client) = self.clients.get_mut(&client) else {
                    // Rules name none that has gone; were it so, the call is counted all the same.
                    self.unattributed.push((record, Unattributed::Late));
                    return;
                };
                // Most have one.
                client.owned.reserve_exact(1);
                client.owned.push(OwnedCall {
                    record,
                    kept,
                    method,
                    confidence,
                });
            }
            Err(reason) => self.unattributed.push((record, reason)),
        }
    }

    /// What becomes of a call; none while that may still change.
    fn fate(&self, call: &CallRecord, is_last_word: bool) -> Option<Found> {
        let carriers = &call.carriers;
        let credential = carriers.credential.as_deref();
        let credential = credential.map(|credential| self.with_credential(credential));
        let header = carriers.call_id().map(|id| self.with_id(id));
        // Synthetic credentials and ids are ours alone: one that is unknown has had its time.
        if matches!(credential, Some(None)) || matches!(header, Some(None)) {
            return Some(Err(Unattributed::Late));
        }
        let named = match rules::named_by(credential.flatten(), header.flatten()) {
            Ok(named) => named,
            Err(reason) => return Some(Err(reason)),
        };
        let candidates = rules::candidates(self, named, call, self.grace());
        let is_clear = named.is_some() && candidates.len() <= 1;
        // As the rules would have it, which need not look it up again.
        if let (Some((_, method)), [only], false) = (named, &*candidates, self.rules.is_exclusive) {
            return Some(Ok((*only, method, 1.0)));
        }
        let is_untold = |number: &usize| !self.clients[number].is_told;
        if !is_last_word && !is_clear && candidates.iter().any(is_untold) {
            return None;
        }
        Some(rules::attribute(self, &self.rules, call))
    }
}

impl<P> Book for ArmLedger<P> {
    fn client(&self, number: usize) -> &ClientCall {
        &self.clients[&number].call
    }

    fn with_credential(&self, credential: &str) -> Option<&[usize]> {
        self.by_credential.get(credential).map(SmallVec::as_slice)
    }

    fn with_id(&self, id: &str) -> Option<&[usize]> {
        self.by_id.get(id).map(SmallVec::as_slice)
    }

    fn open(&self, at: u64, grace: u64) -> Candidates {
        let open = self.clients.iter();
        let open = open.filter(|(_, client)| client.call.was_open(at, grace));
        let mut open: Candidates = open.map(|(number, _)| *number).collect();
        open.sort_unstable();
        open
    }

    fn likeness_to_others(&self, call: &CallRecord, of: usize, unknown: f64) -> f64 {
        let example = &Book::client(self, of).example;
        let at = call.timeline.accepted;
        let here = self.clients.values().map(|client| &client.call);
        let here = here.filter(|client| client.sent <= at);
        let here = here.map(|client| (&client.example, &client.fingerprint));
        let here = here.map(|(example, looks)| (example, looks, unknown));
        let past = self.past.iter().rev().enumerate();
        let past = past.map(|(ago, (example, looks))| {
            let unknown = if ago < JUST_NOW { unknown } else { 0.0 };
            (example, looks, unknown)
        });
        let others = here.chain(past).filter(|(other, ..)| *other != example);
        let likeness = others.map(|(_, looks, unknown)| match looks.is_empty() {
            true => unknown,
            false => rules::likeness_of(call, looks),
        });
        likeness.fold(0.0, f64::max)
    }

    fn has_rival(&self, call: &CallRecord, answer: &AnswerIdentity, sign: Sign, of: usize) -> bool {
        if sign == Sign::Output {
            let output = AnswerSigns::of(answer).value(sign);
            let times = output.and_then(|output| self.outputs.get(&output));
            return times.is_some_and(|times| *times > 1);
        }
        let got = Book::client(self, of);
        let own = AnswerSigns::of(answer).value(sign);
        self.seen.iter().any(|other| {
            let is_same = own.is_some() && own == other.signs.value(sign);
            other.call != call.id && is_same && got.was_open(other.accepted, 0)
        })
    }
}

fn forget(known: &mut ByName, name: &str, number: usize) {
    if let Some(numbers) = known.get_mut(name) {
        numbers.retain(|one| *one != number);
        if numbers.is_empty() {
            known.remove(name);
        }
    }
}
