//! What rows of memory runs say beside their scores: the kind of question, its conversation,
//! and what taking in and asking took.

use serde_json::{Map, Value, json};

use super::arm::MEMORY;
use super::questions::{CONVERSATION, KIND, TURN_COUNT};
use crate::model::{CONVERSATION_ID, EvalRow, Example, Output};

/// The tokens of a memory's answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct MemoryTokens {
    /// Those of the whole history.
    pub(crate) history: u64,
    /// Those that the answer rests on, when the memory knows.
    pub(crate) context: Option<u64>,
}

impl MemoryTokens {
    /// Those of an output of a memory.
    pub(crate) fn of(output: &Output) -> Option<Self> {
        let memory = output.get(MEMORY)?;
        Some(Self {
            history: memory.get("history_tokens")?.as_u64()?,
            context: memory["context_tokens"].as_u64(),
        })
    }
}

/// Adds to a row what it says of memories; nothing where the example is not a question about
/// a conversation.
pub(crate) fn describe(row: &mut EvalRow, example: &Example, output: Option<&Output>) {
    let (Some(id), Some(_)) = (example.get(CONVERSATION_ID), example.get(CONVERSATION)) else {
        return;
    };
    let mut added = Map::new();
    added.insert(
        "qa_type".into(),
        example.get(KIND).cloned().unwrap_or_else(|| json!("")),
    );
    added.insert(CONVERSATION_ID.into(), id.clone());
    if let Some(turns) = example.get(TURN_COUNT) {
        added.insert(TURN_COUNT.into(), turns.clone());
    }
    if let Some(memory) = output.and_then(|output| output.get(MEMORY)) {
        let ingest = &memory["ingest"];
        for (key, value) in [
            ("ingest_latency", &ingest["seconds"]),
            ("ingest_tokens", &ingest["tokens"]),
            ("ingest_requests", &ingest["requests"]),
            ("ingest_usage", &ingest["usage"]),
            ("ingest_details", &ingest["details"]),
            ("ingest_kept", &memory["ingest_kept"]),
            ("query_latency", &json!(row.latency)),
            ("retrieve_latency", &memory["retrieve_seconds"]),
            ("answer_latency", &memory["answer_seconds"]),
            ("context_tokens", &memory["context_tokens"]),
            ("history_tokens", &memory["history_tokens"]),
        ] {
            if !value.is_null() {
                added.insert(key.into(), value.clone());
            }
        }
        let details = memory["details"].as_object().into_iter().flatten();
        for (key, value) in details {
            if !added.contains_key(key) {
                added.insert(key.clone(), value.clone());
            }
        }
    }
    let usage = row.reply.as_deref().filter(|reply| reply.tokens.reported);
    if let Some(reply) = usage {
        for (key, value) in reply.tokens.members() {
            added.entry(key).or_insert(value);
        }
    }
    row.added = Some(Box::new(added));
}

/// What is kept of it with the row; see [`restore`].
pub(crate) fn kept(row: &EvalRow) -> Value {
    match &row.added {
        Some(added) => Value::Object((**added).clone()),
        None => Value::Null,
    }
}

/// Gives a row back what was kept of it.
pub(crate) fn restore(row: &mut EvalRow, kept: &Value) {
    if let Value::Object(added) = kept {
        row.added = Some(Box::new(added.clone()));
    }
}
