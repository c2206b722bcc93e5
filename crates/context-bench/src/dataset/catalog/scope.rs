//! `Scope`: what the templates of a dataset see of a record.

use context_bench_records::Record;
use context_bench_template::jinja;
use serde_json::Value;

use super::template::Template;

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
    pub(super) record: Record,
    /// The record as one value, for templates that [read it so](reads_whole).
    pub(super) whole: Option<Value>,
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

/// Whether a template reads the record as one value.
pub(super) fn reads_whole(template: &Template) -> bool {
    template.names().iter().any(|name| name == "record")
}

impl Scope<'_> {
    /// Takes a column out of the record; nothing when it is not there.
    pub(super) fn take(&mut self, column: &str) -> Option<Value> {
        self.record.take(column)
    }
}

impl jinja::Record for Scope<'_> {
    fn get(&self, name: &str) -> Option<&Value> {
        let given = match name {
            "record" => self.whole.as_ref(),
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
        let columns = self.record.iter().map(|(name, _)| name);
        columns.filter(|name| !GIVEN.contains(name)).collect()
    }
}
