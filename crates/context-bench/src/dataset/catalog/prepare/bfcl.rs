//! BFCL: the expected calls are joined by id from a file of their own.

use std::collections::HashMap;
use std::fmt::Write as _;

use serde_json::Value;

use super::{Rows, Tables, each};
use crate::dataset::DatasetError;
use crate::json;

/// Adds `context` (the functions as indented JSON), `question` (the messages as
/// text), `ground_truth` (the expected calls, `null` when the category has
/// none) and `answer` (the first of them as text, else the first function).
pub(super) fn prepare(rows: Rows, tables: Tables) -> Result<Rows, DatasetError> {
    let expected: HashMap<String, Value> = tables
        .into_values()
        .flatten()
        .filter_map(|row| {
            let id = row.get("id").as_str()?.to_owned();
            Some((id, row.record.get("ground_truth")?.clone()))
        })
        .collect();
    Ok(each(rows, move |mut row| {
        let own = row.get("ground_truth").clone();
        let joined = || row.get("id").as_str().and_then(|id| expected.get(id));
        let calls = match own {
            Value::Array(_) => own,
            _ => joined().cloned().unwrap_or(Value::Null),
        };
        // The replies of web services that `rest` expects are not calls.
        let calls = if calls.is_array() { calls } else { Value::Null };
        let functions = row.get("function");
        let answer = match calls.as_array().and_then(|calls| calls.first()) {
            Some(Value::String(call)) => call.clone(),
            Some(call) => json::python(call),
            None => functions[0]["name"].as_str().unwrap_or_default().to_owned(),
        };
        let context = json::indented(functions);
        let question = question(row.get("question"));
        row.record.insert("context", context.into());
        row.record.insert("question", question);
        row.record.insert("ground_truth", calls);
        row.record.insert("answer", answer.into());
        Ok(row)
    }))
}

/// The contents of all messages; a record has a list of turns, each of messages.
fn question(turns: &Value) -> Value {
    let Some(turns) = turns.as_array() else {
        return turns.clone();
    };
    let mut text = String::new();
    for message in turns.iter().filter_map(Value::as_array).flatten() {
        let Some(content) = message["content"].as_str() else {
            continue;
        };
        let gap = if text.is_empty() { "" } else { "\n\n" };
        let _ = write!(text, "{gap}{content}");
    }
    text.into()
}
