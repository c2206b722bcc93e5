//! [`RunLedger`]: which calls the arms of a run have made and caused, while it goes on. The
//! recorder of the tap writes into it, and whoever sums up a row takes its part out.

use std::io::{Read as _, Seek as _};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use context_bench_tap::Headers;
use context_bench_tap::attribution::{
    AnswerIdentity, ArmLedger, AttributionRules, ClientCall, Fingerprint, OwnedCall, Unattributed,
};
use context_bench_tap::figures::may_be_billed;
use context_bench_tap::record::{
    CallBodies, CallRecord, CallSink, CallsInFlight, LogWriter, Purpose, StoredBody,
};
use context_bench_tap::wire::WireReply;
use indexmap::IndexMap;
use rustc_hash::{FxBuildHasher, FxHashMap};
use smallvec::SmallVec;
use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};

use crate::model::{ArmRole, ArmWire, ModelUse, WireUsage};

/// Bodies of more bytes are counted and not looked at.
const READ_LIMIT: u64 = 32 * 1024 * 1024;
/// How often it is looked whether everything is recorded, should nobody say so.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// A call of a proxy with its bodies.
pub(super) type SeenCall = OwnedCall<CallBodies>;

/// The bytes of a body that was kept.
pub(super) fn bytes_of(body: Option<StoredBody>) -> Option<Vec<u8>> {
    match body? {
        StoredBody::Bytes(bytes) => Some(bytes),
        StoredBody::File(mut file) => {
            let mut bytes = Vec::new();
            file.rewind().ok()?;
            file.read_to_end(&mut bytes).ok()?;
            Some(bytes)
        }
    }
}

/// What a client call that has ended had asked and got.
pub(super) struct ToldCall {
    pub(super) number: usize,
    pub(super) status: Option<u16>,
    pub(super) answer: AnswerIdentity,
    pub(super) fingerprint: Fingerprint,
}

/// One arm of a run, as whoever sums up a row sees it.
pub(super) struct Arm {
    name: String,
    /// The word that stands for it in paths.
    path: String,
    ledger: ArmLedger<CallBodies>,
    pub(super) totals: ArmWire,
    /// Who waits for what its client calls caused, by their numbers.
    waiting: FxHashMap<usize, Arc<Notify>>,
}

/// Arms by the words in their paths, which are our own.
type Arms = IndexMap<String, Arm, FxBuildHasher>;

/// The calls of a run, by arm.
pub(super) struct RunLedger {
    arms: Mutex<Arms>,
    /// The arm of calls that name none: a proxy that was pointed at the tap without it.
    nameless: Mutex<Option<String>>,
    /// How many wait for a call to be recorded. Nearly always none does, and then nobody need be
    /// looked for.
    waiters: AtomicUsize,
    /// Calls of arms that nobody knows.
    strays: Mutex<u64>,
    rules: AttributionRules,
}

impl RunLedger {
    pub(super) fn new(rules: AttributionRules) -> Self {
        Self {
            arms: Mutex::default(),
            nameless: Mutex::default(),
            waiters: AtomicUsize::new(0),
            strays: Mutex::default(),
            rules,
        }
    }

    /// Adds an arm under the word that its path has.
    pub(super) fn add(&self, path: &str, name: &str, role: ArmRole) {
        let arm = Arm {
            name: name.to_owned(),
            path: path.to_owned(),
            ledger: ArmLedger::new(self.rules),
            totals: ArmWire::new(role),
            waiting: FxHashMap::default(),
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

    /// Shows an arm to somebody, who is alone with it for that long.
    pub(super) fn with<T>(&self, arm: &str, look: impl FnOnce(&mut Arm) -> T) -> Option<T> {
        self.arms().get_mut(arm).map(look)
    }

    /// Takes client calls out with all that they caused, once that is known, and after a while
    /// in any case. What they got is told first, as far as it is not yet.
    pub(super) async fn collect(
        &self,
        arm: &str,
        numbers: &[usize],
        told: Vec<ToldCall>,
        in_flight: &CallsInFlight,
        patience: Duration,
    ) -> Vec<(ClientCall, Vec<SeenCall>)> {
        // Nearly always everything is known by now.
        let known = self.with(arm, |arm| {
            told.into_iter().for_each(|call| arm.tell(call));
            self.try_collect(arm, numbers, in_flight, None, false)
        });
        if let Some(taken) = known.unwrap_or_default() {
            return taken;
        }
        let deadline = Instant::now() + patience;
        // Who wakes it leaves a word, so that nothing is missed between a look and the wait.
        let changed = Arc::new(Notify::new());
        // Said before the look: whoever ends what it sees there knows that it waits.
        let _waiting = Waiting::new(&self.waiters);
        loop {
            let is_late = Instant::now() >= deadline;
            let taken = self.with(arm, |arm| {
                self.try_collect(arm, numbers, in_flight, Some(&changed), is_late)
            });
            match taken {
                // Nobody knows this arm, so nothing will come.
                None => return Vec::new(),
                Some(Some(taken)) => return taken,
                Some(None) => {}
            }
            let next = (Instant::now() + LOOK_AGAIN).min(deadline);
            // Whether something changed or the time is up, it is looked at again.
            let _ = timeout_at(next, changed.notified()).await;
        }
    }

    fn try_collect(
        &self,
        arm: &mut Arm,
        numbers: &[usize],
        in_flight: &CallsInFlight,
        changed: Option<&Arc<Notify>>,
        is_late: bool,
    ) -> Option<Vec<(ClientCall, Vec<SeenCall>)>> {
        let is_open = {
            let nameless = lock(&self.nameless);
            let is_of_arm = |named: Option<&str>| named.or(nameless.as_deref()) == Some(&arm.path);
            let clients = numbers.iter().filter_map(|one| arm.ledger.client(*one));
            in_flight.any_of(clients.map(|client| &*client.id), |call| {
                is_of_arm(call.arm.as_deref()) && arm.ledger.may_own(numbers, call)
            })
        };
        if !is_late && (is_open || !arm.ledger.is_settled(numbers)) {
            if let Some(changed) = changed {
                let waiting = numbers.iter().map(|number| (*number, Arc::clone(changed)));
                arm.waiting.extend(waiting);
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

    /// Takes a call that was recorded; returns who is to be told once it has left those in
    /// flight.
    fn recorded(&self, call: Box<CallRecord>, bodies: CallBodies) -> Option<Concerned> {
        let mut arms = self.arms();
        let at = match &call.arm {
            Some(path) => arms.get_index_of(&**path),
            None => lock(&self.nameless)
                .as_ref()
                .and_then(|path| arms.get_index_of(path)),
        };
        let Some((at, (_, arm))) = at.and_then(|at| Some((at, arms.get_index_mut(at)?))) else {
            *lock(&self.strays) += 1;
            return None;
        };
        let numbers = arm
            .ledger
            .concerned(&call.carriers)
            .map(SmallVec::from_slice);
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
        Some(Concerned { arm: at, numbers })
    }

    /// Wakes the rows that may have waited for a call, and no others: with many in flight all of
    /// them looking at every call would cost more than the calls.
    fn settled(&self, call: &Concerned) {
        if self.waiters.load(SeqCst) == 0 {
            return;
        }
        let arms = self.arms();
        let Some((_, arm)) = arms.get_index(call.arm) else {
            return;
        };
        match &call.numbers {
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

    fn arms(&self) -> MutexGuard<'_, Arms> {
        lock(&self.arms)
    }
}

/// Somebody who waits, for as long as this lives.
struct Waiting<'a>(&'a AtomicUsize);

impl<'a> Waiting<'a> {
    fn new(waiters: &'a AtomicUsize) -> Self {
        waiters.fetch_add(1, SeqCst);
        Self(waiters)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, SeqCst);
    }
}

/// Whom a recorded call may be of.
struct Concerned {
    /// The place of its arm.
    arm: usize,
    /// The client calls; none where it may be anybody's.
    numbers: Option<SmallVec<[usize; 2]>>,
}

impl Arm {
    /// Whether texts must be looked at to tell whose calls are.
    pub(super) fn needs_texts(&self) -> bool {
        self.ledger.needs_texts()
    }

    /// What the answer to a client call says, if it is the one that passed the tap to the byte,
    /// and was read there; once.
    pub(super) fn said(
        &mut self,
        number: usize,
        reply: &[u8],
        is_same: impl Fn(&CallRecord) -> bool,
    ) -> Option<Box<WireReply>> {
        let mut owned = self.ledger.owned_mut(number).iter_mut();
        owned.find_map(|call| match &call.kept.response {
            Some(StoredBody::Bytes(bytes)) if is_same(&call.record) && bytes == reply => {
                call.kept.said.take()
            }
            _ => None,
        })
    }

    /// A client call that has ended tells what it got.
    pub(super) fn tell(&mut self, call: ToldCall) {
        let was_open = self.ledger.has_undecided();
        let ToldCall {
            number,
            status,
            answer,
            fingerprint,
        } = call;
        self.ledger.tell(number, status, answer, fingerprint);
        self.note_unattributed();
        if was_open {
            self.wake_all();
        }
    }

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
    fn call(&mut self, call: Box<CallRecord>, bodies: CallBodies) -> std::io::Result<()> {
        let mut call = call;
        let written = match &mut self.log {
            Some(log) => log.call(call.clone(), copies(&bodies)),
            None => Ok(()),
        };
        // No figure needs them, and this thread, which made them, forgets them for less than another.
        call.request.headers = Headers::default();
        let readable = |body: Option<StoredBody>, bytes: u64| body.filter(|_| bytes <= READ_LIMIT);
        let response = call.response.as_ref();
        let response = response.map_or(0, |response| response.body.bytes);
        let bodies = CallBodies {
            request: readable(bodies.request, call.request.body.bytes),
            response: readable(bodies.response, response),
            said: bodies.said,
        };
        self.concerned = self.ledger.recorded(call, bodies);
        written
    }

    fn settled(&mut self) {
        if let Some(concerned) = self.concerned.take() {
            self.ledger.settled(&concerned);
        }
    }

    fn writes_down(&self) -> bool {
        self.log.is_some()
    }

    fn takes_at_once(&self) -> bool {
        self.log.is_none()
    }
}

/// The same bodies once more. The position in a file is shared, so each reader rewinds.
fn copies(bodies: &CallBodies) -> CallBodies {
    let copy = |body: &Option<StoredBody>| match body.as_ref()? {
        StoredBody::Bytes(bytes) => Some(StoredBody::Bytes(bytes.clone())),
        StoredBody::File(file) => {
            let mut file = file.try_clone().ok()?;
            file.rewind().ok()?;
            Some(StoredBody::File(file))
        }
    };
    CallBodies {
        request: copy(&bodies.request),
        response: copy(&bodies.response),
        said: None,
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
