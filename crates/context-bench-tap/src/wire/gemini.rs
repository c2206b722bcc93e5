//! `POST /v1beta/models/MODEL:generateContent` and `:streamGenerateContent`.

use serde_json::{Map, Value};

use super::field::{flag, list, number, text};
use super::message::{Message, Part, PartKind, Tool, ToolCall};
use super::openai_chat::of_kind;
use super::reply::WireReply;
use super::request::WireRequest;
use super::route::WireFormat;
use super::usage::{Usage, UsageShape};

pub(super) fn request(members: &Map<String, Value>) -> WireRequest {
    // Both spellings are accepted by the API.
    let apart = [
        "contents",
        "systemInstruction",
        "system_instruction",
        "tools",
    ];
    let mut request = WireRequest::base(WireFormat::Gemini, members, &apart);
    let member = |name: &str| members.get(name).filter(|value| !value.is_null());
    let system = member("systemInstruction").or_else(|| member("system_instruction"));
    if let Some(system) = system {
        request.messages.push(Message {
            role: "system".to_owned(),
            name: None,
            parts: list(system, "parts").iter().map(part).collect(),
        });
    }
    let contents = members.get("contents").and_then(Value::as_array);
    for content in contents.into_iter().flatten() {
        request.messages.push(Message {
            role: text(content, "role").unwrap_or_else(|| "user".to_owned()),
            name: None,
            parts: list(content, "parts").iter().map(part).collect(),
        });
    }
    let tools = members.get("tools").and_then(Value::as_array);
    for tool in tools.into_iter().flatten() {
        let functions = match list(tool, "functionDeclarations") {
            [] => list(tool, "function_declarations"),
            functions => functions,
        };
        let named = |value: &Value, name: String| Tool {
            name,
            definition: value.to_string(),
            cache: None,
        };
        match functions {
            [] => {
                let name = tool.as_object().and_then(|members| members.keys().next());
                request
                    .tools
                    .push(named(tool, name.cloned().unwrap_or_default()));
            }
            functions => request.tools.extend(
                functions
                    .iter()
                    .map(|function| named(function, text(function, "name").unwrap_or_default())),
            ),
        }
    }
    request.is_stateful = member("cachedContent").is_some();
    request
}

fn part(value: &Value) -> Part {
    let member = |camel: &str, snake: &str| value.get(camel).or_else(|| value.get(snake));
    if let Some(content) = text(value, "text") {
        let kind = match flag(value, "thought") {
            true => PartKind::Thinking,
            false => PartKind::Text,
        };
        return of_kind(kind, content);
    }
    if let Some(call) = member("functionCall", "function_call") {
        let kind = PartKind::ToolCall {
            id: text(call, "id").unwrap_or_default(),
            name: text(call, "name").unwrap_or_default(),
        };
        return of_kind(kind, arguments(call));
    }
    if let Some(result) = member("functionResponse", "function_response") {
        // Results refer to the name where there is no id.
        let id = text(result, "id").or_else(|| text(result, "name"));
        let kind = PartKind::ToolResult {
            id: id.unwrap_or_default(),
            is_error: false,
        };
        let content = result.get("response").map(Value::to_string);
        return of_kind(kind, content.unwrap_or_default());
    }
    let data = member("inlineData", "inline_data").or_else(|| member("fileData", "file_data"));
    let kind = data.map(|data| {
        let mime = text(data, "mimeType").or_else(|| text(data, "mime_type"));
        match mime.unwrap_or_default().split('/').next() {
            Some("image") => PartKind::Image,
            Some("audio") => PartKind::Audio,
            _ => PartKind::Document,
        }
    });
    let name = value.as_object().and_then(|members| members.keys().next());
    let other = || PartKind::Other(name.cloned().unwrap_or_default());
    of_kind(kind.unwrap_or_else(other), value.to_string())
}

fn arguments(call: &Value) -> String {
    call.get("args").map(Value::to_string).unwrap_or_default()
}

/// A whole answer; a stream without `alt=sse` is a list of chunks.
pub(super) fn reply(value: &Value, shape: UsageShape, reply: &mut WireReply) {
    match value {
        Value::Array(chunks) => chunks.iter().for_each(|value| {
            chunk(value, shape, reply);
        }),
        value => {
            chunk(value, shape, reply);
        }
    }
}

/// Takes a chunk; says whether it carries output.
pub(super) fn chunk(value: &Value, shape: UsageShape, reply: &mut WireReply) -> bool {
    reply.error_member(value);
    reply.id = text(value, "responseId").or(reply.id.take());
    reply.model = text(value, "modelVersion").or(reply.model.take());
    // Every chunk may have it; the last one wins.
    if let Some(usage) = value
        .get("usageMetadata")
        .and_then(|raw| Usage::read(shape, raw))
    {
        reply.usage = Some(usage);
    }
    let mut is_output = false;
    for (at, candidate) in list(value, "candidates").iter().enumerate() {
        let index = number(candidate, "index").map_or(at, |index| index as usize);
        let Some(out) = reply.choice(index) else {
            continue;
        };
        out.finish = text(candidate, "finishReason").or(out.finish.take());
        let content = candidate.get("content").unwrap_or(&Value::Null);
        for part in list(content, "parts").iter().map(part) {
            is_output |= !part.text.is_empty();
            match part.kind {
                PartKind::Text => out.text.push_str(&part.text),
                PartKind::Thinking => out.reasoning.push_str(&part.text),
                PartKind::ToolCall { id, name } => out.tool_calls.push(ToolCall {
                    id,
                    name,
                    arguments: part.text,
                }),
                _ => {}
            }
        }
    }
    is_output
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::wire::{Event, ReplyReader, Route};

    #[test]
    fn requests_are_read() {
        let body = json!({
            "systemInstruction": {"parts": [{"text": "Be brief."}]},
            "contents": [
                {"role": "user", "parts": [{"text": "hi"}, {"inlineData": {"mimeType": "image/png", "data": ""}}]},
                {"role": "model", "parts": [{"functionCall": {"name": "f", "args": {"a": 1}}}]},
                {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {"x": 1}}}]}],
            "tools": [{"functionDeclarations": [{"name": "f"}, {"name": "g"}]}, {"googleSearch": {}}],
            "generationConfig": {"temperature": 0}, "cachedContent": "cachedContents/1"});
        let route = Route::of("POST", "/v1beta/models/gemini-x:streamGenerateContent");
        let request = WireRequest::of(&route, &body).unwrap();
        assert_eq!(
            (request.model.as_deref(), request.streams),
            (Some("gemini-x"), true)
        );
        assert!(request.is_stateful);
        let kinds: Vec<&str> = request
            .messages
            .iter()
            .flat_map(|m| &m.parts)
            .map(|p| p.kind.name())
            .collect();
        assert_eq!(kinds, ["text", "text", "image", "tool_call", "tool_result"]);
        let names: Vec<&str> = request
            .tools
            .iter()
            .map(|tool| tool.name.as_str())
            .collect();
        assert_eq!(names, ["f", "g", "googleSearch"]);
    }

    #[test]
    fn answers_and_streams_are_read() {
        let chunks = [
            json!({"responseId": "r", "modelVersion": "gemini-x", "candidates": [{"content": {"parts": [{"text": "hm", "thought": true}]}}],
                "usageMetadata": {"promptTokenCount": 4}}),
            json!({"candidates": [{"content": {"parts": [{"text": "Hi"}, {"functionCall": {"name": "f", "args": {}}}]},
                "finishReason": "STOP"}],
                "usageMetadata": {"promptTokenCount": 4, "candidatesTokenCount": 2, "thoughtsTokenCount": 3}}),
        ];
        let mut stream = ReplyReader::new(WireFormat::Gemini, None);
        for chunk in &chunks {
            let event = Event {
                name: String::new(),
                data: chunk.to_string(),
                end: 0,
            };
            assert!(stream.event(&event));
        }
        let mut whole = ReplyReader::new(WireFormat::Gemini, None);
        whole.whole(json!(chunks).to_string().as_bytes());
        let reply = stream.finish();
        assert_eq!(reply, whole.finish());
        assert_eq!((reply.text(), reply.is_ended), ("Hi", true));
        assert_eq!(reply.choices[0].reasoning, "hm");
        assert_eq!(reply.choices[0].tool_calls[0].name, "f");
        let usage = reply.usage.unwrap();
        assert_eq!((usage.input(), usage.output), (4, 5));
        let mut failed = ReplyReader::new(WireFormat::Gemini, None);
        failed.whole(br#"{"error":{"code":429,"message":"slow","status":"RESOURCE_EXHAUSTED"}}"#);
        let error = failed.finish().error.unwrap();
        assert_eq!(error.kind.as_deref(), Some("RESOURCE_EXHAUSTED"));
    }
}
