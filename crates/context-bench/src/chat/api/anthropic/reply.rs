//! A whole reply of Anthropic.

use serde_json::{Map, Value};

use super::finish_reason;
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
    let Some(Value::Array(content)) = reply.get("content") else {
        return Err(ChatFailure::Structure {
            found: secrets.excerpt(body, EXCERPT),
        });
    };
    let mut gathered = Gathered::default();
    for block in content {
        gathered.begin(None, block);
    }
    let stop_reason = reply.get("stop_reason").and_then(Value::as_str);
    let usage = match reply.get("usage") {
        Some(Value::Object(usage)) => usage.clone(),
        _ => Map::new(),
    };
    let model = name(&reply, "model");
    Ok(ChatReply {
        model,
        ..gathered.into_reply(stop_reason.map(str::to_owned), usage)
    })
}

/// What blocks have said so far.
#[derive(Debug, Default)]
pub(super) struct Gathered {
    text: Option<String>,
    reasoning: String,
    /// Calls, each with the number of its block in a stream.
    calls: Vec<(Option<u64>, ToolCall)>,
}

impl Gathered {
    /// Takes a block, or the beginning of one.
    pub(super) fn begin(&mut self, index: Option<u64>, block: &Value) {
        match block.get("type").and_then(Value::as_str) {
            Some("text") => self.say(&text(block, "text")),
            Some("thinking") => self.reasoning.push_str(&text(block, "thinking")),
            Some("tool_use") => {
                let input = block.get("input");
                // In a stream the input is empty at first, and comes piece by piece.
                let begun =
                    |input: &&Value| index.is_none() || **input != Value::Object(Map::new());
                let call = ToolCall {
                    id: text(block, "id"),
                    name: text(block, "name"),
                    arguments: input
                        .filter(begun)
                        .map(Value::to_string)
                        .unwrap_or_default(),
                };
                self.calls.push((index, call));
            }
            _ => {}
        }
    }

    /// Takes a further piece of a block.
    pub(super) fn go_on(&mut self, index: Option<u64>, delta: &Value) {
        match delta.get("type").and_then(Value::as_str) {
            Some("text_delta") => self.say(&text(delta, "text")),
            Some("thinking_delta") => self.reasoning.push_str(&text(delta, "thinking")),
            Some("input_json_delta") => {
                let known = self.calls.iter_mut().rev();
                let call = known.into_iter().find(|(of, _)| *of == index);
                if let Some((_, call)) = call {
                    call.arguments.push_str(&text(delta, "partial_json"));
                }
            }
            _ => {}
        }
    }

    fn say(&mut self, more: &str) {
        self.text.get_or_insert_default().push_str(more);
    }

    pub(super) fn has_text(&self) -> bool {
        self.text.as_ref().is_some_and(|text| !text.is_empty())
    }

    pub(super) fn into_reply(
        self,
        stop_reason: Option<String>,
        usage: Map<String, Value>,
    ) -> ChatReply {
        let stop_reason = stop_reason.filter(|reason| !reason.is_empty());
        let tier = usage.get("service_tier").and_then(Value::as_str);
        let service_tier = tier.map(str::to_owned);
        let calls = self.calls.into_iter().map(|(_, mut call)| {
            if call.arguments.is_empty() {
                call.arguments = "{}".to_owned();
            }
            call.to_json()
        });
        ChatReply {
            api: Api::Anthropic,
            content: self.text.map_or(Value::Null, Value::String),
            usage: (!usage.is_empty()).then_some(usage),
            finish_reason: stop_reason.as_deref().map(finish_reason).map(str::to_owned),
            stop_reason,
            reasoning: (!self.reasoning.is_empty()).then_some(self.reasoning),
            tool_calls: calls.collect(),
            service_tier,
            ..ChatReply::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(body: &Value) -> Result<ChatReply, ChatFailure> {
        parse(body.to_string().as_bytes(), &Secrets::default())
    }

    #[test]
    fn messages_are_read() {
        let usage = json!({"input_tokens": 3, "cache_read_input_tokens": 40, "output_tokens": 2});
        let reply = read(&json!({
            "id": "msg_1", "type": "message", "role": "assistant", "model": "claude",
            "content": [
                {"type": "thinking", "thinking": "hm", "signature": "s"},
                {"type": "text", "text": "Par"}, {"type": "server_tool_use", "name": "x"},
                {"type": "text", "text": "is"},
                {"type": "tool_use", "id": "t", "name": "look", "input": {"b": 1, "a": [2]}},
            ],
            "stop_reason": "tool_use", "usage": usage,
        }))
        .expect("a reply");
        assert_eq!(reply.content, "Paris");
        assert_eq!(reply.reasoning.as_deref(), Some("hm"));
        assert_eq!(reply.finish_reason.as_deref(), Some("tool_calls"));
        assert_eq!(reply.stop_reason.as_deref(), Some("tool_use"));
        assert_eq!(reply.usage, usage.as_object().cloned());
        assert_eq!(
            reply.tool_calls,
            [json!({"id": "t", "type": "function",
                "function": {"name": "look", "arguments": r#"{"b":1,"a":[2]}"#}})]
        );
        assert_eq!(reply.api, Api::Anthropic);
    }

    #[test]
    fn endings_have_one_vocabulary() {
        for (said, expected) in [
            (json!("end_turn"), Some("stop")),
            (json!("stop_sequence"), Some("stop")),
            (json!("max_tokens"), Some("length")),
            (json!("model_context_window_exceeded"), Some("length")),
            (json!("refusal"), Some("content_filter")),
            (json!("pause_turn"), Some("pause_turn")),
            (json!(null), None),
            (json!(""), None),
        ] {
            let reply = read(&json!({"content": [], "stop_reason": said})).expect("a reply");
            assert_eq!(reply.finish_reason.as_deref(), expected, "{said}");
            assert_eq!((reply.content, reply.usage), (Value::Null, None));
        }
    }

    #[test]
    fn what_is_no_message_says_why() {
        for body in [
            json!({}),
            json!([]),
            json!({"content": "x"}),
            json!({"choices": []}),
        ] {
            let found = body.to_string();
            assert_eq!(read(&body), Err(ChatFailure::Structure { found }));
        }
        let error = json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}});
        let error = read(&error).expect_err("an error");
        assert!(error.is_retryable(), "{error}");
        assert!(error.to_string().ends_with(": Overloaded"), "{error}");
        let error = read(&json!({"error": {"type": "invalid_request_error", "message": "no"}}));
        assert!(!error.expect_err("an error").is_retryable());
    }
}
