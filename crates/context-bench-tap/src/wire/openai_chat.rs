//! `POST /v1/chat/completions`.

use serde_json::{Map, Value};

use super::field::{flag, list, number, spelled, text};
use super::message::{CacheMark, Message, Part, PartKind, Tool, ToolCall};
use super::reply::WireReply;
use super::request::WireRequest;
use super::route::WireFormat;
use super::usage::{Usage, UsageShape};

pub(super) fn request(members: &Map<String, Value>) -> WireRequest {
    let apart = ["messages", "tools", "functions", "model", "stream"];
    let mut request = WireRequest::base(WireFormat::OpenaiChat, members, &apart);
    let messages = members.get("messages").and_then(Value::as_array);
    request.messages = messages.into_iter().flatten().map(message).collect();
    for name in ["tools", "functions"] {
        let tools = members.get(name).and_then(Value::as_array);
        request.tools.extend(tools.into_iter().flatten().map(tool));
    }
    request
}

fn message(value: &Value) -> Message {
    let role = text(value, "role").unwrap_or_default();
    let result_of = text(value, "tool_call_id").filter(|_| role == "tool");
    let mut parts = match value.get("content") {
        Some(Value::Array(parts)) => parts.iter().map(part).collect(),
        Some(Value::String(content)) => vec![plain(content.clone())],
        _ => Vec::new(),
    };
    if let Some(id) = result_of {
        // The parts of a result stay texts and images; what they are the result of is one more.
        let result = PartKind::ToolResult {
            id,
            is_error: false,
        };
        match parts.as_mut_slice() {
            [only] if only.kind == PartKind::Text => only.kind = result,
            _ => parts.insert(0, of_kind(result, String::new())),
        }
    }
    parts.extend(list(value, "tool_calls").iter().map(|call| {
        let function = call
            .get("function")
            .or_else(|| call.get("custom"))
            .unwrap_or(call);
        let kind = PartKind::ToolCall {
            id: text(call, "id").unwrap_or_default(),
            name: text(function, "name").unwrap_or_default(),
        };
        let arguments = function.get("arguments").or_else(|| function.get("input"));
        of_kind(kind, arguments.map(spelled).unwrap_or_default())
    }));
    Message {
        role,
        name: text(value, "name"),
        parts,
    }
}

/// A text without marks.
pub(super) fn plain(text: String) -> Part {
    of_kind(PartKind::Text, text)
}

pub(super) fn of_kind(kind: PartKind, text: String) -> Part {
    Part {
        kind,
        text,
        cache: None,
    }
}

fn part(value: &Value) -> Part {
    let kind = text(value, "type").unwrap_or_default();
    let (kind, content) = match kind.as_str() {
        "text" => (PartKind::Text, text(value, "text").unwrap_or_default()),
        "refusal" => (
            PartKind::Other(kind),
            text(value, "refusal").unwrap_or_default(),
        ),
        "image_url" => (PartKind::Image, value.to_string()),
        "input_audio" => (PartKind::Audio, value.to_string()),
        "file" => (PartKind::Document, value.to_string()),
        _ => (PartKind::Other(kind), value.to_string()),
    };
    Part {
        cache: cache_mark(value),
        ..of_kind(kind, content)
    }
}

/// A mark on a part, in the spelling of either API: routers accept both.
pub(super) fn cache_mark(value: &Value) -> Option<CacheMark> {
    let marks = ["cache_control", "prompt_cache_breakpoint"];
    let mark = marks.iter().find_map(|name| value.get(name))?;
    let is_off = mark.is_null() || mark == &Value::Bool(false);
    (!is_off).then(|| CacheMark {
        ttl: text(mark, "ttl").unwrap_or_default(),
    })
}

/// A tool of any of OpenAI's APIs.
pub(super) fn tool(value: &Value) -> Tool {
    let function = value.get("function").unwrap_or(value);
    let name = text(function, "name").or_else(|| text(value, "type"));
    Tool {
        name: name.unwrap_or_default(),
        definition: value.to_string(),
        cache: cache_mark(value),
    }
}

pub(super) fn reply(value: &Value, shape: UsageShape, reply: &mut WireReply) {
    reply.openai_members(value);
    reply.error_member(value);
    for (at, choice) in list(value, "choices").iter().enumerate() {
        let index = number(choice, "index").map_or(at, |index| index as usize);
        let Some(out) = reply.choice(index) else {
            continue;
        };
        let message = choice.get("message").unwrap_or(&Value::Null);
        out.text = content(message);
        out.reasoning = reasoning(message);
        out.finish = text(choice, "finish_reason");
        out.tool_calls = list(message, "tool_calls").iter().map(tool_call).collect();
    }
    reply.usage = value.get("usage").and_then(|raw| Usage::read(shape, raw));
}

/// Takes a chunk of a stream; says whether it carries output.
pub(super) fn chunk(value: &Value, shape: UsageShape, reply: &mut WireReply) -> bool {
    reply.openai_members(value);
    reply.error_member(value);
    // Servers give it in a chunk of its own, or with the last one: the last that is there wins.
    if let Some(usage) = value.get("usage").and_then(|raw| Usage::read(shape, raw)) {
        reply.usage = Some(usage);
    }
    let mut is_output = false;
    for choice in list(value, "choices") {
        let index = number(choice, "index").unwrap_or(0) as usize;
        let Some(out) = reply.choice(index) else {
            continue;
        };
        let delta = choice.get("delta").unwrap_or(&Value::Null);
        let (content, reasoning) = (content(delta), reasoning(delta));
        is_output |= !content.is_empty() || !reasoning.is_empty();
        out.text.push_str(&content);
        out.reasoning.push_str(&reasoning);
        out.finish = text(choice, "finish_reason").or(out.finish.take());
        for (at, call) in list(delta, "tool_calls").iter().enumerate() {
            let index = number(call, "index").map_or(at, |index| index as usize);
            if index >= 1024 {
                continue;
            }
            if out.tool_calls.len() <= index {
                out.tool_calls.resize_with(index + 1, ToolCall::default);
            }
            let fragment = tool_call(call);
            is_output |= !fragment.arguments.is_empty() || !fragment.name.is_empty();
            let whole = &mut out.tool_calls[index];
            // Only the first fragment has them, but for servers that repeat them.
            if whole.id.is_empty() {
                whole.id = fragment.id;
            }
            if whole.name.is_empty() {
                whole.name = fragment.name;
            }
            whole.arguments.push_str(&fragment.arguments);
        }
    }
    is_output
}

fn content(message: &Value) -> String {
    match message.get("content") {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(parts)) => parts.iter().filter_map(|part| text(part, "text")).collect(),
        _ => text(message, "refusal").unwrap_or_default(),
    }
}

/// Thoughts, under the names that compatible servers have for them.
fn reasoning(message: &Value) -> String {
    let names = ["reasoning_content", "reasoning"];
    let mut found = names.iter().filter_map(|name| text(message, name));
    found.next().unwrap_or_default()
}

fn tool_call(call: &Value) -> ToolCall {
    let function = call.get("function").unwrap_or(&Value::Null);
    ToolCall {
        id: text(call, "id").unwrap_or_default(),
        name: text(function, "name").unwrap_or_default(),
        arguments: function.get("arguments").map(spelled).unwrap_or_default(),
    }
}

/// Whether a request asks for the usage of its stream.
pub(crate) fn includes_usage(request: &WireRequest) -> bool {
    let options = request.parameters.get("stream_options");
    options.is_some_and(|options| flag(options, "include_usage"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::wire::{Event, ReplyReader, Route};

    fn read(body: &Value) -> WireRequest {
        WireRequest::of(&Route::of("POST", "/v1/chat/completions"), body).unwrap()
    }

    fn events(lines: &[Value]) -> (WireReply, Vec<bool>) {
        let mut reader = ReplyReader::new(WireFormat::OpenaiChat, None);
        let mut outputs = Vec::new();
        for line in lines {
            let data = line
                .as_str()
                .map_or_else(|| line.to_string(), str::to_owned);
            let event = Event {
                name: String::new(),
                data,
                end: 0,
            };
            outputs.push(reader.event(&event));
        }
        (reader.finish(), outputs)
    }

    #[test]
    fn requests_are_read() {
        let request = read(&json!({
            "model": "gpt-x", "stream": true, "temperature": 0, "stream_options": {"include_usage": true},
            "messages": [
                {"role": "developer", "content": "Be brief."},
                {"role": "user", "name": "ann", "content": [
                    {"type": "text", "text": "What is this?", "cache_control": {"type": "ephemeral", "ttl": "1h"}},
                    {"type": "image_url", "image_url": {"url": "data:x"}}]},
                {"role": "assistant", "content": null, "tool_calls": [
                    {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{\"a\":1}"}}]},
                {"role": "tool", "tool_call_id": "c1", "content": "a cat"},
            ],
            "tools": [{"type": "function", "function": {"name": "look", "parameters": {}}}],
        }));
        assert_eq!(request.model.as_deref(), Some("gpt-x"));
        assert!(request.streams && includes_usage(&request) && !request.is_stateful);
        let roles: Vec<&str> = request.messages.iter().map(|m| m.role.as_str()).collect();
        assert_eq!(roles, ["developer", "user", "assistant", "tool"]);
        let kinds: Vec<&str> = request
            .messages
            .iter()
            .flat_map(|m| &m.parts)
            .map(|p| p.kind.name())
            .collect();
        assert_eq!(kinds, ["text", "text", "image", "tool_call", "tool_result"]);
        assert_eq!(request.messages[1].name.as_deref(), Some("ann"));
        assert_eq!(request.newest_text(), "a cat");
        assert_eq!(request.tools[0].name, "look");
        let marks = request.cache_marks();
        assert_eq!(
            marks,
            [(
                "messages/1/0".to_owned(),
                CacheMark {
                    ttl: "1h".to_owned()
                }
            )]
        );
        assert_eq!(
            request.parameters.keys().collect::<Vec<_>>(),
            ["temperature", "stream_options"]
        );
    }

    #[test]
    fn whole_answers_are_read() {
        let mut reader = ReplyReader::new(WireFormat::OpenaiChat, None);
        let body = json!({"id": "chatcmpl-1", "model": "gpt-x-2026-01-01", "service_tier": "default",
            "choices": [{"index": 0, "finish_reason": "tool_calls", "message": {"content": "Hm", "tool_calls": [
                {"id": "c1", "function": {"name": "look", "arguments": "{}"}}]}}],
            "usage": {"prompt_tokens": 9, "completion_tokens": 4,
                "completion_tokens_details": {"reasoning_tokens": 3}}});
        reader.whole(body.to_string().as_bytes());
        let reply = reader.finish();
        assert_eq!(reply.id.as_deref(), Some("chatcmpl-1"));
        assert_eq!((reply.text(), reply.is_ended), ("Hm", true));
        assert_eq!(reply.choices[0].finish.as_deref(), Some("tool_calls"));
        assert_eq!(reply.choices[0].tool_calls[0].name, "look");
        let usage = reply.usage.unwrap();
        assert_eq!(
            (usage.input(), usage.output, usage.reasoning),
            (9, 4, Some(3))
        );
    }

    #[test]
    fn streams_are_put_together() {
        let delta = |delta: Value| json!({"id": "x", "choices": [{"index": 0, "delta": delta}], "usage": null});
        let (reply, outputs) = events(&[
            delta(json!({"role": "assistant", "content": ""})),
            delta(json!({"content": "Hel"})),
            delta(json!({"content": "lo", "obfuscation": "zz"})),
            delta(
                json!({"tool_calls": [{"index": 0, "id": "c1", "function": {"name": "f", "arguments": ""}}]}),
            ),
            delta(json!({"tool_calls": [{"index": 0, "function": {"arguments": "{}"}}]})),
            json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}],
                "usage": {"prompt_tokens": 1, "completion_tokens": 1}}),
            json!({"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 2}}),
            json!("[DONE]"),
        ]);
        // A frame that only names the role is no output.
        assert_eq!(
            outputs,
            [false, true, true, true, true, false, false, false]
        );
        assert_eq!(reply.text(), "Hello");
        assert_eq!(reply.choices[0].tool_calls[0].arguments, "{}");
        assert_eq!(reply.choices[0].finish.as_deref(), Some("stop"));
        // The last usage wins; they are never added up.
        assert_eq!(reply.usage.unwrap().input(), 7);
        assert!(reply.is_ended);
    }

    #[test]
    fn broken_streams_show() {
        let (reply, _) = events(&[json!({"choices": [{"delta": {"content": "a"}}]})]);
        assert!(!reply.is_ended && reply.usage.is_none());
        let error = json!({"error": {"message": "no", "type": "server_error", "code": 500}});
        let error = events(&[error]).0.error.unwrap();
        assert_eq!(
            (error.kind.as_deref(), error.code.as_deref()),
            (Some("server_error"), Some("500"))
        );
        // What is no object, and indexes beyond all bounds, do no harm.
        let huge = json!({"choices": [{"index": 99999999999u64, "delta": {"content": "a",
            "tool_calls": [{"index": 99999999999u64}]}}]});
        assert!(!events(&[json!(3), json!("x"), huge]).0.has_output());
    }
}
