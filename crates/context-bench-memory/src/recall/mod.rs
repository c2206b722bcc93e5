//! `Memory`: takes in a conversation and recalls turns for a question.
//!
//! Each kind of memory is a file. They share what they keep ([`History`](history::History))
//! and differ in how they rank it; see [`MemoryKind`].

mod bm25;
mod embedding;
mod error;
mod history;
mod hybrid;
mod keyword;
mod kind;
mod naive;
mod neighbors;
mod none;
mod oracle;
mod ranked;
mod ranker;
mod settings;
mod state;
mod window;

use std::sync::Arc;

pub use self::error::{MemoryError, SettingsError};
pub use self::keyword::keyword_search;
pub use self::kind::MemoryKind;
pub use self::settings::MemorySettings;

use crate::embedding::Embed;
use crate::tokens::{CountTokens, CountWords};
use crate::{MemoryQuestion, Turn, TurnId};

/// Takes in a conversation and recalls turns for a question.
///
/// For each conversation: `reset`, `ingest`, then `recall` per question. The same calls
/// give the same result, always and on every machine.
pub trait Memory: Send + Sync {
    /// The name that reports show, with the settings that change results.
    fn name(&self) -> String;

    /// Forgets everything.
    fn reset(&mut self);

    /// Takes in turns behind those that it has.
    ///
    /// # Errors
    ///
    /// When a turn has the id of another one. Nothing is taken in then.
    fn ingest(&mut self, turns: &[Turn]) -> Result<Ingested, MemoryError>;

    /// What it has to say to a question.
    ///
    /// # Errors
    ///
    /// When the question lacks what this memory needs, as the oracle needs evidence.
    fn recall(&self, query: &Query<'_>) -> Result<Recalled, MemoryError>;

    /// What it took in, to be kept and loaded later. The same state has the same bytes.
    fn save(&self) -> Vec<u8>;

    /// Takes back what [`save`](Self::save) gave, in place of what it has.
    ///
    /// # Errors
    ///
    /// When the bytes are damaged, or of a memory with other settings; it has what it
    /// had before then.
    fn load(&mut self, state: &[u8]) -> Result<(), MemoryError>;
}

/// What was taken in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Ingested {
    /// How many turns.
    pub turns: usize,
    /// Their tokens, as lines that a model reads.
    pub tokens: u64,
}

/// A question to a memory, without its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Query<'a> {
    /// The question.
    pub text: &'a str,
    /// The turns that the data marks; only the oracle looks at them.
    pub evidence: Option<&'a [TurnId]>,
    /// The most tokens that may be recalled for it, where that is less than the settings
    /// of the memory say.
    pub budget_tokens: Option<u64>,
}

impl<'a> Query<'a> {
    /// A question of a user, of which nothing is marked.
    pub fn new(text: &'a str) -> Self {
        Self {
            text,
            evidence: None,
            budget_tokens: None,
        }
    }
}

impl<'a> From<&'a MemoryQuestion> for Query<'a> {
    fn from(asked: &'a MemoryQuestion) -> Self {
        Self {
            evidence: Some(&asked.evidence),
            ..Self::new(&asked.question)
        }
    }
}

/// What a memory recalled.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Recalled {
    /// The turns, best first; without scores the most recent first.
    pub turns: Vec<RecalledTurn>,
    /// The lines of the turns in the order of the conversation, for a model to read.
    pub text: String,
    /// The tokens of the lines; never more than the budget.
    pub tokens: u64,
}

/// A turn that was recalled.
#[derive(Debug, Clone, PartialEq)]
pub struct RecalledTurn {
    /// Its id.
    pub id: TurnId,
    /// Its position in what was taken in.
    pub position: usize,
    /// How well it fits the question; `None` where the memory does not rank. Scores of
    /// different kinds of memory are not comparable.
    pub score: Option<f64>,
    /// Its tokens.
    pub tokens: u64,
}

/// What memories need from outside.
#[derive(Clone)]
pub struct Tools {
    /// Counts the tokens of what is recalled.
    pub counter: Arc<dyn CountTokens>,
    /// Makes vectors of texts, for `embedding` and `hybrid`.
    pub embedder: Option<Arc<dyn Embed>>,
}

/// Counts words and has no embeddings.
impl Default for Tools {
    fn default() -> Self {
        Self {
            counter: Arc::new(CountWords),
            embedder: None,
        }
    }
}
