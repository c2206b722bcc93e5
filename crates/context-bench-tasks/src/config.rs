//! A configuration as merged from files and overrides, with where each value is from.

use std::sync::Arc;

use context_bench_error::{Place, Position};
use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Where a value of a configuration comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// The file, or what stands for one (`<inline>`, `<command line>`).
    pub place: Place,
    /// The way it came when not by the file itself: an include, a group, a format.
    pub via: Option<Arc<str>>,
}

impl Origin {
    /// A value from a position of a file.
    pub fn file(file: &Arc<str>, position: Position) -> Self {
        Self {
            place: Place::new(file.clone(), position),
            via: None,
        }
    }

    /// A value that no file holds.
    pub fn other(name: &str) -> Self {
        Self {
            place: Place::file(name),
            via: None,
        }
    }
}

impl std::fmt::Display for Origin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.place)?;
        match &self.via {
            Some(via) => write!(f, " ({via})"),
            None => Ok(()),
        }
    }
}

/// A value with its origin. Written down, it keeps the file that it is from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Setting {
    /// The value; functions as [`crate::function::Function::to_json`] writes them.
    pub value: Value,
    /// Where it is from.
    #[serde(rename = "from", with = "origin_file")]
    pub origin: Origin,
}

/// Origins by the name of their file.
mod origin_file {
    use serde::{Deserialize as _, Deserializer, Serialize as _, Serializer};

    use super::Origin;

    pub(super) fn serialize<S: Serializer>(origin: &Origin, out: S) -> Result<S::Ok, S::Error> {
        let file = &*origin.place.file;
        // What stands for a file (`<inline>`) is not a path; a path must be found again from another folder.
        let whole = std::path::absolute(file)
            .ok()
            .filter(|_| !file.starts_with('<'));
        match whole.as_deref().and_then(std::path::Path::to_str) {
            Some(whole) => whole.serialize(out),
            None => file.serialize(out),
        }
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Origin, D::Error> {
        Ok(Origin::other(&String::deserialize(from)?))
    }
}

/// Settings by name, in order.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Config {
    settings: IndexMap<String, Setting>,
}

impl Config {
    /// Nothing set.
    pub fn new() -> Self {
        Self::default()
    }

    /// All of a JSON object, from one origin.
    pub fn from_json(map: &Map<String, Value>, origin: &Origin) -> Self {
        let mut config = Self::new();
        for (key, value) in map {
            config.set(key, value.clone(), origin.clone());
        }
        config
    }

    /// Sets a value, replacing the whole of an earlier one.
    pub fn set(&mut self, key: &str, value: Value, origin: Origin) {
        self.settings
            .insert(key.to_owned(), Setting { value, origin });
    }

    /// Puts another configuration on top of this one.
    pub fn extend(&mut self, other: &Config) {
        for (key, setting) in &other.settings {
            self.settings.insert(key.clone(), setting.clone());
        }
    }

    /// Takes a setting out.
    pub fn remove(&mut self, key: &str) -> Option<Setting> {
        self.settings.shift_remove(key)
    }

    /// The same settings, marked as having come by `via`.
    #[must_use]
    pub fn via(mut self, via: &str) -> Self {
        let via: Arc<str> = via.into();
        for setting in self.settings.values_mut() {
            setting.origin.via.get_or_insert_with(|| via.clone());
        }
        self
    }

    /// A setting.
    pub fn setting(&self, key: &str) -> Option<&Setting> {
        self.settings.get(key)
    }

    /// A value; `null` counts as not set.
    pub fn get(&self, key: &str) -> Option<&Value> {
        let value = &self.settings.get(key)?.value;
        (!value.is_null()).then_some(value)
    }

    /// A text value.
    pub fn text(&self, key: &str) -> Option<&str> {
        self.get(key)?.as_str()
    }

    /// Where a key is set, for messages.
    pub fn place(&self, key: &str) -> Option<&Place> {
        Some(&self.settings.get(key)?.origin.place)
    }

    /// All settings in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Setting)> {
        self.settings
            .iter()
            .map(|(key, setting)| (key.as_str(), setting))
    }

    /// Whether nothing is set.
    pub fn is_empty(&self) -> bool {
        self.settings.is_empty()
    }

    /// The values without their origins.
    pub fn to_json(&self) -> Map<String, Value> {
        self.iter()
            .map(|(key, setting)| (key.to_owned(), setting.value.clone()))
            .collect()
    }
}
