//! DROP: what each annotator answered, kept apart.
//!
//! An answer is a number, a date or one or more spans. The copy with `answer` and
//! `validated_answers` tells annotators apart; the one with `answers_spans` mixes the spans
//! of one answer with those of other annotators, so it is unclear there whether all of
//! them are needed or any of them does.

use serde_json::Value;

use super::{Rows, Tables, each};
use crate::dataset::DatasetError;
use crate::text::stringify::python_str;

/// Adds `annotators` (the spans of each; `null` where they cannot be told apart) and
/// `accepted` (the answer of each as one text).
pub(super) fn prepare(rows: Rows, _: Tables) -> Result<Rows, DatasetError> {
    Ok(each(rows, |mut row| {
        let first = row.get("answer");
        if first.is_null() {
            let spans = row.get("answers_spans")["spans"].clone();
            if !spans.is_array() {
                return Err(row.misfit("neither `answer` nor `answers_spans.spans`"));
            }
            row.record.insert("annotators", Value::Null);
            row.record.insert("accepted", spans);
            return Ok(row);
        }
        let mut annotators = vec![spans(first)];
        annotators.extend(validated(row.get("validated_answers")).iter().map(spans));
        annotators.retain(|spans| !spans.is_empty());
        let accepted: Value = annotators.iter().map(|spans| spans.join(", ")).collect();
        let annotators: Value = annotators.into_iter().collect();
        row.record.insert("annotators", annotators);
        row.record.insert("accepted", accepted);
        Ok(row)
    }))
}

/// One answer for each further annotator: a list of maps, or, as tables are stored, a map
/// of lists.
fn validated(answers: &Value) -> Vec<Value> {
    match answers {
        Value::Array(list) => list.clone(),
        Value::Object(columns) => {
            let lengths = columns.values().filter_map(Value::as_array).map(Vec::len);
            let row = |at: usize| {
                let cells = columns.iter();
                let cells = cells.map(|(name, column)| (name.clone(), column[at].clone()));
                Value::Object(cells.collect())
            };
            (0..lengths.max().unwrap_or(0)).map(row).collect()
        }
        _ => Vec::new(),
    }
}

/// The spans of one answer: its number, else its spans, else its date.
fn spans(answer: &Value) -> Vec<String> {
    let text = |value: &Value| match value {
        Value::Null => String::new(),
        value => python_str(value).trim().to_owned(),
    };
    let number = text(&answer["number"]);
    if !number.is_empty() {
        return vec![number];
    }
    let said = answer["spans"].as_array().into_iter().flatten();
    let said: Vec<String> = said.map(text).filter(|span| !span.is_empty()).collect();
    if !said.is_empty() {
        return said;
    }
    let date = ["day", "month", "year"].map(|part| text(&answer["date"][part]));
    let date: Vec<&str> = date.iter().map(String::as_str).collect();
    let date = date.join(" ");
    match date.trim() {
        "" => Vec::new(),
        date => vec![date.to_owned()],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_answer_is_a_number_spans_or_a_date() {
        let empty_date = json!({"day": "", "month": "", "year": ""});
        for (answer, expected) in [
            (
                json!({"number": "4", "date": empty_date, "spans": []}),
                vec!["4"],
            ),
            (
                json!({"number": "", "date": empty_date, "spans": ["Ida", "Bo"]}),
                vec!["Ida", "Bo"],
            ),
            (
                json!({"number": "", "date": {"day": "3", "month": "May", "year": "1990"}, "spans": []}),
                vec!["3 May 1990"],
            ),
            (
                json!({"number": "", "date": {"day": "", "month": "May", "year": ""}, "spans": []}),
                vec!["May"],
            ),
            (
                json!({"number": "", "date": empty_date, "spans": []}),
                vec![],
            ),
        ] {
            assert_eq!(spans(&answer), expected, "{answer}");
        }
    }

    #[test]
    fn annotators_come_as_rows_or_columns() {
        let rows = json!([{"number": "4", "spans": []}, {"number": "", "spans": ["x"]}]);
        let columns = json!({"number": ["4", ""], "spans": [[], ["x"]], "worker_id": ["a", "b"]});
        for answers in [rows, columns] {
            let found: Vec<_> = validated(&answers).iter().map(spans).collect();
            assert_eq!(found, [vec!["4"], vec!["x"]]);
        }
        assert!(validated(&Value::Null).is_empty());
    }
}
