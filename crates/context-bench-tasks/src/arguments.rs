//! `key=value` lists as the command line takes them.

use context_bench_template::python::literal_eval;
use serde_json::{Map, Value, json};

use crate::error::{Error, Result};

/// A value: true or false, a number, a Python literal, else text.
pub fn value(text: &str) -> Value {
    match text.to_lowercase().as_str() {
        "true" => return json!(true),
        "false" => return json!(false),
        _ => {}
    }
    if let Ok(int) = text.parse::<i64>() {
        return json!(int);
    }
    let float = text
        .parse::<f64>()
        .ok()
        .and_then(serde_json::Number::from_f64);
    if let Some(float) = float {
        return Value::Number(float);
    }
    literal_eval(text).unwrap_or_else(|_| json!(text))
}

/// `a=1,b=[2,3]`, or a JSON object. Commas inside brackets and quotes do not separate.
pub fn parse(text: &str) -> Result<Map<String, Value>> {
    let text = text.trim();
    if text.starts_with('{') {
        return match serde_json::from_str(text) {
            Ok(Value::Object(map)) => Ok(map),
            _ => Err(Error::new(format!("`{text}` is not a JSON object"))),
        };
    }
    let mut out = Map::new();
    for part in split(text) {
        let part = part.trim();
        if part.is_empty() {
            continue;
        }
        let Some((key, written)) = part.split_once('=') else {
            return Err(
                Error::new(format!("`{part}` has no `=`")).with_hint("write `key=value,key=value`")
            );
        };
        out.insert(key.trim().to_owned(), value(written.trim()));
    }
    Ok(out)
}

fn split(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut start, mut depth) = (0, 0_usize);
    let mut quote: Option<char> = None;
    for (at, c) in text.char_indices() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (Some(_), _) => {}
            // An apostrophe inside a word does not begin a quote.
            (None, '"' | '\'') if depth > 0 || text[..at].ends_with(['=', ',']) => quote = Some(c),
            (None, '[' | '{' | '(') => depth += 1,
            (None, ']' | '}' | ')') => depth = depth.saturating_sub(1),
            (None, ',') if depth == 0 => {
                parts.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_values() {
        for (text, expected) in [
            (
                "model=m,num_concurrent=4,x=0.5",
                json!({"model": "m", "num_concurrent": 4, "x": 0.5}),
            ),
            (
                r#"stop=["a","b"],n=-1"#,
                json!({"stop": ["a", "b"], "n": -1}),
            ),
            (
                "a=True,b=none,c=it's,d='x,y'",
                json!({"a": true, "b": "none", "c": "it's", "d": "x,y"}),
            ),
            (r#"{"a": {"b": 1}}"#, json!({"a": {"b": 1}})),
            (
                "base_url=http://x/v1?a=b",
                json!({"base_url": "http://x/v1?a=b"}),
            ),
            ("", json!({})),
        ] {
            assert_eq!(Value::Object(parse(text).unwrap()), expected, "{text}");
        }
        assert!(parse("novalue").is_err());
        assert_eq!(value("[1,'a']"), json!([1, "a"]));
    }
}
