//! Calls in what a model wrote: structured tool calls, JSON, Python, fences, prose.

use serde_json::Value as Json;

use super::CallFormat;
use super::python_syntax::{Dialect, expression, prefix};
use super::value::{Call, Value};
use crate::text::words::{is_space, is_word_char, trim};

/// The calls of a reply. `names` are the functions that exist; in prose only
/// they are taken for calls.
///
/// `None` means that nothing could be read as calls; an empty list that the
/// reply says there are none.
pub(super) fn calls(reply: &Json, format: CallFormat, names: &[&str]) -> Option<Vec<Call>> {
    match (reply, format) {
        (Json::Null, _) => None,
        (Json::String(text), CallFormat::Bfcl) => bare(text),
        (Json::String(text), CallFormat::Any) => written(text, names),
        (other, _) => of_value(&Value::from(other), names),
    }
}

/// BFCL's decoder of August 2024, the one whose grades we agree with: the whole
/// reply is a list of calls in Python. Later versions also add missing brackets
/// and strip white space and backticks around the list.
fn bare(text: &str) -> Option<Vec<Call>> {
    if text.starts_with([' ', '\t']) {
        return None;
    }
    let Some(Value::List(items) | Value::Tuple(items)) = expression(trim(text), Dialect::Strict)
    else {
        return None;
    };
    let call = |item| match item {
        Value::Call(call) => Some(*call),
        _ => None,
    };
    items.into_iter().map(call).collect()
}

/// Calls anywhere in a text.
fn written(text: &str, names: &[&str]) -> Option<Vec<Call>> {
    let text = text.rsplit_once("</think>").map_or(text, |(_, rest)| rest);
    if let Some(calls) = whole(text, names) {
        return Some(calls);
    }
    let tagged = between(text, "<tool_call>", "</tool_call>");
    let fenced = fences(text);
    for pieces in [tagged, fenced] {
        let found: Vec<Vec<Call>> = pieces
            .into_iter()
            .filter_map(|piece| whole(piece, names))
            .collect();
        if !found.is_empty() {
            return Some(found.concat());
        }
    }
    let found = embedded(text, names);
    (!found.is_empty()).then_some(found)
}

/// The text as nothing but calls.
fn whole(text: &str, names: &[&str]) -> Option<Vec<Call>> {
    let text = trim(text);
    if text.is_empty() {
        return None;
    }
    as_json(text, names).or_else(|| as_python(text, names))
}

/// One JSON value, or several after each other.
fn as_json(text: &str, names: &[&str]) -> Option<Vec<Call>> {
    let mut calls = Vec::new();
    for value in serde_json::Deserializer::from_str(text).into_iter::<Json>() {
        calls.extend(of_value(&Value::from(&value.ok()?), names)?);
    }
    Some(calls)
}

/// One expression, or one per line.
fn as_python(text: &str, names: &[&str]) -> Option<Vec<Call>> {
    if let Some(value) = expression(text, Dialect::Relaxed) {
        return of_value(&value, names);
    }
    let mut calls = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let (value, end) = prefix(rest, Dialect::Relaxed)?;
        calls.extend(of_value(&value, names)?);
        let after = &rest[end..];
        rest = after.trim_start_matches(|c| is_space(c) || matches!(c, ';' | ','));
        if !rest.is_empty() && rest.len() == after.len() {
            return None;
        }
    }
    Some(calls)
}

/// The calls that a parsed value stands for.
fn of_value(value: &Value, names: &[&str]) -> Option<Vec<Call>> {
    match value {
        Value::Call(call) => Some(vec![Call::clone(call)]),
        Value::List(items) | Value::Tuple(items) => {
            let each: Option<Vec<_>> = items.iter().map(|item| of_value(item, names)).collect();
            Some(each?.concat())
        }
        Value::Dict(entries) => of_dict(entries, names),
        _ => None,
    }
}

/// `{"name": ..., "arguments": {...}}`, tool calls as OpenAI writes them, or
/// `{"function": {...arguments}}`.
fn of_dict(entries: &[(Value, Value)], names: &[&str]) -> Option<Vec<Call>> {
    let get = |wanted: &str| {
        let found = entries
            .iter()
            .find(|(key, _)| matches!(key, Value::Text(key) if key == wanted));
        found.map(|(_, value)| value)
    };
    for key in ["tool_calls", "function_call", "function"] {
        if let Some(inner @ (Value::Dict(_) | Value::List(_))) = get(key) {
            return of_value(inner, names);
        }
    }
    if let Some(Value::Text(name)) = get("name").or_else(|| get("function")) {
        let keys = ["arguments", "parameters", "args", "kwargs", "input"];
        let found = keys.iter().find_map(|key| get(key));
        return match found {
            Some(found) => Some(vec![Call::new(name, arguments(found)?)]),
            None if entries.len() == 1 && names.contains(&name.as_str()) => {
                Some(vec![Call::new(name, Vec::new())])
            }
            None => None,
        };
    }
    let is_known = |name: &str| names.iter().any(|known| is_same_name(known, name));
    let call = |(key, value): &(Value, Value)| match key {
        Value::Text(name) if entries.len() == 1 || is_known(name) => {
            Some(Call::new(name, arguments(value)?))
        }
        _ => None,
    };
    if entries.is_empty() {
        return None;
    }
    entries.iter().map(call).collect()
}

/// Arguments as a map, or as JSON text of one.
fn arguments(value: &Value) -> Option<Vec<(String, Value)>> {
    match value {
        Value::Dict(entries) => {
            let entry = |(key, value): &(Value, Value)| match key {
                Value::Text(key) => Some((key.clone(), value.clone())),
                _ => None,
            };
            entries.iter().map(entry).collect()
        }
        Value::Text(text) => match serde_json::from_str::<Json>(text).ok()? {
            map @ Json::Object(_) => arguments(&Value::from(&map)),
            _ => None,
        },
        Value::None => Some(Vec::new()),
        _ => None,
    }
}

/// Whether a name means that function; where dots are not allowed in names,
/// underscores stand for them.
pub(super) fn is_same_name(function: &str, written: &str) -> bool {
    let undotted = |c: char| if c == '.' { '_' } else { c };
    function == written || function.chars().map(undotted).eq(written.chars())
}

/// What stands between tags.
fn between<'a>(text: &'a str, open: &str, close: &str) -> Vec<&'a str> {
    let pieces = text.split(open).skip(1);
    pieces
        .map(|piece| piece.split(close).next().unwrap_or(piece))
        .collect()
}

/// The contents of fenced blocks, without the name of their language.
pub(super) fn fences(text: &str) -> Vec<&str> {
    let blocks = text
        .split("```")
        .enumerate()
        .filter(|(index, _)| index % 2 == 1);
    blocks
        .map(|(_, block)| {
            let language = block.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
            match language {
                Some(end) if block[end..].starts_with(is_space) => &block[end..],
                _ => block,
            }
        })
        .collect()
}

/// After so many places in prose that look like a call but are not, the rest
/// is not searched: each of them may cost a deep attempt.
const MAX_ATTEMPTS: usize = 1000;

/// Calls of known functions in prose, as JSON or as Python.
fn embedded(text: &str, names: &[&str]) -> Vec<Call> {
    let is_known = |call: &Call| names.iter().any(|known| is_same_name(known, &call.name));
    let mut calls = Vec::new();
    let mut at = 0;
    let mut last = ' ';
    let mut attempts = 0;
    while let Some(c) = text[at..].chars().next() {
        let rest = &text[at..];
        let is_word = is_word_char(c) && !is_word_char(last) && last != '.';
        let may_call = matches!(c, '[' | '{') || is_word && starts_call(rest, names);
        attempts += usize::from(may_call);
        if attempts > MAX_ATTEMPTS {
            break;
        }
        let found = match c {
            '[' | '{' => json_prefix(rest).or_else(|| prefix(rest, Dialect::Relaxed)),
            _ if may_call => prefix(rest, Dialect::Relaxed),
            _ => None,
        };
        let found = found.and_then(|(value, end)| Some((of_value(&value, names)?, end)));
        match found {
            Some((found, end)) if !found.is_empty() && found.iter().all(is_known) => {
                calls.extend(found);
                at += end;
                last = ' ';
                attempts = 0;
            }
            _ => {
                at += c.len_utf8();
                last = c;
            }
        }
    }
    calls
}

fn json_prefix(text: &str) -> Option<(Value, usize)> {
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<Json>();
    let value = values.next()?.ok()?;
    Some((Value::from(&value), values.byte_offset()))
}

/// Whether a known name and an opening parenthesis stand here.
fn starts_call(text: &str, names: &[&str]) -> bool {
    let end = text
        .find(|c: char| !is_word_char(c) && c != '.')
        .unwrap_or(text.len());
    let (name, rest) = text.split_at(end);
    rest.trim_start_matches([' ', '\t']).starts_with('(')
        && names.iter().any(|known| is_same_name(known, name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn shown(calls: Option<Vec<Call>>) -> String {
        let Some(calls) = calls else {
            return "-".into();
        };
        let call = |call: &Call| {
            let named = call.named.iter().map(|(name, value)| match value {
                Value::Text(text) => format!("{name}={text}"),
                other => format!("{name}={}", other.number().unwrap_or(f64::NAN)),
            });
            format!("{}({})", call.name, named.collect::<Vec<_>>().join(","))
        };
        calls.iter().map(call).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn calls_in_any_notation() {
        let names = ["f", "a.g"];
        for (text, expected) in [
            ("[f(x=1), a.g(y='b')]", "f(x=1) a.g(y=b)"),
            ("f(x=1)\na.g()", "f(x=1) a.g()"),
            (r#"{"name": "f", "arguments": {"x": 1}}"#, "f(x=1)"),
            (r#"[{"name": "f", "parameters": "{\"x\": 1}"}]"#, "f(x=1)"),
            (r#"[{"f": {"x": 1}}, {"a_g": {}}]"#, "f(x=1) a_g()"),
            (
                r#"{"tool_calls": [{"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}]}"#,
                "f()",
            ),
            ("[{'name': 'f', 'parameters': {'x': 1}}]", "f(x=1)"),
            ("Sure:\n```python\n[f(x=1)]\n```\nDone.", "f(x=1)"),
            ("```\nf(x=1)\n```", "f(x=1)"),
            (
                "```json\n[{\"name\": \"f\", \"arguments\": {\"x\": 1}}]\n```",
                "f(x=1)",
            ),
            (
                "<tool_call>\n{\"name\": \"f\", \"arguments\": {}}\n</tool_call>",
                "f()",
            ),
            (
                "I would call f(x=1) and (later) h(x=2) - see {\"f\": {\"x\": 3}}.",
                "f(x=1) f(x=3)",
            ),
            ("<think>f(x=2)</think>\n    [f(x=1)]", "f(x=1)"),
            ("[]", ""),
            ("No function fits (really).", "-"),
            ("", "-"),
            ("42", "-"),
        ] {
            let found = calls(&json!(text), CallFormat::Any, &names);
            assert_eq!(shown(found), expected, "{text}");
        }
        let tool_calls = json!([{"function": {"name": "f", "arguments": "{\"x\": 1}"}}]);
        let found = calls(&tool_calls, CallFormat::Any, &names);
        assert_eq!(shown(found), "f(x=1)");
    }

    #[test]
    fn bfcl_wants_bare_python() {
        for (text, expected) in [
            ("[f(x=1)]", "f(x=1)"),
            ("f(x=1), f(x=2)", "f(x=1) f(x=2)"),
            ("\n[]", ""),
            ("    [f(x=1)]", "-"),
            ("f(x=1)", "-"),
            ("```python\n[f(x=1)]\n```", "-"),
            (r#"[{"name": "f", "arguments": {}}]"#, "-"),
            ("Sure: [f(x=1)]", "-"),
        ] {
            let found = calls(&json!(text), CallFormat::Bfcl, &["f"]);
            assert_eq!(shown(found), expected, "{text}");
        }
    }

    #[test]
    fn hostile_texts_take_bounded_time() {
        for piece in [
            "[",
            "f(",
            "{\"a\":",
            "[1,",
            "f('",
            "f(x=[",
            "{'a': 1, ",
            "```",
            "-",
            "[#\n",
        ] {
            let text = format!("x {}", piece.repeat(20_000));
            assert_eq!(
                calls(&json!(text), CallFormat::Any, &["f"]),
                None,
                "{piece}"
            );
        }
        let entries: String = (0..20_000).map(|i| format!("a{i}=1, ")).collect();
        assert_eq!(
            calls(&json!(format!("f({entries})")), CallFormat::Any, &["f"]),
            None
        );
    }
}
