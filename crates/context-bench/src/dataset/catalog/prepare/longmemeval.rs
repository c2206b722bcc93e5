//! LongMemEval: sessions of chat and one question about them.

use context_bench_memory::Conversation;
use serde_json::Value;

use super::{Rows, Tables, each, memory_example};
use crate::dataset::DatasetError;

/// One record per question with `id`, `turns`, `transcript` (the sessions by date, as the
/// authors show them) and `qa_pairs` (one pair, or none when the record lacks a question or
/// an answer).
pub(super) fn prepare(rows: Rows, _: Tables) -> Result<Rows, DatasetError> {
    let mut index = 0_usize;
    Ok(each(rows, move |mut row| {
        let id = match row.get("question_id") {
            Value::Null => index.into(),
            id => id.clone(),
        };
        let example = memory_example(&mut row, index)?;
        index += 1;
        let (turns, questions) = example.turns_and_questions();
        Ok(row.becomes([
            ("id", id),
            ("turns", turns),
            ("transcript", transcript(&example.conversation).into()),
            ("qa_pairs", questions),
        ]))
    }))
}

/// The sessions, which are in the order of their dates, each under its number with its date.
fn transcript(conversation: &Conversation) -> String {
    let mut text = String::new();
    let held = conversation.sessions.iter();
    let held = held.filter(|session| !session.turns.is_empty());
    for (n, session) in held.enumerate() {
        if n > 0 {
            text.push_str("\n\n");
        }
        text.push_str(&format!("### Session {}:\n", n + 1));
        if let Some(date) = &session.time {
            text.push_str(&format!("Session Date: {date}\n"));
        }
        let said = session.turns.iter();
        let said: Vec<String> = said
            .map(|turn| format!("{}: {}", turn.role, turn.text))
            .collect();
        text.push_str(&format!("Session Content:\n{}", said.join("\n\n")));
    }
    text
}
