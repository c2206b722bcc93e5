//! JSON values as text, the way Python's `str()` and `repr()` write them.
//!
//! Scores are defined over Python's spelling of values (`None`, `True`, `3.0`,
//! `['a', 1]`), so evaluators must see the same text.

use std::borrow::Cow;

use context_bench_template::python;
use serde_json::{Map, Value};

/// A field of a map as text: empty when missing, text as it is, anything else as `str()` writes it.
pub fn field<'a>(fields: &'a Map<String, Value>, key: &str) -> Cow<'a, str> {
    fields.get(key).map_or(Cow::Borrowed(""), python_str)
}

/// `str(value)`.
pub fn python_str(value: &Value) -> Cow<'_, str> {
    match value {
        Value::String(text) => Cow::Borrowed(text),
        other => Cow::Owned(python_repr(other)),
    }
}

/// `repr(value)`.
pub fn python_repr(value: &Value) -> String {
    python::repr(value)
}

/// What kind of JSON value it is, in the words of our messages.
pub fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "text",
        Value::Array(_) => "a list",
        Value::Object(_) => "a map",
    }
}

/// Whether Python's `bool(value)` is true.
pub fn is_truthy(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(flag) => *flag,
        Value::Number(number) => number.as_f64() != Some(0.0),
        Value::String(text) => !text.is_empty(),
        Value::Array(list) => !list.is_empty(),
        Value::Object(map) => !map.is_empty(),
    }
}

/// A float as Python writes it: shortest digits that read back, an exponent
/// below 1e-4 and from 1e16 on.
pub fn python_float(float: f64) -> String {
    python::float(float)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn values_are_spelt_as_python_spells_them() {
        for (value, expected) in [
            (json!(null), "None"),
            (json!(true), "True"),
            (json!(42), "42"),
            (json!(3.0), "3.0"),
            (json!(0.1), "0.1"),
            (json!(1e16), "1e+16"),
            (json!(1.5e-7), "1.5e-07"),
            (json!(0.0001), "0.0001"),
            (json!(1e22), "1e+22"),
            (json!(-2.5e200), "-2.5e+200"),
            (json!("text"), "text"),
            (
                json!(["a", "it's", "\"", 1, null]),
                r#"['a', "it's", '"', 1, None]"#,
            ),
            (json!({"k": [1.0, {}]}), "{'k': [1.0, {}]}"),
            (json!(["'\"\n\u{1}"]), r#"['\'"\n\x01']"#),
        ] {
            assert_eq!(python_str(&value), expected, "{value}");
        }
    }
}
