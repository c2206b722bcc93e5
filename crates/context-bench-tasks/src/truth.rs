//! Truth as Python reads it: task files are written for it.

use serde_json::Value;

use crate::error::Warning;

/// Whether Python takes a value for true: every text that is not empty, `"false"` too.
pub(crate) fn truthy(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(truth) => *truth,
        Value::Number(number) => number.as_f64() != Some(0.0),
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(map) => !map.is_empty(),
    }
}

/// The truth of a setting, with a warning where it is written as something else.
pub(crate) fn read(key: &str, value: &Value, warnings: &mut Vec<Warning>) -> bool {
    let truth = truthy(value);
    if !matches!(value, Value::Null | Value::Bool(_)) {
        let written = crate::source::shortened(&match value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        });
        warnings.push(Warning::new(format!(
            "`{key}: {written}` is neither true nor false; it counts as {truth}"
        )));
    }
    truth
}
