//! LongMemEval: sessions of chat, flattened, and one question about them.

use serde_json::{Value, json};

use super::{Row, Rows, Tables, each};
use crate::dataset::DatasetError;
use crate::text::stringify::python_str;

/// One record per question with `id`, `turns`, `transcript` (the sessions by date, as the
/// authors show them) and `qa_pairs` (one pair, or none when the record lacks a question or
/// an answer).
pub(super) fn prepare(rows: Rows, _: Tables) -> Result<Rows, DatasetError> {
    let mut index = 0_usize;
    Ok(each(rows, move |row| {
        let id = match row.get("question_id") {
            Value::Null => index.into(),
            id => id.clone(),
        };
        index += 1;
        Ok(row.becomes([
            ("id", id),
            ("turns", turns(&row)?),
            ("transcript", transcript(&row).into()),
            ("qa_pairs", pair(&row).into_iter().collect()),
        ]))
    }))
}

/// All messages that say something, in order, with session and time.
fn turns(row: &Row) -> Result<Value, DatasetError> {
    let sessions = row.get("haystack_sessions").as_array();
    let sessions = sessions.ok_or_else(|| row.misfit("a record without `haystack_sessions`"))?;
    let mut turns = Vec::new();
    for (n, session) in sessions.iter().enumerate() {
        let named = &row.get("haystack_session_ids")[n];
        let session_id = named.as_str().map_or_else(|| n.to_string(), Into::into);
        let time = &row.get("haystack_dates")[n];
        for message in session.as_array().into_iter().flatten() {
            let content = message["content"].as_str().unwrap_or_default().trim();
            if content.is_empty() {
                continue;
            }
            turns.push(json!({
                "role": message["role"].as_str().unwrap_or("user"),
                "content": content,
                "timestamp": time,
                "speaker": null,
                "session_id": session_id,
            }));
        }
    }
    Ok(turns.into())
}

/// The sessions by date, each under its number with its date.
fn transcript(row: &Row) -> String {
    let sessions = row.get("haystack_sessions").as_array();
    let dates = row.get("haystack_dates");
    let dated = sessions.into_iter().flatten().enumerate();
    // `2023/05/25 (Thu) 20:21`: the order of the texts is that of the dates.
    let mut dated: Vec<(&str, &Value)> = dated
        .map(|(n, session)| (dates[n].as_str().unwrap_or_default(), session))
        .collect();
    dated.sort_by_key(|(date, _)| *date);
    let mut text = String::new();
    let mut number = 0;
    for (date, session) in dated {
        let said: Vec<String> = session
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|message| {
                let content = message["content"].as_str().unwrap_or_default().trim();
                let role = message["role"].as_str().unwrap_or("user");
                (!content.is_empty()).then(|| format!("{role}: {content}"))
            })
            .collect();
        if said.is_empty() {
            continue;
        }
        number += 1;
        if number > 1 {
            text.push_str("\n\n");
        }
        text.push_str(&format!("### Session {number}:\n"));
        if !date.is_empty() {
            text.push_str(&format!("Session Date: {date}\n"));
        }
        text.push_str(&format!("Session Content:\n{}", said.join("\n\n")));
    }
    text
}

fn pair(row: &Row) -> Option<Value> {
    let text = |value: &Value| match value {
        Value::Null => String::new(),
        value => python_str(value).trim().to_owned(),
    };
    let question = text(row.get("question"));
    let answer = match row.get("answer") {
        Value::Array(list) => text(list.first().unwrap_or(&Value::Null)),
        answer => text(answer),
    };
    if question.is_empty() || answer.is_empty() {
        return None;
    }
    Some(json!({
        "question": question,
        "answer": answer,
        "type": row.get("question_type"),
        "question_date": row.get("question_date"),
    }))
}
