//! [`Recorder`]: makes records of finished calls on a thread of its own, so that reading
//! bodies and writing files never holds up a relay.

use std::io::Read as _;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::JoinHandle;

use super::body::{BodyContent, RecordedBody};
use super::call::{
    BodyRef, CallRecord, Carriers, EndState, Frame, Purpose, RequestRecord, ResponseRecord, Stored,
};
use super::content_encoding::{content_frames, decoded};
use super::scrub::Scrubber;
use super::sink::{CallSink, StoredBody};
use super::timeline::Timeline;
use crate::http1::Headers;
use crate::wire::{
    Event, EventReader, ReplyReader, ReplySummary, RequestSummary, Route, UsageShape, WireRequest,
};

/// Bodies of more bytes are stored, but not read: a parsed one takes several times its size.
const READ_LIMIT: usize = 32 * 1024 * 1024;

/// A call that has ended, as the relay hands it over.
#[derive(Debug)]
pub(crate) struct FinishedCall {
    pub(crate) id: u64,
    pub(crate) arm: Option<String>,
    pub(crate) connection: u64,
    pub(crate) started_at_ms: u64,
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) query: String,
    pub(crate) purpose: Option<Purpose>,
    pub(crate) headers: Headers,
    pub(crate) body: RecordedBody,
    pub(crate) answer: Option<FinishedAnswer>,
    pub(crate) carriers: Carriers,
    pub(crate) shape: Option<UsageShape>,
    pub(crate) timeline: Timeline,
    pub(crate) end: EndState,
    pub(crate) problem: Option<String>,
}

/// The answer to a call that has ended.
#[derive(Debug)]
pub(crate) struct FinishedAnswer {
    pub(crate) status: u16,
    pub(crate) headers: Headers,
    pub(crate) body: RecordedBody,
    /// Stamps of the clock, not yet set against the request.
    pub(crate) frames: Vec<Frame>,
    pub(crate) frames_left_out: u64,
}

/// The way to the thread that keeps records. Dropping it does not wait; `finish` does.
#[derive(Debug)]
pub(crate) struct Recorder {
    sender: Sender<FinishedCall>,
    thread: JoinHandle<RecorderOutcome>,
}

/// What became of the records.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct RecorderOutcome {
    pub(crate) calls: u64,
    pub(crate) failures: u64,
    pub(crate) first_failure: Option<String>,
}

impl Recorder {
    pub(crate) fn start(sink: Box<dyn CallSink>, scrubber: Arc<Scrubber>) -> std::io::Result<Self> {
        let (sender, receiver) = mpsc::channel();
        let thread = std::thread::Builder::new()
            .name("tap-recorder".to_owned())
            .spawn(move || run(&receiver, sink, &scrubber))?;
        Ok(Self { sender, thread })
    }

    /// Another way to the same thread.
    pub(crate) fn sender(&self) -> Sender<FinishedCall> {
        self.sender.clone()
    }

    /// Waits until everything is kept that was handed over; every sender must be gone.
    pub(crate) fn finish(self) -> RecorderOutcome {
        drop(self.sender);
        let lost = RecorderOutcome {
            failures: 1,
            first_failure: Some("the recorder panicked".to_owned()),
            ..RecorderOutcome::default()
        };
        self.thread.join().unwrap_or(lost)
    }
}

fn run(
    receiver: &Receiver<FinishedCall>,
    mut sink: Box<dyn CallSink>,
    scrubber: &Scrubber,
) -> RecorderOutcome {
    let mut outcome = RecorderOutcome::default();
    for finished in receiver {
        let (record, bodies) = record(finished, scrubber);
        outcome.calls += 1;
        if let Err(error) = sink.call(&record, bodies) {
            outcome.failures += 1;
            let first = outcome
                .first_failure
                .get_or_insert_with(|| error.to_string());
            *first = scrubber.text(first);
        }
    }
    outcome
}

/// A finished call as it may be written down.
fn record(finished: FinishedCall, scrubber: &Scrubber) -> (CallRecord, Vec<StoredBody>) {
    let route = Route::of(&finished.method, &finished.path);
    let mut bodies = Vec::new();
    let headers = |headers: &Headers| {
        let written = headers.0.iter().map(|header| {
            let value = scrubber.header(&header.name, &header.value);
            (header.name.clone(), value)
        });
        written.collect()
    };
    let encodings = finished.headers.words("content-encoding");
    let (request, body) = open(finished.body, &encodings, scrubber, &mut bodies);
    let asked = body
        .and_then(|body| WireRequest::read(&route, &body))
        .map(|request| RequestSummary::of(&request).scrubbed(scrubber));
    let mut timeline = finished.timeline;
    let sent = timeline
        .request_sent
        .or(timeline.connect_done)
        .unwrap_or(timeline.accepted);
    let mut answered = None;
    let response = finished.answer.map(|answer| {
        let encodings = answer.headers.words("content-encoding");
        let is_stream = is_stream(&answer.headers);
        let shown = shown_frames(&answer, &encodings);
        let (body_ref, body) = open(answer.body, &encodings, scrubber, &mut bodies);
        if let Some(body) = body {
            let mut reader = ReplyReader::new(route.format, finished.shape);
            if is_stream {
                read_stream(&body, shown.as_deref(), &mut reader, &mut timeline);
            } else {
                reader.whole(&body);
            }
            let reply = reader.finish();
            if !is_stream && reply.has_output() {
                timeline.first_output = timeline.last_byte;
            }
            answered = Some(ReplySummary::of(&reply).scrubbed(scrubber));
        }
        let after = |frame: &Frame| Frame(frame.0, frame.1, frame.2.saturating_sub(sent));
        ResponseRecord {
            status: answer.status,
            headers: headers(&answer.headers),
            body: body_ref,
            frames: answer.frames.iter().map(after).collect(),
            frames_left_out: answer.frames_left_out,
        }
    });
    let call = CallRecord {
        id: finished.id,
        arm: finished.arm,
        connection: finished.connection,
        started_at_ms: finished.started_at_ms,
        purpose: finished.purpose.unwrap_or(route.purpose),
        format: route.format,
        request: RequestRecord {
            method: finished.method,
            path: scrubber.text(&finished.path),
            query: scrubber.query(&finished.query),
            headers: headers(&finished.headers),
            body: request,
        },
        response,
        asked,
        answered,
        carriers: finished.carriers,
        timeline,
        end: finished.end,
        problem: finished.problem.map(|problem| scrubber.text(&problem)),
    };
    (call, bodies)
}

fn is_stream(headers: &Headers) -> bool {
    let kind = headers.text("content-type").unwrap_or_default();
    kind.trim_start()
        .to_ascii_lowercase()
        .starts_with("text/event-stream")
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

/// Takes the copy of a body apart: how records refer to it, and its content for a look at it.
/// What may be stored goes to `bodies`.
fn open(
    body: RecordedBody,
    encodings: &[String],
    scrubber: &Scrubber,
    bodies: &mut Vec<StoredBody>,
) -> (BodyRef, Option<Vec<u8>>) {
    let digest = body.digest;
    let mut refer = |stored, kept: Option<StoredBody>| {
        bodies.extend(kept);
        BodyRef {
            digest: digest.clone(),
            bytes: body.length,
            stored,
        }
    };
    match body.content {
        _ if body.length == 0 => (refer(Stored::Empty, None), None),
        BodyContent::LeftOut => (refer(Stored::LeftOut, None), None),
        BodyContent::Memory(held) => {
            let Ok(content) = decoded(&held.bytes, encodings, READ_LIMIT) else {
                return (refer(Stored::LeftOut, None), None);
            };
            let scrubbed = scrubber.bytes(&content).into_owned();
            let stored = match scrubbed == held.bytes {
                true => Stored::Whole,
                false => Stored::Scrubbed,
            };
            let kept = StoredBody::Bytes {
                digest: digest.clone(),
                bytes: scrubbed,
            };
            (refer(stored, Some(kept)), Some(content))
        }
        BodyContent::Spilled {
            mut file,
            is_scrubbed,
        } => {
            let stored = match is_scrubbed {
                true => Stored::Scrubbed,
                false => Stored::Whole,
            };
            let mut content = Vec::new();
            let is_short = body.length <= READ_LIMIT as u64;
            let is_read = is_short
                && file.read_to_end(&mut content).is_ok()
                && std::io::Seek::rewind(&mut file).is_ok();
            let kept = StoredBody::File {
                digest: digest.clone(),
                file,
            };
            (refer(stored, Some(kept)), is_read.then_some(content))
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
