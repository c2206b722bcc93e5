//! `POST /v1/responses`.

use serde_json::{Map, Value};

use super::field::{list, number, spelled, text};
use super::message::{Message, Part, PartKind, ToolCall};
use super::openai_chat::{cache_mark, of_kind, plain, tool};
use super::reply::{Choice, WireReply};
use super::request::WireRequest;
use super::route::WireFormat;
use super::usage::{Usage, UsageShape};

pub(super) fn request(members: &Map<String, Value>) -> WireRequest {
    let apart = ["input", "instructions", "tools", "model", "stream"];
    let mut request = WireRequest::base(WireFormat::OpenaiResponses, members, &apart);
    if let Some(instructions) = members.get("instructions").and_then(Value::as_str) {
        request.messages.push(Message {
            role: "system".to_owned(),
            name: None,
            parts: vec![plain(instructions.to_owned())],
        });
    }
    match members.get("input") {
        Some(Value::String(input)) => request.messages.push(Message {
            role: "user".to_owned(),
            name: None,
            parts: vec![plain(input.clone())],
        }),
        Some(Value::Array(items)) => request.messages.extend(items.iter().map(item)),
        _ => {}
    }
    let tools = members.get("tools").and_then(Value::as_array);
    request.tools = tools.into_iter().flatten().map(tool).collect();
    let is_there = |name: &str| members.get(name).is_some_and(|value| !value.is_null());
    request.is_stateful = is_there("previous_response_id") || is_there("conversation");
    request
}

/// An item of the input as a message: calls are the model's, results the tool's.
fn item(value: &Value) -> Message {
    let kind = text(value, "type").unwrap_or_else(|| "message".to_owned());
    let call_id = || text(value, "call_id").unwrap_or_default();
    let (role, parts) = match kind.as_str() {
        "message" => {
            let parts = match value.get("content") {
                Some(Value::Array(parts)) => parts.iter().map(part).collect(),
                Some(Value::String(content)) => vec![plain(content.clone())],
                _ => Vec::new(),
            };
            (text(value, "role").unwrap_or_default(), parts)
        }
        "function_call" | "custom_tool_call" => {
            let kind = PartKind::ToolCall {
                id: call_id(),
                name: text(value, "name").unwrap_or_default(),
            };
            let arguments = value.get("arguments").or_else(|| value.get("input"));
            let arguments = arguments.map(spelled).unwrap_or_default();
            ("assistant".to_owned(), vec![of_kind(kind, arguments)])
        }
        "function_call_output" | "custom_tool_call_output" => {
            let kind = PartKind::ToolResult {
                id: call_id(),
                is_error: false,
            };
            let output = value.get("output").map(spelled).unwrap_or_default();
            ("tool".to_owned(), vec![of_kind(kind, output)])
        }
        "reasoning" => {
            let thoughts = of_kind(PartKind::Thinking, value.to_string());
            ("assistant".to_owned(), vec![thoughts])
        }
        _ => {
            let role = text(value, "role").unwrap_or_else(|| "assistant".to_owned());
            (
                role,
                vec![of_kind(PartKind::Other(kind), value.to_string())],
            )
        }
    };
    Message {
        role,
        name: None,
        parts,
    }
}

fn part(value: &Value) -> Part {
    let kind = text(value, "type").unwrap_or_default();
    let (kind, content) = match kind.as_str() {
        "input_text" | "output_text" | "text" => {
            (PartKind::Text, text(value, "text").unwrap_or_default())
        }
        "input_image" => (PartKind::Image, value.to_string()),
        "input_file" => (PartKind::Document, value.to_string()),
        "input_audio" => (PartKind::Audio, value.to_string()),
        _ => (PartKind::Other(kind), value.to_string()),
    };
    Part {
        cache: cache_mark(value),
        ..of_kind(kind, content)
    }
}

pub(super) fn reply(value: &Value, shape: UsageShape, reply: &mut WireReply) {
    reply.openai_members(value);
    reply.error_member(value);
    reply.usage = value.get("usage").and_then(|raw| Usage::read(shape, raw));
    let mut out = Choice {
        finish: finish(value),
        ..Choice::default()
    };
    for item in list(value, "output") {
        match text(item, "type").as_deref() {
            Some("message") => {
                let parts = list(item, "content").iter();
                let texts =
                    parts.filter_map(|part| text(part, "text").or_else(|| text(part, "refusal")));
                out.text.extend(texts);
            }
            Some("function_call" | "custom_tool_call") => out.tool_calls.push(call(item)),
            Some("reasoning") => {
                let summaries = list(item, "summary").iter();
                out.reasoning
                    .extend(summaries.filter_map(|part| text(part, "text")));
            }
            _ => {}
        }
    }
    reply.choices = vec![out];
}

/// Why it ended: the status, and for an incomplete answer what cut it.
fn finish(value: &Value) -> Option<String> {
    let details = value.get("incomplete_details");
    let reason = details.and_then(|details| text(details, "reason"));
    reason.or_else(|| text(value, "status"))
}

fn call(item: &Value) -> ToolCall {
    let arguments = item.get("arguments").or_else(|| item.get("input"));
    ToolCall {
        id: text(item, "call_id").unwrap_or_default(),
        name: text(item, "name").unwrap_or_default(),
        arguments: arguments.map(spelled).unwrap_or_default(),
    }
}

/// Takes an event of a stream; says whether it carries output. `response.created` comes with
/// the headers and never does.
pub(super) fn event(name: &str, value: &Value, shape: UsageShape, reply: &mut WireReply) -> bool {
    let kind = text(value, "type").unwrap_or_else(|| name.to_owned());
    if let Some(response) = value.get("response") {
        reply.openai_members(response);
        reply.error_member(response);
    }
    match kind.as_str() {
        "response.completed" | "response.incomplete" | "response.failed" => {
            let response = value.get("response").unwrap_or(&Value::Null);
            // The last event repeats everything; what was put together so far is what the
            // client saw, and stays.
            let streamed = std::mem::take(&mut reply.choices);
            self::reply(response, shape, reply);
            if let (Some(seen), Some(said)) =
                (streamed.into_iter().next(), reply.choices.first_mut())
                && (!seen.text.is_empty() || !seen.tool_calls.is_empty())
            {
                *said = Choice {
                    finish: said.finish.take(),
                    ..seen
                };
            }
            reply.is_ended = true;
            false
        }
        "error" => {
            let is_nested = value.get("error").is_some_and(Value::is_object);
            let wrapped = serde_json::json!({ "error": value });
            reply.error_member(if is_nested { value } else { &wrapped });
            reply.is_ended = true;
            false
        }
        _ => delta(&kind, value, reply),
    }
}

fn delta(kind: &str, value: &Value, reply: &mut WireReply) -> bool {
    let delta = text(value, "delta").unwrap_or_default();
    let index = number(value, "output_index").unwrap_or(0);
    let Some(out) = reply.choice(0) else {
        return false;
    };
    match kind {
        "response.output_text.delta" | "response.refusal.delta" => out.text.push_str(&delta),
        "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
            out.reasoning.push_str(&delta);
        }
        "response.function_call_arguments.delta" | "response.custom_tool_call_input.delta" => {
            // Deltas belong to the item that was added last; ids come with that item.
            if let Some(call) = out.tool_calls.last_mut() {
                call.arguments.push_str(&delta);
            }
        }
        "response.output_item.added" => {
            let item = value.get("item").unwrap_or(&Value::Null);
            let is_call = matches!(
                text(item, "type").as_deref(),
                Some("function_call" | "custom_tool_call")
            );
            if is_call && index < 1024 {
                out.tool_calls.push(call(item));
            }
            return is_call;
        }
        _ => return false,
    }
    !delta.is_empty()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::wire::{Event, ReplyReader, Route};

    #[test]
    fn requests_are_read() {
        let route = Route::of("POST", "/v1/responses");
        let body = json!({"model": "m", "instructions": "Be brief.", "previous_response_id": "resp_0",
            "input": [
                {"role": "user", "content": [{"type": "input_text", "text": "hi"}, {"type": "input_image", "image_url": "x"}]},
                {"type": "reasoning", "summary": []},
                {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"},
                {"type": "function_call_output", "call_id": "c1", "output": "42"}],
            "tools": [{"type": "function", "name": "f", "parameters": {}}, {"type": "web_search"}]});
        let request = WireRequest::of(&route, &body).unwrap();
        assert!(request.is_stateful);
        let roles: Vec<&str> = request.messages.iter().map(|m| m.role.as_str()).collect();
        assert_eq!(roles, ["system", "user", "assistant", "assistant", "tool"]);
        let names: Vec<&str> = request
            .tools
            .iter()
            .map(|tool| tool.name.as_str())
            .collect();
        assert_eq!(names, ["f", "web_search"]);
        assert_eq!(request.newest_text(), "42");
        let plain = WireRequest::of(&route, &json!({"input": "hi"})).unwrap();
        assert!(!plain.is_stateful && plain.newest_text() == "hi");
    }

    #[test]
    fn whole_answers_are_read() {
        let mut reader = ReplyReader::new(WireFormat::OpenaiResponses, None);
        let body = json!({"id": "resp_1", "model": "m", "status": "incomplete",
            "incomplete_details": {"reason": "max_output_tokens"}, "error": null,
            "output": [{"type": "reasoning", "summary": [{"type": "summary_text", "text": "think"}]},
                {"type": "message", "content": [{"type": "output_text", "text": "4"}, {"type": "output_text", "text": "2"}]},
                {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}],
            "usage": {"input_tokens": 10, "input_tokens_details": {"cached_tokens": 4},
                "output_tokens": 6, "output_tokens_details": {"reasoning_tokens": 5}}});
        reader.whole(body.to_string().as_bytes());
        let reply = reader.finish();
        assert_eq!(reply.text(), "42");
        assert_eq!(
            reply.choices[0].finish.as_deref(),
            Some("max_output_tokens")
        );
        assert_eq!(reply.choices[0].tool_calls.len(), 1);
        let usage = reply.usage.unwrap();
        assert_eq!(
            (usage.uncached, usage.cache_read, usage.reasoning),
            (6, 4, Some(5))
        );
        assert!(reply.error.is_none());
    }

    #[test]
    fn streams_are_put_together() {
        let mut reader = ReplyReader::new(WireFormat::OpenaiResponses, None);
        let mut outputs = Vec::new();
        for value in [
            json!({"type": "response.created", "response": {"id": "resp_1", "status": "in_progress"}}),
            json!({"type": "response.output_item.added", "item": {"type": "message"}}),
            json!({"type": "response.output_text.delta", "delta": "Hel"}),
            json!({"type": "response.output_text.delta", "delta": "lo"}),
            json!({"type": "response.output_text.done", "text": "Hello"}),
            json!({"type": "response.output_item.added", "item": {"type": "function_call", "call_id": "c", "name": "f", "arguments": ""}}),
            json!({"type": "response.function_call_arguments.delta", "delta": "{}"}),
            json!({"type": "response.completed", "response": {"id": "resp_1", "model": "m", "status": "completed", "output": [],
                "usage": {"input_tokens": 3, "output_tokens": 2}}}),
        ] {
            let name = value["type"].as_str().unwrap().to_owned();
            outputs.push(reader.event(&Event {
                name,
                data: value.to_string(),
                end: 0,
            }));
        }
        assert_eq!(
            outputs,
            [false, false, true, true, false, true, true, false]
        );
        let reply = reader.finish();
        assert_eq!((reply.text(), reply.is_ended), ("Hello", true));
        assert_eq!(reply.choices[0].tool_calls[0].arguments, "{}");
        assert_eq!(reply.choices[0].finish.as_deref(), Some("completed"));
        assert_eq!(reply.usage.unwrap().input(), 3);
    }

    #[test]
    fn failed_streams_show() {
        for data in [
            r#"{"type":"error","code":"rate_limit","message":"slow"}"#,
            r#"{"type":"response.failed","response":{"error":{"code":"rate_limit","message":"slow"}}}"#,
        ] {
            let mut reader = ReplyReader::new(WireFormat::OpenaiResponses, None);
            let event = Event {
                name: String::new(),
                data: data.to_owned(),
                end: 0,
            };
            assert!(!reader.event(&event));
            let error = reader.finish().error.unwrap();
            assert_eq!(
                (error.code.as_deref(), error.message.as_str()),
                (Some("rate_limit"), "slow")
            );
        }
    }
}
