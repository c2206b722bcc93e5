//! YAML nodes to JSON values and back.

use std::sync::Arc;

use context_bench_error::Place;
use serde_json::{Map as JsonMap, Number, Value};

use super::error::Error;
use super::node::{Entry, Map, Node, Yaml};
use crate::python;

/// The JSON value of a node; a tag of one's own is an error.
///
/// Keys become text as Python prints them, dates become text, binary data a list of
/// numbers; not-a-number, infinity and integers beyond 64 bits have no JSON form.
pub fn to_json(node: &Node, file: &str) -> Result<Value, Error> {
    to_json_with(node, file, &mut |node, tag| {
        Err(Error::new(
            format!("tag `{tag}` is not allowed here"),
            place(node, file),
        )
        .with_hint("write a plain value"))
    })
}

/// Like [`to_json`], with `tagged` giving the value of nodes with a tag of one's own.
pub fn to_json_with(
    node: &Node,
    file: &str,
    tagged: &mut dyn FnMut(&Node, &str) -> Result<Value, Error>,
) -> Result<Value, Error> {
    if let Some(tag) = &node.tag {
        return tagged(node, tag);
    }
    Ok(match &node.value {
        Yaml::Null => Value::Null,
        Yaml::Bool(truth) => Value::Bool(*truth),
        Yaml::Int(int) => Value::from(*int),
        Yaml::BigInt(digits) => match digits.parse::<u64>() {
            Ok(int) => Value::from(int),
            Err(_) => {
                let message = format!("integer `{digits}` needs more than 64 bits");
                return Err(
                    Error::new(message, place(node, file)).with_hint("put quotes around it")
                );
            }
        },
        Yaml::Float(x) => match Number::from_f64(*x) {
            Some(number) => Value::Number(number),
            None => {
                let message = format!("`{}` has no meaning here", python::float(*x));
                return Err(Error::new(message, place(node, file)).with_hint("write a number"));
            }
        },
        Yaml::Text(text) | Yaml::Timestamp(text) => Value::from(&**text),
        Yaml::Bytes(bytes) => bytes.iter().copied().map(Value::from).collect(),
        Yaml::List(list) | Yaml::Set(list) => {
            let items = list.iter().map(|node| to_json_with(node, file, tagged));
            Value::Array(items.collect::<Result<_, _>>()?)
        }
        Yaml::Map(map) => {
            let mut object = JsonMap::with_capacity(map.entries.len());
            for entry in &map.entries {
                let value = to_json_with(&entry.value, file, tagged)?;
                object.insert(python::key(&entry.key.value), value);
            }
            Value::Object(object)
        }
    })
}

fn place(node: &Node, file: &str) -> Place {
    Place::new(file, node.position)
}

/// The node of a JSON value.
pub fn from_json(value: &Value) -> Node {
    Node::new(match value {
        Value::Null => Yaml::Null,
        Value::Bool(truth) => Yaml::Bool(*truth),
        Value::Number(number) => match (number.as_i64(), number.as_u64()) {
            (Some(int), _) => Yaml::Int(int),
            (None, Some(int)) => Yaml::BigInt(int.to_string().into()),
            (None, None) => Yaml::Float(number.as_f64().unwrap_or(f64::NAN)),
        },
        Value::String(text) => Yaml::Text(text.as_str().into()),
        Value::Array(list) => {
            Yaml::List(list.iter().map(|item| Arc::new(from_json(item))).collect())
        }
        Value::Object(object) => Yaml::Map(Map {
            entries: object
                .iter()
                .map(|(key, value)| Entry {
                    key: Arc::new(Node::new(Yaml::Text(key.as_str().into()))),
                    value: Arc::new(from_json(value)),
                })
                .collect(),
        }),
    })
}
