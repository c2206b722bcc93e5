//! LoCoMo's own file: sessions `session_1`, `session_2`… of two people, with questions.

use std::collections::HashSet;
use std::sync::Arc;

use context_bench_scoring::official::locomo::Category;
use context_bench_scoring::text::stringify::python_str;
use serde_json::Value;

use super::field::Fields;
use super::{MemoryDataError, MemoryExample, SkippedQuestion};
use crate::{Conversation, MemoryQuestion, Session, Turn, TurnId};

/// What a right answer to a question about something never said contains, as the
/// benchmark's own scorer looks for it.
const NOT_SAID: [&str; 2] = ["No information available", "Not mentioned"];

pub(super) fn example(
    record: &Fields<'_>,
    at: usize,
    skipped: &mut Vec<SkippedQuestion>,
) -> Result<MemoryExample, MemoryDataError> {
    let id = record.optional("sample_id")?;
    let id = id.unwrap_or_else(|| at.to_string());
    let sessions = sessions(&record.map("conversation")?)?;
    let conversation = Conversation { id, sessions };
    let turns: HashSet<&TurnId> = conversation.turns().map(|turn| &turn.id).collect();
    if turns.is_empty() {
        return Err(record.wrong("`conversation` has no turns".into()));
    }
    if turns.len() < conversation.n_turns() {
        return Err(record.wrong("two turns of `conversation` have the same `dia_id`".into()));
    }
    let mut questions = Vec::new();
    for (n, asked) in record.maps("qa")?.iter().enumerate() {
        match question(asked, &turns)? {
            Ok(question) => questions.push(MemoryQuestion {
                id: format!("{}_{n}", conversation.id),
                ..question
            }),
            Err(reason) => skipped.push(SkippedQuestion {
                place: record.place().clone(),
                reason: format!("`qa[{n}]` {reason}"),
            }),
        }
    }
    Ok(MemoryExample {
        conversation,
        questions,
    })
}

fn sessions(conversation: &Fields<'_>) -> Result<Vec<Session>, MemoryDataError> {
    let mut found = Vec::new();
    // The first to speak is the user, the other one the assistant.
    let mut speakers: Vec<Arc<str>> = Vec::new();
    for n in 1.. {
        let name = format!("session_{n}");
        let time_key = format!("{name}_date_time");
        // Conversations have times of sessions that were never held.
        if !conversation.has(&name) {
            match conversation.has(&time_key) {
                true => continue,
                false => break,
            }
        }
        let (id, time) = (Arc::<str>::from(name), conversation.optional(&time_key)?);
        let time: Option<Arc<str>> = time.map(Into::into);
        let mut turns = Vec::new();
        for (m, said) in conversation.maps(&id)?.iter().enumerate() {
            let speaker: Arc<str> = said.required("speaker")?.into();
            let known = speakers.iter().position(|name| *name == speaker);
            let nth = known.unwrap_or_else(|| {
                speakers.push(Arc::clone(&speaker));
                speakers.len() - 1
            });
            turns.push(Turn {
                // As the authors number them, where a copy leaves that out.
                id: match said.optional("dia_id")? {
                    Some(id) => id.into(),
                    None => format!("D{n}:{}", m + 1).into(),
                },
                role: if nth % 2 == 0 { "user" } else { "assistant" }.into(),
                speaker: Some(speaker),
                text: said.text("text")?,
                picture: said.optional("blip_caption")?,
                time: time.clone(),
                session: Some(Arc::clone(&id)),
            });
        }
        found.push(Session { id, time, turns });
    }
    Ok(found)
}

/// A question of LoCoMo by its parts, as copies of the benchmark have them; `None` when it
/// cannot be used. What stands as the answer of a question about something that was never
/// said is the one that misleads.
pub fn locomo_question(
    question: &Value,
    answer: &Value,
    category: &Value,
) -> Option<MemoryQuestion> {
    let text = |value: &Value| match value {
        Value::Null => String::new(),
        value => python_str(value).trim().to_owned(),
    };
    put_together(text(question), text(answer), text(category), None).ok()
}

/// A question without its id, or why it is left out.
fn question(
    asked: &Fields<'_>,
    turns: &HashSet<&TurnId>,
) -> Result<Result<MemoryQuestion, &'static str>, MemoryDataError> {
    let (evidence, unresolved_evidence) = evidence(asked, turns)?;
    let together = put_together(
        asked.text("question")?,
        asked.text("answer")?,
        asked.text("category")?,
        asked.optional("adversarial_answer")?,
    );
    Ok(together.map(|together| MemoryQuestion {
        evidence,
        unresolved_evidence,
        ..together
    }))
}

/// A question without id and evidence, or why it is left out.
fn put_together(
    question: String,
    answer: String,
    category: String,
    misleading: Option<String>,
) -> Result<MemoryQuestion, &'static str> {
    let known = Category::named(&category);
    let abstention = known == Some(Category::Adversarial);
    if question.is_empty() {
        return Err("has no question");
    }
    if answer.is_empty() && !abstention {
        return Err("has no answer");
    }
    let misleading = match abstention {
        // Two questions of the published file have theirs as `answer`.
        true => misleading.or(Some(answer.clone())),
        false => None,
    };
    Ok(MemoryQuestion {
        id: String::new(),
        question,
        answers: match abstention {
            true => NOT_SAID.map(str::to_owned).into(),
            false => vec![answer],
        },
        kind: known.map_or(category, |known| kind(known).to_owned()),
        evidence: Vec::new(),
        unresolved_evidence: Vec::new(),
        abstention,
        misleading: misleading.filter(|text| !text.is_empty()),
        asked: None,
    })
}

/// The kinds as the benchmark's paper calls them.
fn kind(category: Category) -> &'static str {
    match category {
        Category::MultiHop => "multi_hop",
        Category::Temporal => "temporal",
        Category::OpenDomain => "open_domain",
        Category::SingleHop => "single_hop",
        Category::Adversarial => "adversarial",
    }
}

/// The turns that a question marks, and marks that fit no turn.
///
/// The published file has several ids in one text (`D8:6; D9:17`), zeros (`D30:05`), a
/// colon too many (`D:11:26`), and ids that no turn has.
fn evidence(
    asked: &Fields<'_>,
    turns: &HashSet<&TurnId>,
) -> Result<(Vec<TurnId>, Vec<String>), MemoryDataError> {
    let (mut found, mut unresolved) = (Vec::new(), Vec::new());
    for value in asked.list("evidence")? {
        let Value::String(text) = value else {
            return Err(asked.misfit("evidence", value, "a list of texts"));
        };
        let apart = |c: char| c.is_whitespace() || matches!(c, ';' | ',');
        for mark in text.split(apart).filter(|mark| !mark.is_empty()) {
            let id = TurnId::from(mark);
            let id = match turns.contains(&id) {
                true => Some(id),
                false => repaired(mark).filter(|id| turns.contains(id)),
            };
            match id {
                Some(id) if found.contains(&id) => {}
                Some(id) => found.push(id),
                None => unresolved.push(mark.to_owned()),
            }
        }
    }
    Ok((found, unresolved))
}

/// The usual spelling of an id: `D` session `:` turn.
fn repaired(mark: &str) -> Option<TurnId> {
    let numbers: Vec<u32> = mark
        .strip_prefix('D')?
        .split(':')
        .filter(|part| !part.is_empty())
        .map(|part| part.parse().ok())
        .collect::<Option<_>>()?;
    let [session, turn] = numbers[..] else {
        return None;
    };
    Some(format!("D{session}:{turn}").into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_with_slips_are_understood() {
        for (mark, expected) in [
            ("D30:05", Some("D30:5")),
            ("D:11:26", Some("D11:26")),
            ("D1:2", Some("D1:2")),
            ("D", None),
            ("D1", None),
            ("D1:x", None),
            ("S1:2", None),
            ("D99999999999:1", None),
        ] {
            assert_eq!(repaired(mark), expected.map(TurnId::from), "{mark}");
        }
    }
}
