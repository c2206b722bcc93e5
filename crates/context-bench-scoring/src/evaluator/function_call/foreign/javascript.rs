//! JavaScript source under the type of a parameter, as BFCL converts it. What does not read
//! as that type stays text: it may be the name of a variable.

use std::sync::LazyLock;

use regex::Regex;

use super::super::CallFormat;
use super::super::python_syntax::{Dialect, expression};
use super::super::value::Value;
use super::{float, guessed, integer, is_decimal, is_integer, unquoted};
use crate::text::words::trim;

static NESTED: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r"^(?:\[\s*\[.*?\]\s*(,\s*\[.*?\]\s*)*\]|new\s+Array\(\s*\[.*?\]\s*(,\s*\[.*?\]\s*)*\))",
    )
    .ok()
});
static INNER: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"\[(.*?)\]").ok());
static FLAT: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"^(?:\[(.*?)\]|new\s+Array\((.*?)\))").ok());
static MAP: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"^\{(.*?)\}").ok());

const QUOTES: [char; 2] = ['"', '\''];

/// What a source stands for.
pub(super) fn read(source: &str, kind: &str, items: Option<&str>, format: CallFormat) -> Value {
    let text = || Value::text(source);
    if format == CallFormat::Any && matches!(kind, "array" | "dict") {
        // What is a list or a map in Python as well, however deep.
        if let Some(value @ (Value::List(_) | Value::Dict(_))) =
            expression(trim(source), Dialect::Relaxed)
        {
            return value.resolved();
        }
    }
    match kind {
        "String" => unquoted(source).map_or_else(text, Value::text),
        "integer" if is_integer(source) => integer(source),
        "float" if is_decimal(source, false) => float(source),
        "Bigint" => match source.strip_suffix('n').filter(|number| is_integer(number)) {
            Some(number) => integer(number),
            None => text(),
        },
        "Boolean" if source == "true" || source == "false" => Value::Bool(source == "true"),
        "array" => array(trim(source), items, format),
        "dict" => map(trim(source)),
        _ => text(),
    }
}

fn array(source: &str, items: Option<&str>, format: CallFormat) -> Value {
    let nested = NESTED.as_ref().and_then(|pattern| pattern.find(source));
    if let (Some(nested), Some(inner)) = (nested, INNER.as_ref()) {
        let lists = inner.captures_iter(nested.as_str());
        let lists = lists.filter_map(|found| found.get(1)).enumerate();
        let read = |(nth, found): (usize, regex::Match<'_>)| {
            let inside = trim(found.as_str());
            let inside = inside
                .strip_prefix('[')
                .filter(|_| nth == 0)
                .unwrap_or(inside);
            let items = inside.split(',').map(|item| guessed(item, &QUOTES));
            Value::List(items.collect())
        };
        return Value::List(lists.map(read).collect());
    }
    let flat = FLAT.as_ref().and_then(|pattern| pattern.captures(source));
    let Some(inside) = flat.and_then(|found| found.get(1).or(found.get(2))) else {
        return Value::text(source);
    };
    let inside = trim(inside.as_str());
    if inside.is_empty() {
        return Value::List(Vec::new());
    }
    let item = |item: &str| match items {
        Some(kind) => read(trim(item), kind, None, format),
        None => guessed(item, &QUOTES),
    };
    Value::List(inside.split(',').map(item).collect())
}

/// Up to the first `}`, as BFCL's converter has it.
fn map(source: &str) -> Value {
    if source == "{}" {
        return Value::Dict(Vec::new());
    }
    let found = MAP.as_ref().and_then(|pattern| pattern.captures(source));
    let Some(inside) = found.and_then(|found| found.get(1)) else {
        return Value::text(source);
    };
    let mut entries: Vec<(Value, Value)> = Vec::new();
    let mut rest = inside.as_str();
    while let Some((key, after)) = rest.split_once(':').filter(|(key, _)| !key.is_empty()) {
        let after = after.trim_start();
        let end = value_end(after);
        let value = trim(&after[..end]);
        rest = after.get(end + 1..).unwrap_or("").trim_start();
        let key = Value::text(trim(key).trim_matches(QUOTES));
        let value = match value {
            _ if value.starts_with('[') && value.ends_with(']') => {
                array(value, None, CallFormat::Bfcl)
            }
            _ => guessed(value.trim_matches(QUOTES), &QUOTES),
        };
        match entries.iter_mut().find(|(known, _)| known.equals(&key)) {
            Some(known) => known.1 = value,
            None => entries.push((key, value)),
        }
    }
    Value::Dict(entries)
}

/// Where a value ends: at a comma after which a key follows, or with the text.
fn value_end(text: &str) -> usize {
    let mut commas = text.match_indices(',').map(|(at, _)| at);
    let is_key = |at: &usize| {
        let after = text[at + 1..].trim_start();
        let key = after.split(',').next().unwrap_or("");
        key.find(':').is_some_and(|colon| colon > 0)
    };
    commas.find(is_key).unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value as Json, json};

    #[test]
    fn values_by_type() {
        for (source, kind, items, strict, lenient) in [
            ("true", "Boolean", None, json!(true), json!(true)),
            ("123", "integer", None, json!(123), json!(123)),
            ("123.5", "integer", None, json!("123.5"), json!("123.5")),
            ("-3.5", "float", None, json!(-3.5), json!(-3.5)),
            ("123n", "Bigint", None, json!(123), json!(123)),
            ("123", "Bigint", None, json!("123"), json!("123")),
            ("'abc'", "String", None, json!("abc"), json!("abc")),
            ("abc", "any", None, json!("abc"), json!("abc")),
            (
                "[1, 'two', true]",
                "array",
                None,
                json!([1, "two", true]),
                json!([1, "two", true]),
            ),
            (
                "new Array(4, 5)",
                "array",
                Some("integer"),
                json!([4, 5]),
                json!([4, 5]),
            ),
            (
                "[\"a\", 'b']",
                "array",
                Some("String"),
                json!(["a", "b"]),
                json!(["a", "b"]),
            ),
            ("[]", "array", Some("String"), json!([]), json!([])),
            (
                " [ [1, 2], [ 3,   4]]",
                "array",
                Some("array"),
                json!([[1, 2], [3, 4]]),
                json!([[1, 2], [3, 4]]),
            ),
            (
                "items",
                "array",
                Some("String"),
                json!("items"),
                json!("items"),
            ),
            ("{}", "dict", None, json!({}), json!({})),
            (
                "{'a': 123, 'b': 'x', 'c': false}",
                "dict",
                None,
                json!({"a": 123, "b": "x", "c": false}),
                json!({"a": 123, "b": "x", "c": false}),
            ),
            (
                "{state: first, \"list\": [\"x\"], more: [\"y\", \"z\"]}",
                "dict",
                None,
                json!({"state": "first", "list": ["x"], "more": ["y", "z"]}),
                json!({"state": "first", "list": ["x"], "more": ["y", "z"]}),
            ),
            // The converter stops at the first brace that closes.
            (
                "{'a': {'b': 1}}",
                "dict",
                None,
                json!({"a": "{'b': 1"}),
                json!({"a": {"b": 1}}),
            ),
            ("state", "dict", None, json!("state"), json!("state")),
        ] {
            let found = |format| read(source, kind, items, format);
            let is = |value: Value, expected: &Json| value.equals(&Value::from(expected));
            assert!(
                is(found(CallFormat::Bfcl), &strict),
                "{source}: {:?}",
                found(CallFormat::Bfcl)
            );
            assert!(
                is(found(CallFormat::Any), &lenient),
                "{source}: {:?}",
                found(CallFormat::Any)
            );
        }
    }
}
