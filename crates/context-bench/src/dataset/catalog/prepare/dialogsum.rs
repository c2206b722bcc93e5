//! DialogSum: each dialogue of its test has three summaries, which the hub has as three
//! records, `test_7_1` to `test_7_3`, and the authors' own file as `summary1` to `summary3`
//! of one. A dialogue is asked about once.

use std::collections::HashMap;

use serde_json::Value;

use super::{Row, Rows, Tables};
use crate::dataset::DatasetError;

/// One record per dialogue, with `id` as far as its summaries share it, and `summaries`.
pub(super) fn prepare(rows: Rows, _: Tables) -> Result<Rows, DatasetError> {
    // Summaries of a dialogue need not stand together, and all are a few megabytes.
    let mut rows = Some(rows);
    let joined = std::iter::from_fn(move || rows.take().map(joined));
    Ok(Rows::new(joined.flatten()))
}

fn joined(rows: Rows) -> Vec<Result<Row, DatasetError>> {
    let mut out: Vec<Result<Row, DatasetError>> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    for row in rows {
        let mut row = match row {
            Ok(row) => row,
            Err(error) => {
                out.push(Err(error));
                continue;
            }
        };
        let own = summaries(&row);
        let Some(id) = shared_id(row.get("id")) else {
            row.record.insert("summaries", Value::Array(own));
            out.push(Ok(row));
            continue;
        };
        if let Some(Ok(first)) = places.get(&id).and_then(|place| out.get_mut(*place))
            && first.get("dialogue") == row.get("dialogue")
            && let Some(Value::Array(known)) = first.record.get_mut("summaries")
        {
            known.extend(own);
            continue;
        }
        places.insert(id.clone(), out.len());
        row.record.insert("id", id.into());
        row.record.insert("summaries", Value::Array(own));
        out.push(Ok(row));
    }
    out
}

/// The summaries of a record, in either layout.
fn summaries(row: &Row) -> Vec<Value> {
    let named = ["summary", "summary1", "summary2", "summary3"];
    let own = named.iter().map(|name| row.get(name));
    own.filter(|text| !text.is_null()).cloned().collect()
}

/// `test_7` of `test_7_2`; `None` for an id without a number of a summary, such as `train_7`.
fn shared_id(id: &Value) -> Option<String> {
    let (shared, nth) = id.as_str()?.rsplit_once('_')?;
    let (_, dialogue) = shared.rsplit_once('_')?;
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    (is_number(nth) && is_number(dialogue)).then(|| shared.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Place;
    use serde_json::json;

    #[test]
    fn summaries_of_one_dialogue_are_joined_wherever_they_stand() {
        let records = [
            json!({"id": "test_0_1", "dialogue": "a", "summary": "one"}),
            json!({"id": "test_1_1", "dialogue": "b", "summary": "else"}),
            json!({"id": "test_0_2", "dialogue": "a", "summary": "two"}),
            // Another dialogue under the same id is not a summary of the first.
            json!({"id": "test_1_2", "dialogue": "c", "summary": "other"}),
            json!({"id": "train_7", "dialogue": "d", "summary": "alone"}),
            json!({"fname": "test_9", "dialogue": "e", "summary1": "x", "summary2": "y"}),
        ];
        let rows = records.into_iter().map(|record| {
            let Value::Object(map) = record else {
                panic!("a map");
            };
            Ok(Row {
                record: map.into(),
                at: Place::file("own.jsonl"),
            })
        });
        let rows: Vec<_> = rows.collect();
        let made = prepare(Rows::new(rows.into_iter()), Tables::new()).expect("prepared");
        let made: Vec<(Value, Value)> = made
            .map(|row| row.expect("good"))
            .map(|row| (row.get("id").clone(), row.get("summaries").clone()))
            .collect();
        assert_eq!(
            made,
            [
                (json!("test_0"), json!(["one", "two"])),
                (json!("test_1"), json!(["else"])),
                (json!("test_1"), json!(["other"])),
                (json!("train_7"), json!(["alone"])),
                (Value::Null, json!(["x", "y"])),
            ]
        );
    }
}
