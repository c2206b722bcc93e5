//! Real data: the same records from Parquet and from JSON Lines.

use context_bench_testkit::{needs_shared, shared};
use serde_json::Value;

use crate::read;

/// Drops keys of nested maps that are null: the Parquet copy of IFEval has all
/// keys in every map, as columns do.
fn without_nulls(value: &mut Value) {
    match value {
        Value::Array(list) => list.iter_mut().for_each(without_nulls),
        Value::Object(map) => {
            map.retain(|_, value| !value.is_null());
            map.values_mut().for_each(without_nulls);
        }
        _ => {}
    }
}

#[needs_shared("data/parquet", "data/raw")]
#[test]
fn parquet_and_json_lines_give_the_same_records() {
    let folder = shared::path("data/parquet");
    let mut n_files = 0;
    for file in context_bench_records::files(&folder).expect("files") {
        let name = file
            .file_stem()
            .expect("a name")
            .to_string_lossy()
            .into_owned();
        let Some(lines) = shared::find(&format!("data/raw/{name}.jsonl")) else {
            continue;
        };
        n_files += 1;
        let (columns, mut lines) = (read(&file), read(&lines));
        assert_eq!(columns.len(), lines.len(), "{name}");
        for (position, (mut column, line)) in columns.into_iter().zip(&mut lines).enumerate() {
            if name == "ifeval" {
                for fields in column
                    .get_mut("kwargs")
                    .and_then(Value::as_array_mut)
                    .expect("a list")
                {
                    without_nulls(fields);
                }
            }
            if name == "longmemeval" {
                // The column is text; the original has numbers among its answers.
                if let Value::Number(number) = &line["answer"] {
                    line.insert("answer", number.to_string().into());
                }
            }
            assert_eq!(
                Value::from(column),
                Value::from(line.clone()),
                "{name} {position}"
            );
        }
    }
    assert!(n_files >= 26, "{n_files}");
}
