//! Columns of CSV and TSV files as tasks expect them: numbers, truth values, nothing.
//!
//! A table holds texts. Task files are written for a loader that takes a column of whole
//! numbers for numbers, so that `doc_to_target: label` is a place among the choices. What
//! a column is shows in its first records, and no reading of fewer changes it.

use context_bench_tasks::filter::Record;
use serde_json::{Value, json};

use crate::dataset::catalog::RawRecords;

/// Records that decide what a column is.
const LOOKED_AT: usize = 1000;
/// Texts that stand for nothing, as pandas documents them.
const NOTHING: &[&str] = &[
    "", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN",
    "<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null",
];

/// What all values of a column are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Whole,
    Number,
    Truth,
    Text,
}

/// The first `most` records of a table, with the types that more of them show.
pub(super) fn read<E>(
    most: Option<usize>,
    read: impl Fn(Option<usize>) -> Result<RawRecords, E>,
) -> Result<RawRecords, E> {
    let more = most.map(|most| most.max(LOOKED_AT));
    // Mistakes in a record that is not needed must not show.
    let mut found = read(more).or_else(|error| match more == most {
        true => Err(error),
        false => read(most),
    })?;
    type_columns(&mut found.records);
    found.records.truncate(most.unwrap_or(usize::MAX));
    Ok(found)
}

fn type_columns(records: &mut [Record]) {
    let Some(first) = records.first() else { return };
    let names: Vec<String> = first.keys().cloned().collect();
    for name in names {
        let values = records
            .iter()
            .take(LOOKED_AT)
            .filter_map(|record| record.get(&name));
        let texts: Vec<&str> = values.filter_map(Value::as_str).collect();
        let kind = kind(&texts);
        let has_gaps = texts.iter().any(|text| is_nothing(text));
        for record in records.iter_mut() {
            if let Some(value) = record.get_mut(&name)
                && let Some(text) = value.as_str()
            {
                *value = typed(text, kind, has_gaps);
            }
        }
    }
}

fn is_nothing(text: &str) -> bool {
    NOTHING.contains(&text)
}

fn kind(texts: &[&str]) -> Kind {
    let mut some = texts.iter().filter(|text| !is_nothing(text)).peekable();
    if some.peek().is_none() {
        return Kind::Text;
    }
    let all = |is: fn(&str) -> bool| some.clone().all(|text| is(text));
    if all(|text| whole(text).is_some()) {
        Kind::Whole
    } else if all(|text| number(text).is_some()) {
        Kind::Number
    } else if all(|text| truth(text).is_some()) {
        Kind::Truth
    } else {
        Kind::Text
    }
}

/// A value as one of its column. Whole numbers with gaps between them are floats, as a
/// column of numbers has no other way to say that there is nothing.
fn typed(text: &str, kind: Kind, has_gaps: bool) -> Value {
    if is_nothing(text) {
        return Value::Null;
    }
    let found = match kind {
        Kind::Whole if has_gaps => number(text).map(|number| json!(number)),
        Kind::Whole => whole(text).map(|number| json!(number)),
        Kind::Number => number(text).map(|number| json!(number)),
        Kind::Truth => truth(text).map(|truth| json!(truth)),
        Kind::Text => None,
    };
    found.unwrap_or_else(|| json!(text))
}

fn whole(text: &str) -> Option<i64> {
    text.trim().parse().ok()
}

fn number(text: &str) -> Option<f64> {
    let text = text.trim();
    // Words that Rust takes for numbers (`infinity`, `nan`) are texts more often.
    let is_digits = |c: char| c.is_ascii_digit() || "+-.eE".contains(c);
    let found: f64 = text.chars().all(is_digits).then(|| text.parse().ok())??;
    found.is_finite().then_some(found)
}

fn truth(text: &str) -> Option<bool> {
    match text {
        "True" | "TRUE" | "true" => Some(true),
        "False" | "FALSE" | "false" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(texts: &[&str]) -> Vec<Value> {
        let record = |text: &&str| Record::from_iter([("c".to_owned(), json!(text))]);
        let mut records: Vec<Record> = texts.iter().map(record).collect();
        type_columns(&mut records);
        records.iter().map(|record| record["c"].clone()).collect()
    }

    #[test]
    fn columns_are_what_all_their_values_are() {
        for (texts, expected) in [
            (vec!["0", "1", "-2", "007"], json!([0, 1, -2, 7])),
            (vec!["1", "", "3"], json!([1.0, null, 3.0])),
            (vec!["1", "2.5", "1e3"], json!([1.0, 2.5, 1000.0])),
            (vec!["True", "false"], json!([true, false])),
            (vec!["True", "1"], json!(["True", "1"])),
            (vec!["A", "NA", "2"], json!(["A", null, "2"])),
            (vec!["", "None"], json!([null, null])),
            (vec!["1,000", "2"], json!(["1,000", "2"])),
            (vec!["infinity", "2"], json!(["infinity", "2"])),
            (vec!["99999999999999999999"], json!([1e20])),
        ] {
            assert_eq!(Value::Array(column(&texts)), expected, "{texts:?}");
        }
    }

    #[test]
    fn a_limit_changes_no_type_and_shows_no_later_mistake() {
        let all = ["1", "2", "x"];
        let raw = |n: usize| RawRecords {
            records: all[..n]
                .iter()
                .map(|text| Record::from_iter([("c".to_owned(), json!(text))]))
                .collect(),
            n_original: None,
        };
        let whole = |most: Option<usize>| Ok::<_, ()>(raw(most.unwrap_or(3).min(3)));
        let found = read(Some(1), whole).unwrap().records;
        assert_eq!((found.len(), &found[0]["c"]), (1, &json!("1")));
        let broken = |most: Option<usize>| match most {
            Some(n) if n <= 2 => Ok(raw(n)),
            _ => Err("the third is broken"),
        };
        let found = read(Some(2), broken).unwrap().records;
        assert_eq!(found[1]["c"], json!(2));
        assert!(read(None, broken).is_err());
    }
}
