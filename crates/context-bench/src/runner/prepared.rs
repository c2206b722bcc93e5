//! `Prepared`: an example on its way through all systems.
//!
//! It is shared by the systems, so its tokens are counted once, and output
//! fields that a system left as they were are not counted again.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use serde_json::{Map, Value};

use super::reuse::{ReusedAnswer, StoreLookup};
use crate::model::{DocumentMark, Example, ExampleError, ExampleId, Output};
use crate::store::Key;
use crate::tokens::{TextFields, TokenCounter, counted_texts, given_texts};

/// The tokens of a row, as far as they are counted here.
#[derive(Default)]
pub(super) struct Counted {
    /// All text fields of the example.
    pub(super) input: u64,
    /// All text fields of the processed map.
    pub(super) output: u64,
    /// What the system was given.
    pub(super) given: u64,
    /// The context of the example.
    pub(super) context: u64,
    /// What it handed on, by its processed map.
    pub(super) handed_on: u64,
    /// What came back.
    pub(super) response: u64,
}

/// Tokens of each field of an example, of which a table may have very many.
type FieldTokens = HashMap<Box<str>, u64>;

/// An example with what the runner knows about it.
pub(super) struct Prepared {
    pub(super) example: Arc<Example>,
    pub(super) position: usize,
    /// The how manieth to be asked about.
    pub(super) turn: usize,
    pub(super) id: ExampleId,
    pub(super) dataset: Arc<str>,
    /// Set when the example cannot be used; every system then gets a failed row.
    pub(super) problem: Option<ExampleError>,
    /// The document that it is about.
    pub(super) document: DocumentMark,
    /// The content address, when there is a store.
    pub(super) key: Option<Key>,
    /// Per system: what the store holds.
    pub(super) lookups: Vec<StoreLookup>,
    tokens: OnceLock<Result<FieldTokens, String>>,
}

impl Prepared {
    pub(super) fn new(example: Example, position: usize, last_tag: &mut Arc<str>) -> Self {
        // Neighbours nearly always share their tag: one allocation for all of them.
        if **last_tag != *example.dataset() {
            *last_tag = example.dataset().into();
        }
        let (id, problem) = match example.id(position) {
            Ok(id) => (id, example.conversation().err()),
            Err(problem) => (ExampleId::from(position), Some(problem)),
        };
        Self {
            position,
            turn: position,
            id,
            dataset: Arc::clone(last_tag),
            problem,
            document: DocumentMark::of(&example),
            key: None,
            lookups: Vec::new(),
            tokens: OnceLock::new(),
            example: Arc::new(example),
        }
    }

    /// What the store holds of a system's answer, if that is everything.
    pub(super) fn stored_whole(&self, system: usize) -> Option<&ReusedAnswer> {
        match self.lookups.get(system)? {
            StoreLookup::Answer(stored) => Some(&**stored).filter(|stored| stored.is_complete()),
            _ => None,
        }
    }

    /// Whether there is nothing to call or score for any system.
    pub(super) fn is_stored_whole(&self) -> bool {
        self.lookups.iter().all(|lookup| match lookup {
            StoreLookup::Answer(stored) => stored.is_complete(),
            StoreLookup::Failure(_) | StoreLookup::NoRow => true,
            StoreLookup::Nothing | StoreLookup::Unread(_) => false,
        })
    }

    /// Tokens of the example, or why they are not known.
    pub(super) fn input_tokens(
        &self,
        fields: &TextFields,
        counter: &dyn TokenCounter,
    ) -> Result<u64, String> {
        let known = self.by_field(fields, counter)?;
        Ok(known.values().sum())
    }

    /// Tokens of the example and of the processed map, or why they are not known.
    pub(super) fn tokens(
        &self,
        output: &Output,
        fields: &TextFields,
        counter: &dyn TokenCounter,
    ) -> Result<Counted, String> {
        let known = self.by_field(fields, counter)?;
        let mut counted = Counted {
            input: known.values().sum(),
            ..Counted::default()
        };
        let mut of_output: HashMap<&str, u64> = HashMap::new();
        for (key, text) in counted_texts(output.fields(), fields) {
            let same = self.example.text(key) == Some(text);
            let n = match known.get(key).filter(|_| same) {
                Some(n) => *n,
                None => counter.try_count(text)?,
            };
            counted.output += n;
            of_output.insert(key, n);
        }
        let total = |map: &Map<String, Value>, known: &dyn Fn(&str) -> Option<u64>| {
            let texts = given_texts(map, fields);
            let count = |(key, text): (Option<&str>, &str)| match key.and_then(known) {
                Some(n) => Ok(n),
                None => counter.try_count(text),
            };
            texts.into_iter().map(count).sum::<Result<u64, String>>()
        };
        counted.given = total(self.example.fields(), &|key| known.get(key).copied())?;
        counted.context = known.get("context").copied().unwrap_or(0);
        let of = |key: &str| of_output.get(key).copied();
        counted.handed_on = total(output.fields(), &of)?;
        counted.response = match (of("response"), output.get("response")) {
            (Some(n), _) => n,
            (None, Some(Value::String(text))) => counter.try_count(text)?,
            _ => 0,
        };
        Ok(counted)
    }

    /// The longest text of the example, and its tokens.
    pub(super) fn longest_counted(
        &self,
        fields: &TextFields,
        counter: &dyn TokenCounter,
    ) -> Option<(&str, u64)> {
        let known = self.by_field(fields, counter).ok()?;
        let texts = counted_texts(self.example.fields(), fields);
        let (key, text) = texts.max_by_key(|(_, text)| text.len())?;
        Some((text, *known.get(key)?))
    }

    fn by_field(
        &self,
        fields: &TextFields,
        counter: &dyn TokenCounter,
    ) -> Result<&FieldTokens, String> {
        let counted = self.tokens.get_or_init(|| {
            counted_texts(self.example.fields(), fields)
                .map(|(key, text)| Ok((key.into(), counter.try_count(text)?)))
                .collect()
        });
        counted.as_ref().map_err(Clone::clone)
    }
}
