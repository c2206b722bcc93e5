//! `MemorySystem`: one instance of a memory; `MemoryProvider`: where instances come from.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use context_bench_memory::{Turn, TurnId};
use serde_json::{Map, Value};

use crate::model::{CallStats, Example, Identity, Output};
use crate::system::SystemError;

/// Remembers one conversation at a time and answers questions about it.
///
/// For each conversation the run calls `reset`, then `ingest` once with the whole history,
/// then `query` for every question. `reset` and `ingest` never overlap with another call of
/// the same instance; queries do only if [`MemoryProvider::queries_overlap`].
#[async_trait]
pub trait MemorySystem: Send + Sync {
    /// Forgets everything.
    async fn reset(&self) -> Result<(), SystemError>;

    /// Takes in the whole history, in order.
    async fn ingest(&self, turns: &[Turn]) -> Result<Ingest, SystemError>;

    /// Answers one question from memory.
    async fn query(&self, query: &MemoryQuery<'_>) -> Result<MemoryAnswer, SystemError>;

    /// What was taken in, as bytes that [`load`](Self::load) of another instance takes back;
    /// `None` (the default) when the memory cannot save itself.
    async fn save(&self) -> Result<Option<Vec<u8>>, SystemError> {
        Ok(None)
    }

    /// Takes back what [`save`](Self::save) gave, in place of `reset` and `ingest`. False
    /// (the default) when it cannot: the conversation is then taken in again.
    async fn load(&self, state: &[u8]) -> Result<bool, SystemError> {
        let _ = state;
        Ok(false)
    }
}

/// A memory by name: gives instances of it.
#[async_trait]
pub trait MemoryProvider: Send + Sync {
    /// The name that reports show; unique within a run.
    fn name(&self) -> &str;

    /// Every setting that can change an answer, so that stored answers can be reused.
    /// `None` (the default) means that they never are.
    fn identity(&self) -> Option<Identity> {
        None
    }

    /// Every setting that can change what is saved of a conversation. `None` (the default)
    /// means that nothing is saved.
    fn state_identity(&self) -> Option<Identity> {
        None
    }

    /// How many instances there can be.
    fn instances(&self) -> Instances {
        Instances::Many
    }

    /// Whether an instance can answer several questions at the same time. The default is
    /// false.
    fn queries_overlap(&self) -> bool {
        false
    }

    /// An instance that has taken in nothing. Of [`Instances::One`] it is always the same.
    async fn open(&self) -> Result<Arc<dyn MemorySystem>, SystemError>;
}

/// How many instances of a memory there can be at the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Instances {
    /// One: conversations are served one after the other.
    One,
    /// As many as are needed: conversations are served side by side.
    Many,
}

/// A question to a memory.
#[derive(Debug, Clone, Copy)]
pub struct MemoryQuery<'a> {
    /// The question.
    pub question: &'a str,
    /// When it is asked, where the data says so.
    pub asked: Option<&'a str>,
    /// The most tokens of memory that the answer may rest on.
    pub budget_tokens: Option<u64>,
    /// The turns that the data marks as evidence. Only bounds may look at them.
    pub evidence: Option<&'a [TurnId]>,
    /// The question as an example, with the prompt of its dataset.
    pub example: &'a Example,
}

/// What taking in a conversation took.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Ingest {
    /// Tokens of the history, when the memory counted them.
    pub tokens: Option<u64>,
    /// What the calls cost, when it made any.
    pub call: Option<CallStats>,
    /// The usage that endpoints reported, summed up.
    pub usage: Option<Map<String, Value>>,
    /// Anything else that the memory says about it.
    pub details: Map<String, Value>,
}

/// The answer to one question, and what it rests on.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct MemoryAnswer {
    /// The answer. Of a memory that asks a model through the library also what the endpoint
    /// said about it ([`output`](Self::output)).
    pub answer: String,
    /// The output of the system that answered, with usage and remarks, where there is one.
    pub output: Option<Output>,
    /// The text of memory that the answer rests on, when the memory shows it.
    pub context: Option<String>,
    /// Its tokens, when the memory knows.
    pub context_tokens: Option<u64>,
    /// The turns that were recalled, best first, when the memory knows.
    pub recalled: Option<Vec<TurnId>>,
    /// How long its stages took, when it knows.
    pub times: StageTimes,
    /// What its own calls cost, when it made any.
    pub call: Option<CallStats>,
    /// The usage that endpoints reported, summed up.
    pub usage: Option<Map<String, Value>>,
    /// Anything else that the memory says about it.
    pub details: Map<String, Value>,
}

/// A plain answer; what it rests on is not known.
impl From<&str> for MemoryAnswer {
    fn from(answer: &str) -> Self {
        Self {
            answer: answer.to_owned(),
            ..Self::default()
        }
    }
}

/// How long the stages of a query took.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StageTimes {
    /// Finding what to answer from.
    pub retrieve: Option<Duration>,
    /// Answering from it.
    pub answer: Option<Duration>,
}
