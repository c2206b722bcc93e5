//! `Fields`: an example in the making.

use serde_json::{Map, Value};

use crate::model::Example;

/// Fields that every example begins with when it has them.
const FIRST: [&str; 7] = [
    "id",
    "context",
    "question",
    "answer",
    "answers",
    "choices",
    "correct_letter",
];

/// Named values, few enough to be searched one after the other.
pub(super) struct Fields<'e>(Vec<(&'e str, Value)>);

impl<'e> Fields<'e> {
    /// Fields that are still to be given their values, in this order.
    pub(super) fn named(names: impl ExactSizeIterator<Item = &'e String>) -> Self {
        // Options and answers add a few.
        let mut fields = Vec::with_capacity(names.len() + 4);
        fields.extend(names.map(|name| (name.as_str(), Value::Null)));
        Self(fields)
    }

    /// Gives the field at that place its value.
    pub(super) fn put(&mut self, at: usize, value: Value) {
        if let Some((_, field)) = self.0.get_mut(at) {
            *field = value;
        }
    }

    fn place(&self, name: &str) -> Option<usize> {
        self.0.iter().position(|(known, _)| *known == name)
    }

    pub(super) fn get(&self, name: &str) -> Option<&Value> {
        self.place(name).map(|at| &self.0[at].1)
    }

    pub(super) fn set(&mut self, name: &'e str, value: Value) {
        match self.place(name) {
            Some(at) => self.0[at].1 = value,
            None => self.0.push((name, value)),
        }
    }

    pub(super) fn take(&mut self, name: &str) -> Option<Value> {
        self.place(name).map(|at| self.0.remove(at).1)
    }
}

impl From<Fields<'_>> for Example {
    /// The well-known fields first, the others in the order they were set.
    fn from(mut fields: Fields<'_>) -> Self {
        let rank = |name: &str| FIRST.iter().position(|first| *first == name);
        fields
            .0
            .sort_by_key(|(name, _)| rank(name).unwrap_or(FIRST.len()));
        let mut map = Map::with_capacity(fields.0.len());
        for (name, value) in fields.0 {
            map.insert(name.to_owned(), value);
        }
        Example::from(map)
    }
}
