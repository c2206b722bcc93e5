//! Java source under the type of a parameter, as BFCL converts it. What does not read as
//! that type stays text: it may be the name of a variable.

use std::sync::LazyLock;

use regex::Regex;

use super::super::CallFormat;
use super::super::value::Value;
use super::{closing, float, guessed, integer, is_decimal, is_integer};
use crate::text::words::trim;

static AS_LIST: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"new\s+ArrayList<\w*>\(Arrays\.asList\((.+?)\)\)").ok());
static ADDED: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"(?s)new\s+ArrayList<\w*>\(\)\s*\{\{\s*(.+?)\s*\}\}").ok());
static ADD: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"add\((.+?)\)").ok());
static EMPTY_LIST: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"new\s+ArrayList<\w*>\(\)").ok());
static ARRAY: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"new\s+\w+\[\]\s*\{(.*?)\}").ok());
static MAP: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"(?s)new\s+HashMap<.*?>\s*\(\)\s*\{\s*\{?\s*(.*?)\s*\}?\s*\}").ok()
});
static PUT: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r#"put\("(.*?)",\s*(.*?)\)"#).ok());
static EMPTY_MAP: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"new\s+HashMap<.*?>\s*\(\)").ok());

/// What a source stands for.
pub(super) fn read(source: &str, kind: &str, items: Option<&str>, format: CallFormat) -> Value {
    let text = || Value::text(source);
    let suffixed = |suffixes: [char; 2]| source.strip_suffix(suffixes);
    match kind {
        "byte" | "short" | "integer" if is_integer(source) => integer(source),
        "float" => match suffixed(['f', 'F']).filter(|number| is_decimal(number, true)) {
            Some(number) => float(number),
            None if format == CallFormat::Any && is_decimal(source, true) => float(source),
            None => text(),
        },
        "double" if is_decimal(source, true) => float(source),
        "long" => match suffixed(['l', 'L']).filter(|number| is_integer(number)) {
            Some(number) => integer(number),
            None if format == CallFormat::Any && is_integer(source) => integer(source),
            None => text(),
        },
        "boolean" if source == "true" || source == "false" => Value::Bool(source == "true"),
        "Array" => match captured(&ARRAY, source) {
            Some(inside) => listed(inside, items, format, false),
            None => text(),
        },
        "ArrayList" => array_list(source, items, format),
        "HashMap" => hash_map(source),
        _ => text(),
    }
}

fn captured<'a>(pattern: &LazyLock<Option<Regex>>, source: &'a str) -> Option<&'a str> {
    let found = pattern.as_ref()?.captures(source)?;
    Some(found.get(1)?.as_str())
}

fn found(pattern: &LazyLock<Option<Regex>>, source: &str) -> bool {
    pattern
        .as_ref()
        .is_some_and(|pattern| pattern.is_match(source))
}

/// Items with commas between them. BFCL parts them at every comma; in lists it takes the
/// quotes off texts, in arrays it leaves them on.
fn listed(inside: &str, items: Option<&str>, format: CallFormat, is_list: bool) -> Value {
    let parts = inside.split(',').map(trim);
    let parts = parts.filter(|part| is_list || !part.is_empty());
    Value::List(
        parts
            .map(|part| item(part, items, format, is_list))
            .collect(),
    )
}

fn item(source: &str, kind: Option<&str>, format: CallFormat, is_list: bool) -> Value {
    match kind {
        None => guessed(source, &['"']),
        Some("any" | "String" | "char") if format == CallFormat::Any => guessed_text(source, kind),
        Some("String" | "char") if is_list => Value::text(without_ends(source)),
        Some(kind) => read(source, kind, None, format),
    }
}

/// A text without its quotes; of `any` type what it looks like.
fn guessed_text(source: &str, kind: Option<&str>) -> Value {
    match super::unquoted(source) {
        Some(inner) => Value::text(inner),
        None if kind == Some("any") => guessed(source, &['"']),
        None => Value::text(source),
    }
}

/// Without its first and its last character.
fn without_ends(text: &str) -> &str {
    let mut chars = text.chars();
    chars.next();
    chars.next_back();
    chars.as_str()
}

fn array_list(source: &str, items: Option<&str>, format: CallFormat) -> Value {
    if let Some(inside) = captured(&AS_LIST, source) {
        return listed(inside, items, format, true);
    }
    if let (Some(inside), Some(add)) = (captured(&ADDED, source), ADD.as_ref()) {
        let added = add.captures_iter(inside).filter_map(|found| found.get(1));
        let added = added.map(|found| item(trim(found.as_str()), items, format, true));
        return Value::List(added.collect());
    }
    match found(&EMPTY_LIST, source) {
        true => Value::List(Vec::new()),
        false => Value::text(source),
    }
}

fn hash_map(source: &str) -> Value {
    if let (Some(inside), Some(put)) = (captured(&MAP, source), PUT.as_ref()) {
        let mut entries: Vec<(Value, Value)> = Vec::new();
        for found in put.captures_iter(inside) {
            let part = |at: usize| found.get(at).map_or("", |part| part.as_str());
            let (key, value) = (Value::text(part(1)), guessed(part(2), &['"']));
            match entries.iter_mut().find(|(known, _)| known.equals(&key)) {
                Some(known) => known.1 = value,
                None => entries.push((key, value)),
            }
        }
        return Value::Dict(entries);
    }
    match found(&EMPTY_MAP, source) {
        true => Value::Dict(Vec::new()),
        false => Value::text(source),
    }
}

/// `new X(…) {…}` without the body, which BFCL's decoder does not see.
pub(super) fn without_body(source: &str) -> &str {
    let Some(open) = source.find('(').filter(|_| source.starts_with("new ")) else {
        return source;
    };
    match closing(&source[open..]).map(|end| open + end + 1) {
        Some(end) if source[end..].trim_start().starts_with('{') => &source[..end],
        _ => source,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value as Json, json};

    #[test]
    fn values_by_type() {
        for (source, kind, items, strict, lenient) in [
            ("true", "boolean", None, json!(true), json!(true)),
            ("-123", "integer", None, json!(-123), json!(-123)),
            ("12.5", "integer", None, json!("12.5"), json!("12.5")),
            ("3.5f", "float", None, json!(3.5), json!(3.5)),
            ("3.5", "float", None, json!("3.5"), json!(3.5)),
            ("3e-3", "double", None, json!(0.003), json!(0.003)),
            ("123L", "long", None, json!(123), json!(123)),
            ("123", "long", None, json!("123"), json!(123)),
            ("abc", "any", None, json!("abc"), json!("abc")),
            (
                "new int[] { 1, 2 }",
                "Array",
                Some("integer"),
                json!([1, 2]),
                json!([1, 2]),
            ),
            (
                "new int[]{}",
                "Array",
                Some("integer"),
                json!([]),
                json!([]),
            ),
            (
                r#"new String[]{"a", "b"}"#,
                "Array",
                Some("String"),
                json!(["\"a\"", "\"b\""]),
                json!(["a", "b"]),
            ),
            (
                "args",
                "Array",
                Some("String"),
                json!("args"),
                json!("args"),
            ),
            (
                r#"new ArrayList<String>(Arrays.asList("a", "b"))"#,
                "ArrayList",
                Some("String"),
                json!(["a", "b"]),
                json!(["a", "b"]),
            ),
            (
                r#"new ArrayList<>() {{ add(1L); add(2L); }}"#,
                "ArrayList",
                Some("long"),
                json!([1, 2]),
                json!([1, 2]),
            ),
            (
                "new ArrayList<>()",
                "ArrayList",
                Some("long"),
                json!([]),
                json!([]),
            ),
            (
                r#"new HashMap<String, Object>() {{ put("a", 1); put("b", "x"); put("c", true); }}"#,
                "HashMap",
                None,
                json!({"a": 1, "b": "x", "c": true}),
                json!({"a": 1, "b": "x", "c": true}),
            ),
            ("new HashMap<>()", "HashMap", None, json!({}), json!({})),
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
