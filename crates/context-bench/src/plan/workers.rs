//! How many calls may be in flight, as users write it: a number or `auto`.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::runner::MaxWorkers;

/// The most that `auto` tries.
const AUTO_UP_TO: usize = 1024;

/// A number of calls in flight, or `auto` to find it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Workers {
    /// This many.
    Number(usize),
    /// As many as the endpoints can take.
    Auto,
}

impl From<Workers> for MaxWorkers {
    fn from(workers: Workers) -> Self {
        match workers {
            Workers::Number(n) => Self::Fixed(n),
            Workers::Auto => Self::Auto { up_to: AUTO_UP_TO },
        }
    }
}

impl FromStr for Workers {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.parse() {
            _ if text == "auto" => Ok(Self::Auto),
            Ok(n) => Ok(Self::Number(n)),
            Err(_) => Err("expected a whole number above 0 or `auto`".into()),
        }
    }
}

impl Serialize for Workers {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Number(n) => n.serialize(serializer),
            Self::Auto => serializer.serialize_str("auto"),
        }
    }
}

impl<'de> Deserialize<'de> for Workers {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl Visitor<'_> for Either {
            type Value = Workers;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a whole number above 0 or `auto`")
            }

            fn visit_u64<E: Error>(self, n: u64) -> Result<Workers, E> {
                usize::try_from(n).map(Workers::Number).map_err(E::custom)
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Workers, E> {
                text.parse().map_err(E::custom)
            }
        }
        deserializer.deserialize_any(Either)
    }
}

impl JsonSchema for Workers {
    fn schema_name() -> Cow<'static, str> {
        "Workers".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"anyOf": [{"type": "integer", "minimum": 1}, {"const": "auto"}]})
    }
}
