//! Qasper: a paper as one text, and its questions with the answers of all annotators.

use serde_json::{Value, json};

use super::{Row, Rows, Tables, each};
use crate::dataset::DatasetError;

/// One record per paper with `id`, `text` and `questions`, a list of
/// `{question, answers}`.
pub(super) fn prepare(rows: Rows, _: Tables) -> Result<Rows, DatasetError> {
    Ok(each(rows, |row| {
        let asked = row.get("qas")["question"].as_array();
        let asked = asked.ok_or_else(|| row.misfit("a paper without `qas.question`"))?;
        let annotated = &row.get("qas")["answers"];
        let questions = asked.iter().enumerate().map(|(n, question)| {
            let given = annotated[n]["answer"].as_array().map_or(&[][..], |v| v);
            json!({
                "question": question,
                "answers": given.iter().filter_map(accepted).collect::<Vec<_>>(),
            })
        });
        Ok(row.becomes([
            ("id", row.get("id").clone()),
            ("text", text(&row).into()),
            ("questions", questions.collect()),
        ]))
    }))
}

/// Title, abstract, then each section: its name and its paragraphs, in the order of the
/// paper, without the parts that are empty.
fn text(row: &Row) -> String {
    let paper = row.get("full_text");
    let mut parts: Vec<&str> = Vec::new();
    parts.extend(row.get("title").as_str());
    parts.extend(row.get("abstract").as_str());
    let list = |key: &str| paper[key].as_array().map_or(&[][..], |list| list);
    let (names, sections) = (list("section_name"), list("paragraphs"));
    for at in 0..names.len().max(sections.len()) {
        parts.extend(names.get(at).and_then(Value::as_str));
        match sections.get(at) {
            Some(Value::Array(paragraphs)) => {
                parts.extend(paragraphs.iter().filter_map(Value::as_str));
            }
            Some(bare) => parts.extend(bare.as_str()),
            None => {}
        }
    }
    parts.retain(|part| !part.is_empty());
    parts.join("\n\n")
}

/// What one annotator accepts, as the benchmark's own scorer writes it.
fn accepted(answer: &Value) -> Option<String> {
    if answer["unanswerable"] == true {
        return Some("Unanswerable".into());
    }
    let spans: Vec<&str> = answer["extractive_spans"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    if !spans.is_empty() {
        return Some(spans.join(", "));
    }
    match answer["free_form_answer"].as_str() {
        Some(text) if !text.is_empty() => Some(text.into()),
        _ => match answer["yes_no"].as_bool() {
            Some(true) => Some("Yes".into()),
            Some(false) => Some("No".into()),
            None => None,
        },
    }
}
