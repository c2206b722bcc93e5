//! Logged samples: one per document and filter, with hashes of what it was made of.
//!
//! The JSON that is hashed is written by hand as Python's `json.dumps` writes it; otherwise
//! the hashes would not be those of the reference.

use context_bench_template::python;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use crate::filter::Record;
use crate::metric::score::Scores;
use crate::request::{Ask, Request};

/// What a document was asked, answered and scored.
#[derive(Debug, Clone, Copy)]
pub struct Sample<'s> {
    /// The record.
    pub record: &'s Record,
    /// What was asked.
    pub request: &'s Request,
    /// Responses as they came.
    pub responses: &'s [Value],
    /// What the filter made of them.
    pub filtered: &'s Value,
    /// The filter.
    pub filter: &'s str,
    /// Values by metric.
    pub scores: &'s Scores,
}

impl Sample<'_> {
    /// In the reference's schema.
    pub fn to_json(&self) -> Map<String, Value> {
        let mut out = Map::new();
        let metrics: Vec<&String> = self.scores.keys().collect();
        for (key, value) in [
            ("doc_id", json!(self.request.doc_id)),
            ("doc", Value::Object(self.record.clone())),
            ("target", self.request.target.clone()),
            ("arguments", arguments(&self.request.ask)),
            ("resps", json!(self.responses)),
            ("filtered_resps", self.filtered.clone()),
            ("filter", json!(self.filter)),
            ("metrics", json!(metrics)),
        ] {
            out.insert(key.to_owned(), value);
        }
        for (key, value) in self.hashes() {
            out.insert(key.to_owned(), json!(value));
        }
        out.extend(self.scores.clone());
        out
    }

    /// SHA-256 of the record, of the first context and of the target.
    pub fn hashes(&self) -> [(&'static str, String); 3] {
        let record = Value::Object(self.record.clone());
        hashes(
            &record,
            &first_context(&self.request.ask),
            &self.request.target,
        )
    }
}

/// SHA-256 of a record, of the first context it was asked after and of its target.
pub fn hashes(record: &Value, context: &str, target: &Value) -> [(&'static str, String); 3] {
    let mut written = String::new();
    write_json(&mut written, record, 0);
    [
        ("doc_hash", sha256(&written)),
        ("prompt_hash", sha256(context)),
        ("target_hash", sha256(&text(target))),
    ]
}

/// A value as samples have it where they have text, and as it is hashed: Python's `str`.
pub fn text(value: &Value) -> String {
    python::str(value)
}

/// SHA-256 in hexadecimal digits.
pub fn sha256(text: &str) -> String {
    Sha256::digest(text.as_bytes())
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

fn first_context(ask: &Ask) -> String {
    let text = |value: Value| {
        value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned)
    };
    match ask {
        Ask::Choices { context, .. }
        | Ask::Continuation { context, .. }
        | Ask::Generation { context, .. } => text(context.to_json()),
        Ask::Contexts { contexts, .. } => contexts
            .first()
            .map(|context| text(context.to_json()))
            .unwrap_or_default(),
        Ask::Text(target) => target.clone(),
    }
}

/// One list of arguments per request.
fn arguments(ask: &Ask) -> Value {
    match ask {
        Ask::Choices {
            context,
            continuations,
        } => continuations
            .iter()
            .map(|continuation| json!([context.to_json(), continuation]))
            .collect(),
        Ask::Contexts {
            contexts,
            continuation,
            ..
        } => contexts
            .iter()
            .map(|context| json!([context.to_json(), continuation]))
            .collect(),
        Ask::Continuation {
            context,
            continuation,
        } => json!([[context.to_json(), continuation]]),
        Ask::Text(text) => json!([[text]]),
        Ask::Generation {
            context,
            settings,
            repeats,
        } => (0..*repeats)
            .map(|_| json!([context.to_json(), settings]))
            .collect(),
    }
}

/// `json.dumps(value, indent=2, ensure_ascii=False)`, with Python's numbers.
fn write_json(out: &mut String, value: &Value, depth: usize) {
    let line = |out: &mut String, depth: usize| {
        out.push('\n');
        out.push_str(&"  ".repeat(depth));
    };
    match value {
        Value::Number(number) => out.push_str(&python::number(number)),
        Value::Array(items) if !items.is_empty() => {
            out.push('[');
            for (i, item) in items.iter().enumerate() {
                out.push_str(if i > 0 { "," } else { "" });
                line(out, depth + 1);
                write_json(out, item, depth + 1);
            }
            line(out, depth);
            out.push(']');
        }
        Value::Object(map) if !map.is_empty() => {
            out.push('{');
            for (i, (key, item)) in map.iter().enumerate() {
                out.push_str(if i > 0 { "," } else { "" });
                line(out, depth + 1);
                out.push_str(&Value::from(key.as_str()).to_string());
                out.push_str(": ");
                write_json(out, item, depth + 1);
            }
            line(out, depth);
            out.push('}');
        }
        other => out.push_str(&other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Made with CPython: `hashlib.sha256(json.dumps(doc, indent=2, ensure_ascii=False)…)`.
    #[test]
    fn records_hash_as_in_python() {
        let record = json!({"q": "é\n\"", "n": 1e16, "list": [1, [], {}], "m": {"a": null}});
        let mut text = String::new();
        write_json(&mut text, &record, 0);
        assert_eq!(sha256(&text), PYTHON_HASH);
    }

    const PYTHON_HASH: &str = "5a87a8b5e82a9c5062f3d12f8be4140df2b797ed4a55ca00dd5f5793df5efc15";
}
