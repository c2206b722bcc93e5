//! [`Recorder`]: makes records of finished calls on a thread of its own, so that reading
//! long bodies and writing files never holds up a relay. Short calls whose record goes to memory
//! are kept by the relay itself, once the answer has gone out.

use std::borrow::Cow;
use std::io::Read as _;
use std::sync::mpsc::Receiver;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use super::body::{BodyContent, RecordedBody};
use super::call::{
    BodyRef, CallRecord, Carriers, EndState, Frame, RequestRecord, ResponseRecord, Stored,
};
use super::content_encoding::{content_frames, decoded};
use super::in_flight::{CallsInFlight, InFlightKey};
use super::queue::{RecorderQueue, Share, WaitingCall};
use super::scrub::Scrubber;
use super::sink::{CallBodies, CallSink, StoredBody};
use super::timeline::Timeline;
use crate::http1::{Headers, RequestHead, ResponseHead};
use crate::wire::{
    Event, EventReader, ReplyReader, ReplySummary, RequestSummary, Route, UsageShape, WireRequest,
};

/// Bodies of more bytes are stored, but not read: a parsed one takes several times its size.
const READ_LIMIT: usize = 32 * 1024 * 1024;

/// What is known of a call from its beginning.
#[derive(Debug)]
pub(crate) struct BegunCall {
    pub(crate) id: u64,
    pub(crate) in_flight: InFlightKey,
    pub(crate) arm: Option<Arc<str>>,
    pub(crate) connection: u64,
    pub(crate) started_at_ms: u64,
    pub(crate) path: String,
    pub(crate) query: String,
    pub(crate) route: Route,
    pub(crate) carriers: Carriers,
    pub(crate) shape: Option<UsageShape>,
}

/// A call that has ended, as the relay hands it over.
#[derive(Debug)]
pub(crate) struct FinishedCall {
    pub(crate) begun: BegunCall,
    pub(crate) head: RequestHead,
    pub(crate) body: RecordedBody,
    pub(crate) answer: Option<FinishedAnswer>,
    pub(crate) timeline: Timeline,
    pub(crate) end: EndState,
    pub(crate) problem: Option<String>,
}

/// The answer to a call that has ended.
#[derive(Debug)]
pub(crate) struct FinishedAnswer {
    pub(crate) head: ResponseHead,
    pub(crate) body: RecordedBody,
    /// Stamps of the clock, not yet set against the request.
    pub(crate) frames: Vec<Frame>,
    pub(crate) frames_left_out: u64,
}

impl FinishedCall {
    /// How many bytes it counts for while it waits.
    pub(crate) fn weight(&self) -> usize {
        /// What a call takes in memory besides what grows with it.
        const LEAST: usize = 2048;
        let answer = self.answer.as_ref().map_or(0, |answer| {
            let frames = answer.frames.len() * size_of::<Frame>();
            answer.head.headers.bytes() + answer.body.weight() + frames
        });
        LEAST + self.head.headers.bytes() + self.body.weight() + answer
    }
}

/// The thread that keeps records. Dropping it does not wait; `finish` does.
#[derive(Debug)]
pub(crate) struct Recorder {
    queue: RecorderQueue,
    keeper: Arc<Keeper>,
    thread: JoinHandle<()>,
}

/// What became of the records.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct RecorderOutcome {
    pub(crate) calls: u64,
    pub(crate) failures: u64,
    pub(crate) first_failure: Option<String>,
}

impl Recorder {
    /// Starts the thread; calls that wait for it may take so many bytes.
    pub(crate) fn start(
        sink: Box<dyn CallSink>,
        scrubber: Arc<Scrubber>,
        limit: usize,
        in_flight: Arc<CallsInFlight>,
    ) -> std::io::Result<Self> {
        let keeper = Arc::new(Keeper {
            writes_down: sink.writes_down(),
            takes_at_once: sink.takes_at_once(),
            kept: Mutex::new((sink, RecorderOutcome::default())),
            scrubber,
            in_flight,
        });
        let (queue, receiver) = RecorderQueue::new(limit, Arc::clone(&keeper));
        let own = Arc::clone(&keeper);
        let thread = std::thread::Builder::new()
            .name("tap-recorder".to_owned())
            .spawn(move || run(&receiver, &own))?;
        Ok(Self {
            queue,
            keeper,
            thread,
        })
    }

    /// The way to the thread.
    pub(crate) fn queue(&self) -> RecorderQueue {
        self.queue.clone()
    }

    /// Waits until everything is kept that was handed over; every other way to it must be gone.
    pub(crate) fn finish(self) -> RecorderOutcome {
        drop(self.queue);
        let has_ended = self.thread.join().is_ok();
        let mut outcome = self.keeper.kept().1.clone();
        if !has_ended {
            outcome.failures += 1;
            let panicked = || "the recorder panicked".to_owned();
            outcome.first_failure.get_or_insert_with(panicked);
        }
        outcome
    }
}

fn run(receiver: &Receiver<WaitingCall>, keeper: &Keeper) {
    for waiting in receiver {
        let WaitingCall { call, share } = waiting;
        keeper.keep(call, Some(share));
    }
}

/// Makes records of calls and hands them to the sink.
pub(crate) struct Keeper {
    kept: Mutex<(Box<dyn CallSink>, RecorderOutcome)>,
    scrubber: Arc<Scrubber>,
    in_flight: Arc<CallsInFlight>,
    writes_down: bool,
    takes_at_once: bool,
}

impl std::fmt::Debug for Keeper {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("Keeper(…)")
    }
}

impl Keeper {
    /// Whether a call need not wait for the thread: it is short, and so is what becomes of it.
    /// Waking the thread and being woken by it would cost more than the record.
    pub(crate) fn takes_at_once(&self, weight: usize) -> bool {
        /// The reading of a body of this length takes tens of microseconds.
        const SHORT: usize = 32 * 1024;
        self.takes_at_once && weight <= SHORT
    }

    fn kept(&self) -> MutexGuard<'_, (Box<dyn CallSink>, RecorderOutcome)> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes the record of one call and hands it over.
    pub(crate) fn keep(&self, call: Box<FinishedCall>, share: Option<Share>) {
        let in_flight = call.begun.in_flight;
        let (record, bodies) = record(call, &self.scrubber, self.writes_down);
        let mut kept = self.kept();
        let (sink, outcome) = &mut *kept;
        outcome.calls += 1;
        if let Err(error) = sink.call(record, bodies) {
            outcome.failures += 1;
            let first = outcome
                .first_failure
                .get_or_insert_with(|| error.to_string());
            *first = self.scrubber.text(first);
        }
        // Its room is free only now that nothing of it is left.
        drop(share);
        self.in_flight.recorded(in_flight);
        sink.settled();
    }
}

/// A finished call as its sink wants it. Names and messages have no secrets in them in any case,
/// since rows may show them; headers, addresses and bodies only where they are written down.
fn record(
    finished: Box<FinishedCall>,
    scrubber: &Scrubber,
    writes_down: bool,
) -> (Box<CallRecord>, CallBodies) {
    let begun = finished.begun;
    let head = finished.head;
    let headers = |headers: Headers| match writes_down {
        true => scrubber.headers(&headers),
        false => headers,
    };
    let route = &begun.route;
    let mut bodies = CallBodies::default();
    let encodings = head.headers.words("content-encoding");
    // What a request says helps to tell whose it is, where its carriers do not.
    let is_read = writes_down || begun.carriers.call_id().is_none();
    let mut asked = None;
    let mut read = |body: &[u8]| {
        let request = WireRequest::read(route, body);
        asked = request.map(|request| RequestSummary::of(&request).scrubbed(scrubber));
    };
    let read: Option<Read<'_>> = if is_read { Some(&mut read) } else { None };
    let written = writes_down.then_some(scrubber);
    let (request, kept) = open(finished.body, &encodings, written, read);
    bodies.request = kept;
    let mut timeline = finished.timeline;
    let sent = timeline
        .request_sent
        .or(timeline.connect_done)
        .unwrap_or(timeline.accepted);
    let mut answered = None;
    let response = finished.answer.map(|mut answer| {
        let encodings = answer.head.headers.words("content-encoding");
        let is_stream = answer.head.headers.is_stream();
        let shown = is_stream.then(|| shown_frames(&answer, &encodings));
        let shown = shown.flatten();
        let mut read = |body: &[u8]| {
            let reader = ReplyReader::new(route.format, begun.shape);
            // As the provider spelled it, usage is for who writes it down.
            let mut reader = match writes_down {
                true => reader,
                false => reader.without_raw_usage(),
            };
            if is_stream {
                read_stream(body, shown.as_deref(), &mut reader, &mut timeline);
            } else {
                reader.whole(body);
            }
            let reply = reader.finish();
            if !is_stream && reply.has_output() {
                timeline.first_output = timeline.last_byte;
            }
            let summary = match writes_down {
                true => ReplySummary::of(&reply),
                false => ReplySummary::to_count(&reply),
            };
            answered = Some(summary.scrubbed(scrubber));
            bodies.said = Some(Box::new(reply));
        };
        let (body, kept) = open(answer.body, &encodings, written, Some(&mut read));
        bodies.response = kept;
        for frame in &mut answer.frames {
            frame.2 = frame.2.saturating_sub(sent);
        }
        ResponseRecord {
            status: answer.head.status,
            headers: headers(answer.head.headers),
            body,
            frames: answer.frames,
            frames_left_out: answer.frames_left_out,
        }
    });
    let call = Box::new(CallRecord {
        id: begun.id,
        arm: begun.arm,
        connection: begun.connection,
        started_at_ms: begun.started_at_ms,
        purpose: route.purpose,
        format: route.format,
        request: RequestRecord {
            method: head.method,
            path: match writes_down {
                true => scrubber.text(&begun.path),
                false => begun.path,
            },
            query: match writes_down {
                true => scrubber.query(&begun.query),
                false => begun.query,
            },
            headers: headers(head.headers),
            body: request,
        },
        response,
        asked,
        answered,
        carriers: begun.carriers.scrubbed(scrubber),
        timeline,
        end: finished.end,
        problem: finished.problem.map(|problem| scrubber.text(&problem)),
    });
    (call, bodies)
}

/// The pieces of an answer as a reader sees its content; none where its encoding hides them.
fn shown_frames(answer: &FinishedAnswer, encodings: &[String]) -> Option<Vec<Frame>> {
    let mut encodings = encodings.iter().filter(|encoding| *encoding != "identity");
    match (encodings.next().map(String::as_str), encodings.next()) {
        (None, _) => Some(answer.frames.clone()),
        (Some("gzip" | "x-gzip"), None) => match &answer.body.content {
            BodyContent::Memory(held) => content_frames(&held.bytes, &answer.frames, READ_LIMIT),
            _ => None,
        },
        _ => None,
    }
}

/// Reads the events of a stream, and sets the stamps that depend on what they say.
fn read_stream(
    body: &[u8],
    frames: Option<&[Frame]>,
    reader: &mut ReplyReader,
    timeline: &mut Timeline,
) {
    let mut events = EventReader::default();
    let mut found = |event: Event| {
        let is_output = reader.event(&event);
        let is_first = timeline.first_event.is_none();
        let is_first_output = is_output && timeline.first_output.is_none();
        if let Some(frames) = frames.filter(|_| is_first || is_first_output) {
            let at = arrival(frames, event.end);
            if is_first {
                timeline.first_event = at;
            }
            if is_first_output {
                timeline.first_output = at;
            }
        }
    };
    events.feed(body, &mut found);
    events.finish(&mut found);
}

/// When the byte before this offset was there.
fn arrival(frames: &[Frame], end: u64) -> Option<u64> {
    let frame = frames.partition_point(|frame| frame.offset() + frame.length() < end);
    frames
        .get(frame)
        .or(frames.last())
        .map(|frame| frame.after())
}

/// Somebody who reads the content of a body.
type Read<'r> = &'r mut dyn FnMut(&[u8]);

/// Takes the copy of a body apart: how records refer to it, and what is handed over with them.
/// Its content is shown to whoever reads it, as it was on the wire.
fn open(
    body: RecordedBody,
    encodings: &[String],
    scrubber: Option<&Scrubber>,
    read: Option<Read<'_>>,
) -> (BodyRef, Option<StoredBody>) {
    let is_plain = encodings.iter().all(|encoding| encoding == "identity");
    let in_memory = matches!(body.content, BodyContent::Memory(_));
    // Who gets the bytes themselves, all of them and as they were, needs no name for them.
    let is_named = scrubber.is_some() || !in_memory || !is_plain;
    let digest = is_named.then(|| body.digest());
    let bytes = body.length;
    let refer = |stored, kept| {
        let refers = BodyRef {
            digest,
            bytes,
            stored,
        };
        (refers, kept)
    };
    match body.content {
        _ if bytes == 0 => refer(Stored::Empty, None),
        BodyContent::LeftOut => refer(Stored::LeftOut, None),
        BodyContent::Memory(held) => {
            let Ok(content) = decoded(held.take(), encodings, READ_LIMIT) else {
                return refer(Stored::LeftOut, None);
            };
            if let Some(read) = read {
                read(&content);
            }
            let scrubbed = match scrubber.map(|scrubber| scrubber.bytes(&content)) {
                Some(Cow::Owned(scrubbed)) => Some(scrubbed),
                Some(Cow::Borrowed(_)) | None => None,
            };
            let stored = match scrubbed.is_none() && is_plain {
                true => Stored::Whole,
                false => Stored::Scrubbed,
            };
            let kept = StoredBody::Bytes(scrubbed.unwrap_or(content));
            refer(stored, Some(kept))
        }
        BodyContent::Spilled {
            mut file,
            is_scrubbed,
        } => {
            let stored = match is_scrubbed {
                true => Stored::Scrubbed,
                false => Stored::Whole,
            };
            let is_short = bytes <= READ_LIMIT as u64;
            if let Some(read) = read.filter(|_| is_short) {
                let mut content = Vec::new();
                let was_read = file.read_to_end(&mut content).is_ok()
                    && std::io::Seek::rewind(&mut file).is_ok();
                if was_read {
                    read(&content);
                }
            }
            refer(stored, Some(StoredBody::File(file)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stamps_of_events_are_those_of_the_frames_that_complete_them() {
        let frames = [Frame(0, 10, 100), Frame(10, 5, 200), Frame(15, 5, 300)];
        for (end, expected) in [
            (1, 100),
            (10, 100),
            (11, 200),
            (15, 200),
            (20, 300),
            (99, 300),
        ] {
            assert_eq!(arrival(&frames, end), Some(expected), "{end}");
        }
        assert_eq!(arrival(&[], 3), None);
    }
}
