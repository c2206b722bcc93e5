//! [`RunLedger`]: which calls the arms of a run have made and caused, while it goes on. The
//! recorder of the tap writes into it, and whoever sums up a row takes its part out.

use std::collections::HashMap;
use std::fs::File;
use std::io::{Read as _, Seek as _};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use context_bench_tap::attribution::{
    AnswerIdentity, ArmLedger, AttributionRules, ClientCall, Fingerprint, OwnedCall, Unattributed,
};
use context_bench_tap::figures::may_be_billed;
use context_bench_tap::record::{
    CallRecord, CallSink, CallsInFlight, Carriers, LogWriter, Purpose, StoredBody,
};
use context_bench_tap::wire::WireReply;
use indexmap::IndexMap;
use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};

use crate::model::{ArmRole, ArmWire, ModelUse, WireUsage};

/// Bodies of more bytes are counted and not looked at.
const READ_LIMIT: u64 = 32 * 1024 * 1024;
/// How often it is looked whether everything is recorded, should nobody say so.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// A call of a proxy with its bodies.
pub(super) type SeenCall = OwnedCall<CallBodies>;

/// The bodies of a call, as far as they were kept.
#[derive(Debug, Default)]
pub(super) struct CallBodies {
    request: Option<KeptBody>,
    reply: Option<KeptBody>,
    /// What the answer says, as the recorder read it.
    said: Option<WireReply>,
}

#[derive(Debug)]
enum KeptBody {
    Bytes(Vec<u8>),
    File(File),
}

impl KeptBody {
    fn read(&mut self) -> Option<Vec<u8>> {
        match self {
            Self::Bytes(bytes) => Some(std::mem::take(bytes)),
            Self::File(file) => {
                let mut bytes = Vec::new();
                file.rewind().ok()?;
                file.read_to_end(&mut bytes).ok()?;
                Some(bytes)
            }
        }
    }
}

impl CallBodies {
    /// What was asked; once.
    pub(super) fn request(&mut self) -> Option<Vec<u8>> {
        self.request.take()?.read()
    }

    /// What the answer says, if it is this one to the byte; once.
    fn said(&mut self, reply: &[u8]) -> Option<WireReply> {
        match &self.reply {
            Some(KeptBody::Bytes(bytes)) if bytes == reply => self.said.take(),
            _ => None,
        }
    }

    /// What was answered; once.
    pub(super) fn reply(&mut self) -> Option<Vec<u8>> {
        self.reply.take()?.read()
    }
}

struct Arm {
    name: String,
    ledger: ArmLedger<CallBodies>,
    totals: ArmWire,
    /// Who waits for what its client calls caused, by their numbers.
    waiting: HashMap<usize, Arc<Notify>>,
}

/// The calls of a run, by arm.
pub(super) struct RunLedger {
    arms: Mutex<IndexMap<String, Arm>>,
    /// The arm of calls that name none: a proxy that was pointed at the tap without it.
    nameless: Mutex<Option<String>>,
    /// Calls of arms that nobody knows.
    strays: Mutex<u64>,
    rules: AttributionRules,
}

impl RunLedger {
    pub(super) fn new(rules: AttributionRules) -> Self {
        Self {
            arms: Mutex::default(),
            nameless: Mutex::default(),
            strays: Mutex::default(),
            rules,
        }
    }

    /// Adds an arm under the word that its path has.
    pub(super) fn add(&self, path: &str, name: &str, role: ArmRole) {
        let arm = Arm {
            name: name.to_owned(),
            ledger: ArmLedger::new(self.rules),
            totals: ArmWire::new(role),
            waiting: HashMap::new(),
        };
        self.arms().insert(path.to_owned(), arm);
    }

    /// Says which arm calls belong to that name none.
    pub(super) fn set_nameless(&self, path: Option<String>) {
        *lock(&self.nameless) = path;
    }

    /// A client call is about to be sent.
    pub(super) fn begin(&self, arm: &str, call: ClientCall, bytes: u64) -> Option<usize> {
        let mut arms = self.arms();
        let arm = arms.get_mut(arm)?;
        arm.totals.client_calls += 1;
        arm.totals.client_bytes += bytes;
        Some(arm.ledger.begin(call))
    }

    /// A client call has ended.
    pub(super) fn end(&self, arm: &str, number: usize, ended: u64) {
        if let Some(arm) = self.arms().get_mut(arm) {
            arm.ledger.end(number, ended);
        }
    }

    /// Whether texts must be looked at to tell whose calls are.
    pub(super) fn needs_texts(&self, arm: &str) -> bool {
        let arms = self.arms();
        arms.get(arm).is_some_and(|arm| arm.ledger.needs_texts())
    }

    /// What the answer to a client call says, if it is the one that passed the tap, and was read
    /// there.
    pub(super) fn said(
        &self,
        arm: &str,
        number: usize,
        reply: &[u8],
        is_same: impl Fn(&CallRecord) -> bool,
    ) -> Option<WireReply> {
        let mut arms = self.arms();
        let mut owned = arms.get_mut(arm)?.ledger.owned_mut(number).iter_mut();
        owned.find_map(|call| match is_same(&call.record) {
            true => call.kept.said(reply),
            false => None,
        })
    }

    /// What a client call that has ended had asked and got.
    pub(super) fn tell(
        &self,
        arm: &str,
        number: usize,
        status: Option<u16>,
        answer: AnswerIdentity,
        fingerprint: Fingerprint,
    ) {
        if let Some(arm) = self.arms().get_mut(arm) {
            let was_open = arm.ledger.has_undecided();
            arm.ledger.tell(number, status, answer, fingerprint);
            arm.note_unattributed();
            if was_open {
                arm.wake_all();
            }
        }
    }

    /// Takes client calls out with all that they caused, once that is known, and after a while
    /// in any case.
    pub(super) async fn collect(
        &self,
        arm: &str,
        numbers: &[usize],
        in_flight: &CallsInFlight,
        patience: Duration,
    ) -> Vec<(ClientCall, Vec<SeenCall>)> {
        let deadline = Instant::now() + patience;
        // Who wakes it leaves a word, so that nothing is missed between a look and the wait.
        let changed = Arc::new(Notify::new());
        loop {
            let is_late = Instant::now() >= deadline;
            if let Some(taken) = self.try_collect(arm, numbers, in_flight, &changed, is_late) {
                return taken;
            }
            let next = (Instant::now() + LOOK_AGAIN).min(deadline);
            // Whether something changed or the time is up, it is looked at again.
            let _ = timeout_at(next, changed.notified()).await;
        }
    }

    fn try_collect(
        &self,
        arm: &str,
        numbers: &[usize],
        in_flight: &CallsInFlight,
        changed: &Arc<Notify>,
        is_late: bool,
    ) -> Option<Vec<(ClientCall, Vec<SeenCall>)>> {
        let mut arms = self.arms();
        let path = arm;
        let arm = arms.get_mut(arm)?;
        let is_open = {
            let nameless = lock(&self.nameless);
            let is_of_arm = |named: Option<&str>| named.or(nameless.as_deref()) == Some(path);
            let clients = numbers.iter().filter_map(|one| arm.ledger.client(*one));
            in_flight.any_of(clients.map(|client| client.id.as_str()), |call| {
                is_of_arm(call.arm.as_deref()) && arm.ledger.may_own(numbers, call)
            })
        };
        if !is_late && (is_open || !arm.ledger.is_settled(numbers)) {
            for number in numbers {
                arm.waiting.insert(*number, Arc::clone(changed));
            }
            return None;
        }
        let was_open = arm.ledger.has_undecided();
        arm.ledger.settle(numbers);
        let taken = arm.ledger.take(numbers);
        arm.note_unattributed();
        for number in numbers {
            arm.waiting.remove(number);
        }
        if was_open {
            // Others may wait for what is decided now.
            arm.wake_all();
        }
        Some(taken)
    }

    /// Notes what became of the calls of a row.
    pub(super) fn note(&self, arm: &str, note: impl FnOnce(&mut ArmWire)) {
        if let Some(arm) = self.arms().get_mut(arm) {
            note(&mut arm.totals);
        }
    }

    /// Takes a call that was recorded; returns who is to be told once it has left those in
    /// flight.
    fn recorded(&self, call: CallRecord, bodies: CallBodies) -> Option<Concerned> {
        let path = call.arm.clone().or_else(|| lock(&self.nameless).clone());
        let mut arms = self.arms();
        let found = path.and_then(|path| Some((arms.get_mut(&path)?, path)));
        let Some((arm, path)) = found else {
            *lock(&self.strays) += 1;
            return None;
        };
        let carriers = call.carriers.clone();
        arm.totals.calls += 1;
        arm.totals.bytes += call.request.body.bytes;
        if call.timeline.request_sent.is_none() {
            arm.totals.unsent.count(call.request.body.bytes);
        }
        arm.totals.usage.add(&usage_of(&call));
        if let Some(used) = use_of(&call) {
            used.add_to(&mut arm.totals.uses);
        }
        arm.ledger.record(call, bodies);
        arm.note_unattributed();
        Some(Concerned { path, carriers })
    }

    /// Wakes the rows that may have waited for a call, and no others: with many in flight all of
    /// them looking at every call would cost more than the calls.
    fn settled(&self, call: &Concerned) {
        let arms = self.arms();
        let Some(arm) = arms.get(&call.path) else {
            return;
        };
        match arm.ledger.concerned(&call.carriers) {
            Some(numbers) => {
                let waiting = numbers.iter().filter_map(|one| arm.waiting.get(one));
                waiting.for_each(|one| one.notify_one());
            }
            None => arm.wake_all(),
        }
    }

    /// Nothing more will come: the totals of every arm, by its name, and how many calls came
    /// for arms that nobody knows.
    pub(super) fn finish(&self) -> (IndexMap<String, ArmWire>, u64) {
        let mut arms = self.arms();
        let totals = arms.values_mut().map(|arm| {
            arm.ledger.finish();
            arm.note_unattributed();
            (arm.name.clone(), arm.totals.clone())
        });
        (totals.collect(), *lock(&self.strays))
    }

    fn arms(&self) -> MutexGuard<'_, IndexMap<String, Arm>> {
        lock(&self.arms)
    }
}

/// Whom a recorded call may be of.
struct Concerned {
    path: String,
    carriers: Carriers,
}

impl Arm {
    fn wake_all(&self) {
        self.waiting.values().for_each(|one| one.notify_one());
    }

    /// Counts what turned out to be nobody's.
    fn note_unattributed(&mut self) {
        for (call, reason) in self.ledger.take_unattributed() {
            // What a proxy asks on its own account, such as whether its provider is there when
            // it starts, belongs to no row and costs nothing.
            if call.purpose == Purpose::Probe {
                self.totals.by_class.probe += 1;
                continue;
            }
            let unattributed = &mut self.totals.unattributed;
            unattributed.calls += 1;
            unattributed.bytes += call.request.body.bytes;
            unattributed.usage.add(&usage_of(&call));
            if let Some(used) = use_of(&call) {
                used.add_to(&mut unattributed.uses);
            }
            let reason = match reason {
                Unattributed::UnknownArm => "unknown_arm",
                Unattributed::Late => "late",
                Unattributed::Contradiction => "contradiction",
                Unattributed::Unknown => "unknown",
            };
            *unattributed.by_reason.entry(reason.to_owned()).or_default() += 1;
        }
    }
}

/// What the provider counted for a call, or that it may have cost something unknown.
pub(super) fn usage_of(call: &CallRecord) -> WireUsage {
    let answered = call.answered.as_ref();
    match answered.and_then(|answered| answered.usage.as_ref()) {
        Some(usage) => WireUsage {
            uncached: usage.uncached,
            cache_read: usage.cache_read,
            cache_write_short: usage.cache_write_short,
            cache_write_long: usage.cache_write_long,
            output: usage.output,
            unknown: 0,
            inconsistent: u64::from(usage.is_inconsistent),
        },
        None => WireUsage {
            unknown: u64::from(may_be_billed(call)),
            ..WireUsage::default()
        },
    }
}

/// What a call took by its model, as prices need it: that of the answer, else of the request. `None`
/// for calls that ask no model.
pub(super) fn use_of(call: &CallRecord) -> Option<ModelUse> {
    if !matches!(call.purpose, Purpose::Generation | Purpose::Auxiliary) {
        return None;
    }
    let answered = call.answered.as_ref();
    let asked = call.asked.as_ref().and_then(|asked| asked.model.as_deref());
    let model = answered.and_then(|answered| answered.model.as_deref());
    let model = model.filter(|name| !name.is_empty()).or(asked);
    let tier = answered.and_then(|answered| answered.service_tier.as_deref());
    let used = ModelUse::call(model.map(Into::into), usage_of(call)).with_service(tier);
    Some(ModelUse {
        at: Some(call.started_at_ms / 1000),
        ..used
    })
}

/// Hands what the tap recorded to the ledger, and to a log if there is one.
pub(super) struct LedgerSink {
    ledger: Arc<RunLedger>,
    log: Option<LogWriter>,
    /// Who is to be told of the last call.
    concerned: Option<Concerned>,
}

impl LedgerSink {
    pub(super) fn new(ledger: Arc<RunLedger>, log: Option<LogWriter>) -> Self {
        Self {
            ledger,
            log,
            concerned: None,
        }
    }
}

impl CallSink for LedgerSink {
    fn call(&mut self, call: CallRecord, bodies: Vec<StoredBody>) -> std::io::Result<()> {
        self.call_read(call, bodies, None)
    }

    fn call_read(
        &mut self,
        call: CallRecord,
        bodies: Vec<StoredBody>,
        said: Option<WireReply>,
    ) -> std::io::Result<()> {
        // Two at most: that of the request and that of the answer.
        let mut kept: Vec<(String, KeptBody)> = Vec::with_capacity(bodies.len());
        let mut logged = Vec::new();
        for body in bodies {
            let (kept_body, for_log) = match body {
                StoredBody::Bytes { digest, bytes } => {
                    let copy = self.log.is_some().then(|| StoredBody::Bytes {
                        digest: digest.clone(),
                        bytes: bytes.clone(),
                    });
                    (Some((digest, KeptBody::Bytes(bytes))), copy)
                }
                // The position is shared with the copy, so each reader rewinds.
                StoredBody::File { digest, file } => {
                    let copy = file.try_clone().ok().map(KeptBody::File);
                    let copy = copy.map(|copy| (digest.clone(), copy));
                    let has_log = self.log.is_some();
                    (copy, has_log.then_some(StoredBody::File { digest, file }))
                }
            };
            kept.extend(kept_body);
            logged.extend(for_log);
        }
        let written = match &mut self.log {
            Some(log) => log.call(call.clone(), logged),
            None => Ok(()),
        };
        let mut take = |digest: &str, bytes: u64| {
            let at = kept.iter().position(|(known, _)| known == digest)?;
            let (_, body) = kept.remove(at);
            (bytes <= READ_LIMIT).then_some(body)
        };
        let request = take(&call.request.body.digest, call.request.body.bytes);
        let response = call.response.as_ref();
        let reply = response.and_then(|response| take(&response.body.digest, response.body.bytes));
        let bodies = CallBodies {
            request,
            reply,
            said,
        };
        self.concerned = self.ledger.recorded(call, bodies);
        written
    }

    fn settled(&mut self) {
        if let Some(concerned) = self.concerned.take() {
            self.ledger.settled(&concerned);
        }
    }

    fn wants_requests(&self) -> bool {
        self.log.is_some()
    }

    fn takes_at_once(&self) -> bool {
        self.log.is_none()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
