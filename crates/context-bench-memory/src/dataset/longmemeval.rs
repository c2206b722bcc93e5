//! LongMemEval's own file: a question per record, with the sessions it is asked about.

use std::collections::HashSet;
use std::sync::Arc;

use context_bench_scoring::official::longmemeval::is_abstention;
use context_bench_scoring::text::stringify::python_str;
use serde_json::Value;

use super::field::Fields;
use super::{MemoryDataError, MemoryExample, SkippedQuestion};
use crate::{Conversation, MemoryQuestion, Session, Turn, TurnId};

pub(super) fn example(
    record: &Fields<'_>,
    at: usize,
    skipped: &mut Vec<SkippedQuestion>,
) -> Result<MemoryExample, MemoryDataError> {
    let id = record.optional("question_id")?;
    let id = id.unwrap_or_else(|| at.to_string());
    let Haystack { sessions, evidence } = Haystack::of(record)?;
    let question = record.text("question")?;
    let answers = answers(record)?;
    let mut questions = Vec::new();
    let is_silent = sessions.iter().all(|session| session.turns.is_empty());
    let lacks = match (is_silent, question.is_empty(), answers.is_empty()) {
        (true, ..) => Some("messages with text"),
        (_, true, _) => Some("question"),
        (.., true) => Some("answer"),
        _ => None,
    };
    match lacks {
        Some(what) => skipped.push(SkippedQuestion {
            place: record.place().clone(),
            reason: format!("the record `{id}` has no {what}"),
        }),
        None => questions.push(MemoryQuestion {
            question,
            answers,
            kind: record.text("question_type")?,
            evidence,
            unresolved_evidence: Vec::new(),
            abstention: is_abstention(&id),
            misleading: None,
            asked: record.optional("question_date")?,
            id: id.clone(),
        }),
    }
    Ok(MemoryExample {
        conversation: Conversation { id, sessions },
        questions,
    })
}

/// One answer or a list of them.
fn answers(record: &Fields<'_>) -> Result<Vec<String>, MemoryDataError> {
    let values = match record.get("answer") {
        Some(Value::Array(list)) => list.as_slice(),
        Some(one) => std::slice::from_ref(one),
        None => &[],
    };
    let texts = values
        .iter()
        .map(|value| python_str(value).trim().to_owned());
    Ok(texts.filter(|text| !text.is_empty()).collect())
}

struct Haystack {
    sessions: Vec<Session>,
    /// Turns with `has_answer`.
    evidence: Vec<TurnId>,
}

impl Haystack {
    fn of(record: &Fields<'_>) -> Result<Self, MemoryDataError> {
        let (names, dates) = (
            record.list("haystack_session_ids")?,
            record.list("haystack_dates")?,
        );
        let text = |list: &[Value], n: usize| {
            let value = list.get(n).filter(|value| !value.is_null())?;
            Some(python_str(value).trim().to_owned()).filter(|text| !text.is_empty())
        };
        let mut known = HashSet::new();
        let (mut sessions, mut evidence) = (Vec::new(), Vec::new());
        for (n, session) in record.list("haystack_sessions")?.iter().enumerate() {
            let path = format!("haystack_sessions[{n}]");
            // Whatever is not a list of messages is not a session.
            let Value::Array(messages) = session else {
                continue;
            };
            // A session may stand in the history twice; ids of turns must not.
            let name = text(names, n).unwrap_or_else(|| n.to_string());
            let id: Arc<str> = match known.insert(name.clone()) {
                true => name.into(),
                false => format!("{name}#{n}").into(),
            };
            let time: Option<Arc<str>> = text(dates, n).map(Into::into);
            let mut turns = Vec::new();
            for (m, message) in messages.iter().enumerate() {
                let message = record.element(message, &format!("{path}[{m}]"))?;
                let text = message.text("content")?;
                if text.is_empty() {
                    continue;
                }
                let turn = TurnId::from(format!("{id}:{m}"));
                match message.get("has_answer") {
                    None | Some(Value::Bool(false)) => {}
                    Some(Value::Bool(true)) => evidence.push(turn.clone()),
                    Some(other) => {
                        return Err(message.misfit("has_answer", other, "true or false"));
                    }
                }
                turns.push(Turn {
                    id: turn,
                    role: message.optional("role")?.unwrap_or_else(|| "user".into()),
                    speaker: None,
                    text,
                    picture: None,
                    time: time.clone(),
                    session: Some(Arc::clone(&id)),
                });
            }
            sessions.push(Session { id, time, turns });
        }
        // As the authors show them. `2023/05/25 (Thu) 20:21`: the order of the texts is that
        // of the dates; sessions without one keep their place among themselves.
        sessions.sort_by(|a, b| a.time.cmp(&b.time));
        Ok(Self { sessions, evidence })
    }
}
