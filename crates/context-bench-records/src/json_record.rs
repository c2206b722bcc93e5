//! One JSON record: from bytes to a map, or to what is wrong and where.
//!
//! Checking goes through the same parser as reading, only that nothing is kept,
//! so both accept exactly the same records. `IgnoredAny` of serde would not do:
//! it lets lone surrogates, huge numbers and bottomless nesting through.

use std::fmt;
use std::marker::PhantomData;
use std::path::Path;

use context_bench_error::Place;
use serde::de::{Deserialize, DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use crate::record::kind;
use crate::{CheckedRecord, PositionedRecord, RecordError, RecordPosition};

/// Beyond this a file is taken for damaged or hostile: no context is that large,
/// and a small compressed file may unpack to more than the memory holds.
pub(crate) const MAX_RECORD_BYTES: u64 = 256 * 1024 * 1024;

/// The error of a record that is too long to be one.
pub(crate) fn too_long(path: &Path, line: usize) -> RecordError {
    RecordError::BadFile {
        problem: format!(
            "a record is longer than {} MiB",
            MAX_RECORD_BYTES / (1024 * 1024)
        ),
        at: Place::path(path).line(line),
    }
}

/// The bytes of a record and where they begin.
pub(crate) struct JsonRecord<'a> {
    pub(crate) bytes: &'a [u8],
    /// Its position, which stands for a missing identifier.
    pub(crate) index: usize,
    pub(crate) path: &'a Path,
    pub(crate) line: usize,
    pub(crate) column: usize,
}

impl JsonRecord<'_> {
    /// Checks the record without building more of it than the value of `key`.
    pub(crate) fn check(&self, key: &str) -> Result<CheckedRecord, RecordError> {
        Ok(CheckedRecord {
            value: self.parse(MapCheck { key })?,
            position: self.position(),
        })
    }

    /// The record itself.
    pub(crate) fn read(&self) -> Result<PositionedRecord, RecordError> {
        Ok(PositionedRecord {
            record: self.parse(PhantomData::<Map<String, Value>>)?.into(),
            position: self.position(),
        })
    }

    fn position(&self) -> RecordPosition {
        RecordPosition {
            index: self.index,
            line: Some(self.line),
            column: Some(self.column),
        }
    }

    fn parse<'de, S: DeserializeSeed<'de>>(&'de self, seed: S) -> Result<S::Value, RecordError> {
        let text = std::str::from_utf8(self.bytes).map_err(|error| {
            let (before, rest) = self.bytes.split_at(error.valid_up_to());
            let line = 1 + before.iter().filter(|byte| **byte == b'\n').count();
            let column = before
                .iter()
                .rev()
                .take_while(|byte| **byte != b'\n')
                .count();
            RecordError::BadRecord {
                problem: self.not_utf8(rest),
                at: self.at(line, column + 1),
            }
        })?;
        let first = text.trim_start().as_bytes().first();
        if first == Some(&b'{') {
            let mut parser = serde_json::Deserializer::from_str(text);
            return seed
                .deserialize(&mut parser)
                .and_then(|found| parser.end().map(|()| found))
                .map_err(|error| self.bad_json(&error));
        }
        // Not a map: say what it is instead, unless it is not JSON at all.
        let value: Value = serde_json::from_str(text).map_err(|error| self.bad_json(&error))?;
        Err(RecordError::NotAMap {
            found: kind(&value),
            at: self.at(1, 1),
        })
    }

    fn bad_json(&self, error: &serde_json::Error) -> RecordError {
        let text = error.to_string();
        let (line, column) = (error.line(), error.column());
        let place = format!(" at line {line} column {column}");
        let what = text.strip_suffix(&place).unwrap_or(&text);
        RecordError::BadRecord {
            problem: format!("cannot parse JSON: {what}"),
            at: self.at(line, column),
        }
    }

    fn not_utf8(&self, rest: &[u8]) -> String {
        let byte = rest.first().copied().unwrap_or_default();
        let guess = match self.bytes {
            [0xff, 0xfe, ..] | [0xfe, 0xff, ..] if self.line == 1 => "; the file looks like UTF-16",
            _ => "",
        };
        format!("not valid UTF-8: byte 0x{byte:02x}{guess}")
    }

    /// A place in the file from a place in the record, both counted from 1.
    fn at(&self, line: usize, column: usize) -> Place {
        let column = column.max(1);
        if line <= 1 {
            Place::path(self.path)
                .line(self.line)
                .column(self.column + column - 1)
        } else {
            Place::path(self.path)
                .line(self.line + line - 1)
                .column(column)
        }
    }
}

/// Checks a map and keeps the last value of one key.
struct MapCheck<'k> {
    key: &'k str,
}

impl<'de> DeserializeSeed<'de> for MapCheck<'_> {
    type Value = Option<Value>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for MapCheck<'_> {
    type Value = Option<Value>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut kept = None;
        while let Some(is_kept) = map.next_key_seed(IsKey(self.key))? {
            if is_kept {
                kept = Some(map.next_value()?);
            } else {
                map.next_value::<Valid>()?;
            }
        }
        Ok(kept)
    }
}

/// Tells whether a key is the one that is kept.
struct IsKey<'k>(&'k str);

impl<'de> DeserializeSeed<'de> for IsKey<'_> {
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<bool, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for IsKey<'_> {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E: Error>(self, key: &str) -> Result<bool, E> {
        Ok(key == self.0)
    }
}

/// Any valid value, parsed in full and dropped.
struct Valid;

impl<'de> Deserialize<'de> for Valid {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct AnyVisitor;

        impl<'de> Visitor<'de> for AnyVisitor {
            type Value = Valid;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("any valid JSON value")
            }

            fn visit_unit<E: Error>(self) -> Result<Valid, E> {
                Ok(Valid)
            }

            fn visit_bool<E: Error>(self, _: bool) -> Result<Valid, E> {
                Ok(Valid)
            }

            fn visit_i64<E: Error>(self, _: i64) -> Result<Valid, E> {
                Ok(Valid)
            }

            fn visit_u64<E: Error>(self, _: u64) -> Result<Valid, E> {
                Ok(Valid)
            }

            fn visit_f64<E: Error>(self, _: f64) -> Result<Valid, E> {
                Ok(Valid)
            }

            fn visit_str<E: Error>(self, _: &str) -> Result<Valid, E> {
                Ok(Valid)
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Valid, A::Error> {
                while seq.next_element::<Valid>()?.is_some() {}
                Ok(Valid)
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Valid, A::Error> {
                while map.next_key_seed(IsKey(""))?.is_some() {
                    map.next_value::<Valid>()?;
                }
                Ok(Valid)
            }
        }

        deserializer.deserialize_any(AnyVisitor)
    }
}
