//! How the records of a plain file become examples: their keys under the names that
//! systems know, and a context in parts as one text.

use indexmap::IndexMap;
use serde_json::{Map, Value};

use crate::model::ExampleError;
use crate::text::stringify;

/// The keys of a chunk that hold its text.
const TEXTS: [&str; 3] = ["text", "content", "page_content"];
/// The separator between two parts of a context.
const BETWEEN: &str = "\n\n";

/// How the records of a file become examples.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Shape {
    /// Names that systems and evaluators know, and the keys of the file that mean them.
    pub map: IndexMap<String, String>,
    /// Whether contexts in parts are joined, because a text of them is sent.
    pub joins: bool,
}

impl Shape {
    /// Whether it changes nothing.
    pub(super) fn is_plain(&self) -> bool {
        self.map.is_empty() && !self.joins
    }

    /// Whether a record has something that is to become one text.
    pub(super) fn has_parts(&self, fields: &Map<String, Value>) -> bool {
        let is_other = |field: &str| {
            let key = self.map.get(field).map_or(field, String::as_str);
            !matches!(fields.get(key), None | Some(Value::String(_) | Value::Null))
        };
        self.joins && (is_other("context") || is_other("question"))
    }

    /// Makes the fields of an example of those of a record.
    pub(super) fn apply(&self, fields: &mut Map<String, Value>) -> Result<(), ExampleError> {
        if !self.map.is_empty() {
            let found = std::mem::take(fields);
            for (key, value) in found {
                let mut meant = self.map.iter().filter(|(_, source)| **source == key);
                match meant.next() {
                    Some((name, _)) => drop(fields.insert(name.clone(), value)),
                    // A key that another name is mapped to does not mean what it looks like.
                    None if self.map.contains_key(&key) => {}
                    None => drop(fields.insert(key, value)),
                }
            }
        }
        if !self.joins {
            return Ok(());
        }
        for field in ["context", "question"] {
            let Some(value) = fields.get_mut(field) else {
                continue;
            };
            if value.is_null() || value.is_string() || is_content(value) {
                continue;
            }
            let text = joined(value).ok_or(ExampleError::NotText {
                field,
                found: stringify::kind(value),
            })?;
            *value = text.into();
        }
        Ok(())
    }
}

/// Whether a list holds parts of a message as endpoints take them.
fn is_content(value: &Value) -> bool {
    let is_part = |part: &Value| part.get("type").is_some_and(Value::is_string);
    value
        .as_array()
        .is_some_and(|parts| !parts.is_empty() && parts.iter().all(is_part))
}

/// A value as one text; `None` when it is not known which part of it is text.
fn joined(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(_) | Value::Bool(_) => Some(stringify::python_str(value).into_owned()),
        Value::Array(parts) => {
            let parts: Option<Vec<String>> = parts.iter().map(joined).collect();
            Some(parts?.join(BETWEEN))
        }
        Value::Object(chunk) => {
            let text = TEXTS.iter().find_map(|key| chunk.get(*key));
            let text = joined(text.filter(|text| !text.is_null())?)?;
            Some(match chunk.get("title").and_then(Value::as_str) {
                Some(title) => format!("{title}\n{text}"),
                None => text,
            })
        }
        Value::Null => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn shaped(shape: &Shape, record: Value) -> Result<Value, ExampleError> {
        let Value::Object(mut fields) = record else {
            panic!("a map");
        };
        shape.apply(&mut fields).map(|()| Value::Object(fields))
    }

    #[test]
    fn contexts_in_parts_become_one_text() {
        let shape = Shape {
            joins: true,
            ..Shape::default()
        };
        for (context, expected) in [
            (json!("a"), json!("a")),
            (json!(null), json!(null)),
            (json!(["a", "b"]), json!("a\n\nb")),
            (
                json!([{"text": "a", "n": 1}, {"page_content": "b"}]),
                json!("a\n\nb"),
            ),
            (json!({"title": "T", "content": "a"}), json!("T\na")),
            (json!([["T", ["a", "b"]]]), json!("T\n\na\n\nb")),
            (json!(7), json!("7")),
            (json!([]), json!("")),
        ] {
            let found = shaped(&shape, json!({"context": context}));
            assert_eq!(found, Ok(json!({"context": expected})));
        }
        let parts = json!([{"type": "text", "text": "a"}]);
        let found = shaped(&shape, json!({"question": &parts}));
        assert_eq!(found, Ok(json!({"question": parts})));
        let error = shaped(&shape, json!({"context": [{"body": "a"}]})).expect_err("no text");
        assert!(error.to_string().starts_with("`context` must be text"));
        let plain = Shape::default();
        let record = json!({"context": [{"body": "a"}]});
        assert_eq!(shaped(&plain, record.clone()), Ok(record));
    }

    #[test]
    fn keys_get_the_names_that_they_mean() {
        let shape = Shape {
            map: [("question", "prompt"), ("answer", "question")]
                .map(|(name, key)| (name.to_owned(), key.to_owned()))
                .into(),
            joins: false,
        };
        let found = shaped(
            &shape,
            json!({"id": 1, "prompt": "?", "question": "!", "answer": "-"}),
        );
        let expected = json!({"id": 1, "question": "?", "answer": "!"});
        assert_eq!(found, Ok(expected));
    }
}
