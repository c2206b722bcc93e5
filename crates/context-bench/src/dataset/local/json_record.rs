//! One JSON record: from bytes to an example, or to what is wrong and where.
//!
//! Checking goes through the same parser as reading, only that nothing is kept,
//! so both accept exactly the same records. `IgnoredAny` of serde would not do:
//! it lets lone surrogates, huge numbers and bottomless nesting through.

use std::fmt;
use std::path::Path;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

use crate::dataset::DatasetError;
use crate::error::Location;
use crate::model::{Example, ExampleError};
use crate::text::stringify;

/// Beyond this a file is taken for damaged or hostile: no context is that large,
/// and a small compressed file may unpack to more than the memory holds.
pub(super) const MAX_RECORD_BYTES: u64 = 256 * 1024 * 1024;

/// The error of a record that is too long to be one.
pub(super) fn too_long(path: &Path, line: usize) -> DatasetError {
    DatasetError::BadFile {
        problem: format!(
            "a record is longer than {} MiB",
            MAX_RECORD_BYTES / (1024 * 1024)
        ),
        at: Location::line(path, line),
    }
}

/// The bytes of a record and where they begin.
pub(super) struct JsonRecord<'a> {
    pub(super) bytes: &'a [u8],
    /// The identifier of the example when it has none.
    pub(super) index: usize,
    pub(super) path: &'a Path,
    pub(super) line: usize,
    pub(super) column: usize,
}

impl JsonRecord<'_> {
    /// Checks the record without building it.
    pub(super) fn check(&self) -> Result<(), DatasetError> {
        let CheckedMap { id } = self.parse()?;
        match id {
            Some(id) => self.check_id(&Example::new().with("id", id)),
            None => Ok(()),
        }
    }

    /// The record as an example with an `id`.
    pub(super) fn read(&self) -> Result<Example, DatasetError> {
        let mut example: Example = self.parse()?;
        self.check_id(&example)?;
        let fields = example.fields_mut();
        if !fields.contains_key("id") {
            fields.insert("id".into(), self.index.into());
        }
        Ok(example)
    }

    fn check_id(&self, example: &Example) -> Result<(), DatasetError> {
        example
            .id(self.index)
            .map(drop)
            .map_err(|source| self.bad_example(source))
    }

    fn parse<'de, T: Deserialize<'de>>(&'de self) -> Result<T, DatasetError> {
        let text = std::str::from_utf8(self.bytes).map_err(|error| {
            let (before, rest) = self.bytes.split_at(error.valid_up_to());
            let line = 1 + before.iter().filter(|byte| **byte == b'\n').count();
            let column = before
                .iter()
                .rev()
                .take_while(|byte| **byte != b'\n')
                .count();
            DatasetError::BadRecord {
                problem: self.not_utf8(rest),
                at: self.at(line, column + 1),
            }
        })?;
        let first = text.trim_start().as_bytes().first();
        if first == Some(&b'{') {
            return serde_json::from_str(text).map_err(|error| self.bad_json(&error));
        }
        // Not a map: say what it is instead, unless it is not JSON at all.
        let value: Value = serde_json::from_str(text).map_err(|error| self.bad_json(&error))?;
        let found = stringify::kind(&value);
        Err(self.bad_example(ExampleError::NotAMap { found }))
    }

    fn bad_json(&self, error: &serde_json::Error) -> DatasetError {
        let text = error.to_string();
        let (line, column) = (error.line(), error.column());
        let place = format!(" at line {line} column {column}");
        let what = text.strip_suffix(&place).unwrap_or(&text);
        DatasetError::BadRecord {
            problem: format!("cannot parse JSON: {what}"),
            at: self.at(line, column),
        }
    }

    fn bad_example(&self, source: ExampleError) -> DatasetError {
        DatasetError::BadExample {
            source,
            at: self.at(1, 1),
        }
    }

    fn not_utf8(&self, rest: &[u8]) -> String {
        let byte = rest.first().copied().unwrap_or_default();
        let guess = match self.bytes {
            _ if self.line > 1 => "",
            [0x1f, 0x8b, ..] => "; the file looks like gzip, whose name must end in `.gz`",
            [0x28, 0xb5, 0x2f, 0xfd, ..] => {
                "; the file looks like zstd, whose name must end in `.zst`"
            }
            [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => "; the file looks like UTF-16",
            _ => "",
        };
        format!("not valid UTF-8: byte 0x{byte:02x}{guess}")
    }

    /// A place in the file from a place in the record, both counted from 1.
    fn at(&self, line: usize, column: usize) -> Location {
        let column = column.max(1);
        if line <= 1 {
            Location::line(self.path, self.line).column(self.column + column - 1)
        } else {
            Location::line(self.path, self.line + line - 1).column(column)
        }
    }
}

/// A valid map of which only the last `id` is kept.
struct CheckedMap {
    id: Option<Value>,
}

impl<'de> Deserialize<'de> for CheckedMap {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct MapVisitor;

        impl<'de> Visitor<'de> for MapVisitor {
            type Value = CheckedMap;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a map")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<CheckedMap, A::Error> {
                let mut id = None;
                while let Some(key) = map.next_key()? {
                    match key {
                        Key::Id => id = Some(map.next_value()?),
                        Key::Other => {
                            map.next_value::<Checked>()?;
                        }
                    }
                }
                Ok(CheckedMap { id })
            }
        }

        deserializer.deserialize_map(MapVisitor)
    }
}

enum Key {
    Id,
    Other,
}

impl<'de> Deserialize<'de> for Key {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct KeyVisitor;

        impl Visitor<'_> for KeyVisitor {
            type Value = Key;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a key")
            }

            fn visit_str<E: Error>(self, key: &str) -> Result<Key, E> {
                Ok(if key == "id" { Key::Id } else { Key::Other })
            }
        }

        deserializer.deserialize_str(KeyVisitor)
    }
}

/// Any valid value, parsed in full and dropped.
struct Checked;

impl<'de> Deserialize<'de> for Checked {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct AnyVisitor;

        impl<'de> Visitor<'de> for AnyVisitor {
            type Value = Checked;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("any valid JSON value")
            }

            fn visit_unit<E: Error>(self) -> Result<Checked, E> {
                Ok(Checked)
            }

            fn visit_bool<E: Error>(self, _: bool) -> Result<Checked, E> {
                Ok(Checked)
            }

            fn visit_i64<E: Error>(self, _: i64) -> Result<Checked, E> {
                Ok(Checked)
            }

            fn visit_u64<E: Error>(self, _: u64) -> Result<Checked, E> {
                Ok(Checked)
            }

            fn visit_f64<E: Error>(self, _: f64) -> Result<Checked, E> {
                Ok(Checked)
            }

            fn visit_str<E: Error>(self, _: &str) -> Result<Checked, E> {
                Ok(Checked)
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Checked, A::Error> {
                while seq.next_element::<Checked>()?.is_some() {}
                Ok(Checked)
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Checked, A::Error> {
                while map.next_entry::<Key, Checked>()?.is_some() {}
                Ok(Checked)
            }
        }

        deserializer.deserialize_any(AnyVisitor)
    }
}
