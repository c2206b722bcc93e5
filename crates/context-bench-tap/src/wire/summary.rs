//! What a record keeps of requests and answers: figures, names and digests. The texts
//! themselves are in the bodies.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::message::{PartKind, ToolCall};
use super::openai_chat;
use super::reply::WireReply;
use super::request::WireRequest;
use super::usage::Usage;
use crate::attribution::{AnswerIdentity, Fingerprint};
use crate::hex::hex;
use crate::record::Scrubber;

/// What a request asks for, without its texts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RequestSummary {
    /// The model.
    pub model: Option<String>,
    /// Whether the answer is to be streamed.
    pub streams: bool,
    /// Whether a stream is to tell its usage, where the API asks.
    pub includes_usage: bool,
    /// The messages, system texts first where they stand apart.
    pub messages: Vec<MessageSummary>,
    /// The names of the tools in their order.
    pub tools: Vec<String>,
    /// The names of all other members.
    pub parameters: Vec<String>,
    /// How many marks for the cache of the provider there are.
    pub cache_marks: usize,
    /// Whether the provider adds a conversation of its own.
    pub is_stateful: bool,
    /// Whether probabilities of the given text are asked for.
    pub wants_likelihoods: bool,
    /// What the newest text looks like, to find the call that caused this one.
    pub fingerprint: Fingerprint,
}

/// A message without its text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessageSummary {
    /// The role as the request spells it.
    pub role: String,
    /// What its parts are.
    pub parts: Vec<String>,
    /// How many bytes of text it has.
    pub bytes: usize,
    /// The digest of its text.
    pub digest: String,
}

/// What an answer says, without its text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReplySummary {
    /// What the provider calls it.
    pub id: Option<String>,
    /// The model that answered.
    pub model: Option<String>,
    /// Why each answer ended.
    pub finish: Vec<Option<String>>,
    /// What the provider counts; none means unknown.
    pub usage: Option<Usage>,
    /// How many bytes of text the first answer has.
    pub text_bytes: usize,
    /// The digest of text and tool calls of the first answer; none where there is no output.
    pub output_digest: Option<String>,
    /// The names of the tools that it wants called.
    pub tool_calls: Vec<String>,
    /// `type: message` of an error.
    pub error: Option<String>,
    /// The type of the error.
    pub error_kind: Option<String>,
    /// The code of the error.
    pub error_code: Option<String>,
    /// The class of service that answered.
    pub service_tier: Option<String>,
    /// Why the provider's cache was missed.
    pub cache_miss_reason: Option<String>,
    /// Whether the API's own sign of the end was seen.
    pub is_ended: bool,
    /// What is wrong with the order of a stream.
    pub disorder: Vec<String>,
}

impl RequestSummary {
    /// Of a request.
    pub fn of(request: &WireRequest) -> Self {
        let messages = request.messages.iter().map(|message| {
            let text = message.text();
            let part = |kind: &PartKind| match kind {
                PartKind::ToolResult { is_error: true, .. } => "tool_error".to_owned(),
                kind => kind.name().to_owned(),
            };
            MessageSummary {
                role: message.role.clone(),
                parts: message.parts.iter().map(|one| part(&one.kind)).collect(),
                bytes: text.len(),
                digest: digest(&[&text]),
            }
        });
        Self {
            model: request.model.clone(),
            streams: request.streams,
            includes_usage: openai_chat::includes_usage(request),
            messages: messages.collect(),
            tools: request.tools.iter().map(|tool| tool.name.clone()).collect(),
            parameters: request.parameters.keys().cloned().collect(),
            cache_marks: request.cache_marks().len(),
            is_stateful: request.is_stateful,
            wants_likelihoods: request.wants_likelihoods,
            fingerprint: Fingerprint::of(&request.newest_text()),
        }
    }

    /// The same without secrets: whatever a client put into a body may be one.
    pub(crate) fn scrubbed(mut self, scrubber: &Scrubber) -> Self {
        let names = self.tools.iter_mut().chain(&mut self.parameters);
        for text in names.chain(&mut self.model) {
            scrubber.clean(text);
        }
        for message in &mut self.messages {
            for text in std::iter::once(&mut message.role).chain(&mut message.parts) {
                scrubber.clean(text);
            }
        }
        self
    }
}

impl ReplySummary {
    /// Of an answer.
    pub fn of(reply: &WireReply) -> Self {
        let first = reply.choices.first();
        let calls: &[ToolCall] = first.map_or(&[], |choice| &choice.tool_calls);
        let choices = reply.choices.iter();
        Self {
            finish: choices.map(|choice| choice.finish.clone()).collect(),
            output_digest: output_digest(reply),
            tool_calls: calls.iter().map(|call| call.name.clone()).collect(),
            cache_miss_reason: reply.cache_miss_reason.clone(),
            disorder: reply.disorder.clone(),
            ..Self::to_count(reply)
        }
    }

    /// What attribution and figures need of it, for whoever has the answer itself too and writes
    /// nothing down.
    pub(crate) fn to_count(reply: &WireReply) -> Self {
        let is_telling = AnswerIdentity::has_telling_text(reply);
        Self {
            id: reply.id.clone(),
            model: reply.model.clone(),
            finish: Vec::new(),
            usage: reply.usage.clone(),
            text_bytes: reply.text().len(),
            output_digest: is_telling.then(|| output_digest(reply)).flatten(),
            tool_calls: Vec::new(),
            error: reply.error.as_ref().map(|error| match &error.kind {
                Some(kind) => format!("{kind}: {}", error.message),
                None => error.message.clone(),
            }),
            error_kind: reply.error.as_ref().and_then(|error| error.kind.clone()),
            error_code: reply.error.as_ref().and_then(|error| error.code.clone()),
            service_tier: reply.service_tier.clone(),
            cache_miss_reason: None,
            is_ended: reply.is_ended,
            disorder: Vec::new(),
        }
    }

    /// The same without secrets: providers quote a refused key in their message.
    pub(crate) fn scrubbed(mut self, scrubber: &Scrubber) -> Self {
        let said = [
            &mut self.id,
            &mut self.model,
            &mut self.error,
            &mut self.error_kind,
            &mut self.error_code,
            &mut self.service_tier,
            &mut self.cache_miss_reason,
        ];
        let lists = self.tool_calls.iter_mut().chain(&mut self.disorder);
        for text in said.into_iter().flatten().chain(lists) {
            scrubber.clean(text);
        }
        for text in self.finish.iter_mut().flatten() {
            scrubber.clean(text);
        }
        if let Some(usage) = self.usage.as_mut().filter(|usage| !usage.raw.is_null()) {
            let raw = usage.raw.to_string();
            if let Cow::Owned(scrubbed) = scrubber.bytes(raw.as_bytes()) {
                usage.raw = serde_json::from_slice(&scrubbed).unwrap_or_default();
            }
        }
        self
    }
}

/// The digest of what a client got to see of the first answer: its text and tool calls. Ids of
/// calls are left out, since proxies number them anew.
pub fn output_digest(reply: &WireReply) -> Option<String> {
    let first = reply.choices.first().filter(|_| reply.has_output())?;
    let mut parts = vec![first.text.as_str()];
    for call in &first.tool_calls {
        parts.extend([call.name.as_str(), call.arguments.as_str()]);
    }
    Some(digest(&parts))
}

/// 128 bits of SHA-256 over texts, each with its length before it.
fn digest(texts: &[&str]) -> String {
    let mut hash = Sha256::new();
    for text in texts {
        hash.update((text.len() as u64).to_le_bytes());
        hash.update(text.as_bytes());
    }
    hex(hash.finalize().into_iter().take(16))
}
