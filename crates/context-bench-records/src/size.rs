//! About how much memory values keep alive. Queues are bounded by it.

use serde_json::{Map, Value};

/// Bytes of the keys and values of a map, roughly.
pub fn map_bytes(map: &Map<String, Value>) -> usize {
    let fields = map.iter();
    fields.map(|(name, value)| field_bytes((name, value))).sum()
}

pub(crate) fn field_bytes((name, value): (&str, &Value)) -> usize {
    64 + name.len() + bytes(value)
}

fn bytes(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len(),
        Value::Array(list) => list.iter().map(|item| 32 + bytes(item)).sum(),
        Value::Object(map) => map_bytes(map),
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    }
}
