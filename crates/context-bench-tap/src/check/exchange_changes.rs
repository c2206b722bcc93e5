//! What a proxy did to one request and its answer, by the rules of `figures`, with the two sides
//! of every finding.

use std::borrow::Cow;
use std::collections::BTreeSet;

use serde_json::Value;

use super::ProxyCheckSettings;
use super::client::{ClientReply, ReplyEnd, read_reply};
use super::evidence::{self, Answers};
use super::probe::Act;
use super::report::Evidence;
use super::run::{Exchange, Seen};
use super::script::Script;
use super::upstream::{CallEnd, UpstreamCall};
use crate::figures::{
    Change, Defect, Delivered, Engagement, engagement, reply_changes, request_changes,
    stream_changes,
};
use crate::record::decoded;
use crate::wire::{Route, WireFormat, WireReply};

/// More than any probe sends.
const MAX_BODY: usize = 64 * 1024 * 1024;

/// Something that was found.
#[derive(Debug, Clone)]
pub(super) struct Found {
    pub(super) defect: Defect,
    pub(super) what: String,
    pub(super) evidence: Evidence,
    /// Whether it says that a request was changed at all, which is a defect of some arms only.
    pub(super) is_engagement: bool,
}

impl Found {
    pub(super) fn new(defect: Defect, what: impl Into<String>, evidence: Evidence) -> Self {
        Self {
            defect,
            what: what.into(),
            evidence,
            is_engagement: false,
        }
    }
}

/// What an exchange says.
#[derive(Debug, Default)]
pub(super) struct Changes {
    pub(super) judged: BTreeSet<Defect>,
    pub(super) found: Vec<Found>,
    pub(super) engagement: Option<Engagement>,
    /// Whether the answer cannot be read, so that nothing else can be said about it.
    pub(super) is_unreadable: bool,
}

/// What happened between the client and the upstream.
pub(super) fn changes(seen: &Seen, exchange: &Exchange, settings: &ProxyCheckSettings) -> Changes {
    let mut changes = Changes::default();
    let Some(call) = primary(exchange) else {
        return changes;
    };
    requests(&mut changes, exchange, call, settings);
    if matches!(seen.probe.act, Act::HangUpAtOutput | Act::HangUpWaiting) {
        return changes;
    }
    match (seen.probe.script)() {
        Script::CutStream => cut(&mut changes, exchange, call),
        script => {
            let is_whole = !matches!(script, Script::FailInStream);
            answers(&mut changes, exchange, call, is_whole);
        }
    }
    changes
}

/// The call whose answer the client got: the one whose id is in it, or the last.
fn primary(exchange: &Exchange) -> Option<&UpstreamCall> {
    let content = exchange.reply.content().unwrap_or_default();
    let is_relayed = |call: &&UpstreamCall| {
        let reply = read_reply(call.format, &call.sent, call.is_stream);
        let id = reply.id.unwrap_or_default();
        !id.is_empty() && memchr::memmem::find(&content, id.as_bytes()).is_some()
    };
    let asks = || exchange.calls.iter().rev().filter(|call| call.asks());
    asks().find(is_relayed).or_else(|| asks().next())
}

fn requests(
    changes: &mut Changes,
    exchange: &Exchange,
    call: &UpstreamCall,
    settings: &ProxyCheckSettings,
) {
    let request = &exchange.request;
    let encoding = call.headers.text("content-encoding");
    let encodings: Vec<String> = encoding.map(Cow::into_owned).into_iter().collect();
    let upstream =
        decoded(call.body.as_slice(), &encodings, MAX_BODY).unwrap_or_else(|_| call.body.clone());
    if call.format != request.format {
        let what = format!("the request went to `{}`", call.target);
        let sides = || evidence::request(Defect::Messages, request, &upstream);
        let mut defects = vec![Defect::Parameters];
        if request.format == WireFormat::OpenaiCompletions {
            defects.push(Defect::Likelihood);
        }
        for defect in defects {
            changes
                .found
                .push(Found::new(defect, what.clone(), sides()));
        }
        changes.engagement = Some(Engagement::ChangedStructure);
        return;
    }
    let route = Route::of("POST", &request.path);
    let found = request_changes(&route, &request.body, &upstream, &settings.declared);
    for Change { defect, what } in found {
        let sides = evidence::request(defect, request, &upstream);
        changes.found.push(Found::new(defect, what, sides));
    }
    let engaged = engagement(&route, &request.body, &upstream, &settings.declared);
    changes.engagement = Some(engaged);
    if engaged.is_changed() {
        let what = match engaged {
            Engagement::ChangedContent => "texts of the request were changed",
            _ => "the request was changed in more than its texts",
        };
        // The whole texts: they are what this is about.
        let sides = evidence::request(Defect::Likelihood, request, &upstream);
        changes.found.push(Found {
            is_engagement: true,
            ..Found::new(Defect::Messages, what, sides)
        });
    }
}

/// A stream that the provider broke off: the client has to notice.
fn cut(changes: &mut Changes, exchange: &Exchange, call: &UpstreamCall) {
    let reply = &exchange.reply;
    if call.end != CallEnd::BrokenOff || !reply.is_success() {
        return;
    }
    let content = reply.content().unwrap_or_default();
    let got = read_reply(exchange.request.format, &content, reply.is_stream());
    let sent = read_reply(call.format, &call.sent, true);
    let what = match (got.is_ended, &got.error, &reply.end) {
        (_, Some(_), _) => return,
        (true, None, _) => "the provider broke off, and the client got an end that it did not send",
        (false, None, ReplyEnd::Complete) => {
            "the provider broke off, and the client got a clean end without the last event"
        }
        _ => return,
    };
    let answers = Answers {
        call,
        reply,
        content: &content,
        sent: &sent,
        got: &got,
    };
    let mut evidence = answers.evidence(Defect::StreamProtocol);
    evidence.before.text.push_str("(the connection breaks)\n");
    let end = match reply.end {
        ReplyEnd::Complete => "(the stream ends as if all were well)\n",
        _ => "(the connection breaks)\n",
    };
    evidence.after.text.push_str(end);
    changes
        .found
        .push(Found::new(Defect::StreamProtocol, what, evidence));
}

fn answers(changes: &mut Changes, exchange: &Exchange, call: &UpstreamCall, is_whole: bool) {
    let (request, reply) = (&exchange.request, &exchange.reply);
    let content = match reply.content() {
        Ok(content) => content,
        Err(reason) => {
            let what = format!("the content-encoding is wrong: {reason}");
            changes.found.push(encoding_found(call, reply, what));
            changes.is_unreadable = true;
            return;
        }
    };
    if call.is_encoded {
        changes.judged.insert(Defect::Headers);
    }
    if content.starts_with(&[0x1f, 0x8b]) {
        let what = "the answer is compressed and no header says so".to_owned();
        changes.found.push(encoding_found(call, reply, what));
        changes.is_unreadable = true;
        return;
    }
    let sent = read_reply(call.format, &call.sent, call.is_stream);
    let got = read_reply(request.format, &content, reply.is_stream());
    let sides = Answers {
        call,
        reply,
        content: &content,
        sent: &sent,
        got: &got,
    };
    let mut add = |defect: Defect, what: String| {
        let found = Found::new(defect, what, sides.evidence(defect));
        changes.found.push(found);
    };
    if let ReplyEnd::Broken(reason) = &reply.end {
        let defect = match (reply.status, call.is_stream) {
            (None, _) => Defect::ErrorShape,
            (_, true) => Defect::StreamProtocol,
            (_, false) => Defect::AnswerText,
        };
        add(defect, format!("the answer did not arrive: {reason}"));
        if reply.status.is_none() {
            return;
        }
    }
    if reply.end == ReplyEnd::TimedOut {
        let what = "the answer did not end in time".to_owned();
        return add(Defect::StreamProtocol, what);
    }
    let asked = serde_json::from_slice::<Value>(&request.body).unwrap_or_default();
    let asks_usage = asked.pointer("/stream_options/include_usage") == Some(&Value::Bool(true));
    let asked_usage = !request.streams || request.format != WireFormat::OpenaiChat || asks_usage;
    let delivered = |status, headers, reply| Delivered {
        status,
        headers,
        reply,
    };
    let found = reply_changes(
        &delivered(call.status, &call.sent_headers, &sent),
        &delivered(reply.status.unwrap_or_default(), &reply.headers, &got),
        asked_usage,
    );
    let mut has_usage = false;
    for Change { defect, what } in found {
        // Of a whole answer it is the usage that is wrong, not the stream.
        let is_lost_usage = defect == Defect::StreamProtocol && what == "the usage was lost";
        let defect = match is_lost_usage && !call.is_stream {
            true => Defect::Usage,
            false => defect,
        };
        has_usage |= defect == Defect::Usage;
        // What ends in an error is judged by that: it has no end and no reason for one.
        if is_whole || matches!(defect, Defect::ErrorShape | Defect::Headers) {
            add(defect, what);
        }
    }
    // What went to another API cannot look the same.
    if !reply.is_success() || call.status >= 400 || call.format != request.format {
        return;
    }
    if !has_usage && let Some(what) = usage_members(&sent, &got) {
        add(Defect::Usage, what);
    }
    for what in hidden_parts(request.format, call, &content, &sent, &got) {
        add(Defect::AnswerText, what);
    }
    if call.is_stream && request.streams && !reply.is_stream() {
        add(
            Defect::StreamProtocol,
            "a stream was asked for, and the answer is none".to_owned(),
        );
        return;
    }
    if is_whole && call.is_stream && reply.is_stream() {
        for Change { defect, what } in stream_changes(&call.sent, &content, asked_usage) {
            add(defect, what);
        }
        if let Some(found) = held_back(exchange, call) {
            changes.found.push(found);
        }
    }
}

fn encoding_found(call: &UpstreamCall, reply: &ClientReply, what: String) -> Found {
    let nothing = WireReply::default();
    let sides = Answers {
        call,
        reply,
        content: &[],
        sent: &nothing,
        got: &nothing,
    };
    let mut evidence = sides.evidence(Defect::Headers);
    let begins = |bytes: &[u8]| {
        let bytes: Vec<String> = bytes
            .iter()
            .take(8)
            .map(|byte| format!("{byte:02x}"))
            .collect();
        format!("a body that begins with {}\n", bytes.join(" "))
    };
    let sent = match call.is_encoded {
        true => "a body that is gzip\n".to_owned(),
        false => begins(&call.sent),
    };
    evidence.before.text.push_str(&sent);
    evidence.after.text.push_str(&begins(&reply.body));
    Found::new(Defect::Headers, what, evidence)
}

/// Members of the usage that are lost or different, where the counts are the same.
fn usage_members(sent: &WireReply, got: &WireReply) -> Option<String> {
    let (sent, got) = (sent.usage.as_ref()?, got.usage.as_ref()?);
    let mut lost = Vec::new();
    lost_members(&sent.raw, &got.raw, "", &mut lost);
    (!lost.is_empty()).then(|| format!("{} of the usage", lost.join(", ")))
}

/// Members with a count; what is zero or null says nothing.
fn lost_members(sent: &Value, got: &Value, path: &str, lost: &mut Vec<String>) {
    let Value::Object(members) = sent else {
        let is_nothing = sent.is_null() || sent == &Value::from(0);
        if sent != got && !(is_nothing && got.is_null()) {
            let change = match got.is_null() {
                true => "lost",
                false => "changed",
            };
            lost.push(format!("{change}: `{path}`"));
        }
        return;
    };
    for (name, member) in members {
        let path = match path.is_empty() {
            true => name.clone(),
            false => format!("{path}.{name}"),
        };
        lost_members(member, got.get(name).unwrap_or(&Value::Null), &path, lost);
    }
}

/// Thoughts, what proves them, and probabilities: parts of an answer beside its text.
fn hidden_parts(
    format: WireFormat,
    call: &UpstreamCall,
    content: &[u8],
    sent: &WireReply,
    got: &WireReply,
) -> Vec<String> {
    let mut changes = Vec::new();
    let thoughts = |reply: &WireReply| {
        let choices = reply.choices.iter();
        choices
            .map(|choice| choice.reasoning.clone())
            .collect::<Vec<_>>()
    };
    if thoughts(sent) != thoughts(got) {
        changes.push("thoughts of the model are different".to_owned());
    }
    let has = |body: &[u8], text: &str| memchr::memmem::find(body, text.as_bytes()).is_some();
    if let Some(signature) = signature(format, &call.sent)
        && !has(content, &signature)
    {
        changes.push("the signature of the thoughts was lost".to_owned());
    }
    let probabilities = |body: &[u8]| {
        let value: Value = serde_json::from_slice(body).unwrap_or_default();
        let found = value.pointer("/choices/0/logprobs").cloned();
        found.filter(|found| !found.is_null())
    };
    if let Some(sent) = probabilities(&call.sent) {
        // A member that is null may come and go.
        let plain = |value: Value| value.get("content").or(value.get("tokens")).cloned();
        let found = probabilities(content).and_then(plain);
        if found != plain(sent) {
            changes.push("log-probabilities are different".to_owned());
        }
    }
    changes
}

/// What proves that thoughts are the model's own.
fn signature(format: WireFormat, body: &[u8]) -> Option<String> {
    let value: Value = serde_json::from_slice(body).ok()?;
    let (list, name) = match format {
        WireFormat::AnthropicMessages => ("/content", "signature"),
        WireFormat::OpenaiResponses => ("/output", "encrypted_content"),
        WireFormat::Gemini => ("/candidates/0/content/parts", "thoughtSignature"),
        _ => return None,
    };
    let mut items = value.pointer(list)?.as_array()?.iter();
    items.find_map(|item| item.get(name)?.as_str().map(str::to_owned))
}

/// A stream of which the client had nothing until most of it was written.
fn held_back(exchange: &Exchange, call: &UpstreamCall) -> Option<Found> {
    if call.waited_in_vain == 0 {
        return None;
    }
    let pieces = call.frames.len();
    let seen_after = exchange.reply.written_at_first_output?;
    // Four fifths of the answer: some wait for a second piece, which is no harm.
    if seen_after * 5 < pieces * 4 {
        return None;
    }
    let before: Vec<String> = vec![
        "the provider writes event 1".to_owned(),
        "the client has event 1".to_owned(),
        format!("the provider writes all {pieces} events"),
    ];
    let after: Vec<String> = vec![
        "the provider writes event 1".to_owned(),
        format!("the provider writes all {pieces} events"),
        "the client has event 1".to_owned(),
    ];
    let what =
        format!("held back: the first output arrived after {seen_after} pieces were written");
    Some(Found::new(
        Defect::StreamProtocol,
        what,
        evidence::course(&before, &after),
    ))
}
