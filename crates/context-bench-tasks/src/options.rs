//! How prompts are built: examples, chat, limits.

use serde_json::{Map, Value};

use crate::error::{Error, Result};

/// The few-shot seed when none is given.
pub const SEED: i64 = 1234;

/// How prompts are built.
#[derive(Debug, Clone)]
pub struct Options {
    /// Examples per prompt; does not replace a 0 of the task.
    pub num_fewshot: Option<usize>,
    /// Seed of the examples.
    pub seed: i64,
    /// Messages instead of text.
    pub chat: Option<Chat>,
    /// In front of everything.
    pub system_instruction: Option<String>,
    /// Merged over the task's generation settings.
    pub generation: Map<String, Value>,
    /// How many documents.
    pub limit: Option<Limit>,
    /// Only these documents, by their place in the split.
    pub documents: Option<Vec<usize>>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            num_fewshot: None,
            seed: SEED,
            chat: None,
            system_instruction: None,
            generation: Map::new(),
            limit: None,
            documents: None,
        }
    }
}

/// How examples become messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Chat {
    /// Each example is a question of the user and an answer of the assistant.
    MultiTurn,
    /// All examples and the question are one message of the user.
    SingleTurn,
}

/// A part of the documents.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Limit {
    /// So many.
    Count(usize),
    /// This share, rounded up.
    Share(f64),
}

impl Limit {
    /// Below 1 a share, else a number.
    pub fn new(limit: f64) -> Result<Self> {
        if limit.is_nan() || limit <= 0.0 {
            return Err(
                Error::new(format!("a limit of {limit} leaves no documents"))
                    .with_hint("give a number of documents, or a share below 1"),
            );
        }
        Ok(if limit < 1.0 {
            Limit::Share(limit)
        } else {
            Limit::Count(limit as usize)
        })
    }

    /// How many of `n` documents.
    pub fn apply(self, n: usize) -> usize {
        match self {
            Limit::Count(count) => count.min(n),
            Limit::Share(share) => (n as f64 * share).ceil() as usize,
        }
    }
}
