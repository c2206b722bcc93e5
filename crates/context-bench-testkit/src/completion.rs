//! The JSON shapes of the API: completions, stream chunks, errors, models.
//!
//! Only shapes: no HTTP framing, no sockets. The clock is read here for
//! `created`, and nowhere else in a reply.

use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use crate::reply::{Reply, Usage};
use crate::request::Request;

/// Which of the two completion shapes a path asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    Chat,
    Plain,
}

/// What all objects of one completion share.
#[derive(Debug)]
pub(crate) struct Completion<'a> {
    pub(crate) shape: Shape,
    id: String,
    created: u64,
    model: &'a str,
    finish_reason: &'a str,
    usage: Option<Value>,
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
            usage: usage.map(|(prompt, completion)| {
                json!({
                    "prompt_tokens": prompt,
                    "completion_tokens": completion,
                    "total_tokens": prompt + completion,
                })
            }),
        }
    }

    /// The whole completion as one object.
    pub(crate) fn whole(&self, text: Option<&str>) -> Value {
        let choice = match self.shape {
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
            Shape::Plain => "text_completion",
        };
        let mut body = self.envelope(object, json!([choice]));
        if let Some(usage) = &self.usage {
            body["usage"] = usage.clone();
        }
        body
    }

    /// A completion without choices, whole or as a stream chunk.
    pub(crate) fn no_choices(&self, streamed: bool) -> Value {
        match (streamed, self.shape) {
            (true, _) => self.chunk(json!([])),
            (false, Shape::Chat) => self.envelope("chat.completion", json!([])),
            (false, Shape::Plain) => self.envelope("text_completion", json!([])),
        }
    }

    /// The first chunk of a chat stream, which only names the role.
    pub(crate) fn role_chunk(&self) -> Value {
        self.chunk(json!([{
            "index": 0,
            "delta": {"role": "assistant", "content": ""},
            "finish_reason": null,
        }]))
    }

    /// A chunk with one token.
    pub(crate) fn token_chunk(&self, token: &str) -> Value {
        self.chunk(match self.shape {
            Shape::Chat => {
                json!([{"index": 0, "delta": {"content": token}, "finish_reason": null}])
            }
            Shape::Plain => json!([{"index": 0, "text": token, "finish_reason": null}]),
        })
    }

    /// The chunk that says why the text ended.
    pub(crate) fn finish_chunk(&self) -> Value {
        let reason = self.finish_reason;
        self.chunk(match self.shape {
            Shape::Chat => json!([{"index": 0, "delta": {}, "finish_reason": reason}]),
            Shape::Plain => json!([{"index": 0, "text": "", "finish_reason": reason}]),
        })
    }

    /// The last chunk of a stream with usage, if the reply has one.
    pub(crate) fn usage_chunk(&self) -> Option<Value> {
        let mut chunk = self.chunk(json!([]));
        chunk["usage"] = self.usage.clone()?;
        Some(chunk)
    }

    fn chunk(&self, choices: Value) -> Value {
        let object = match self.shape {
            Shape::Chat => "chat.completion.chunk",
            Shape::Plain => "text_completion",
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
