//! The body of a request to Anthropic, out of messages and settings of chat completions.
//!
//! What is already said in the words of this API (blocks with `cache_control`, images,
//! documents, tools with an `input_schema`) stays as it is.

use serde_json::{Map, Value, json};

use super::DEFAULT_MAX_TOKENS;
use crate::chat::api::tool::{self, ToolCall};

/// The body of a request.
pub(crate) fn body(
    model: &str,
    messages: Vec<Value>,
    settings: Map<String, Value>,
) -> Map<String, Value> {
    let mut system = Vec::new();
    let mut turns = Vec::new();
    // Results of tools stand together in one message of the user.
    let mut follows_result = false;
    for message in messages {
        let role = message.get("role").and_then(Value::as_str);
        let is_result = matches!(role, Some("tool" | "function"));
        match role {
            Some("system" | "developer") => system.extend(blocks(content(&message))),
            Some("tool" | "function") => {
                let result = result(&message);
                match turns.last_mut().and_then(|turn| turn_content(turn)) {
                    Some(content) if follows_result => content.push(result),
                    _ => turns.push(json!({"role": "user", "content": [result]})),
                }
            }
            Some("assistant") => turns.extend(said(&message)),
            Some(role @ "user") => turns.push(json!({"role": role, "content": content(&message)})),
            // The endpoint will say what it thinks of it.
            _ => turns.push(message),
        }
        follows_result = is_result;
    }
    let mut body = Map::new();
    body.insert("model".into(), json!(model));
    if let Some(system) = one_text(system) {
        body.insert("system".into(), system);
    }
    body.insert("messages".into(), Value::Array(turns));
    body.extend(members(settings));
    body.entry("max_tokens")
        .or_insert_with(|| json!(DEFAULT_MAX_TOKENS));
    body
}

/// Defines the tools that the messages call, where nobody has: calls of unknown ones are
/// refused. They are over, so no more are asked for.
pub(crate) fn define_called_tools(body: &mut Map<String, Value>) {
    let turns = body.get("messages").and_then(Value::as_array);
    let called = called(turns.map_or(&[], Vec::as_slice));
    if called.is_empty() || body.contains_key("tools") {
        return;
    }
    let tools = called.into_iter();
    let tools = tools.map(|name| json!({"name": name, "input_schema": {"type": "object"}}));
    body.insert("tools".into(), tools.collect());
    body.insert("tool_choice".into(), json!({"type": "none"}));
}

/// The content of a message: a text, or blocks.
fn content(message: &Value) -> Value {
    let mark = message.get("cache_control");
    match message.get("content") {
        None => Value::Null,
        Some(Value::Array(parts)) => {
            let mut blocks: Vec<Value> = parts.iter().map(block).collect();
            mark_last(&mut blocks, mark);
            Value::Array(blocks)
        }
        Some(text @ Value::String(_)) if mark.is_some() => {
            let mut blocks = vec![json!({"type": "text", "text": text})];
            mark_last(&mut blocks, mark);
            Value::Array(blocks)
        }
        Some(other) => other.clone(),
    }
}

/// A mark of a whole message stands on its last block.
fn mark_last(blocks: &mut [Value], mark: Option<&Value>) {
    if let (Some(Value::Object(last)), Some(mark)) = (blocks.last_mut(), mark) {
        last.entry("cache_control").or_insert_with(|| mark.clone());
    }
}

/// A part of a message as a block; only parts that the API cannot know are changed.
fn block(part: &Value) -> Value {
    if let Value::String(text) = part {
        return json!({"type": "text", "text": text});
    }
    let url = part
        .get("image_url")
        .map(|url| url.get("url").unwrap_or(url));
    match url.and_then(Value::as_str) {
        Some(url) => {
            let mut image = json!({"type": "image", "source": image_source(url)});
            let mark = part.get("cache_control");
            mark_last(std::slice::from_mut(&mut image), mark);
            image
        }
        None => part.clone(),
    }
}

fn image_source(url: &str) -> Value {
    let data = url.strip_prefix("data:");
    match data.and_then(|data| data.split_once(";base64,")) {
        Some((kind, data)) => json!({"type": "base64", "media_type": kind, "data": data}),
        None => json!({"type": "url", "url": url}),
    }
}

/// A content as blocks; empty texts are none, since the API refuses them.
fn blocks(content: Value) -> Vec<Value> {
    match content {
        Value::Null => Vec::new(),
        Value::String(text) if text.is_empty() => Vec::new(),
        Value::String(text) => vec![json!({"type": "text", "text": text})],
        Value::Array(blocks) => blocks,
        other => vec![other],
    }
}

/// Blocks as they are sent: a text alone needs no block.
fn one_text(mut blocks: Vec<Value>) -> Option<Value> {
    if let [Value::Object(only)] = blocks.as_mut_slice() {
        let is_text = only.len() == 2 && only.get("type").is_some_and(|kind| kind == "text");
        if let Some(text @ Value::String(_)) = only.get_mut("text").filter(|_| is_text) {
            return Some(text.take());
        }
    }
    (!blocks.is_empty()).then_some(Value::Array(blocks))
}

/// What the assistant said and called; `None` if that is nothing.
fn said(message: &Value) -> Option<Value> {
    let calls = tool::calls(message);
    let content = content(message);
    if calls.is_empty() {
        let is_empty = content.is_null() || content == "";
        return (!is_empty).then(|| json!({"role": "assistant", "content": content}));
    }
    let mut content = blocks(content);
    content.extend(calls.iter().map(use_of));
    Some(json!({"role": "assistant", "content": content}))
}

fn use_of(call: &ToolCall) -> Value {
    let input = match serde_json::from_str(&call.arguments) {
        Ok(input @ Value::Object(_)) => input,
        _ if call.arguments.trim().is_empty() => json!({}),
        // The API takes nothing but maps.
        _ => json!({"arguments": call.arguments}),
    };
    json!({"type": "tool_use", "id": call.id, "name": call.name, "input": input})
}

fn result(message: &Value) -> Value {
    let mut result = json!({
        "type": "tool_result",
        "tool_use_id": message.get("tool_call_id").or_else(|| message.get("name")),
    });
    let mut bare = message.clone();
    if let (Value::Object(result), Value::Object(bare)) = (&mut result, &mut bare) {
        let mark = bare.shift_remove("cache_control");
        let content = content(&Value::Object(bare.clone()));
        if !content.is_null() {
            result.insert("content".into(), content);
        }
        result.extend(mark.map(|mark| ("cache_control".to_owned(), mark)));
    }
    result
}

fn turn_content(turn: &mut Value) -> Option<&mut Vec<Value>> {
    turn.get_mut("content")?.as_array_mut()
}

/// The names of the tools that the messages call, each once.
fn called(turns: &[Value]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    let contents = turns
        .iter()
        .filter_map(|turn| turn.get("content")?.as_array());
    for block in contents.flatten() {
        let is_use = block.get("type").is_some_and(|kind| kind == "tool_use");
        let name = block.get("name").and_then(Value::as_str);
        if let Some(name) = name.filter(|name| is_use && !names.iter().any(|one| one == name)) {
            names.push(name.to_owned());
        }
    }
    names
}

/// Settings in the words of the API. What it does not have (`seed`) is not sent; what is not
/// known here is sent as it is.
fn members(settings: Map<String, Value>) -> Map<String, Value> {
    let mut members = Map::new();
    for (name, value) in settings {
        let (name, value) = match name.as_str() {
            "seed" => continue,
            "max_completion_tokens" => ("max_tokens", value),
            "stop" => match stop_sequences(value) {
                Some(stops) => ("stop_sequences", stops),
                None => continue,
            },
            "tools" => ("tools", each(value, tool_definition)),
            "tool_choice" => ("tool_choice", tool_choice(value)),
            "user" => ("metadata", json!({"user_id": value})),
            other => (other, value),
        };
        members.insert(name.to_owned(), value);
    }
    members
}

fn each(list: Value, change: impl Fn(Value) -> Value) -> Value {
    match list {
        Value::Array(list) => list.into_iter().map(change).collect(),
        other => other,
    }
}

/// Stops of white space alone are refused; answers are cut at them later.
fn stop_sequences(stops: Value) -> Option<Value> {
    let stops = match stops {
        Value::Array(stops) => stops,
        other => vec![other],
    };
    let is_blank = |stop: &Value| stop.as_str().is_none_or(|text| text.trim().is_empty());
    let stops: Vec<Value> = stops.into_iter().filter(|stop| !is_blank(stop)).collect();
    (!stops.is_empty()).then_some(Value::Array(stops))
}

fn tool_definition(tool: Value) -> Value {
    let Some(function) = tool.get("function").and_then(Value::as_object) else {
        return tool;
    };
    let mut definition = Map::new();
    for name in ["name", "description"] {
        let value = function.get(name).cloned();
        definition.extend(value.map(|value| (name.to_owned(), value)));
    }
    let schema = function.get("parameters").cloned();
    let schema = schema.unwrap_or_else(|| json!({"type": "object"}));
    definition.insert("input_schema".into(), schema);
    let mark = tool.get("cache_control").cloned();
    definition.extend(mark.map(|mark| ("cache_control".to_owned(), mark)));
    Value::Object(definition)
}

fn tool_choice(choice: Value) -> Value {
    match choice.as_str() {
        Some("required") => json!({"type": "any"}),
        Some(name) => json!({ "type": name }),
        None => match choice.pointer("/function/name") {
            Some(name) => json!({"type": "tool", "name": name}),
            None => choice,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[expect(clippy::needless_pass_by_value, reason = "`json!` is passed as it is")]
    fn made(messages: Value, settings: Value) -> Value {
        let messages = messages.as_array().cloned().expect("a list");
        let settings = settings.as_object().cloned().expect("a map");
        let mut body = body("m", messages, settings);
        define_called_tools(&mut body);
        Value::Object(body)
    }

    #[test]
    fn messages_stand_where_the_api_has_them() {
        let mark = json!({"type": "ephemeral", "ttl": "1h"});
        let image = json!({"type": "image", "source": {"type": "file", "file_id": "f"}});
        for (messages, system, expected) in [
            (
                json!([{"role": "system", "content": "S"}, {"role": "user", "content": "Q"}]),
                json!("S"),
                json!([{"role": "user", "content": "Q"}]),
            ),
            // Several stay apart, and empty ones are left out.
            (
                json!([{"role": "system", "content": "S"}, {"role": "developer", "content": "C"},
                       {"role": "system", "content": ""}, {"role": "user", "content": "Q"}]),
                json!([{"type": "text", "text": "S"}, {"type": "text", "text": "C"}]),
                json!([{"role": "user", "content": "Q"}]),
            ),
            (
                json!([{"role": "system", "content": ""}, {"role": "user", "content": "Q", "name": "n"}]),
                json!(null),
                json!([{"role": "user", "content": "Q"}]),
            ),
            // Marks for the cache stay where they were put.
            (
                json!([
                    {"role": "system", "content": [{"type": "text", "text": "S", "cache_control": mark}]},
                    {"role": "user", "content": [image, {"type": "text", "text": "Q", "cache_control": mark}]},
                    {"role": "user", "content": "R", "cache_control": mark},
                ]),
                json!([{"type": "text", "text": "S", "cache_control": mark}]),
                json!([
                    {"role": "user", "content": [image, {"type": "text", "text": "Q", "cache_control": mark}]},
                    {"role": "user", "content": [{"type": "text", "text": "R", "cache_control": mark}]},
                ]),
            ),
            // Images of chat completions, which the API cannot know.
            (
                json!([{"role": "user", "content": [
                    {"type": "image_url", "image_url": {"url": "data:image/png;base64,QUJD"}},
                    {"type": "image_url", "image_url": "https://h/i.png"}, "Q"]}]),
                json!(null),
                json!([{"role": "user", "content": [
                    {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "QUJD"}},
                    {"type": "image", "source": {"type": "url", "url": "https://h/i.png"}},
                    {"type": "text", "text": "Q"}]}]),
            ),
            // Nothing was said.
            (
                json!([{"role": "user", "content": "Q"}, {"role": "assistant", "content": null},
                       {"role": "user", "content": "R"}]),
                json!(null),
                json!([{"role": "user", "content": "Q"}, {"role": "user", "content": "R"}]),
            ),
            (json!(["odd"]), json!(null), json!(["odd"])),
        ] {
            let body = made(messages.clone(), json!({}));
            assert_eq!(body["messages"], expected, "{messages}");
            assert_eq!(
                body.get("system").unwrap_or(&Value::Null),
                &system,
                "{messages}"
            );
            assert_eq!(body.get("tools"), None);
        }
    }

    #[test]
    fn calls_and_results_are_blocks() {
        let call = |id: &str, arguments: &str| {
            json!({"id": id, "type": "function",
            "function": {"name": "look", "arguments": arguments}})
        };
        let body = made(
            json!([
                {"role": "user", "content": "Q"},
                {"role": "assistant", "content": "Let me see.", "tool_calls":
                    [call("a", r#"{"x": 1}"#), call("b", ""), call("c", "[1]")]},
                {"role": "tool", "tool_call_id": "a", "content": "A"},
                {"role": "tool", "tool_call_id": "b", "content": [{"type": "text", "text": "B"}],
                    "cache_control": {"type": "ephemeral"}},
                {"role": "tool", "tool_call_id": "c", "content": null},
                {"role": "user", "content": "R"},
            ]),
            json!({}),
        );
        assert_eq!(
            body["messages"],
            json!([
                {"role": "user", "content": "Q"},
                {"role": "assistant", "content": [
                    {"type": "text", "text": "Let me see."},
                    {"type": "tool_use", "id": "a", "name": "look", "input": {"x": 1}},
                    {"type": "tool_use", "id": "b", "name": "look", "input": {}},
                    {"type": "tool_use", "id": "c", "name": "look", "input": {"arguments": "[1]"}},
                ]},
                {"role": "user", "content": [
                    {"type": "tool_result", "tool_use_id": "a", "content": "A"},
                    {"type": "tool_result", "tool_use_id": "b", "content": [{"type": "text", "text": "B"}],
                        "cache_control": {"type": "ephemeral"}},
                    {"type": "tool_result", "tool_use_id": "c"},
                ]},
                {"role": "user", "content": "R"},
            ])
        );
        assert_eq!(
            body["tools"],
            json!([{"name": "look", "input_schema": {"type": "object"}}])
        );
        assert_eq!(body["tool_choice"], json!({"type": "none"}));
    }

    #[test]
    fn settings_are_said_in_its_words() {
        let body = made(
            json!([]),
            json!({
                "max_completion_tokens": 9, "temperature": 0.0, "top_p": 0.5, "top_k": 3, "seed": 1,
                "stop": ["\n", "END"], "user": "u", "tool_choice": "required",
                "tools": [
                    {"type": "function", "function": {"name": "f", "description": "d",
                        "parameters": {"type": "object", "properties": {}}}},
                    {"name": "g", "input_schema": {}, "cache_control": {"type": "ephemeral"}},
                ],
            }),
        );
        assert_eq!(
            body,
            json!({
                "model": "m", "messages": [], "max_tokens": 9, "temperature": 0.0, "top_p": 0.5,
                "top_k": 3, "stop_sequences": ["END"], "metadata": {"user_id": "u"},
                "tool_choice": {"type": "any"},
                "tools": [
                    {"name": "f", "description": "d", "input_schema": {"type": "object", "properties": {}}},
                    {"name": "g", "input_schema": {}, "cache_control": {"type": "ephemeral"}},
                ],
            })
        );
        let usual = made(json!([]), json!({"stop": ["\n\n"]}));
        assert_eq!(usual["max_tokens"], json!(DEFAULT_MAX_TOKENS));
        assert_eq!(usual.get("stop_sequences"), None);
    }
}
