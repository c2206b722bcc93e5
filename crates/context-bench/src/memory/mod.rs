//! `MemorySystem`: something that remembers a conversation and answers from it.
//!
//! Only the contract lives here so far; the runner that drives it comes with
//! the memory datasets.

use async_trait::async_trait;

use crate::model::Turn;
use crate::system::SystemError;

/// Remembers a conversation and answers questions about it.
///
/// For each conversation the runner calls `reset`, `ingest` once with the whole
/// history, then `query` for every question. Calls never overlap.
#[async_trait]
pub trait MemorySystem: Send + Sync {
    /// The name that reports show; unique within a run.
    fn name(&self) -> &str;

    /// Forgets everything.
    async fn reset(&mut self) -> Result<(), SystemError>;

    /// Takes in the whole history, in order.
    async fn ingest(&mut self, turns: &[Turn]) -> Result<(), SystemError>;

    /// Answers one question from memory.
    async fn query(&mut self, question: &str) -> Result<Recall, SystemError>;
}

/// The answer to one question, and how much was read to find it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Recall {
    /// The answer.
    pub answer: String,
    /// Tokens of memory that the answer rests on, when the system knows.
    pub context_tokens: Option<u64>,
}

/// A plain answer; how much was read is not known.
impl From<&str> for Recall {
    fn from(answer: &str) -> Self {
        Self {
            answer: answer.to_owned(),
            context_tokens: None,
        }
    }
}
