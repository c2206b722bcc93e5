//! JSON values as text, the way Python's `str()` and `repr()` write them.
//!
//! Scores are defined over Python's spelling of values (`None`, `True`, `3.0`,
//! `['a', 1]`), so evaluators must see the same text.

use std::borrow::Cow;
use std::fmt::Write as _;

use serde_json::{Map, Number, Value};

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
    let mut out = String::new();
    write_repr(&mut out, value);
    out
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

fn write_repr(out: &mut String, value: &Value) {
    match value {
        Value::Null => out.push_str("None"),
        Value::Bool(true) => out.push_str("True"),
        Value::Bool(false) => out.push_str("False"),
        Value::Number(number) => write_number(out, number),
        Value::String(text) => write_quoted(out, text),
        Value::Array(list) => {
            out.push('[');
            for (i, item) in list.iter().enumerate() {
                if i > 0 {
                    out.push_str(", ");
                }
                write_repr(out, item);
            }
            out.push(']');
        }
        Value::Object(map) => {
            out.push('{');
            for (i, (key, item)) in map.iter().enumerate() {
                if i > 0 {
                    out.push_str(", ");
                }
                write_quoted(out, key);
                out.push_str(": ");
                write_repr(out, item);
            }
            out.push('}');
        }
    }
}

fn write_number(out: &mut String, number: &Number) {
    match number.as_f64() {
        Some(float) if number.is_f64() => out.push_str(&python_float(float)),
        _ => {
            let _ = write!(out, "{number}");
        }
    }
}

/// A float as Python writes it: shortest digits that read back, an exponent
/// below 1e-4 and from 1e16 on.
pub fn python_float(float: f64) -> String {
    if float.is_nan() {
        return "nan".into();
    }
    if float.is_infinite() {
        return if float > 0.0 { "inf" } else { "-inf" }.into();
    }
    let magnitude = float.abs();
    if magnitude != 0.0 && !(1e-4..1e16).contains(&magnitude) {
        let text = format!("{float:e}");
        let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let (sign, power) = match exponent.strip_prefix('-') {
            Some(power) => ('-', power),
            None => ('+', exponent),
        };
        return format!("{digits}e{sign}{power:0>2}");
    }
    let text = float.to_string();
    if text.contains('.') {
        text
    } else {
        text + ".0"
    }
}

fn write_quoted(out: &mut String, text: &str) {
    let quote = if text.contains('\'') && !text.contains('"') {
        '"'
    } else {
        '\''
    };
    out.push(quote);
    for c in text.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c == quote => {
                out.push('\\');
                out.push(c);
            }
            c if (c as u32) < 0x20 || c as u32 == 0x7f || (0x80..0xa1).contains(&(c as u32)) => {
                let _ = write!(out, "\\x{:02x}", c as u32);
            }
            c => out.push(c),
        }
    }
    out.push(quote);
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
