//! The body of a request to Responses, out of messages and settings of chat completions.
//!
//! What is already said in the words of this API (`input_text`, `input_image`, items with a
//! `type`) stays as it is.

use serde_json::{Map, Value, json};

use crate::chat::api::tool::{self, text};

/// The body of a request.
pub(crate) fn body(
    model: &str,
    messages: Vec<Value>,
    settings: Map<String, Value>,
) -> Map<String, Value> {
    let mut instructions = None;
    let mut input = Vec::new();
    for (at, message) in messages.into_iter().enumerate() {
        let role = message.get("role").and_then(Value::as_str);
        match (role, message.get("content")) {
            // The first word of the run; what follows it stays in its place.
            (Some("system" | "developer"), Some(Value::String(text))) if at == 0 => {
                instructions = Some(text.clone());
            }
            (Some("tool" | "function"), _) => input.push(output(&message)),
            (Some("assistant"), _) => {
                input.extend(said(&message));
                input.extend(tool::calls(&message).iter().map(|call| {
                    json!({"type": "function_call", "call_id": call.id, "name": call.name,
                        "arguments": call.arguments})
                }));
            }
            (Some(role), Some(content)) if message.get("type").is_none() => {
                input.push(json!({"role": role, "content": parts(content, "input_text")}));
            }
            // The endpoint will say what it thinks of it.
            _ => input.push(message),
        }
    }
    let mut body = Map::new();
    body.insert("model".into(), json!(model));
    let instructions = instructions.map(|text| ("instructions".to_owned(), json!(text)));
    body.extend(instructions);
    body.insert("input".into(), Value::Array(input));
    body.extend(members(settings));
    body
}

/// What the assistant said; `None` if that is nothing.
fn said(message: &Value) -> Option<Value> {
    let content = message.get("content")?;
    let is_empty = content.is_null() || *content == "";
    (!is_empty).then(|| json!({"role": "assistant", "content": parts(content, "output_text")}))
}

/// What a tool gave.
fn output(message: &Value) -> Value {
    let output = match message.get("content") {
        None | Some(Value::Null) => json!(""),
        Some(content) => parts(content, "input_text"),
    };
    let call = message.get("tool_call_id").or_else(|| message.get("name"));
    json!({"type": "function_call_output", "call_id": call, "output": output})
}

/// The parts of a message; only those that the API cannot know are changed.
fn parts(content: &Value, kind: &str) -> Value {
    let Value::Array(parts) = content else {
        return content.clone();
    };
    let part = |part: &Value| match part.get("type").and_then(Value::as_str) {
        None if part.is_string() => json!({"type": kind, "text": part}),
        Some("text") => {
            let mut part = part.clone();
            part["type"] = json!(kind);
            part
        }
        Some("image_url") => {
            let image = part.get("image_url").unwrap_or(&Value::Null);
            let mut input =
                json!({"type": "input_image", "image_url": image.get("url").unwrap_or(image)});
            if let Some(detail) = image.get("detail") {
                input["detail"] = detail.clone();
            }
            input
        }
        _ => part.clone(),
    };
    parts.iter().map(part).collect()
}

/// Settings in the words of the API. What it does not have (`seed`, `stop`) is not sent;
/// what is not known here is sent as it is.
fn members(settings: Map<String, Value>) -> Map<String, Value> {
    let mut members = Map::new();
    for (name, value) in settings {
        let (name, value) = match name.as_str() {
            // Answers are cut at stops later.
            "seed" | "stop" => continue,
            "max_tokens" | "max_completion_tokens" => ("max_output_tokens", value),
            "reasoning_effort" => ("reasoning", json!({ "effort": value })),
            "response_format" => ("text", json!({"format": format(value)})),
            "tools" => ("tools", tools(value)),
            "tool_choice" => ("tool_choice", tool_choice(value)),
            other => (other, value),
        };
        members.insert(name.to_owned(), value);
    }
    members
}

/// What stands in `json_schema` there stands beside the type here.
fn format(mut format: Value) -> Value {
    let schema = format.get_mut("json_schema").map(Value::take);
    if let (Value::Object(format), Some(Value::Object(schema))) = (&mut format, schema) {
        format.shift_remove("json_schema");
        format.extend(schema);
    }
    format
}

fn tools(tools: Value) -> Value {
    let Value::Array(tools) = tools else {
        return tools;
    };
    let definition = |tool: Value| match tool.get("function") {
        Some(Value::Object(function)) => {
            let mut definition = Map::from_iter([("type".to_owned(), json!("function"))]);
            definition.extend(function.clone());
            Value::Object(definition)
        }
        _ => tool,
    };
    tools.into_iter().map(definition).collect()
}

fn tool_choice(choice: Value) -> Value {
    match choice.get("function") {
        Some(function) => json!({"type": "function", "name": text(function, "name")}),
        None => choice,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[expect(clippy::needless_pass_by_value, reason = "`json!` is passed as it is")]
    fn made(messages: Value, settings: Value) -> Value {
        let messages = messages.as_array().cloned().expect("a list");
        let settings = settings.as_object().cloned().expect("a map");
        Value::Object(body("m", messages, settings))
    }

    #[test]
    fn messages_become_items() {
        let image = json!({"type": "input_image", "file_id": "f"});
        let system = json!([{"type": "text", "text": "S", "prompt_cache_breakpoint": true}]);
        for (messages, instructions, expected) in [
            (
                json!([{"role": "system", "content": "S"}, {"role": "system", "content": "C"},
                       {"role": "user", "content": "Q"}]),
                json!("S"),
                json!([{"role": "system", "content": "C"}, {"role": "user", "content": "Q"}]),
            ),
            (
                json!([{"role": "system", "content": system}, {"role": "user", "content": [
                    "Q", image, {"type": "image_url", "image_url": {"url": "u", "detail": "low"}}]}]),
                json!(null),
                json!([
                    {"role": "system", "content":
                        [{"type": "input_text", "text": "S", "prompt_cache_breakpoint": true}]},
                    {"role": "user", "content": [{"type": "input_text", "text": "Q"}, image,
                        {"type": "input_image", "image_url": "u", "detail": "low"}]},
                ]),
            ),
            (
                json!([
                    {"role": "user", "content": "Q"},
                    {"role": "assistant", "content": null, "tool_calls": [{"id": "c",
                        "type": "function", "function": {"name": "look", "arguments": "{}"}}]},
                    {"role": "tool", "tool_call_id": "c", "content": "C"},
                    {"role": "assistant", "content": [{"type": "text", "text": "A"}]},
                    {"type": "item_reference", "id": "x"},
                ]),
                json!(null),
                json!([
                    {"role": "user", "content": "Q"},
                    {"type": "function_call", "call_id": "c", "name": "look", "arguments": "{}"},
                    {"type": "function_call_output", "call_id": "c", "output": "C"},
                    {"role": "assistant", "content": [{"type": "output_text", "text": "A"}]},
                    {"type": "item_reference", "id": "x"},
                ]),
            ),
        ] {
            let body = made(messages.clone(), json!({}));
            assert_eq!(body["input"], expected, "{messages}");
            let said = body.get("instructions").unwrap_or(&Value::Null);
            assert_eq!(said, &instructions, "{messages}");
        }
    }

    #[test]
    fn settings_are_said_in_its_words() {
        let function = json!({"name": "f", "parameters": {}});
        let body = made(
            json!([]),
            json!({
                "max_tokens": 9, "temperature": 0.0, "top_p": 0.5, "seed": 1, "stop": ["x"],
                "reasoning_effort": "low", "tools": [{"type": "function", "function": function}],
                "tool_choice": {"type": "function", "function": {"name": "f"}},
                "response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": {}}},
            }),
        );
        assert_eq!(
            body,
            json!({
                "model": "m", "input": [], "max_output_tokens": 9, "temperature": 0.0, "top_p": 0.5,
                "reasoning": {"effort": "low"},
                "tools": [{"type": "function", "name": "f", "parameters": {}}],
                "tool_choice": {"type": "function", "name": "f"},
                "text": {"format": {"type": "json_schema", "name": "n", "schema": {}}},
            })
        );
    }
}
