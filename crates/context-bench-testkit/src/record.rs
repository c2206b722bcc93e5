//! What the server remembers: counts, requests, latencies.
//!
//! Memory only; nothing here reads or writes a socket. A request counts as in
//! flight until just before its last byte is written, so that a client that
//! keeps to N requests at a time is never seen with more than N.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hasher as _};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::headers::Headers;
use crate::request::{Details, Request};

/// How long a reader of the record waits for a last write to be noted.
const SETTLE: Duration = Duration::from_secs(20);

/// One request as it was received.
#[derive(Clone, Debug)]
pub struct RecordedRequest {
    /// The method as sent.
    pub method: String,
    /// The path without its query.
    pub path: String,
    /// What followed the `?` of the target; empty if there was none.
    pub query: String,
    /// The headers as sent.
    pub headers: Arc<Headers>,
    /// The body as JSON; `Null` if it is not JSON or bodies are not recorded.
    pub body: Value,
    /// How many earlier completion requests had an identical body.
    pub attempt: usize,
    /// When the request was fully read.
    pub at: Instant,
    /// The time from then until the reply was fully written; `None` while it is
    /// not, and for replies that are never complete (hang, reset, truncated).
    pub replied_in: Option<Duration>,
}

/// How much of each request is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RecordingDetail {
    Everything,
    NoBodies,
    CountsOnly,
}

#[derive(Debug)]
pub(crate) struct Recorder {
    keep: RecordingDetail,
    requests: AtomicUsize,
    connections: AtomicUsize,
    in_flight: AtomicUsize,
    peak_in_flight: AtomicUsize,
    /// Last writes under way whose latency is not noted yet.
    finishing: AtomicUsize,
    log: Mutex<Log>,
    latencies: Mutex<Vec<Duration>>,
}

#[derive(Debug, Default)]
struct Log {
    entries: Vec<Entry>,
    others: Vec<Entry>,
    attempts: HashMap<u64, usize>,
}

#[derive(Debug)]
struct Entry {
    method: String,
    path: String,
    query: String,
    headers: Arc<Headers>,
    body: Option<Arc<[u8]>>,
    attempt: usize,
    at: Instant,
    replied_in: Option<Duration>,
}

impl Recorder {
    pub(crate) fn new(keep: RecordingDetail) -> Self {
        Self {
            keep,
            requests: AtomicUsize::new(0),
            connections: AtomicUsize::new(0),
            in_flight: AtomicUsize::new(0),
            peak_in_flight: AtomicUsize::new(0),
            finishing: AtomicUsize::new(0),
            log: Mutex::default(),
            latencies: Mutex::default(),
        }
    }

    /// Counts a connection.
    pub(crate) fn connected(&self) {
        self.connections.fetch_add(1, SeqCst);
    }

    /// Counts a completion request and numbers it.
    pub(crate) fn arrive(
        &self,
        details: Details,
        body: Arc<[u8]>,
        at: Instant,
    ) -> (Request, Ticket<'_>) {
        self.enter();
        let mut hasher = DefaultHasher::new();
        hasher.write(&body);
        let hash = hasher.finish();

        let mut log = lock(&self.log);
        let seen = log.attempts.entry(hash).or_insert(0);
        let attempt = *seen;
        *seen += 1;
        let index = self.requests.fetch_add(1, SeqCst);
        let request = Request::new(index, attempt, details, body);
        if self.keep != RecordingDetail::CountsOnly {
            log.entries.push(self.entry(&request, at));
        }
        drop(log);
        let slot = (self.keep != RecordingDetail::CountsOnly).then_some(index);
        (request, self.ticket(slot, at))
    }

    /// Counts a completion request of which nothing is known.
    pub(crate) fn arrive_unseen(&self, at: Instant) -> Ticket<'_> {
        self.enter();
        self.requests.fetch_add(1, SeqCst);
        self.ticket(None, at)
    }

    /// Counts a request in flight, before it counts as arrived: whoever waits for it
    /// finds it there.
    fn enter(&self) {
        let now = self.in_flight.fetch_add(1, SeqCst) + 1;
        self.peak_in_flight.fetch_max(now, SeqCst);
    }

    /// Notes a request that is not for a completion.
    pub(crate) fn note_other(&self, details: Details, body: Arc<[u8]>, at: Instant) {
        if self.keep != RecordingDetail::CountsOnly {
            let request = Request::new(0, 0, details, body);
            lock(&self.log).others.push(self.entry(&request, at));
        }
    }

    fn ticket(&self, slot: Option<usize>, at: Instant) -> Ticket<'_> {
        Ticket {
            recorder: self,
            slot,
            at,
            stage: Stage::InFlight,
        }
    }

    fn entry(&self, request: &Request, at: Instant) -> Entry {
        Entry {
            method: request.method.clone(),
            path: request.path.clone(),
            query: request.query.clone(),
            headers: Arc::clone(&request.headers),
            body: (self.keep == RecordingDetail::Everything).then(|| Arc::clone(&request.body)),
            attempt: request.attempt,
            at,
            replied_in: None,
        }
    }

    pub(crate) fn request_count(&self) -> usize {
        self.requests.load(SeqCst)
    }

    pub(crate) fn connection_count(&self) -> usize {
        self.connections.load(SeqCst)
    }

    pub(crate) fn in_flight(&self) -> usize {
        self.in_flight.load(SeqCst)
    }

    pub(crate) fn peak_in_flight(&self) -> usize {
        self.peak_in_flight.load(SeqCst)
    }

    pub(crate) fn latencies(&self) -> Vec<Duration> {
        self.settle();
        lock(&self.latencies).clone()
    }

    pub(crate) fn requests(&self) -> Vec<RecordedRequest> {
        self.settle();
        lock(&self.log).entries.iter().map(Entry::public).collect()
    }

    pub(crate) fn others(&self) -> Vec<RecordedRequest> {
        lock(&self.log).others.iter().map(Entry::public).collect()
    }

    /// A client may hold the last byte of a reply before its latency is noted.
    /// Whoever asks for the record gives the server a moment to note it.
    fn settle(&self) {
        let until = Instant::now() + SETTLE;
        while self.finishing.load(SeqCst) > 0 && Instant::now() < until {
            std::thread::yield_now();
        }
    }
}

impl Entry {
    fn public(&self) -> RecordedRequest {
        let body = self.body.as_deref();
        RecordedRequest {
            method: self.method.clone(),
            path: self.path.clone(),
            query: self.query.clone(),
            headers: Arc::clone(&self.headers),
            body: body
                .and_then(|bytes| serde_json::from_slice(bytes).ok())
                .unwrap_or(Value::Null),
            attempt: self.attempt,
            at: self.at,
            replied_in: self.replied_in,
        }
    }
}

/// Stands for one request in flight; leaves the counts right when dropped, also
/// when its connection is aborted.
#[derive(Debug)]
pub(crate) struct Ticket<'a> {
    recorder: &'a Recorder,
    slot: Option<usize>,
    at: Instant,
    stage: Stage,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    InFlight,
    Finishing,
    Done,
}

impl Ticket<'_> {
    /// To be called just before the last write of a complete reply.
    pub(crate) fn finishing(&mut self) {
        if self.stage == Stage::InFlight {
            self.recorder.finishing.fetch_add(1, SeqCst);
            self.recorder.in_flight.fetch_sub(1, SeqCst);
            self.stage = Stage::Finishing;
        }
    }

    /// To be called once a complete reply is fully written.
    pub(crate) fn written(mut self) {
        let took = self.at.elapsed();
        lock(&self.recorder.latencies).push(took);
        if let Some(slot) = self.slot
            && let Some(entry) = lock(&self.recorder.log).entries.get_mut(slot)
        {
            entry.replied_in = Some(took);
        }
        self.leave();
    }

    fn leave(&mut self) {
        match self.stage {
            Stage::InFlight => self.recorder.in_flight.fetch_sub(1, SeqCst),
            Stage::Finishing => self.recorder.finishing.fetch_sub(1, SeqCst),
            Stage::Done => 0,
        };
        self.stage = Stage::Done;
    }
}

impl Drop for Ticket<'_> {
    fn drop(&mut self) {
        self.leave();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
