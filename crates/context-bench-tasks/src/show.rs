//! A resolved task as YAML, with where each value is from.

use std::sync::Arc;

use context_bench_template::yaml::{self, Entry, Map, Node, Yaml};
use serde_json::Value;

use crate::config::Config;
use crate::function::Function;

/// The settings in order, each under a comment with its origin.
pub fn show(config: &Config) -> String {
    let mut out = String::new();
    for (key, setting) in config.iter() {
        out.push_str(&format!("# {}\n", setting.origin));
        let entry = Entry {
            key: Arc::new(Node::new(Yaml::Text(key.into()))),
            value: Arc::new(node(&setting.value)),
        };
        let map = Map {
            entries: vec![entry],
        };
        out.push_str(&yaml::emit(&Node::new(Yaml::Map(map))));
    }
    out
}

/// A value with functions written as `!function module.name`.
fn node(value: &Value) -> Node {
    if let Some(function) = Function::from_json(value) {
        let mut node = Node::new(Yaml::Text(function.name.as_str().into()));
        node.tag = Some("!function".into());
        return node;
    }
    match value {
        Value::Array(items) => Node::new(Yaml::List(
            items.iter().map(|item| Arc::new(node(item))).collect(),
        )),
        Value::Object(map) => {
            let entry = |(key, value): (&String, &Value)| Entry {
                key: Arc::new(Node::new(Yaml::Text(key.as_str().into()))),
                value: Arc::new(node(value)),
            };
            Node::new(Yaml::Map(Map {
                entries: map.iter().map(entry).collect(),
            }))
        }
        scalar => yaml::from_json(scalar),
    }
}
