//! Records in a JSON value that is not a list: found by its shape, held in memory.

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::Record;
use crate::record::Header;

/// The records of a value that is a list of maps, a map with exactly one such
/// list, or a map of columns: lists of equal length.
///
/// `None` when it has none of these shapes, or could be read in two ways.
pub(crate) fn records(value: Value) -> Option<Vec<Record>> {
    match value {
        Value::Array(list) => maps(list),
        Value::Object(map) => {
            let mut lists = map.values().filter(|value| is_list_of_maps(value));
            match (lists.next(), lists.next()) {
                (None, _) => rows(map),
                (Some(_), None) if map.len() == 1 || !is_columns(&map) => map
                    .into_iter()
                    .map(|(_, value)| value)
                    .find(is_list_of_maps)
                    .and_then(records),
                _ => None,
            }
        }
        _ => None,
    }
}

fn is_list_of_maps(value: &Value) -> bool {
    matches!(value, Value::Array(list) if !list.is_empty() && list.iter().all(Value::is_object))
}

fn is_columns(map: &Map<String, Value>) -> bool {
    let mut lens = map.values().map(|value| value.as_array().map(Vec::len));
    let first = lens.next().flatten();
    first.is_some() && lens.all(|len| len == first)
}

fn maps(list: Vec<Value>) -> Option<Vec<Record>> {
    list.into_iter()
        .map(|value| match value {
            Value::Object(map) => Some(map.into()),
            _ => None,
        })
        .collect()
}

/// Turns columns into rows.
fn rows(columns: Map<String, Value>) -> Option<Vec<Record>> {
    let n_rows = columns.values().next()?.as_array()?.len();
    let header = Arc::new(Header::new(columns.keys().cloned()));
    let mut rows: Vec<Vec<Value>> = vec![Vec::with_capacity(columns.len()); n_rows];
    for (_, column) in columns {
        let Value::Array(values) = column else {
            return None;
        };
        if values.len() != n_rows {
            return None;
        }
        for (row, value) in rows.iter_mut().zip(values) {
            row.push(value);
        }
    }
    let rows = rows.into_iter();
    Some(rows.map(|values| Record::row(&header, values)).collect())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_shape_tells_where_the_records_are() {
        let expected = Some(json!([{"a": 1, "b": "x"}, {"a": 2, "b": null}]));
        for (value, expected) in [
            (json!({"a": [1, 2], "b": ["x", null]}), &expected),
            (
                json!({"version": 1, "tags": ["t"], "items": [{"a": 1, "b": "x"}, {"a": 2, "b": null}]}),
                &expected,
            ),
            (json!([{"a": 1, "b": "x"}, {"a": 2, "b": null}]), &expected),
            (json!({"a": [1, 2], "b": ["x"]}), &None),
            (json!({"a": [{"x": 1}], "b": [2]}), &None),
            (json!({"a": [{"x": 1}], "b": [{"y": 1}]}), &None),
            (json!({"a": [1], "b": 1}), &None),
            (json!({}), &None),
            (json!([1]), &None),
            (json!(1), &None),
        ] {
            let found = records(value.clone()).map(|records| json!(records));
            assert_eq!(&found, expected, "{value}");
        }
    }
}
