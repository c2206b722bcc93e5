//! Values between records (JSON), templates and Python's printing.

use minijinja::value::{Value, ValueKind};
use serde_json::{Map, Number, Value as Json};

use crate::python;

/// How deep a value may be nested when it is printed or converted.
pub(super) const MAX_DEPTH: usize = 200;

/// A JSON value as a template sees it.
pub(crate) fn from_json(json: &Json) -> Value {
    match json {
        Json::Null => Value::from(()),
        Json::Bool(truth) => Value::from(*truth),
        Json::Number(number) => {
            if let Some(int) = number.as_i64() {
                Value::from(int)
            } else if let Some(int) = number.as_u64() {
                Value::from(int)
            } else {
                Value::from(number.as_f64().unwrap_or(f64::NAN))
            }
        }
        Json::String(text) => Value::from(text.as_str()),
        Json::Array(items) => items.iter().map(from_json).collect(),
        Json::Object(map) => Value::from_pairs(
            map.iter()
                .map(|(key, value)| (key.as_str(), from_json(value))),
        ),
    }
}

/// A value of a template as JSON; `None` for what JSON cannot hold.
pub(crate) fn to_json(value: &Value) -> Option<Json> {
    convert(value, 0)
}

fn convert(value: &Value, depth: usize) -> Option<Json> {
    if depth > MAX_DEPTH {
        return None;
    }
    Some(match value.kind() {
        ValueKind::None => Json::Null,
        ValueKind::Bool => Json::Bool(value.is_true()),
        ValueKind::Number => Json::Number(number(value)?),
        ValueKind::String => Json::String(value.as_str()?.to_owned()),
        ValueKind::Seq | ValueKind::Iterable => {
            let items = value.try_iter().ok()?;
            Json::Array(
                items
                    .map(|item| convert(&item, depth + 1))
                    .collect::<Option<_>>()?,
            )
        }
        ValueKind::Map => {
            let mut map = Map::new();
            for key in value.try_iter().ok()? {
                let item = value.get_item(&key).ok()?;
                map.insert(str(&key), convert(&item, depth + 1)?);
            }
            Json::Object(map)
        }
        _ => return None,
    })
}

fn number(value: &Value) -> Option<Number> {
    if value.is_integer() {
        return value
            .as_i64()
            .map(Number::from)
            .or_else(|| u64::try_from(value.clone()).ok().map(Number::from));
    }
    Number::from_f64(float(value)?)
}

/// The value as a float, if it is a number.
pub(crate) fn float(value: &Value) -> Option<f64> {
    (value.kind() == ValueKind::Number)
        .then(|| f64::try_from(value.clone()).ok())
        .flatten()
}

/// What Python's `str` gives.
pub(crate) fn str(value: &Value) -> String {
    let mut out = String::new();
    write_str(&mut out, value);
    out
}

/// Like [`str`], at the end of `out`.
pub(crate) fn write_str(out: &mut String, value: &Value) {
    match value.as_str() {
        Some(text) => out.push_str(text),
        None if value.is_undefined() => {}
        None => write_repr(out, value, 0),
    }
}

/// What Python's `repr` gives.
pub(crate) fn repr(value: &Value) -> String {
    let mut out = String::new();
    write_repr(&mut out, value, 0);
    out
}

fn write_repr(out: &mut String, value: &Value, depth: usize) {
    if depth > MAX_DEPTH {
        out.push_str("...");
        return;
    }
    match value.kind() {
        ValueKind::String => python::write_quoted(out, value.as_str().unwrap_or_default()),
        ValueKind::Number if !value.is_integer() => {
            out.push_str(&python::float(float(value).unwrap_or(f64::NAN)));
        }
        ValueKind::Undefined => out.push_str("Undefined"),
        ValueKind::Seq => {
            let tuple = value.is_tuple();
            out.push(if tuple { '(' } else { '[' });
            write_items(out, value, depth);
            // One item alone needs a comma to be a tuple.
            out.push_str(match (tuple, value.len()) {
                (true, Some(1)) => ",)",
                (true, _) => ")",
                (false, _) => "]",
            });
        }
        ValueKind::Map => {
            out.push('{');
            let keys = value.try_iter().into_iter().flatten();
            for (i, key) in keys.enumerate() {
                out.push_str(if i > 0 { ", " } else { "" });
                write_repr(out, &key, depth + 1);
                out.push_str(": ");
                write_repr(out, &value.get_item(&key).unwrap_or_default(), depth + 1);
            }
            out.push('}');
        }
        ValueKind::Iterable if value.len().is_some() => {
            out.push('[');
            write_items(out, value, depth);
            out.push(']');
        }
        _ => out.push_str(&value.to_string()),
    }
}

fn write_items(out: &mut String, value: &Value, depth: usize) {
    let items = value.try_iter().into_iter().flatten();
    for (i, item) in items.enumerate() {
        out.push_str(if i > 0 { ", " } else { "" });
        write_repr(out, &item, depth + 1);
    }
}
