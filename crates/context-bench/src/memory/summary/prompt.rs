//! What the model is asked when a summary is written anew.

use serde_json::json;

use crate::model::Example;
use crate::system::GENERATION_SETTINGS;

/// Raised whenever the words below change: summaries then may.
pub(super) const VERSION: u32 = 1;

/// The request for a summary of what was known and what was said since then.
pub(super) fn request(summary: &str, lines: &str, summary_tokens: u64) -> Example {
    // Models know words rather than tokens, of which there are about four to three words.
    let words = (summary_tokens * 3 / 4).max(1);
    let system = format!(
        "You keep notes on a long conversation, from which questions will be answered later, by \
         someone who sees nothing else of it. You get the notes so far and what was said since \
         then. Write the notes anew. Keep every fact that may be asked for: who did, said, owns or \
         likes what, names, numbers, places, plans, and dates beside what happened on them. Where \
         something was corrected or has changed, write what holds now and when it changed. Leave \
         out greetings and small talk. Use short plain sentences with names instead of pronouns, \
         at most {words} words in all. Reply with the notes and nothing else."
    );
    let known = match summary.is_empty() {
        true => "(none)",
        false => summary,
    };
    let user = format!("Notes so far:\n{known}\n\nSaid since then:\n{lines}");
    Example::new()
        .with(
            "messages",
            json!([
                {"role": "system", "content": system},
                {"role": "user", "content": user},
            ]),
        )
        .with(GENERATION_SETTINGS, json!({"max_gen_toks": summary_tokens}))
}

/// What the system that answers reads.
pub(super) fn context(summary: &str, lines: &[&str]) -> String {
    let mut parts = Vec::new();
    if !summary.is_empty() {
        parts.push(format!("Notes on the conversation:\n{summary}"));
    }
    if !lines.is_empty() {
        parts.push(format!("Last turns:\n{}", lines.join("\n")));
    }
    parts.join("\n\n")
}
