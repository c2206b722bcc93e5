//! Calls in Java and JavaScript, as BFCL reads them: `[f(a=1, b=new int[]{1, 2})]`.
//!
//! The value of an argument is the source as written; only the type of its parameter says
//! what it stands for ([`java`], [`javascript`]). BFCL's decoder and converters have their
//! oddities, such as items of a Java array that keep their quotes: the `bfcl` format has
//! them too, `any` reads what was meant.

mod java;
mod javascript;

use serde_json::Value as Json;

use super::CallFormat;
use super::parse;
use super::schema::Parameter;
use super::value::{Call, Value};
use crate::text::words::trim;

/// A language that calls may be written in beside Python.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Language {
    Java,
    JavaScript,
}

impl Language {
    /// The language of a category such as `simple_java`; `None` for Python.
    pub(super) fn of_category(category: &str) -> Option<Self> {
        let mut parts = category.split(|c: char| !c.is_alphanumeric());
        parts.find_map(|part| match part {
            "java" => Some(Self::Java),
            "javascript" => Some(Self::JavaScript),
            _ => None,
        })
    }

    /// What a value stands for under the type of its parameter.
    ///
    /// # Errors
    ///
    /// With BFCL's error type, when a value is not source text.
    pub(super) fn read(
        self,
        value: &Value,
        parameter: &Parameter<'_>,
        format: CallFormat,
    ) -> Result<Value, &'static str> {
        let Value::Text(source) = value else {
            return match (format, self) {
                (CallFormat::Any, _) => Ok(value.clone()),
                (CallFormat::Bfcl, Self::Java) => Err("type_error:java"),
                (CallFormat::Bfcl, Self::JavaScript) => Err("type_error:js"),
            };
        };
        let items = Some(parameter.items_name).filter(|name| !name.is_empty());
        Ok(match self {
            Self::Java => java::read(source, parameter.type_name, items, format),
            Self::JavaScript => javascript::read(source, parameter.type_name, items, format),
        })
    }
}

/// The calls of a reply. A structured tool call has its values as source text.
pub(super) fn calls(
    reply: &Json,
    language: Language,
    format: CallFormat,
    names: &[&str],
) -> Option<Vec<Call>> {
    let Json::String(text) = reply else {
        return parse::calls(reply, format, names);
    };
    if format == CallFormat::Bfcl {
        return list(text, language, format);
    }
    let text = text
        .rsplit_once("</think>")
        .map_or(&**text, |(_, rest)| rest);
    let mut pieces = std::iter::once(text).chain(parse::fences(text));
    let found = pieces.find_map(|piece| list(piece, language, format));
    found.or_else(|| parse::calls(reply, format, names))
}

/// The whole text as one call, in brackets or without.
fn list(text: &str, language: Language, format: CallFormat) -> Option<Vec<Call>> {
    let text = text.trim_matches(['`', '\n', ' ']);
    let text = text.strip_prefix('[').unwrap_or(text);
    let text = trim(text.strip_suffix(']').unwrap_or(text));
    if text.is_empty() {
        return Some(Vec::new());
    }
    let open = text.find('(')?;
    let name = trim(&text[..open]);
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$' | '.');
    if name.is_empty() || !name.chars().all(is_name) {
        return None;
    }
    let end = open + closing(&text[open..])?;
    let rest = trim(&text[end + 1..]);
    if !(rest.is_empty() || rest.starts_with(';')) {
        return None;
    }
    let mut call = Call::new(name, Vec::new());
    for argument in arguments(&text[open + 1..end]) {
        match named(argument) {
            Some((name, value)) => {
                let value = written(trim(value), language, format);
                // Nobody can say which of two values counts.
                if call.get(name).is_some() {
                    return None;
                }
                call.named.push((name.to_owned(), value));
            }
            // BFCL takes a bare name for an argument that no parameter has.
            None if format == CallFormat::Bfcl && argument.chars().all(is_name) => {
                let value = Value::text(argument);
                call.named.push((format!("#{argument}"), value));
            }
            None => call.positional.push(written(argument, language, format)),
        }
    }
    Some(vec![call])
}

/// Where the bracket that opens a text closes.
fn closing(text: &str) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, c) in outside_quotes(text) {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(at);
                }
            }
            _ => {}
        }
    }
    None
}

/// The arguments of a call. A comma parts two of them only before the next name: in
/// `new HashMap<String, Object>()` it does not.
fn arguments(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let (mut depth, mut start) = (0_usize, 0);
    for (at, c) in outside_quotes(text) {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            ',' if depth == 0 && is_named(&text[at + 1..]) => {
                found.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    found.push(&text[start..]);
    let found = found.into_iter().map(trim);
    found.filter(|argument| !argument.is_empty()).collect()
}

fn is_named(text: &str) -> bool {
    named(text).is_some()
}

/// `name = value` apart; no comparison and no arrow.
fn named(text: &str) -> Option<(&str, &str)> {
    let (name, value) = text.split_once('=')?;
    let name = trim(name);
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$');
    let is_named = !name.is_empty() && name.chars().all(is_name) && !value.starts_with(['=', '>']);
    is_named.then_some((name, value))
}

/// The characters of a text that are not inside quotes, with their places.
fn outside_quotes(text: &str) -> impl Iterator<Item = (usize, char)> + '_ {
    let mut quote: Option<char> = None;
    let mut escaped = false;
    text.char_indices().filter(move |(_, c)| match quote {
        Some(_) if escaped => {
            escaped = false;
            false
        }
        Some(_) if *c == '\\' => {
            escaped = true;
            false
        }
        Some(open) => {
            if *c == open {
                quote = None;
            }
            false
        }
        None if matches!(c, '"' | '\'' | '`') => {
            quote = Some(*c);
            false
        }
        None => true,
    })
}

/// A value as source: a text without its quotes, anything else as it is.
fn written(source: &str, language: Language, format: CallFormat) -> Value {
    let text = match unquoted(source) {
        Some(inner) if format == CallFormat::Any => inner.replace("\\\"", "\"").replace("\\'", "'"),
        Some(inner) => inner.to_owned(),
        None if language == Language::Java && format == CallFormat::Bfcl => {
            java::without_body(source).to_owned()
        }
        None => source.to_owned(),
    };
    Value::Text(text)
}

/// What stands between two quotes of one kind, when that is the whole text.
fn unquoted(text: &str) -> Option<&str> {
    let quote = text.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    let inner = text.strip_prefix(quote)?.strip_suffix(quote)?;
    Some(inner)
}

fn is_integer(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// `-1.5e3`, the exponent where it is allowed.
fn is_decimal(text: &str, exponent: bool) -> bool {
    let (mantissa, power) = match text.find(['e', 'E']) {
        Some(at) if exponent => (&text[..at], Some(&text[at + 1..])),
        _ => (text, None),
    };
    let (whole, part) = mantissa
        .split_once('.')
        .map_or((mantissa, None), |(whole, part)| (whole, Some(part)));
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    is_integer(whole)
        && part.is_none_or(digits)
        && power.is_none_or(|power| digits(power.strip_prefix(['+', '-']).unwrap_or(power)))
}

fn integer(text: &str) -> Value {
    let number = text.parse().map(Value::Int);
    number.unwrap_or_else(|_| float(text))
}

fn float(text: &str) -> Value {
    let number = text.parse().map(Value::Float);
    number.unwrap_or_else(|_| Value::text(text))
}

/// A value of which no type is known.
fn guessed(source: &str, quotes: &[char]) -> Value {
    let source = trim(source);
    match source {
        "true" => return Value::Bool(true),
        "false" => return Value::Bool(false),
        _ => {}
    }
    let is_quoted = |quote: &&char| {
        source.len() > 1 && source.starts_with(**quote) && source.ends_with(**quote)
    };
    if quotes.iter().any(|quote| is_quoted(&quote)) {
        return Value::text(&source[1..source.len() - 1]);
    }
    match source {
        _ if is_integer(source) => integer(source),
        _ if is_decimal(source, true) => float(source),
        _ => Value::text(source),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn shown(text: &str, language: Language, format: CallFormat) -> String {
        let Some(calls) = calls(&json!(text), language, format, &["f"]) else {
            return "-".into();
        };
        let shown = calls.iter().map(|call| {
            let named = call.named.iter().map(|(name, value)| match value {
                Value::Text(text) => format!("{name}={text}"),
                other => format!("{name}={other:?}"),
            });
            let named: Vec<String> = named.collect();
            format!(
                "{}({})+{}",
                call.name,
                named.join("|"),
                call.positional.len()
            )
        });
        shown.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn calls_as_bfcls_decoder_reads_them() {
        use Language::{Java, JavaScript};
        for (language, text, expected) in [
            (Java, r#"[f(a=1, b="x")]"#, "f(a=1|b=x)+0"),
            (Java, r#"f(a=1, b="x")"#, "f(a=1|b=x)+0"),
            (
                Java,
                r#"[A.b(x=new HashMap<String, Object>() {{ put("a", 1); }}, y=true)]"#,
                "A.b(x=new HashMap<String, Object>()|y=true)+0",
            ),
            (
                Java,
                r#"[f(a=new ArrayList<>(Arrays.asList("a", "b")), c=5L)]"#,
                r#"f(a=new ArrayList<>(Arrays.asList("a", "b"))|c=5L)+0"#,
            ),
            (Java, r#"[f(a="it's, b=2")]"#, "f(a=it's, b=2)+0"),
            (Java, "[f(a=1); g(b=2)]", "f(a=1)+0"),
            (Java, "[f(a=1), g(b=2)]", "-"),
            (Java, "```java\n[f(a=1)]\n```", "-"),
            (Java, "[f(a=1, a=2)]", "-"),
            (Java, "Sure: [f(a=1)]", "-"),
            (
                JavaScript,
                "[f(a=[1, 2], b={'k': 1, \"z\": [1,2]}, c=true)]",
                "f(a=[1, 2]|b={'k': 1, \"z\": [1,2]}|c=true)+0",
            ),
            (
                JavaScript,
                "[f(a=x => x+1, b=function(y) { return y; })]",
                "f(a=x => x+1|b=function(y) { return y; })+0",
            ),
            (JavaScript, "[f(a=5n, b=null)]", "f(a=5n|b=null)+0"),
            (JavaScript, "[f(x, a=1)]", "f(#x=x|a=1)+0"),
            (JavaScript, "[]", ""),
        ] {
            assert_eq!(shown(text, language, CallFormat::Bfcl), expected, "{text}");
        }
    }

    #[test]
    fn any_notation_is_read_where_it_is_asked_for() {
        for (text, expected) in [
            ("```java\n[f(a=1)]\n```", "f(a=1)+0"),
            (r#"f(a="say \"x\"")"#, r#"f(a=say "x")+0"#),
            (r#"{"name": "f", "arguments": {"a": "1"}}"#, "f(a=1)+0"),
        ] {
            let found = shown(text, Language::Java, CallFormat::Any);
            assert_eq!(found, expected, "{text}");
        }
    }
}
