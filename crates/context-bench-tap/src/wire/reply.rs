//! [`WireReply`]: what an answer says, in one shape for every API, streamed or not.

use serde_json::Value;

use super::Event;
use super::message::ToolCall;
use super::route::WireFormat;
use super::usage::{Usage, UsageShape};
use super::{
    anthropic_messages, field, gemini, openai_chat, openai_chat_plain, openai_completions,
    openai_embeddings, openai_models, openai_responses,
};

/// What an answer says.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct WireReply {
    /// What the provider calls it.
    pub id: Option<String>,
    /// The model that answered, often with a date.
    pub model: Option<String>,
    /// The answers; one, unless more were asked for.
    pub choices: Vec<Choice>,
    /// What the provider counts; none means unknown, never zero.
    pub usage: Option<Usage>,
    /// An error, also one inside of a stream of status 200.
    pub error: Option<WireError>,
    /// The class of service that answered.
    pub service_tier: Option<String>,
    /// The version of the machinery that answered.
    pub system_fingerprint: Option<String>,
    /// Why the provider's cache was missed, where it says so.
    pub cache_miss_reason: Option<String>,
    /// Models, where they were listed.
    pub models: Vec<String>,
    /// Whether the API's own sign of the end was seen; whole bodies have it by themselves.
    pub is_ended: bool,
    /// What is wrong with the order of a stream.
    pub disorder: Vec<String>,
}

/// One answer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Choice {
    /// Its text.
    pub text: String,
    /// Thoughts that came with it.
    pub reasoning: String,
    /// The tools that it wants called.
    pub tool_calls: Vec<ToolCall>,
    /// Why it ended, in the word of the API.
    pub finish: Option<String>,
}

/// An error as the API says it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WireError {
    /// `error.type`, or the status word of Gemini.
    pub kind: Option<String>,
    /// `error.code`.
    pub code: Option<String>,
    /// What happened.
    pub message: String,
}

impl WireReply {
    /// The choice of this number, which is made if it is not there.
    pub(super) fn choice(&mut self, index: usize) -> Option<&mut Choice> {
        // No API gives more than 128; an index beyond that is not worth its memory.
        if index >= 1024 {
            return None;
        }
        if self.choices.len() <= index {
            self.choices.resize_with(index + 1, Choice::default);
        }
        self.choices.get_mut(index)
    }

    /// The text of the first answer.
    pub fn text(&self) -> &str {
        self.choices.first().map_or("", |choice| &choice.text)
    }

    /// Whether there is anything that a model wrote.
    pub fn has_output(&self) -> bool {
        self.choices.iter().any(|choice| {
            !choice.text.is_empty() || !choice.reasoning.is_empty() || !choice.tool_calls.is_empty()
        })
    }

    /// Takes the members that every API of OpenAI has.
    pub(super) fn openai_members(&mut self, value: &Value) {
        self.id = field::text(value, "id").or(self.id.take());
        self.model = field::text(value, "model").or(self.model.take());
        self.service_tier = field::text(value, "service_tier").or(self.service_tier.take());
        let fingerprint = field::text(value, "system_fingerprint");
        self.system_fingerprint = fingerprint.or(self.system_fingerprint.take());
    }

    /// Takes an error member, if there is one.
    pub(super) fn error_member(&mut self, value: &Value) {
        let Some(error) = value.get("error").filter(|error| !error.is_null()) else {
            return;
        };
        let spelled = |name: &str| {
            let member = error.get(name).filter(|member| !member.is_null());
            member.map(field::spelled)
        };
        self.error = Some(WireError {
            kind: spelled("type").or_else(|| spelled("status")),
            code: spelled("code"),
            message: spelled("message").unwrap_or_else(|| field::spelled(error)),
        });
    }
}

/// Reads an answer, whole or event by event.
#[derive(Debug)]
pub struct ReplyReader {
    format: WireFormat,
    shape: UsageShape,
    keeps_raw_usage: bool,
    reply: WireReply,
    anthropic: anthropic_messages::StreamState,
}

impl ReplyReader {
    /// For an answer of this API. The shape of the usage follows from the route unless a
    /// provider is known to count otherwise.
    pub fn new(format: WireFormat, shape: Option<UsageShape>) -> Self {
        Self {
            format,
            shape: shape.unwrap_or_else(|| UsageShape::of(format)),
            keeps_raw_usage: true,
            reply: WireReply::default(),
            anthropic: anthropic_messages::StreamState::default(),
        }
    }

    /// The same for somebody who needs what the provider counts and not the words that it says it
    /// in.
    #[must_use]
    pub fn without_raw_usage(mut self) -> Self {
        self.keeps_raw_usage = false;
        self
    }

    /// Takes the next event of a stream; says whether it carries output: text, reasoning or
    /// arguments of a tool.
    pub fn event(&mut self, event: &Event) -> bool {
        if event.data == "[DONE]" {
            self.reply.is_ended = true;
            return false;
        }
        let Ok(value) = serde_json::from_str::<Value>(&event.data) else {
            return false;
        };
        let reply = &mut self.reply;
        match self.format {
            WireFormat::OpenaiChat => openai_chat::chunk(&value, self.shape, reply),
            WireFormat::OpenaiResponses => {
                openai_responses::event(&event.name, &value, self.shape, reply)
            }
            WireFormat::OpenaiCompletions => openai_completions::chunk(&value, self.shape, reply),
            WireFormat::AnthropicMessages => {
                self.anthropic.event(&event.name, &value, self.shape, reply)
            }
            WireFormat::Gemini => gemini::chunk(&value, self.shape, reply),
            WireFormat::OpenaiEmbeddings | WireFormat::OpenaiModels | WireFormat::Unknown => false,
        }
    }

    /// How many bytes of output there are so far: text, reasoning and arguments of tools.
    pub fn output_bytes(&self) -> usize {
        let calls = |choice: &Choice| -> usize {
            let calls = choice.tool_calls.iter();
            calls
                .map(|call| call.name.len() + call.arguments.len())
                .sum()
        };
        let choices = self.reply.choices.iter();
        choices
            .map(|choice| choice.text.len() + choice.reasoning.len() + calls(choice))
            .sum()
    }

    /// Takes a whole body. What is no JSON says nothing.
    pub fn whole(&mut self, body: &[u8]) {
        if self.format == WireFormat::OpenaiChat {
            let read = match self.keeps_raw_usage {
                true => openai_chat_plain::reply,
                false => openai_chat_plain::counted_reply,
            };
            if read(body, self.shape, &mut self.reply).is_some() {
                self.reply.is_ended = true;
                return;
            }
        }
        let Ok(value) = serde_json::from_slice::<Value>(body) else {
            return;
        };
        let reply = &mut self.reply;
        reply.is_ended = true;
        match self.format {
            WireFormat::OpenaiChat => openai_chat::reply(&value, self.shape, reply),
            WireFormat::OpenaiResponses => openai_responses::reply(&value, self.shape, reply),
            WireFormat::OpenaiCompletions => openai_completions::reply(&value, self.shape, reply),
            WireFormat::OpenaiEmbeddings => openai_embeddings::reply(&value, self.shape, reply),
            WireFormat::OpenaiModels => openai_models::reply(&value, reply),
            WireFormat::AnthropicMessages => {
                anthropic_messages::reply(&value, self.shape, reply);
            }
            WireFormat::Gemini => gemini::reply(&value, self.shape, reply),
            WireFormat::Unknown => reply.error_member(&value),
        }
    }

    /// What the answer says.
    pub fn finish(mut self) -> WireReply {
        if let Some(usage) = self.reply.usage.as_mut().filter(|_| !self.keeps_raw_usage) {
            usage.raw = Value::Null;
        }
        // The end of Gemini's streams is told by the reason of the last chunk.
        if self.format == WireFormat::Gemini {
            self.reply.is_ended |= self.reply.choices.iter().any(|one| one.finish.is_some());
        }
        self.reply
    }
}
