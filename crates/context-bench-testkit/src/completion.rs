//! The JSON shapes of the APIs: completions, stream chunks, errors, models. Those of Anthropic's
//! Messages and OpenAI's Responses are in files of their own.
//!
//! Only shapes: no HTTP framing, no sockets. The clock is read here for
//! `created`, and nowhere else in a reply.

use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use crate::reply::{Reply, Usage};
use crate::request::Request;
use crate::{messages, responses};

/// Which shape of a completion a path asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    Chat,
    Plain,
    Responses,
    Messages,
}

/// An event of a stream.
#[derive(Debug)]
pub(crate) struct StreamEvent {
    /// The field `event`, where the API names its events.
    pub(crate) name: Option<String>,
    pub(crate) data: String,
}

impl StreamEvent {
    /// An event without a name.
    pub(crate) fn plain(data: impl Into<String>) -> Self {
        Self {
            name: None,
            data: data.into(),
        }
    }

    /// An event that is called as its type says.
    pub(crate) fn named(data: &Value) -> Self {
        Self {
            name: data["type"].as_str().map(str::to_owned),
            data: data.to_string(),
        }
    }
}

/// Tokens of a completion; those of the cache are part of the prompt.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tokens {
    pub(crate) prompt: u64,
    pub(crate) completion: u64,
    /// Read from the cache and written to it.
    pub(crate) cache: Option<(u64, u64)>,
}

/// What all objects of one completion share.
#[derive(Debug)]
pub(crate) struct Completion<'a> {
    pub(crate) shape: Shape,
    pub(crate) id: String,
    pub(crate) created: u64,
    pub(crate) model: &'a str,
    pub(crate) finish_reason: &'a str,
    pub(crate) tokens: Option<Tokens>,
}

impl<'a> Completion<'a> {
    pub(crate) fn new(
        shape: Shape,
        reply: &'a Reply,
        request: &'a Request,
        text: Option<&str>,
    ) -> Self {
        let prefix = match shape {
            Shape::Chat => "chatcmpl",
            Shape::Plain => "cmpl",
            Shape::Responses => "resp",
            Shape::Messages => "msg",
        };
        let model = match (&reply.model, request.model()) {
            (Some(model), _) => model,
            (None, "") => "mock-model",
            (None, asked) => asked,
        };
        let usage = match reply.usage {
            Usage::Absent => None,
            Usage::Fixed { prompt, completion } => Some((prompt, completion)),
            Usage::Words => {
                let words = text.map_or(0, |text| text.split_whitespace().count());
                Some((request.prompt_words(), words as u64))
            }
        };
        Self {
            shape,
            id: format!("{prefix}-mock-{}", request.index),
            created: unix_now(),
            model,
            finish_reason: &reply.finish_reason,
            tokens: usage.map(|(prompt, completion)| Tokens {
                prompt,
                completion,
                cache: reply.cache,
            }),
        }
    }

    /// The usage of chat and plain completions.
    fn usage(&self) -> Option<Value> {
        let tokens = self.tokens?;
        let mut usage = json!({
            "prompt_tokens": tokens.prompt,
            "completion_tokens": tokens.completion,
            "total_tokens": tokens.prompt + tokens.completion,
        });
        if let Some((read, written)) = tokens.cache {
            usage["prompt_tokens_details"] =
                json!({"cached_tokens": read, "cache_write_tokens": written});
        }
        Some(usage)
    }

    /// The events before the first token.
    pub(crate) fn opening(&self) -> Vec<StreamEvent> {
        match self.shape {
            Shape::Chat => vec![StreamEvent::plain(self.role_chunk().to_string())],
            Shape::Plain => Vec::new(),
            Shape::Responses => responses::opening(self),
            Shape::Messages => messages::opening(self),
        }
    }

    /// The event of one token.
    pub(crate) fn token(&self, token: &str) -> StreamEvent {
        match self.shape {
            Shape::Chat | Shape::Plain => StreamEvent::plain(self.token_chunk(token).to_string()),
            Shape::Responses => responses::token(token),
            Shape::Messages => messages::token(token),
        }
    }

    /// The events after the last token of this text.
    pub(crate) fn closing(&self, text: Option<&str>, wants_usage: bool) -> Vec<StreamEvent> {
        match self.shape {
            Shape::Chat | Shape::Plain => {
                let usage = self.usage_chunk().filter(|_| wants_usage);
                let chunks = [self.finish_chunk()].into_iter().chain(usage);
                let events = chunks.map(|chunk| StreamEvent::plain(chunk.to_string()));
                events.chain([StreamEvent::plain("[DONE]")]).collect()
            }
            Shape::Responses => responses::closing(self, text),
            Shape::Messages => messages::closing(self),
        }
    }

    /// The event that reports an error in the middle of a stream.
    pub(crate) fn error_event(&self, status: u16, message: &str) -> StreamEvent {
        match self.shape {
            Shape::Chat | Shape::Plain => {
                StreamEvent::plain(error(status, message, None).to_string())
            }
            Shape::Responses => responses::error_event(status, message),
            Shape::Messages => StreamEvent::named(&messages::error(status, message)),
        }
    }

    /// The whole completion as one object.
    pub(crate) fn whole(&self, text: Option<&str>) -> Value {
        let choice = match self.shape {
            Shape::Responses => return responses::whole(self, text),
            Shape::Messages => return messages::whole(self, text),
            Shape::Chat => json!({
                "index": 0,
                "message": {"role": "assistant", "content": text},
                "logprobs": null,
                "finish_reason": self.finish_reason,
            }),
            Shape::Plain => json!({
                "index": 0,
                "text": text,
                "logprobs": null,
                "finish_reason": self.finish_reason,
            }),
        };
        let object = match self.shape {
            Shape::Chat => "chat.completion",
            _ => "text_completion",
        };
        let mut body = self.envelope(object, json!([choice]));
        if let Some(usage) = self.usage() {
            body["usage"] = usage;
        }
        body
    }

    /// A completion without choices, whole or as a stream chunk.
    pub(crate) fn no_choices(&self, streamed: bool) -> Value {
        match (streamed, self.shape) {
            (_, Shape::Responses | Shape::Messages) => {
                json!({"id": self.id, "type": "message", "model": self.model})
            }
            (true, _) => self.chunk(json!([])),
            (false, Shape::Chat) => self.envelope("chat.completion", json!([])),
            (false, Shape::Plain) => self.envelope("text_completion", json!([])),
        }
    }

    /// The first chunk of a chat stream, which only names the role.
    fn role_chunk(&self) -> Value {
        self.chunk(json!([{
            "index": 0,
            "delta": {"role": "assistant", "content": ""},
            "finish_reason": null,
        }]))
    }

    /// A chunk with one token.
    fn token_chunk(&self, token: &str) -> Value {
        self.chunk(match self.shape {
            Shape::Chat => {
                json!([{"index": 0, "delta": {"content": token}, "finish_reason": null}])
            }
            _ => json!([{"index": 0, "text": token, "finish_reason": null}]),
        })
    }

    /// The chunk that says why the text ended.
    fn finish_chunk(&self) -> Value {
        let reason = self.finish_reason;
        self.chunk(match self.shape {
            Shape::Chat => json!([{"index": 0, "delta": {}, "finish_reason": reason}]),
            _ => json!([{"index": 0, "text": "", "finish_reason": reason}]),
        })
    }

    /// The last chunk of a stream with usage, if the reply has one.
    fn usage_chunk(&self) -> Option<Value> {
        let mut chunk = self.chunk(json!([]));
        chunk["usage"] = self.usage()?;
        Some(chunk)
    }

    fn chunk(&self, choices: Value) -> Value {
        let object = match self.shape {
            Shape::Chat => "chat.completion.chunk",
            _ => "text_completion",
        };
        self.envelope(object, choices)
    }

    #[expect(
        clippy::needless_pass_by_value,
        reason = "json! would clone a borrowed value"
    )]
    fn envelope(&self, object: &str, choices: Value) -> Value {
        json!({
            "id": self.id,
            "object": object,
            "created": self.created,
            "model": self.model,
            "choices": choices,
        })
    }
}

/// The error body of an API.
pub(crate) fn error_of(shape: Shape, status: u16, message: &str, code: Option<&str>) -> Value {
    match shape {
        Shape::Messages => messages::error(status, message),
        _ => error(status, message, code),
    }
}

/// An OpenAI-style error body.
pub(crate) fn error(status: u16, message: &str, code: Option<&str>) -> Value {
    let kind = match status {
        401 | 403 => "authentication_error",
        404 => "not_found_error",
        429 => "rate_limit_error",
        500.. => "server_error",
        _ => "invalid_request_error",
    };
    json!({"error": {"message": message, "type": kind, "param": null, "code": code}})
}

/// The body of `GET /v1/models`.
pub(crate) fn models(names: &[String]) -> Value {
    let data: Vec<Value> = names
        .iter()
        .map(|name| json!({"id": name, "object": "model", "created": 0, "owned_by": "testkit"}))
        .collect();
    json!({"object": "list", "data": data})
}

fn unix_now() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |elapsed| elapsed.as_secs())
}
