//! `MemoryQuestion`: what a memory is asked about a conversation, and what is right.

use serde::{Deserialize, Serialize};

use crate::TurnId;

/// A question about a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryQuestion {
    /// Its id, unique inside the dataset.
    pub id: String,
    /// The question.
    pub question: String,
    /// Answers that are right. Of a question that cannot be answered: phrases that say so.
    pub answers: Vec<String>,
    /// The kind of question, as its benchmark calls it.
    pub kind: String,
    /// The turns that the answer rests on, as far as the data marks them.
    pub evidence: Vec<TurnId>,
    /// Marks in the data that fit no turn. Measures leave them out, because no memory could
    /// find them; reports can say how many there are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unresolved_evidence: Vec<String>,
    /// Whether the conversation does not answer it: the right answer says so.
    pub abstention: bool,
    /// The answer that such a question is to mislead into, where the data has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub misleading: Option<String>,
    /// When it is asked, where the data says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<String>,
}

impl MemoryQuestion {
    /// The first of the right answers; empty when there is none.
    pub fn answer(&self) -> &str {
        self.answers.first().map_or("", String::as_str)
    }
}
