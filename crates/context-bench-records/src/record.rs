//! `Records`: the one interface of all formats, and what it yields.

use std::ops::Index;
use std::path::Path;
use std::sync::Arc;

use context_bench_error::Place;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

use crate::size::field_bytes;
use crate::{Batch, RecordError};

/// One raw record: named JSON values in order.
///
/// The records of a table share their names, so that a row costs no more than
/// its values.
#[derive(Debug, Clone)]
pub struct Record(Fields);

#[derive(Debug, Clone)]
enum Fields {
    Own(Map<String, Value>),
    /// As many values as the header has names.
    Row {
        header: Arc<Header>,
        values: Vec<Value>,
    },
}

/// The names that the records of a table share.
#[derive(Debug, Clone)]
pub(crate) struct Header {
    /// All names and no values. A copy of it keeps the hashes of the names, so
    /// no name is hashed again when a row becomes a map.
    template: Map<String, Value>,
}

impl Header {
    /// Names, each of them once.
    pub(crate) fn new(names: impl IntoIterator<Item = String>) -> Self {
        Self {
            template: names.into_iter().map(|name| (name, Value::Null)).collect(),
        }
    }

    /// Where a name stands.
    pub(crate) fn place(&self, name: &str) -> Option<usize> {
        // There are few of them, and comparing is faster than hashing.
        self.template.keys().position(|known| known == name)
    }
}

impl Record {
    /// The row of a table: a value for each name of its header, in order.
    pub(crate) fn row(header: &Arc<Header>, mut values: Vec<Value>) -> Self {
        values.resize(header.template.len(), Value::Null);
        Self(Fields::Row {
            header: Arc::clone(header),
            values,
        })
    }

    /// The value under a name.
    pub fn get(&self, name: &str) -> Option<&Value> {
        match &self.0 {
            Fields::Own(map) => map.get(name),
            Fields::Row { header, values } => values.get(header.place(name)?),
        }
    }

    /// The value under a name, for changing it.
    pub fn get_mut(&mut self, name: &str) -> Option<&mut Value> {
        match &mut self.0 {
            Fields::Own(map) => map.get_mut(name),
            Fields::Row { header, values } => values.get_mut(header.place(name)?),
        }
    }

    /// Takes the value under a name and leaves null.
    pub fn take(&mut self, name: &str) -> Option<Value> {
        self.get_mut(name).map(Value::take)
    }

    /// Sets the value under a name, which comes last when it is new.
    pub fn insert(&mut self, name: impl Into<String>, value: Value) {
        let name = name.into();
        if let Some(known) = self.get_mut(&name) {
            *known = value;
            return;
        }
        let mut map = std::mem::replace(self, Self(Fields::Own(Map::new()))).into_map();
        map.insert(name, value);
        self.0 = Fields::Own(map);
    }

    /// The names and values in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        let (map, row) = match &self.0 {
            Fields::Own(map) => (Some(map), None),
            Fields::Row { header, values } => (None, Some((header, values))),
        };
        let own = map.into_iter().flatten();
        let shared = row
            .into_iter()
            .flat_map(|(header, values)| header.template.keys().zip(values));
        own.chain(shared)
            .map(|(name, value)| (name.as_str(), value))
    }

    /// How many values there are.
    pub fn len(&self) -> usize {
        match &self.0 {
            Fields::Own(map) => map.len(),
            Fields::Row { values, .. } => values.len(),
        }
    }

    /// Whether there is no value.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// About how many bytes its names and values have.
    pub fn n_bytes(&self) -> usize {
        self.iter().map(field_bytes).sum()
    }

    /// The record as a map of its own.
    pub fn into_map(self) -> Map<String, Value> {
        match self.0 {
            Fields::Own(map) => map,
            Fields::Row { header, values } => {
                let mut map = header.template.clone();
                for (slot, value) in map.values_mut().zip(values) {
                    *slot = value;
                }
                map
            }
        }
    }
}

impl From<Map<String, Value>> for Record {
    fn from(map: Map<String, Value>) -> Self {
        Self(Fields::Own(map))
    }
}

impl From<Record> for Value {
    fn from(record: Record) -> Self {
        Self::Object(record.into_map())
    }
}

/// Whether names and values are the same, in whatever order.
impl PartialEq for Record {
    fn eq(&self, other: &Self) -> bool {
        let same = |(name, value): (&str, &Value)| other.get(name) == Some(value);
        self.len() == other.len() && self.iter().all(same)
    }
}

/// The value under a name; null when there is none, as with a JSON value.
impl Index<&str> for Record {
    type Output = Value;

    fn index(&self, name: &str) -> &Value {
        self.get(name).unwrap_or(&Value::Null)
    }
}

impl Serialize for Record {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

/// Where a record stands in its file; with the file's name it makes a [`Place`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordPosition {
    /// Position from 0. In JSON Lines it counts lines, also blank ones.
    pub index: usize,
    /// Line from 1, in formats that have lines.
    pub line: Option<usize>,
    /// Column from 1, in bytes, where a record may begin inside a line.
    pub column: Option<usize>,
}

impl RecordPosition {
    /// The place of the record in a file.
    pub fn place_in(self, file: impl Into<Arc<str>>) -> Place {
        Place {
            line: self.line,
            column: self.column,
            ..Place::file(file)
        }
    }

    /// Moves it behind `n_before` other records. Returns the number of places up to
    /// its end before that.
    pub(crate) fn shift(&mut self, n_before: usize) -> usize {
        let end = self.index + 1;
        self.index += n_before;
        end
    }
}

/// A record and its position.
#[derive(Debug, Clone, PartialEq)]
pub struct PositionedRecord {
    /// The record.
    pub record: Record,
    /// Where it stands.
    pub position: RecordPosition,
}

/// A record that was checked and dropped.
#[derive(Debug, Clone, PartialEq)]
pub struct CheckedRecord {
    /// The value of the one key that was asked for, when the record has it.
    pub value: Option<Value>,
    /// Where the record stands.
    pub position: RecordPosition,
}

/// Yields the records of one or more files, front to back.
///
/// After an error about one record, the next call goes on with the record after
/// it. After any other error nothing more follows.
pub trait Records: Send {
    /// Checks the next record as strictly as [`read_next`](Self::read_next), and
    /// keeps only the value of `key`. Faster than reading.
    fn check_next(&mut self, key: &str) -> Option<Result<CheckedRecord, RecordError>>;

    /// Reads the next record.
    fn read_next(&mut self) -> Option<Result<PositionedRecord, RecordError>>;

    /// Reads the next records, as many as are best read together. Unlike with
    /// [`read_next`](Self::read_next), an error may turn up when they are taken.
    fn read_batch(&mut self) -> Option<Result<Batch, RecordError>> {
        Some(self.read_next()?.map(Batch::one))
    }

    /// How many records there are in all, bad ones included, where a file says so
    /// without being read through.
    fn known_len(&self) -> Option<usize> {
        None
    }

    /// The file that the last record came from.
    fn file(&self) -> &Path;

    /// What stands between the fields of a table.
    fn delimiter(&self) -> Option<u8> {
        None
    }
}

/// Which records are read, and which part of them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ReadSettings {
    /// How many records to look at, good or bad. In JSON Lines this counts
    /// lines, also blank ones.
    pub max_records: Option<usize>,
    /// The columns of a Parquet file to read; others are neither fetched nor
    /// decoded. Formats without columns give whole records.
    pub columns: Option<Vec<String>>,
    /// Where the list of records is in a JSON file: a key, or a JSON pointer
    /// such as `/data/train`. Without it the list is found by its shape.
    pub field: Option<String>,
    /// Where the columns of a CSV or TSV file have their names from.
    pub header: TableHeader,
}

/// Where the columns of a table have their names from.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum TableHeader {
    /// The first row.
    #[default]
    Row,
    /// These; the first row is a record.
    Given(Vec<String>),
    /// These, in place of the first row.
    InPlaceOfRow(Vec<String>),
}

/// What kind of value is found where a record must be.
pub(crate) fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "text",
        Value::Array(_) => "a list",
        Value::Object(_) => "a map",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn both() -> [Record; 2] {
        let header = Arc::new(Header::new(["a".to_owned(), "b".to_owned()]));
        let row = Record::row(&header, vec![json!(1), json!("x")]);
        let Value::Object(map) = json!({"a": 1, "b": "x"}) else {
            return [row.clone(), row];
        };
        [row, map.into()]
    }

    #[test]
    fn a_row_of_a_table_is_as_good_as_a_map() {
        let [row, map] = both();
        assert_eq!(row, map);
        for mut record in [row, map] {
            assert_eq!((record.len(), record.get("c")), (2, None));
            assert_eq!((&record["b"], &record["c"]), (&json!("x"), &Value::Null));
            let text = serde_json::to_string(&record).expect("JSON");
            assert_eq!(text, r#"{"a":1,"b":"x"}"#);
            record.insert("a", json!(2));
            record.insert("c", Value::Null);
            let names: Vec<&str> = record.iter().map(|(name, _)| name).collect();
            assert_eq!(names, ["a", "b", "c"]);
            assert_eq!(
                Value::Object(record.into_map()),
                json!({"a": 2, "b": "x", "c": null})
            );
        }
    }

    #[test]
    fn records_differ_by_any_value_or_name() {
        let [row, map] = both();
        let mut other = row.clone();
        other.insert("a", json!(2));
        assert_ne!(other, map);
        let mut longer = map;
        longer.insert("c", json!(1));
        assert_ne!(longer, row);
        assert_ne!(row, longer);
    }
}
