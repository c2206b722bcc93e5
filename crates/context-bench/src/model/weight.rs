//! About how much memory a map of values keeps alive. Queues are bounded by it.

use serde_json::{Map, Value};

/// Bytes of the keys and values of a map, roughly.
pub(crate) fn map_weight(map: &Map<String, Value>) -> usize {
    map.iter()
        .map(|(key, value)| 64 + key.len() + weight(value))
        .sum()
}

fn weight(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len(),
        Value::Array(list) => list.iter().map(|item| 32 + weight(item)).sum(),
        Value::Object(map) => map_weight(map),
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    }
}
