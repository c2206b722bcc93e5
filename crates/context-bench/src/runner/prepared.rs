//! `Prepared`: an example on its way through all systems.
//!
//! It is shared by the systems, so its tokens are counted once, and output
//! fields that a system left as they were are not counted again.

use std::sync::{Arc, OnceLock};

use super::reuse::{Held, Stored};
use crate::model::{Example, ExampleError, ExampleId, Output};
use crate::store::Key;
use crate::tokens::{TextFields, TokenCounter, counted_texts};

/// Tokens of each field of an example.
type FieldTokens = Vec<(Box<str>, u64)>;

/// An example with what the runner knows about it.
pub(super) struct Prepared {
    pub(super) example: Arc<Example>,
    pub(super) position: usize,
    pub(super) id: ExampleId,
    pub(super) dataset: Arc<str>,
    /// Set when the example cannot be used; every system then gets a failed row.
    pub(super) problem: Option<ExampleError>,
    /// The content address, when there is a store.
    pub(super) key: Option<Key>,
    /// Per system: what the store holds.
    pub(super) held: Vec<Held>,
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
            id,
            dataset: Arc::clone(last_tag),
            problem,
            key: None,
            held: Vec::new(),
            tokens: OnceLock::new(),
            example: Arc::new(example),
        }
    }

    /// What the store holds of a system's answer, if that is everything.
    pub(super) fn stored_whole(&self, system: usize) -> Option<&Stored> {
        match self.held.get(system)? {
            Held::Answer(stored) => Some(&**stored).filter(|stored| stored.is_complete()),
            _ => None,
        }
    }

    /// Whether there is nothing to call or score for any system.
    pub(super) fn is_stored_whole(&self) -> bool {
        self.held.iter().all(|held| match held {
            Held::Answer(stored) => stored.is_complete(),
            Held::Failure(_) | Held::NoRow => true,
            Held::Nothing | Held::Unread(_) => false,
        })
    }

    /// Tokens of the example, or why they are not known.
    pub(super) fn input_tokens(
        &self,
        fields: &TextFields,
        counter: &dyn TokenCounter,
    ) -> Result<u64, String> {
        let known = self.by_field(fields, counter)?;
        Ok(known.iter().map(|(_, n)| n).sum())
    }

    /// Tokens of the example and of the processed map, or why they are not known.
    pub(super) fn tokens(
        &self,
        output: &Output,
        fields: &TextFields,
        counter: &dyn TokenCounter,
    ) -> Result<(u64, u64), String> {
        let known = self.by_field(fields, counter)?;
        let mut n_output = 0;
        for (key, text) in counted_texts(output.fields(), fields) {
            let same = self.example.text(key) == Some(text);
            let known = known.iter().find(|(field, _)| same && **field == *key);
            n_output += match known {
                Some((_, n)) => *n,
                None => counter.try_count(text)?,
            };
        }
        Ok((self.input_tokens(fields, counter)?, n_output))
    }

    fn by_field(
        &self,
        fields: &TextFields,
        counter: &dyn TokenCounter,
    ) -> Result<&[(Box<str>, u64)], String> {
        let counted = self.tokens.get_or_init(|| {
            counted_texts(self.example.fields(), fields)
                .map(|(key, text)| Ok((key.into(), counter.try_count(text)?)))
                .collect()
        });
        counted.as_deref().map_err(Clone::clone)
    }
}
