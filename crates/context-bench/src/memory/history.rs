//! `History`: a conversation as a run hands it from question to question.

use std::sync::{Arc, OnceLock};

use context_bench_memory::{Conversation, Turn};

use crate::model::Example;
use crate::tokens::TokenCounter;

/// A conversation with what is worked out about it once. The examples that ask about it
/// share it, and it goes with the last of them.
#[derive(Debug)]
pub struct History {
    /// The id of the conversation.
    pub id: String,
    /// Its turns in order.
    pub turns: Vec<Turn>,
    /// A digest of its content.
    pub digest: String,
    /// About how many bytes of memory it takes.
    pub(crate) n_bytes: usize,
    /// How many questions about it are asked.
    pub(crate) n_questions: usize,
    tokens: OnceLock<u64>,
}

impl History {
    pub(super) fn new(conversation: Conversation, n_questions: usize) -> Self {
        let digest = conversation.digest();
        let bytes = |turn: &Turn| {
            let picture = turn.picture.as_ref().map_or(0, String::len);
            size_of::<Turn>() + turn.text.len() + picture
        };
        let n_bytes = conversation.turns().map(bytes).sum();
        let sessions = conversation.sessions.into_iter();
        Self {
            id: conversation.id,
            turns: sessions.flat_map(|session| session.turns).collect(),
            digest,
            n_bytes,
            n_questions,
            tokens: OnceLock::new(),
        }
    }

    /// The history that an example asks about.
    pub fn of(example: &Example) -> Option<Arc<Self>> {
        let shared = Arc::clone(example.shared()?);
        shared.downcast().ok()
    }

    /// The tokens of all turns, as lines that a model reads.
    pub(super) fn tokens(&self, counter: &dyn TokenCounter) -> u64 {
        let count = |turn: &Turn| counter.try_count(&turn.line()).unwrap_or(0);
        *self
            .tokens
            .get_or_init(|| self.turns.iter().map(count).sum())
    }
}
