//! Calls of tools in the messages of chat completions.

use serde_json::Value;
use serde_json::json;

/// A call of a tool.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct ToolCall {
    pub(super) id: String,
    pub(super) name: String,
    /// As JSON, as far as they have come.
    pub(super) arguments: String,
}

impl ToolCall {
    /// As chat completions have it, which is how outputs keep calls.
    pub(super) fn to_json(&self) -> Value {
        let function = json!({"name": self.name, "arguments": self.arguments});
        json!({"id": self.id, "type": "function", "function": function})
    }
}

/// The calls of a message.
pub(super) fn calls(message: &Value) -> Vec<ToolCall> {
    let calls = message.get("tool_calls").and_then(Value::as_array);
    let calls = calls.into_iter().flatten();
    calls
        .map(|call| {
            let function = call.get("function").unwrap_or(&Value::Null);
            ToolCall {
                id: text(call, "id"),
                name: text(function, "name"),
                arguments: text(function, "arguments"),
            }
        })
        .collect()
}

/// A member as text: empty where it is not there, and spelled out where it is no text.
pub(super) fn text(value: &Value, name: &str) -> String {
    match value.get(name) {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    }
}
