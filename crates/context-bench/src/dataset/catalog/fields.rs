//! `Layout` and `Fields`: which fields the examples of a config have, and an
//! example in the making.

use serde_json::{Map, Value};

use super::spec::Variant;
use crate::model::Example;

/// A field that the engine itself fills or reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Known {
    Id,
    Context,
    Question,
    Answer,
    Answers,
    Choices,
    CorrectLetter,
}

/// Every example begins with those of them that it has.
const FIRST: [(Known, &str); 7] = [
    (Known::Id, "id"),
    (Known::Context, "context"),
    (Known::Question, "question"),
    (Known::Answer, "answer"),
    (Known::Answers, "answers"),
    (Known::Choices, "choices"),
    (Known::CorrectLetter, "correct_letter"),
];

/// The fields of the examples of a config, in order: the known ones first, the
/// others as the config names them.
#[derive(Debug, Clone)]
pub(super) struct Layout {
    /// All names and no values. A copy of it keeps the hashes of the names, so
    /// no name is hashed again for each example.
    template: Map<String, Value>,
    known: [Option<usize>; FIRST.len()],
    /// Where the value of each template of the config goes.
    places: Vec<usize>,
}

impl Layout {
    pub(super) fn of(variant: &Variant) -> Self {
        let has = |name: &str| variant.fields.contains_key(name);
        let is_made = |known: Known| match known {
            Known::Context | Known::Choices | Known::CorrectLetter => variant.choices.is_some(),
            Known::Answer => variant.choices.is_some() || has("answers"),
            Known::Id | Known::Question | Known::Answers => false,
        };
        let first = FIRST
            .into_iter()
            .filter(|(known, name)| has(name) || is_made(*known))
            .map(|(_, name)| name);
        let others = variant.fields.keys().map(String::as_str);
        let others = others.filter(|name| FIRST.iter().all(|(_, first)| first != name));
        let names: Vec<&str> = first.chain(others).collect();
        let place = |name: &str| names.iter().position(|known| *known == name);
        Self {
            known: FIRST.map(|(_, name)| place(name)),
            places: variant
                .fields
                .keys()
                .filter_map(|name| place(name))
                .collect(),
            template: names
                .iter()
                .map(|name| ((*name).to_owned(), Value::Null))
                .collect(),
        }
    }

    /// The names in order.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.template.keys().map(String::as_str)
    }

    /// An example without any value yet.
    pub(super) fn fields(&self) -> Fields<'_> {
        Fields {
            layout: self,
            values: vec![None; self.template.len()],
        }
    }
}

/// The values that an example has so far.
pub(super) struct Fields<'e> {
    layout: &'e Layout,
    values: Vec<Option<Value>>,
}

impl Fields<'_> {
    /// Sets the value of the nth template of the config.
    pub(super) fn put(&mut self, nth: usize, value: Value) {
        let place = self.layout.places.get(nth);
        if let Some(field) = place.and_then(|place| self.values.get_mut(*place)) {
            *field = Some(value);
        }
    }

    pub(super) fn get(&self, known: Known) -> Option<&Value> {
        self.values.get(self.place(known)?)?.as_ref()
    }

    pub(super) fn set(&mut self, known: Known, value: Value) {
        let place = self.place(known);
        if let Some(field) = place.and_then(|place| self.values.get_mut(place)) {
            *field = Some(value);
        }
    }

    pub(super) fn take(&mut self, known: Known) -> Option<Value> {
        let place = self.place(known)?;
        self.values.get_mut(place)?.take()
    }

    fn place(&self, known: Known) -> Option<usize> {
        self.layout.known[known as usize]
    }
}

impl From<Fields<'_>> for Example {
    fn from(fields: Fields<'_>) -> Self {
        let mut map = fields.layout.template.clone();
        for (slot, value) in map.values_mut().zip(fields.values) {
            *slot = value.unwrap_or_default();
        }
        Example::from(map)
    }
}
