//! Members of JSON objects, read leniently: what has another type is not there.

use serde_json::Value;

pub(super) fn text(value: &Value, name: &str) -> Option<String> {
    value.get(name).and_then(Value::as_str).map(str::to_owned)
}

pub(super) fn number(value: &Value, name: &str) -> Option<u64> {
    let value = value.get(name)?;
    // Some servers write counts as `12.0`.
    let whole = |number: f64| (number >= 0.0 && number.fract() == 0.0).then_some(number as u64);
    value.as_u64().or_else(|| value.as_f64().and_then(whole))
}

pub(super) fn flag(value: &Value, name: &str) -> bool {
    value.get(name).and_then(Value::as_bool).unwrap_or(false)
}

pub(super) fn list<'a>(value: &'a Value, name: &str) -> &'a [Value] {
    let list = value.get(name).and_then(Value::as_array);
    list.map_or(&[], Vec::as_slice)
}

/// A value as text: a string as it is, anything else as JSON.
pub(super) fn spelled(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}
