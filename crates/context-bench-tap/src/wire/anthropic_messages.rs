//! `POST /v1/messages` of Anthropic.

use serde_json::{Map, Value};

use super::field::{flag, list, number, spelled, text};
use super::message::{Message, Part, PartKind, Tool, ToolCall};
use super::openai_chat::{cache_mark, of_kind, plain};
use super::reply::{Choice, WireReply};
use super::request::WireRequest;
use super::route::WireFormat;
use super::usage::{Usage, UsageShape};

pub(super) fn request(members: &Map<String, Value>) -> WireRequest {
    let apart = ["messages", "system", "tools", "model", "stream"];
    let mut request = WireRequest::base(WireFormat::AnthropicMessages, members, &apart);
    let message = |role: String, content: Option<&Value>| Message {
        role,
        name: None,
        parts: match content {
            Some(Value::Array(blocks)) => blocks.iter().flat_map(parts).collect(),
            Some(Value::String(content)) => vec![plain(content.clone())],
            _ => Vec::new(),
        },
    };
    if let Some(system) = members.get("system").filter(|system| !system.is_null()) {
        request
            .messages
            .push(message("system".to_owned(), Some(system)));
    }
    let messages = members.get("messages").and_then(Value::as_array);
    for value in messages.into_iter().flatten() {
        let role = text(value, "role").unwrap_or_default();
        request.messages.push(message(role, value.get("content")));
    }
    let tools = members.get("tools").and_then(Value::as_array);
    request.tools = tools
        .into_iter()
        .flatten()
        .map(|tool| Tool {
            name: text(tool, "name")
                .or_else(|| text(tool, "type"))
                .unwrap_or_default(),
            definition: tool.to_string(),
            cache: cache_mark(tool),
        })
        .collect();
    request
}

/// A block, with what hangs on it as parts of their own: whoever loses those changes the request
/// although every text is there.
fn parts(value: &Value) -> Vec<Part> {
    let mut parts = vec![block(value)];
    for name in ["signature", "citations"] {
        if value.get(name).is_some_and(|member| !member.is_null()) {
            parts.push(of_kind(PartKind::Attached(name.to_owned()), String::new()));
        }
    }
    parts
}

fn block(value: &Value) -> Part {
    let kind = text(value, "type").unwrap_or_default();
    let (kind, content) = match kind.as_str() {
        "text" => (PartKind::Text, text(value, "text").unwrap_or_default()),
        "image" => (PartKind::Image, value.to_string()),
        "document" => (PartKind::Document, value.to_string()),
        "thinking" => (
            PartKind::Thinking,
            text(value, "thinking").unwrap_or_default(),
        ),
        "redacted_thinking" => (PartKind::Thinking, text(value, "data").unwrap_or_default()),
        "tool_use" => {
            let kind = PartKind::ToolCall {
                id: text(value, "id").unwrap_or_default(),
                name: text(value, "name").unwrap_or_default(),
            };
            (kind, value.get("input").map(spelled).unwrap_or_default())
        }
        "tool_result" => {
            let kind = PartKind::ToolResult {
                id: text(value, "tool_use_id").unwrap_or_default(),
                is_error: flag(value, "is_error"),
            };
            (kind, result(value))
        }
        _ => (PartKind::Other(kind), value.to_string()),
    };
    Part {
        cache: cache_mark(value),
        ..of_kind(kind, content)
    }
}

/// The text of a result, which may itself be blocks.
fn result(value: &Value) -> String {
    match value.get("content") {
        Some(Value::Array(blocks)) => {
            let texts = blocks
                .iter()
                .map(|block| text(block, "text").unwrap_or_else(|| block.to_string()));
            texts.collect::<Vec<_>>().join("\n")
        }
        Some(other) => spelled(other),
        None => String::new(),
    }
}

pub(super) fn reply(value: &Value, shape: UsageShape, reply: &mut WireReply) {
    reply.error_member(value);
    head(value, reply);
    let mut out = Choice {
        finish: text(value, "stop_reason"),
        ..Choice::default()
    };
    for block in list(value, "content") {
        match text(block, "type").as_deref() {
            Some("text") => out.text.extend(text(block, "text")),
            Some("thinking") => out.reasoning.extend(text(block, "thinking")),
            Some("tool_use") => out.tool_calls.push(ToolCall {
                id: text(block, "id").unwrap_or_default(),
                name: text(block, "name").unwrap_or_default(),
                arguments: block.get("input").map(spelled).unwrap_or_default(),
            }),
            _ => {}
        }
    }
    reply.choices = vec![out];
    reply.usage = value.get("usage").and_then(|raw| Usage::read(shape, raw));
}

/// What a message says about itself before its content.
fn head(message: &Value, reply: &mut WireReply) {
    reply.id = text(message, "id").or(reply.id.take());
    reply.model = text(message, "model").or(reply.model.take());
    let usage = message.get("usage");
    let tier = usage.and_then(|usage| text(usage, "service_tier"));
    reply.service_tier = tier.or(reply.service_tier.take());
    let diagnostics = message.get("diagnostics");
    let reason = diagnostics.and_then(|diagnostics| diagnostics.get("cache_miss_reason"));
    let reason = reason
        .and_then(|reason| text(reason, "type").or_else(|| reason.as_str().map(str::to_owned)));
    reply.cache_miss_reason = reason.or(reply.cache_miss_reason.take());
}

/// What is known in the midst of a stream.
#[derive(Debug, Default)]
pub(super) struct StreamState {
    has_started: bool,
    has_ended: bool,
    /// The block that is open, by its index.
    open: Option<u64>,
    /// Members of the usage; later events replace earlier ones one by one.
    usage: Map<String, Value>,
}

impl StreamState {
    /// Takes an event of a stream; says whether it carries output.
    pub(super) fn event(
        &mut self,
        name: &str,
        value: &Value,
        shape: UsageShape,
        reply: &mut WireReply,
    ) -> bool {
        let kind = text(value, "type").unwrap_or_else(|| name.to_owned());
        self.check_order(&kind, value, reply);
        match kind.as_str() {
            "message_start" => {
                let message = value.get("message").unwrap_or(&Value::Null);
                head(message, reply);
                self.count(message.get("usage"), shape, reply);
                false
            }
            "content_block_start" => self.block_start(value, reply),
            "content_block_delta" => delta(value, reply),
            "message_delta" => {
                let delta = value.get("delta").unwrap_or(&Value::Null);
                if let Some(out) = reply.choice(0) {
                    out.finish = text(delta, "stop_reason").or(out.finish.take());
                }
                self.count(value.get("usage"), shape, reply);
                false
            }
            "message_stop" => {
                reply.is_ended = true;
                false
            }
            "error" => {
                reply.error_member(value);
                false
            }
            _ => false,
        }
    }

    fn block_start(&self, value: &Value, reply: &mut WireReply) -> bool {
        let block = value.get("content_block").unwrap_or(&Value::Null);
        let Some(out) = reply.choice(0) else {
            return false;
        };
        match text(block, "type").as_deref() {
            Some("text") => {
                let begun = text(block, "text").unwrap_or_default();
                out.text.push_str(&begun);
                !begun.is_empty()
            }
            Some("tool_use") => {
                out.tool_calls.push(ToolCall {
                    id: text(block, "id").unwrap_or_default(),
                    name: text(block, "name").unwrap_or_default(),
                    arguments: String::new(),
                });
                true
            }
            _ => false,
        }
    }

    /// Usage is cumulative: the last value of each member counts.
    fn count(&mut self, raw: Option<&Value>, shape: UsageShape, reply: &mut WireReply) {
        let Some(members) = raw.and_then(Value::as_object) else {
            return;
        };
        let said = members.iter().filter(|(_, value)| !value.is_null());
        self.usage
            .extend(said.map(|(name, value)| (name.clone(), value.clone())));
        reply.usage = Usage::read(shape, &Value::Object(self.usage.clone()));
    }

    fn check_order(&mut self, kind: &str, value: &Value, reply: &mut WireReply) {
        let index = number(value, "index");
        let mut wrong = |what: String| {
            // One of a kind says enough.
            if !reply.disorder.contains(&what) {
                reply.disorder.push(what);
            }
        };
        if !self.has_started && !matches!(kind, "message_start" | "error") {
            wrong(format!("`{kind}` before `message_start`"));
        }
        if self.has_ended {
            wrong(format!("`{kind}` after `message_stop`"));
        }
        match kind {
            "message_start" if self.has_started => wrong("a second `message_start`".to_owned()),
            "content_block_start" if self.open.is_some() => {
                wrong("a block begins inside of another".to_owned());
            }
            "content_block_delta" if self.open != index || index.is_none() => {
                wrong("a delta outside of its block".to_owned());
            }
            "content_block_stop" if self.open != index || index.is_none() => {
                wrong("the end of a block that is not open".to_owned());
            }
            "message_delta" if self.open.is_some() => {
                wrong("`message_delta` inside of a block".to_owned());
            }
            _ => {}
        }
        match kind {
            "message_start" => self.has_started = true,
            "content_block_start" => self.open = index,
            "content_block_stop" => self.open = None,
            "message_stop" => self.has_ended = true,
            _ => {}
        }
    }
}

fn delta(value: &Value, reply: &mut WireReply) -> bool {
    let delta = value.get("delta").unwrap_or(&Value::Null);
    let Some(out) = reply.choice(0) else {
        return false;
    };
    let piece = |name: &str| text(delta, name).unwrap_or_default();
    let (added, into) = match text(delta, "type").as_deref() {
        Some("text_delta") => (piece("text"), &mut out.text),
        Some("thinking_delta") => (piece("thinking"), &mut out.reasoning),
        Some("input_json_delta") => match out.tool_calls.last_mut() {
            Some(call) => (piece("partial_json"), &mut call.arguments),
            None => return false,
        },
        _ => return false,
    };
    into.push_str(&added);
    !added.is_empty()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::wire::{CacheMark, Event, ReplyReader, Route};

    fn stream(values: &[Value]) -> (WireReply, Vec<bool>) {
        let mut reader = ReplyReader::new(WireFormat::AnthropicMessages, None);
        let mut outputs = Vec::new();
        for value in values {
            let name = value["type"].as_str().unwrap_or_default().to_owned();
            outputs.push(reader.event(&Event {
                name,
                data: value.to_string(),
                end: 0,
            }));
        }
        (reader.finish(), outputs)
    }

    #[test]
    fn requests_are_read() {
        let body = json!({"model": "claude", "max_tokens": 5, "stream": true,
            "system": [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}],
            "messages": [
                {"role": "user", "content": "hi"},
                {"role": "assistant", "content": [
                    {"type": "thinking", "thinking": "hm", "signature": "s"},
                    {"type": "tool_use", "id": "t1", "name": "f", "input": {"b": 1, "a": 2}}]},
                {"role": "user", "content": [
                    {"type": "tool_result", "tool_use_id": "t1", "is_error": true,
                        "content": [{"type": "text", "text": "broken"}]},
                    {"type": "image", "source": {}}]}],
            "tools": [{"name": "f", "input_schema": {}, "cache_control": {"type": "ephemeral", "ttl": "1h"}}]});
        let request = WireRequest::of(&Route::of("POST", "/v1/messages"), &body).unwrap();
        let kinds: Vec<&str> = request
            .messages
            .iter()
            .flat_map(|m| &m.parts)
            .map(|p| p.kind.name())
            .collect();
        assert_eq!(
            kinds,
            [
                "text",
                "text",
                "thinking",
                "signature",
                "tool_call",
                "tool_result",
                "image"
            ]
        );
        assert_eq!(request.messages[2].parts[2].text, r#"{"b":1,"a":2}"#);
        let result = &request.messages[3].parts[0];
        assert_eq!(
            result.kind,
            PartKind::ToolResult {
                id: "t1".into(),
                is_error: true
            }
        );
        assert_eq!(result.text, "broken");
        let marks = [
            (
                "tools/0".to_owned(),
                CacheMark {
                    ttl: "1h".to_owned(),
                },
            ),
            ("messages/0/0".to_owned(), CacheMark { ttl: String::new() }),
        ];
        assert_eq!(request.cache_marks(), marks);
        assert!(request.rendered().starts_with("{\"name\":\"f\""));
    }

    #[test]
    fn whole_answers_are_read() {
        let mut reader = ReplyReader::new(WireFormat::AnthropicMessages, None);
        let body = json!({"id": "msg_1", "type": "message", "model": "claude", "stop_reason": "tool_use",
            "content": [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "ok"},
                {"type": "tool_use", "id": "t", "name": "f", "input": {"a": 1}}],
            "usage": {"input_tokens": 100, "cache_creation_input_tokens": 20, "cache_read_input_tokens": 30,
                "output_tokens": 2, "service_tier": "standard"},
            "diagnostics": {"cache_miss_reason": {"type": "tools_changed"}}});
        reader.whole(body.to_string().as_bytes());
        let reply = reader.finish();
        assert_eq!(
            (reply.text(), reply.choices[0].finish.as_deref()),
            ("ok", Some("tool_use"))
        );
        assert_eq!(reply.choices[0].tool_calls[0].arguments, r#"{"a":1}"#);
        assert_eq!(reply.cache_miss_reason.as_deref(), Some("tools_changed"));
        assert_eq!(reply.service_tier.as_deref(), Some("standard"));
        assert_eq!(reply.usage.unwrap().input(), 150);
    }

    #[test]
    fn streams_are_put_together() {
        let (reply, outputs) = stream(&[
            json!({"type": "message_start", "message": {"id": "msg_1", "model": "claude",
                "usage": {"input_tokens": 10, "cache_read_input_tokens": 5, "output_tokens": 1}}}),
            json!({"type": "ping"}),
            json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
            json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hi"}}),
            json!({"type": "content_block_stop", "index": 0}),
            json!({"type": "content_block_start", "index": 1, "content_block": {"type": "tool_use", "id": "t", "name": "f", "input": {}}}),
            json!({"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": "{}"}}),
            json!({"type": "content_block_stop", "index": 1}),
            json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 7}}),
            json!({"type": "message_stop"}),
        ]);
        assert_eq!(
            outputs,
            [
                false, false, false, true, false, true, true, false, false, false
            ]
        );
        assert_eq!((reply.text(), reply.is_ended), ("Hi", true));
        assert_eq!(reply.choices[0].tool_calls[0].arguments, "{}");
        // Cumulative: the last value of each member, the others from the beginning.
        let usage = reply.usage.unwrap();
        assert_eq!((usage.uncached, usage.cache_read, usage.output), (10, 5, 7));
        assert!(reply.disorder.is_empty());
    }

    #[test]
    fn disorder_shows() {
        let (reply, _) = stream(&[
            json!({"type": "ping"}),
            json!({"type": "message_start", "message": {}}),
            json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "a"}}),
            json!({"type": "error", "error": {"type": "overloaded_error", "message": "busy"}}),
        ]);
        assert_eq!(
            reply.disorder,
            [
                "`ping` before `message_start`",
                "a delta outside of its block"
            ]
        );
        assert!(!reply.is_ended);
        assert_eq!(
            reply.error.unwrap().kind.as_deref(),
            Some("overloaded_error")
        );
    }
}
