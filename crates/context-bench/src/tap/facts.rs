//! From the calls of a client and those that they caused to the [`WireFacts`] of a row. All of
//! it happens after the call, on the side of scoring: none of it is latency.

use context_bench_tap::Headers;
use context_bench_tap::attribution::{
    AnswerIdentity, CallClass, ClientCall, ClientOutcome, Method, classify, outcome,
};
use context_bench_tap::figures::{
    AddedTime, Change, Claim, ClientTimes, DeclaredChanges, Defect, Delivered, Engagement,
    OutputProgress, StreamFidelity, engagement, reply_changes, request_changes, stream_changes,
};
use context_bench_tap::record::{CallRecord, Frame, Scrubber, Stored, TapClock, Timeline};
use context_bench_tap::wire::{EventReader, ReplyReader, Route, WireFormat};
use context_bench_tap::wire::{WireReply, WireRequest};
use serde_json::Value;
use smallvec::SmallVec;

use super::ledger::{SeenCall, bytes_of, usage_of, use_of};
use super::probe::ObservedCall;
use crate::chat::ObservedAttempt;
use crate::digest;
use crate::model::{WireAdded, WireClaim, WireEngagement, WireFacts, WireStream, WireUsage};
use crate::tokens::TokenCounter;

/// A reply that a client got, read.
pub(super) struct ReadReply {
    reply: Box<WireReply>,
    request_id: Option<String>,
}

impl ReadReply {
    /// Of what a client got, which may have been read already.
    pub(super) fn of(
        format: WireFormat,
        seen: &ObservedAttempt,
        said: Option<Box<WireReply>>,
    ) -> Self {
        let names = ["x-request-id", "request-id"];
        let mut headers = seen.headers.iter();
        let found = headers.find(|header| names.contains(&header.name));
        Self {
            reply: said.unwrap_or_else(|| Box::new(read_reply(format, &seen.headers, &seen.reply))),
            request_id: found.map(|header| header.text().into_owned()),
        }
    }

    /// Whether what passed the tap in this call would be read as what the client got is, if it is
    /// the same to the byte.
    pub(super) fn is_of(format: WireFormat, seen: &ObservedAttempt, record: &CallRecord) -> bool {
        let streams = seen.headers.is_stream();
        let response = record.response.as_ref();
        record.format == format
            && response.is_some_and(|response| response.headers.is_stream() == streams)
    }

    pub(super) fn identity(&self) -> AnswerIdentity {
        AnswerIdentity::of(&self.reply, self.request_id.clone())
    }
}

fn read_reply(format: WireFormat, headers: &Headers, body: &[u8]) -> WireReply {
    let mut reader = ReplyReader::new(format, None);
    match headers.is_stream() {
        true => {
            let mut events = EventReader::default();
            let mut read = |event| {
                reader.event(&event);
            };
            events.feed(body, &mut read);
            events.finish(&mut read);
        }
        false => reader.whole(body),
    }
    reader.finish()
}

/// What facts are made with.
pub(super) struct FactsOf<'a> {
    pub(super) counter: &'a dyn TokenCounter,
    pub(super) clock: TapClock,
    pub(super) scrubber: &'a Scrubber,
    pub(super) declared: &'a DeclaredChanges,
}

impl FactsOf<'_> {
    /// The facts of a row: of all calls that its client made, and of all that they caused.
    pub(super) fn row(
        &self,
        calls: Vec<(ObservedCall, Option<ReadReply>)>,
        taken: Vec<(ClientCall, Vec<SeenCall>)>,
    ) -> WireFacts {
        let mut facts = WireFacts::default();
        let mut taken = taken;
        for (call, reply) in calls {
            facts.client_calls += 1;
            facts.all_client_bytes += call.body.len() as u64;
            let Some(at) = taken.iter().position(|(client, _)| client.id == call.id) else {
                continue;
            };
            let (client, owned) = taken.swap_remove(at);
            self.call(&mut facts, &call, reply.as_ref(), &client, owned);
        }
        facts
    }

    /// Adds one client call and what it caused.
    fn call(
        &self,
        facts: &mut WireFacts,
        call: &ObservedCall,
        reply: Option<&ReadReply>,
        client: &ClientCall,
        mut owned: Vec<SeenCall>,
    ) {
        match outcome(client, owned.len()) {
            ClientOutcome::LocalAnswer => {
                facts.local_answers += 1;
                note(facts, Defect::LocalAnswer);
            }
            ClientOutcome::LocalError => facts.local_errors += 1,
            ClientOutcome::Upstream => {}
        }
        if let Some(seen) = &call.seen {
            facts.client_reply_bytes += seen.reply_bytes;
            if let Some(claim) = Claim::of(&seen.headers) {
                let claim = WireClaim {
                    tokens_saved: claim.tokens_saved,
                    tokens_before: claim.tokens_before,
                    tokens_after: claim.tokens_after,
                    own_time_ns: claim.own_time,
                    failed: claim.has_failed,
                    cached: claim.is_cached,
                };
                facts.claimed.get_or_insert_default().add(&claim);
            }
        }
        for seen in &owned {
            self.count(facts, seen);
        }
        let bodies: SmallVec<[Option<Vec<u8>>; 1]> = owned
            .iter_mut()
            .map(|seen| bytes_of(seen.kept.request.take()))
            .collect();
        let records: SmallVec<[&CallRecord; 1]> = owned.iter().map(|seen| &*seen.record).collect();
        let asked: SmallVec<[Option<&[u8]>; 1]> = bodies.iter().map(Option::as_deref).collect();
        let classes = classify(client, &records, &asked);
        drop(records);
        let mut primary = None;
        for (at, class) in classes.iter().enumerate() {
            let calls = &mut facts.calls;
            *match class {
                CallClass::Primary => &mut calls.primary,
                CallClass::Retry => &mut calls.retry,
                CallClass::Continuation => &mut calls.continuation,
                CallClass::Aux => &mut calls.aux,
                CallClass::Probe => &mut calls.probe,
                CallClass::TlsAttempt => &mut calls.tls_attempt,
                CallClass::Unsupported => &mut calls.unsupported,
            } += 1;
            match class {
                CallClass::Primary => primary = Some(at),
                CallClass::Retry => note(facts, Defect::HiddenRetry),
                _ => {}
            }
        }
        let Some(primary) = primary else {
            return;
        };
        let others: Vec<Timeline> = owned
            .iter()
            .enumerate()
            .filter(|(at, _)| *at != primary)
            .map(|(_, seen)| seen.record.timeline)
            .collect();
        let seen = &mut owned[primary];
        let sent_reply = bytes_of(seen.kept.response.take());
        let record = &seen.record;
        self.requests(facts, call, record, asked[primary], client);
        self.replies(facts, call, reply, record, sent_reply.as_deref(), &others);
    }

    /// Counts a call of the proxy, whatever it was for.
    fn count(&self, facts: &mut WireFacts, seen: &SeenCall) {
        let record = &seen.record;
        facts.all_upstream_bytes += record.request.body.bytes;
        if record.timeline.request_sent.is_none() {
            facts.unsent.count(record.request.body.bytes);
        }
        let response = record.response.as_ref();
        facts.upstream_reply_bytes += response.map_or(0, |response| response.body.bytes);
        let usage = usage_of(record);
        facts.usage_all.get_or_insert_default().add(&usage);
        if let Some(used) = use_of(record) {
            used.add_to(&mut facts.uses);
        }
        let methods = &mut facts.attributed_by;
        *match seen.method {
            Method::Credential => &mut methods.credential,
            Method::Header => &mut methods.header,
            Method::AnswerIdentity => &mut methods.answer_identity,
            Method::Fingerprint => &mut methods.fingerprint,
            Method::SingleFlight => &mut methods.single_flight,
        } += 1;
        let least = facts.confidence.unwrap_or(1.0);
        facts.confidence = Some(least.min(seen.confidence));
    }

    /// Adds what became of the request.
    fn requests(
        &self,
        facts: &mut WireFacts,
        call: &ObservedCall,
        record: &CallRecord,
        sent: Option<&[u8]>,
        client: &ClientCall,
    ) {
        let route = &call.route;
        let body = &record.request.body;
        let is_same = match sent {
            Some(sent) if body.stored == Stored::Whole => *sent == call.body,
            _ => {
                let own = || format!("sha256:{}", digest::hex(&call.body));
                body.digest.as_ref().is_some_and(|digest| *digest == own())
            }
        };
        let scrubbed = (record.request.body.stored == Stored::Scrubbed && !is_same)
            .then(|| self.scrubber.bytes(&call.body));
        let ours: &[u8] = scrubbed.as_deref().unwrap_or(&call.body);
        let changed = match (is_same, sent) {
            (true, _) => Some(Engagement::IdenticalBytes),
            (false, Some(_)) if record.format != route.format => Some(Engagement::ChangedStructure),
            (false, Some(sent)) => Some(engagement(route, ours, sent, self.declared)),
            // It was too long to be kept.
            (false, None) => None,
        };
        if let Some(changed) = changed {
            let changed = wire_engagement(changed);
            facts.engagement = Some(facts.engagement.map_or(changed, |known| known.max(changed)));
            if let Some(sent) = sent.filter(|_| changed.is_changed()) {
                note_all(facts, request_changes(route, ours, sent, self.declared));
            }
        }
        let is_answered = client
            .status
            .is_some_and(|status| (200..300).contains(&status));
        if !is_answered || !record.is_success() {
            // What failed saved nothing.
            return;
        }
        // Of earlier turns something may be unknown, and so it is then of all together.
        let is_first = facts.client_bytes == 0;
        facts.client_bytes += call.body.len() as u64;
        facts.upstream_bytes += record.request.body.bytes;
        let usage = usage_of(record);
        let known = match record.answered.as_ref().and_then(|one| one.usage.as_ref()) {
            Some(_) => usage,
            None => WireUsage {
                unknown: 1,
                ..usage
            },
        };
        facts.cache_or_images |= usage.has_cache();
        facts.usage.get_or_insert_default().add(&known);
        let tokens = |route: &Route, body: &[u8]| {
            let request = WireRequest::to_count(route, body)?;
            Some((self.counter.try_count(&request.text).ok()?, request))
        };
        let client_side = tokens(route, &call.body);
        if let Some((_, request)) = &client_side {
            facts.stateful |= request.is_stateful;
            facts.cache_or_images |= request.has_pictures;
        }
        let counted = client_side.map(|(tokens, _)| tokens);
        let upstream = match (is_same, sent) {
            (true, _) => counted,
            (false, Some(sent)) => {
                let route = Route::of(&record.request.method, &record.request.path);
                tokens(&route, sent).map(|(tokens, _)| tokens)
            }
            (false, None) => None,
        };
        let add = |known: Option<u64>, more: Option<u64>| match (is_first, known) {
            (true, _) => more,
            (false, known) => Some(known? + more?),
        };
        facts.client_tokens = add(facts.client_tokens, counted);
        facts.upstream_tokens = add(facts.upstream_tokens, upstream);
    }

    /// Adds what became of the answer, and when.
    fn replies(
        &self,
        facts: &mut WireFacts,
        call: &ObservedCall,
        got: Option<&ReadReply>,
        record: &CallRecord,
        sent: Option<&[u8]>,
        others: &[Timeline],
    ) {
        let (Some(seen), Some(got)) = (&call.seen, got) else {
            return;
        };
        let at = |moment| self.clock.at(moment);
        let first = seen.pieces.first().map(|piece| at(piece.2));
        let last = seen.pieces.last().map(|piece| at(piece.2));
        let streams = seen.headers.is_stream();
        let format = call.route.format;
        let ours = streams.then(|| {
            let pieces = seen.pieces.iter();
            let frame = |(offset, length, moment): &_| Frame(*offset, *length, at(*moment));
            let frames: Vec<Frame> = pieces.map(frame).collect();
            OutputProgress::of(format, &seen.reply, &frames, 0)
        });
        let has_output = got.reply.choices.iter().any(|one| {
            !one.text.is_empty() || !one.reasoning.is_empty() || !one.tool_calls.is_empty()
        });
        let first_output = match &ours {
            Some(progress) => progress.steps.first().map(|step| step.1),
            None => last.filter(|_| has_output),
        };
        let times = ClientTimes {
            request_sent: at(seen.sent),
            first_byte: first,
            first_output,
            last_byte: last,
        };
        if record.is_success() && seen.status.is_some_and(|status| status < 300) {
            let added = wire_added(&AddedTime::of(&times, &record.timeline, others));
            match &mut facts.added {
                Some(known) => known.add(&added),
                None => facts.added = Some(added),
            }
        }
        let Some(response) = &record.response else {
            return;
        };
        let is_whole = response.body.stored == Stored::Whole;
        if let (Some(ours), Some(sent)) = (&ours, sent.filter(|_| is_whole)) {
            let timeline = &record.timeline;
            let origin = timeline
                .request_sent
                .or(timeline.connect_done)
                .unwrap_or(timeline.accepted);
            let theirs = OutputProgress::of(record.format, sent, &response.frames, origin);
            if let Some(fidelity) = StreamFidelity::of(&theirs, ours) {
                let stream = facts.stream.get_or_insert_with(WireStream::default);
                stream.frames += fidelity.frames;
                stream.in_time += fidelity.in_time;
                stream.buffered |= fidelity.is_buffered;
            }
        }
        let (Some(sent), Some(status)) = (sent.filter(|_| is_whole), seen.status) else {
            return;
        };
        // What was passed on as it was need not be read twice.
        let is_same = seen.reply == sent
            && record.format == format
            && response.headers.is_stream() == streams;
        let theirs = (!is_same).then(|| read_reply(record.format, &response.headers, sent));
        let sent_side = Delivered {
            status: response.status,
            headers: &response.headers,
            reply: theirs.as_ref().unwrap_or(&got.reply),
        };
        let got_side = Delivered {
            status,
            headers: &seen.headers,
            reply: &got.reply,
        };
        let asked_usage = asks_for_usage(&call.body, format, streams);
        note_all(facts, reply_changes(&sent_side, &got_side, asked_usage));
        if streams && seen.reply.as_slice() != sent && seen.reply.len() as u64 == seen.reply_bytes {
            note_all(facts, stream_changes(sent, &seen.reply, asked_usage));
        }
    }
}

/// Whether the client asked for the usage of a stream; whole answers have it by themselves.
fn asks_for_usage(body: &[u8], format: WireFormat, streams: bool) -> bool {
    let is_asked = matches!(
        format,
        WireFormat::OpenaiChat | WireFormat::OpenaiCompletions
    );
    if !is_asked || !streams {
        return true;
    }
    let body: Value = serde_json::from_slice(body).unwrap_or_default();
    body.pointer("/stream_options/include_usage") == Some(&Value::Bool(true))
}

fn note(facts: &mut WireFacts, defect: Defect) {
    facts.defects.note(defect as u8 + 1);
}

fn note_all(facts: &mut WireFacts, changes: Vec<Change>) {
    for change in changes {
        note(facts, change.defect);
    }
}

fn wire_engagement(engagement: Engagement) -> WireEngagement {
    match engagement {
        Engagement::IdenticalBytes => WireEngagement::IdenticalBytes,
        Engagement::IdenticalJson => WireEngagement::IdenticalJson,
        Engagement::Benign => WireEngagement::Benign,
        Engagement::ChangedContent => WireEngagement::ChangedContent,
        Engagement::ChangedStructure => WireEngagement::ChangedStructure,
    }
}

fn wire_added(added: &AddedTime) -> WireAdded {
    let seconds = |nanoseconds: i64| nanoseconds as f64 / 1e9;
    WireAdded {
        pre: added.pre.map(seconds),
        aux_wait: added.aux_wait as f64 / 1e9,
        ttfb_relay: added.ttfb_relay.map(seconds),
        ttft_relay: added.ttft_relay.map(seconds),
        tail: added.tail.map(seconds),
    }
}
