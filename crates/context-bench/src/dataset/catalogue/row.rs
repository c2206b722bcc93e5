//! `Row`: a raw record of a source on its way to becoming examples.

use serde_json::{Map, Value};

use crate::dataset::DatasetError;
use crate::error::Location;

/// A raw record and where it stands.
#[derive(Debug, Clone)]
pub(super) struct Row {
    pub(super) fields: Map<String, Value>,
    pub(super) at: Location,
}

impl Row {
    /// The value of a column; `null` when there is none.
    pub(super) fn get(&self, column: &str) -> &Value {
        self.fields.get(column).unwrap_or(&Value::Null)
    }

    /// Another record made of this one, at the same place.
    pub(super) fn becomes<const N: usize>(&self, fields: [(&str, Value); N]) -> Self {
        Self {
            fields: fields
                .into_iter()
                .map(|(key, value)| (key.to_owned(), value))
                .collect(),
            at: self.at.clone(),
        }
    }

    /// The error of a record that is not laid out as its dataset is.
    pub(super) fn misfit(&self, problem: impl Into<String>) -> DatasetError {
        DatasetError::BadRecord {
            problem: problem.into(),
            at: self.at.clone(),
        }
    }
}

/// A stream of raw records.
pub(super) type Rows = Box<dyn Iterator<Item = Result<Row, DatasetError>> + Send>;
