//! NoLiMa: a needle is put into the haystack for every test of every needle set.

use std::sync::Arc;

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::{Row, Rows, Tables, each};
use crate::dataset::DatasetError;
use crate::text::stringify::python_str;

/// Who lives where the needle says when a set names nobody.
const SOMEONE: &str = "Alice";

/// One record per needle set with `tests`, a list of `{id, context, question, answer}`.
pub(super) fn prepare(rows: Rows, mut tables: Tables) -> Result<Rows, DatasetError> {
    let haystack = tables.remove("haystack").unwrap_or_default();
    let haystack = haystack.first().and_then(|row| row.get("text").as_str());
    let haystack: Arc<str> = haystack.unwrap_or_default().into();
    Ok(each(rows, move |row| {
        let tests = row.get("tests").as_object();
        let tests = tests.ok_or_else(|| row.misfit("a needle set without `tests`"))?;
        let made = tests
            .iter()
            .map(|(id, test)| one(&row, id, test, &haystack));
        Ok(row.becomes([("tests", made.collect())]))
    }))
}

fn one(row: &Row, test_id: &str, test: &Value, haystack: &str) -> Value {
    let someone = row.get("character_set")[0].as_str().unwrap_or(SOMEONE);
    let questions = row.get("questions");
    let template = match &questions["onehop"] {
        Value::Null => &questions["twohop"],
        onehop => onehop,
    };
    let filled = |template: &Value| {
        let mut text = template.as_str().unwrap_or_default().to_owned();
        text = text.replace("{CHAR}", someone);
        let arguments = test["input_args"].as_array().into_iter().flatten();
        for (n, argument) in (1..).zip(arguments) {
            text = text.replace(&format!("{{{n}}}"), &python_str(argument));
        }
        text
    };
    let id = format!("{}_{test_id}", python_str(row.get("id")));
    json!({
        "context": hidden(haystack, &filled(row.get("needle")), &id),
        "question": filled(template),
        "answer": someone,
        "id": id,
    })
}

/// The haystack with the needle as a line before one of its lines. Which one
/// follows from the id, so that runs can be repeated.
fn hidden(haystack: &str, needle: &str, id: &str) -> String {
    let mut lines: Vec<&str> = haystack.split('\n').collect();
    let digest = Sha256::digest(id.as_bytes());
    let drawn = digest
        .iter()
        .take(8)
        .fold(0_u64, |n, byte| n << 8 | u64::from(*byte));
    let at = usize::try_from(drawn % lines.len() as u64).unwrap_or_default();
    lines.insert(at, needle);
    lines.join("\n")
}
