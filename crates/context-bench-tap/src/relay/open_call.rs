//! [`OpenCall`]: a call while it is relayed. However it ends, also when its task is dropped in
//! the midst of it, what was seen goes to the recorder: counts add up.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::tap::Shared;
use crate::http1::{Headers, RequestHead, ResponseHead};
use crate::record::{
    BodyRecorder, CallInFlight, Carriers, EndState, FinishedAnswer, FinishedCall, Frame, Purpose,
    RecorderQueue, TapClock, Timeline,
};
use crate::relay::rewrite;
use crate::relay::target::Target;
use crate::wire::UsageShape;

/// More pieces than that of one answer are counted and not listed.
const MAX_FRAMES: usize = 65_536;

/// A call while it is relayed.
#[derive(Debug)]
pub(crate) struct OpenCall {
    state: Mutex<Option<State>>,
    queue: RecorderQueue,
    clock: TapClock,
}

#[derive(Debug)]
struct State {
    finished: Finished,
    request: BodyRecorder,
    answer: Option<Answer>,
}

/// What is known from the beginning.
#[derive(Debug)]
struct Finished {
    id: u64,
    connection: u64,
    started_at_ms: u64,
    head: Arc<RequestHead>,
    target: Target,
    purpose: Option<Purpose>,
    carriers: Carriers,
    shape: Option<UsageShape>,
    timeline: Timeline,
}

#[derive(Debug)]
struct Answer {
    head: Arc<ResponseHead>,
    body: BodyRecorder,
    frames: Vec<Frame>,
    frames_left_out: u64,
}

impl OpenCall {
    pub(crate) fn new(
        shared: &Shared,
        connection: u64,
        head: Arc<RequestHead>,
        target: Target,
        accepted: u64,
        shape: Option<UsageShape>,
    ) -> Self {
        let is_encoded = is_encoded(&head.headers);
        let id = shared.next_call();
        let begun = CallInFlight {
            arm: target.arm.clone(),
            accepted,
            carriers: rewrite::carriers(&head, &target),
        };
        let carriers = begun.carriers.clone();
        shared.in_flight.began(id, begun);
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let state = State {
            request: BodyRecorder::new(&shared.budget, &shared.scrubber, is_encoded),
            finished: Finished {
                id,
                connection,
                started_at_ms: now.map_or(0, |now| now.as_millis() as u64),
                head,
                target,
                purpose: None,
                carriers,
                shape,
                timeline: Timeline {
                    accepted,
                    ..Timeline::default()
                },
            },
            answer: None,
        };
        Self {
            state: Mutex::new(Some(state)),
            queue: shared.queue.clone(),
            clock: shared.clock,
        }
    }

    fn state(&self) -> MutexGuard<'_, Option<State>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets a stamp to now.
    pub(crate) fn stamp(&self, set: impl FnOnce(&mut Timeline, u64)) {
        let now = self.clock.now();
        if let Some(state) = self.state().as_mut() {
            set(&mut state.finished.timeline, now);
        }
    }

    /// A piece of the body of the request has arrived.
    pub(crate) fn request_piece(&self, bytes: &[u8]) {
        if let Some(state) = self.state().as_mut() {
            state.request.feed(bytes);
        }
    }

    /// The head of the answer has arrived.
    pub(crate) fn answer(&self, shared: &Shared, head: &Arc<ResponseHead>) {
        let is_encoded = is_encoded(&head.headers);
        self.stamp(|timeline, now| timeline.response_head = Some(now));
        if let Some(state) = self.state().as_mut() {
            state.answer = Some(Answer {
                head: Arc::clone(head),
                body: BodyRecorder::new(&shared.budget, &shared.scrubber, is_encoded),
                frames: Vec::new(),
                frames_left_out: 0,
            });
        }
    }

    /// Pieces of the body of the answer arrived at this moment.
    pub(crate) fn answer_pieces(&self, pieces: &[&[u8]], at: u64) {
        let mut state = self.state();
        let Some(state) = state.as_mut() else { return };
        let timeline = &mut state.finished.timeline;
        let Some(answer) = &mut state.answer else {
            return;
        };
        for piece in pieces.iter().filter(|piece| !piece.is_empty()) {
            timeline.first_byte.get_or_insert(at);
            timeline.last_byte = Some(at);
            match answer.frames.len() < MAX_FRAMES {
                true => {
                    let frame = Frame(answer.body.length(), piece.len() as u64, at);
                    answer.frames.push(frame);
                }
                false => answer.frames_left_out += 1,
            }
            answer.body.feed(piece);
        }
    }

    pub(crate) fn now(&self) -> u64 {
        self.clock.now()
    }

    /// The call is one that the tap does not relay.
    pub(crate) fn refuse(self, purpose: Option<Purpose>, problem: &str) {
        if let Some(state) = self.state().as_mut() {
            state.finished.purpose = purpose;
        }
        self.close(EndState::Refused, Some(problem.to_owned()));
    }

    /// The call has ended. A whole answer of a bad status is told apart.
    pub(crate) fn finish(self, end: EndState, problem: Option<String>) {
        self.close(end, problem);
    }

    fn close(&self, end: EndState, problem: Option<String>) {
        let Some(state) = self.state().take() else {
            return;
        };
        let finished = state.finished;
        let answer = state.answer.map(|answer| FinishedAnswer {
            head: answer.head,
            body: answer.body.finish(),
            frames: answer.frames,
            frames_left_out: answer.frames_left_out,
        });
        let is_bad = answer
            .as_ref()
            .is_some_and(|answer| answer.head.status >= 400);
        let end = match end {
            EndState::Complete if is_bad => EndState::BadStatus,
            end => end,
        };
        let call = FinishedCall {
            id: finished.id,
            arm: finished.target.arm,
            connection: finished.connection,
            started_at_ms: finished.started_at_ms,
            path: finished.target.path,
            query: finished.target.query,
            purpose: finished.purpose,
            head: finished.head,
            body: state.request.finish(),
            answer,
            carriers: finished.carriers,
            shape: finished.shape,
            timeline: finished.timeline,
            end,
            problem,
        };
        self.queue.send(call);
    }
}

impl Drop for OpenCall {
    fn drop(&mut self) {
        self.close(
            EndState::AbortedByProxy,
            Some("the tap was stopped".to_owned()),
        );
    }
}

fn is_encoded(headers: &Headers) -> bool {
    let encodings = headers.words("content-encoding");
    encodings.iter().any(|encoding| encoding != "identity")
}
