//! `Fields`: members of a record by name, with errors that say which record and member.

use context_bench_error::Place;
use context_bench_scoring::text::stringify::{kind, python_str};
use serde_json::{Map, Value};

use super::MemoryDataError;

/// A map inside a record.
pub(super) struct Fields<'a> {
    map: &'a Map<String, Value>,
    place: &'a Place,
    /// Where the map stands in the record: empty for the record, else `qa[3].`.
    path: String,
}

impl<'a> Fields<'a> {
    pub(super) fn of(value: &'a Value, place: &'a Place) -> Result<Self, MemoryDataError> {
        Self::at(value, place, String::new())
    }

    /// A map that is a record of its own.
    pub(super) fn map_at(map: &'a Map<String, Value>, place: &'a Place) -> Self {
        Self {
            map,
            place,
            path: String::new(),
        }
    }

    fn at(value: &'a Value, place: &'a Place, path: String) -> Result<Self, MemoryDataError> {
        let Value::Object(map) = value else {
            let what = match path.trim_end_matches('.') {
                "" => "the record".to_owned(),
                path => format!("`{path}`"),
            };
            return Err(MemoryDataError::Wrong {
                problem: format!("{what} is {}, not a map", kind(value)),
                place: place.clone(),
            });
        };
        Ok(Self { map, place, path })
    }

    pub(super) fn place(&self) -> &'a Place {
        self.place
    }

    pub(super) fn keys(&self) -> Vec<String> {
        self.map.keys().cloned().collect()
    }

    pub(super) fn has(&self, key: &str) -> bool {
        self.map.contains_key(key)
    }

    pub(super) fn get(&self, key: &str) -> Option<&'a Value> {
        self.map.get(key).filter(|value| !value.is_null())
    }

    /// The trimmed text of a member, numbers as text; empty when it is missing.
    pub(super) fn text(&self, key: &str) -> Result<String, MemoryDataError> {
        match self.get(key) {
            None => Ok(String::new()),
            Some(value @ (Value::Object(_) | Value::Array(_))) => {
                Err(self.misfit(key, value, "text"))
            }
            Some(value) => Ok(python_str(value).trim().to_owned()),
        }
    }

    /// A text that may be missing or empty.
    pub(super) fn optional(&self, key: &str) -> Result<Option<String>, MemoryDataError> {
        Ok(Some(self.text(key)?).filter(|text| !text.is_empty()))
    }

    /// A text that must be there.
    pub(super) fn required(&self, key: &str) -> Result<String, MemoryDataError> {
        self.optional(key)?
            .ok_or_else(|| self.wrong(format!("`{}{key}` is missing or empty", self.path)))
    }

    /// The elements of a list; none when it is missing.
    pub(super) fn list(&self, key: &str) -> Result<&'a [Value], MemoryDataError> {
        match self.get(key) {
            None => Ok(&[]),
            Some(Value::Array(list)) => Ok(list),
            Some(other) => Err(self.misfit(key, other, "a list")),
        }
    }

    /// The map of a member that must be there.
    pub(super) fn map(&self, key: &str) -> Result<Fields<'a>, MemoryDataError> {
        match self.map.get(key) {
            Some(value) => Self::at(value, self.place, format!("{}{key}.", self.path)),
            None => Err(self.wrong(format!("`{}{key}` is missing", self.path))),
        }
    }

    /// The maps of a list; none when it is missing.
    pub(super) fn maps(&self, key: &str) -> Result<Vec<Fields<'a>>, MemoryDataError> {
        let list = self.list(key)?.iter().enumerate();
        list.map(|(n, value)| Self::at(value, self.place, format!("{}{key}[{n}].", self.path)))
            .collect()
    }

    /// One map of a list.
    pub(super) fn element(
        &self,
        value: &'a Value,
        path: &str,
    ) -> Result<Fields<'a>, MemoryDataError> {
        Self::at(value, self.place, format!("{}{path}.", self.path))
    }

    pub(super) fn wrong(&self, problem: String) -> MemoryDataError {
        MemoryDataError::Wrong {
            problem,
            place: self.place.clone(),
        }
    }

    pub(super) fn misfit(&self, key: &str, found: &Value, expected: &str) -> MemoryDataError {
        let (path, found) = (&self.path, kind(found));
        self.wrong(format!("`{path}{key}` is {found}, not {expected}"))
    }
}
