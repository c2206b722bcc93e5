//! [`OpenCall`]: a call while it is relayed. However it ends, also when its task is dropped in
//! the midst of it, what was seen goes to the recorder: counts add up.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::rewrite;
use super::tap::Shared;
use super::target::Target;
use crate::http1::{Headers, RequestHead, ResponseHead};
use crate::record::{
    BegunCall, BodyRecorder, CallInFlight, EndState, FinishedAnswer, FinishedCall, Frame, Purpose,
    Timeline,
};
use crate::wire::{Route, UsageShape};

/// More pieces than that of one answer are counted and not listed.
const MAX_FRAMES: usize = 65_536;

/// A call while it is relayed.
#[derive(Debug)]
pub(crate) struct OpenCall {
    /// What was asked for.
    pub(crate) head: RequestHead,
    /// None once it has been handed over. Both directions have a part in it.
    state: Mutex<Option<State>>,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct State {
    begun: BegunCall,
    request: BodyRecorder,
    answer: Option<Answer>,
    timeline: Timeline,
}

#[derive(Debug)]
struct Answer {
    head: ResponseHead,
    body: BodyRecorder,
    frames: Vec<Frame>,
    frames_left_out: u64,
}

impl OpenCall {
    pub(crate) fn new(
        shared: &Arc<Shared>,
        connection: u64,
        head: RequestHead,
        target: Target,
        route: Route,
        accepted: u64,
        shape: Option<UsageShape>,
    ) -> Self {
        let id = shared.next_call();
        let carriers = rewrite::carriers(&head, &target);
        let in_flight = CallInFlight {
            arm: target.arm.clone(),
            accepted,
            carriers: carriers.clone(),
        };
        let in_flight = shared.in_flight.began(id, in_flight);
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let is_encoded = is_encoded(&head.headers);
        let begun = BegunCall {
            id,
            in_flight,
            arm: target.arm,
            connection,
            started_at_ms: now.map_or(0, |now| now.as_millis() as u64),
            path: target.path,
            query: target.query,
            route,
            carriers,
            shape,
        };
        let state = State {
            begun,
            request: BodyRecorder::new(&shared.budget, is_encoded),
            answer: None,
            timeline: Timeline {
                accepted,
                ..Timeline::default()
            },
        };
        Self {
            head,
            state: Mutex::new(Some(state)),
            shared: Arc::clone(shared),
        }
    }

    fn state(&self) -> MutexGuard<'_, Option<State>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets a stamp to now.
    pub(crate) fn stamp(&self, set: impl FnOnce(&mut Timeline, u64)) {
        let now = self.now();
        if let Some(state) = self.state().as_mut() {
            set(&mut state.timeline, now);
        }
    }

    /// A piece of the body of the request has arrived.
    pub(crate) fn request_piece(&self, bytes: &[u8]) {
        if let Some(state) = self.state().as_mut() {
            state.request.feed(bytes, &self.shared.scrubber);
        }
    }

    /// The head of the answer has arrived.
    pub(crate) fn answer(&self, head: ResponseHead) {
        let is_encoded = is_encoded(&head.headers);
        let now = self.now();
        if let Some(state) = self.state().as_mut() {
            state.timeline.response_head = Some(now);
            state.answer = Some(Answer {
                head,
                body: BodyRecorder::new(&self.shared.budget, is_encoded),
                frames: Vec::new(),
                frames_left_out: 0,
            });
        }
    }

    /// Pieces of the body of the answer arrived at this moment.
    pub(crate) fn answer_pieces(&self, pieces: &[&[u8]], at: u64) {
        let mut state = self.state();
        let Some(State {
            answer: Some(answer),
            timeline,
            ..
        }) = &mut *state
        else {
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
            answer.body.feed(piece, &self.shared.scrubber);
        }
    }

    pub(crate) fn now(&self) -> u64 {
        self.shared.clock.now()
    }

    /// The call is one that the tap does not relay.
    pub(crate) fn refuse(mut self, purpose: Option<Purpose>, problem: &str) {
        if let (Some(state), Some(purpose)) = (self.state().as_mut(), purpose) {
            state.begun.route.purpose = purpose;
        }
        self.close(EndState::Refused, Some(problem.to_owned()));
    }

    /// The call has ended. A whole answer of a bad status is told apart.
    pub(crate) fn finish(mut self, end: EndState, problem: Option<String>) {
        self.close(end, problem);
    }

    fn close(&mut self, end: EndState, problem: Option<String>) {
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        let Some(state) = state.take() else {
            return;
        };
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
        self.shared.queue.send(Box::new(FinishedCall {
            begun: state.begun,
            head: std::mem::take(&mut self.head),
            body: state.request.finish(),
            answer,
            timeline: state.timeline,
            end,
            problem,
        }));
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
