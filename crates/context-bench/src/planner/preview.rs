//! A look at a plan before anything is sent: how much would be asked, and what the
//! store already holds.

use std::sync::Arc;

use super::{PlanError, PlannedRun};
use crate::store::{Key, ResponseKey, ResponseQuery, Store, SystemEntry};
use crate::system::System;
use crate::tokens::TokenCounter;

/// How many examples are looked up in the store at once.
const AT_ONCE: usize = 1024;

/// What a run would do.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Preview {
    /// Examples, repeats included.
    pub examples: usize,
    /// Per benchmark, by tag: how many of them.
    pub by_tag: indexmap::IndexMap<String, usize>,
    /// Per system.
    pub systems: Vec<SystemPreview>,
}

/// What a run would do with one system.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SystemPreview {
    /// The system.
    pub name: String,
    /// Answers that the store holds already.
    pub stored: usize,
    /// Examples that would be sent.
    pub to_ask: usize,
    /// Tokens of the prompts of all examples; `None` when that shows only in the run.
    pub prompt_tokens: Option<u64>,
    /// Tokens of the prompts that would be sent.
    pub tokens_to_ask: Option<u64>,
}

impl PlannedRun {
    /// Goes through all examples without asking anybody. Blocks while it reads.
    ///
    /// # Errors
    ///
    /// When the dataset or the store cannot be read.
    pub fn preview(self, store: Option<&Store>) -> Result<Preview, PlanError> {
        let mut preview = Preview {
            systems: self
                .systems
                .systems
                .iter()
                .map(|system| SystemPreview {
                    name: system.name().to_owned(),
                    prompt_tokens: Some(0),
                    tokens_to_ask: Some(0),
                    ..SystemPreview::default()
                })
                .collect(),
            ..Preview::default()
        };
        let systems = &self.systems.systems;
        let keys: Vec<Option<Key>> = systems
            .iter()
            .map(|system| {
                let identity = system.identity()?;
                Some(SystemEntry::new(system.name(), identity).key())
            })
            .collect();
        let mut examples = self.examples.into_iter();
        loop {
            let batch: Result<Vec<_>, _> = examples.by_ref().take(AT_ONCE).collect();
            let batch = batch?;
            if batch.is_empty() {
                return Ok(preview);
            }
            preview.examples += batch.len();
            for example in &batch {
                *preview
                    .by_tag
                    .entry(example.dataset().to_owned())
                    .or_default() += 1;
            }
            let example_keys: Vec<Key> = match store {
                Some(_) => batch.iter().map(Key::example).collect(),
                None => Vec::new(),
            };
            for (at, system) in systems.iter().enumerate() {
                let mut is_stored = vec![false; batch.len()];
                if let (Some(store), Some(key)) = (store, keys[at]) {
                    let wanted: Vec<ResponseQuery<'_>> = example_keys
                        .iter()
                        .zip(&batch)
                        .map(|(example, of)| ResponseQuery {
                            response: ResponseKey::new(*example, key, of.repeat()),
                            scorers: &[],
                        })
                        .collect();
                    for (is_stored, found) in is_stored.iter_mut().zip(store.find(&wanted)?) {
                        *is_stored = found.is_some();
                    }
                }
                let entry = &mut preview.systems[at];
                for (example, is_stored) in batch.iter().zip(is_stored) {
                    let tokens = prompt_tokens(system, example, &*self.counter);
                    entry.prompt_tokens = add(entry.prompt_tokens, tokens);
                    if is_stored {
                        entry.stored += 1;
                    } else {
                        entry.to_ask += 1;
                        entry.tokens_to_ask = add(entry.tokens_to_ask, tokens);
                    }
                }
            }
        }
    }
}

fn add(sum: Option<u64>, tokens: Option<u64>) -> Option<u64> {
    Some(sum? + tokens?)
}

/// Tokens of what a system would send about an example.
fn prompt_tokens(
    system: &Arc<dyn System>,
    example: &crate::model::Example,
    counter: &dyn TokenCounter,
) -> Option<u64> {
    let texts = system.prompt(example)?;
    let mut sum = 0;
    for text in texts {
        sum += counter.try_count(&text).ok()?;
    }
    Some(sum)
}
