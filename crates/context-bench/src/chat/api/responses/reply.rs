//! A whole reply of Responses.

use serde_json::Value;

use crate::chat::api::tool::{ToolCall, text};
use crate::chat::api::{Api, reported};
use crate::chat::error::ChatFailure;
use crate::chat::reply::{ChatReply, EXCERPT, name, parse_json};
use crate::chat::secret::Secrets;

/// Reads a reply that came as one JSON body.
pub(crate) fn parse(body: &[u8], secrets: &Secrets) -> Result<ChatReply, ChatFailure> {
    let reply = parse_json(body, secrets)?;
    if let Some(error) = reply.get("error").filter(|error| !error.is_null()) {
        return Err(reported(error, body, secrets));
    }
    let status = reply.get("status").and_then(Value::as_str);
    let is_over = !matches!(
        status,
        Some("failed" | "cancelled" | "queued" | "in_progress")
    );
    match reply.get("output") {
        Some(Value::Array(output)) if is_over => {
            let mut gathered = Gathered::default();
            output.iter().for_each(|item| gathered.item(item));
            Ok(gathered.into_reply(&reply))
        }
        _ => Err(ChatFailure::Structure {
            found: secrets.excerpt(body, EXCERPT),
        }),
    }
}

/// What items have said so far.
#[derive(Debug, Default)]
pub(super) struct Gathered {
    pub(super) text: Option<String>,
    pub(super) refusal: String,
    pub(super) reasoning: String,
    /// Calls, each with the number of its item in a stream.
    pub(super) calls: Vec<(Option<u64>, ToolCall)>,
}

impl Gathered {
    /// Takes a whole item.
    pub(super) fn item(&mut self, item: &Value) {
        let list = |name: &str| {
            let list = item.get(name).and_then(Value::as_array);
            list.into_iter().flatten()
        };
        match item.get("type").and_then(Value::as_str) {
            Some("message") => {
                for part in list("content") {
                    match part.get("type").and_then(Value::as_str) {
                        Some("output_text" | "text") => self.say(&text(part, "text")),
                        Some("refusal") => self.refusal.push_str(&text(part, "refusal")),
                        _ => {}
                    }
                }
            }
            Some("reasoning") => {
                for part in list("summary").chain(list("content")) {
                    self.reasoning.push_str(&text(part, "text"));
                }
            }
            Some("function_call") => self.calls.push((None, call(item))),
            _ => {}
        }
    }

    pub(super) fn say(&mut self, more: &str) {
        self.text.get_or_insert_default().push_str(more);
    }

    /// Whether nothing has been said, thought or called.
    pub(super) fn is_empty(&self) -> bool {
        self.text.is_none()
            && self.refusal.is_empty()
            && self.reasoning.is_empty()
            && self.calls.is_empty()
    }

    /// The reply, with what the response says about itself.
    pub(super) fn into_reply(self, response: &Value) -> ChatReply {
        let status = response.get("status").and_then(Value::as_str);
        let reason = response.pointer("/incomplete_details/reason");
        let reason = reason.and_then(Value::as_str);
        let finish_reason = match (status, reason) {
            _ if !self.refusal.is_empty() => Some("content_filter"),
            (Some("incomplete"), Some("max_output_tokens" | "max_tokens")) => Some("length"),
            (Some("incomplete"), reason) => reason.or(Some("incomplete")),
            (Some("completed"), _) if !self.calls.is_empty() => Some("tool_calls"),
            (Some("completed"), _) => Some("stop"),
            (status, _) => status,
        };
        let usage = response.get("usage").and_then(Value::as_object);
        ChatReply {
            api: Api::Responses,
            content: self.text.map_or(Value::Null, Value::String),
            usage: usage.filter(|usage| !usage.is_empty()).cloned(),
            finish_reason: finish_reason.map(str::to_owned),
            stop_reason: reason.or(status).map(str::to_owned),
            reasoning: (!self.reasoning.is_empty()).then_some(self.reasoning),
            refusal: (!self.refusal.is_empty()).then_some(self.refusal),
            tool_calls: self.calls.iter().map(|(_, call)| call.to_json()).collect(),
            model: name(response, "model"),
            service_tier: name(response, "service_tier"),
            ..ChatReply::default()
        }
    }
}

pub(super) fn call(item: &Value) -> ToolCall {
    ToolCall {
        id: text(item, "call_id"),
        name: text(item, "name"),
        arguments: text(item, "arguments"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(body: &Value) -> Result<ChatReply, ChatFailure> {
        parse(body.to_string().as_bytes(), &Secrets::default())
    }

    #[expect(clippy::needless_pass_by_value, reason = "`json!` is passed as it is")]
    fn message(parts: Value) -> Value {
        json!({"type": "message", "role": "assistant", "content": parts})
    }

    #[test]
    fn responses_are_read() {
        let usage = json!({"input_tokens": 30, "input_tokens_details": {"cached_tokens": 20},
            "output_tokens": 4, "total_tokens": 34});
        let reply = read(&json!({
            "id": "resp_1", "object": "response", "status": "completed", "error": null,
            "output": [
                {"type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}]},
                message(json!([{"type": "output_text", "text": "Par", "annotations": []},
                    {"type": "output_text", "text": "is"}])),
                {"type": "function_call", "call_id": "c", "name": "look", "arguments": "{}"},
            ],
            "usage": usage,
        }))
        .expect("a reply");
        assert_eq!(reply.content, "Paris");
        assert_eq!(reply.reasoning.as_deref(), Some("hm"));
        assert_eq!(reply.finish_reason.as_deref(), Some("tool_calls"));
        assert_eq!(reply.usage, usage.as_object().cloned());
        assert_eq!(
            reply.tool_calls,
            [
                json!({"id": "c", "type": "function", "function": {"name": "look", "arguments": "{}"}})
            ]
        );
    }

    #[test]
    fn endings_have_one_vocabulary() {
        let said = message(json!([{"type": "output_text", "text": "A"}]));
        let refused = message(json!([{"type": "refusal", "refusal": "no"}]));
        for (body, finish, stop) in [
            (
                json!({"status": "completed", "output": [said]}),
                "stop",
                "completed",
            ),
            (
                json!({"status": "incomplete", "output": [said], "incomplete_details":
                {"reason": "max_output_tokens"}}),
                "length",
                "max_output_tokens",
            ),
            (
                json!({"status": "incomplete", "output": [said], "incomplete_details":
                {"reason": "content_filter"}}),
                "content_filter",
                "content_filter",
            ),
            (
                json!({"status": "completed", "output": [refused]}),
                "content_filter",
                "completed",
            ),
        ] {
            let reply = read(&body).expect("a reply");
            assert_eq!(reply.finish_reason.as_deref(), Some(finish), "{body}");
            assert_eq!(reply.stop_reason.as_deref(), Some(stop), "{body}");
        }
        let reply = read(&json!({"status": "completed", "output": [refused]})).expect("a reply");
        assert_eq!(
            (reply.content, reply.refusal.as_deref()),
            (Value::Null, Some("no"))
        );
    }

    #[test]
    fn what_is_no_response_says_why() {
        for body in [
            json!({}),
            json!({"choices": []}),
            json!({"status": "queued", "output": []}),
            json!({"status": "cancelled", "output": []}),
        ] {
            let found = body.to_string();
            assert_eq!(read(&body), Err(ChatFailure::Structure { found }));
        }
        for (code, retried) in [
            ("server_error", true),
            ("rate_limit_exceeded", true),
            ("invalid_prompt", false),
        ] {
            let body = json!({"status": "failed", "output": [], "error": {"code": code, "message": "sorry"}});
            let error = read(&body).expect_err("an error");
            assert!(error.to_string().ends_with(": sorry"), "{error}");
            assert_eq!(error.is_retryable(), retried, "{code}");
        }
    }
}
