//! `Scope`: what the templates of a dataset see of a record.

use context_bench_template::jinja;
use serde_json::Value;

/// Names that templates know besides the columns of a record. A column of the
/// same name is reached as `record.name`.
pub(super) const GIVEN: [&str; 6] = [
    "record",
    "index",
    "config",
    "split",
    "loop_index",
    "options_text",
];

/// The columns of a record and the given names.
pub(super) struct Scope<'e> {
    /// The record: a map.
    pub(super) record: Value,
    /// Its place among the records of the config, from 0.
    pub(super) index: Value,
    pub(super) config: &'e Value,
    pub(super) split: &'e Value,
    /// In a dataset that makes several examples of a record.
    pub(super) item: Option<Item<'e>>,
    pub(super) options_text: Option<Value>,
}

/// One of the items of a record that become examples.
pub(super) struct Item<'e> {
    pub(super) name: &'e str,
    pub(super) value: Value,
    /// Its place among them, from 0.
    pub(super) index: Value,
}

impl Scope<'_> {
    /// Takes a column out of the record; nothing when it is not there.
    pub(super) fn take(&mut self, column: &str) -> Option<Value> {
        self.record.get_mut(column).map(Value::take)
    }
}

impl jinja::Record for Scope<'_> {
    fn get(&self, name: &str) -> Option<&Value> {
        let given = match name {
            "record" => Some(&self.record),
            "index" => Some(&self.index),
            "config" => Some(self.config),
            "split" => Some(self.split),
            "loop_index" => self.item.as_ref().map(|item| &item.index),
            "options_text" => self.options_text.as_ref(),
            _ => None,
        };
        let item = self.item.as_ref().filter(|item| item.name == name);
        item.map(|item| &item.value)
            .or(given)
            .or_else(|| self.record.get(name))
    }

    fn names(&self) -> Vec<&str> {
        let columns = self
            .record
            .as_object()
            .into_iter()
            .flat_map(|map| map.keys());
        let columns = columns.map(String::as_str);
        columns.filter(|name| !GIVEN.contains(name)).collect()
    }
}
