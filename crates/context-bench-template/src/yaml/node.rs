//! A YAML value with the place it was written at.

use std::sync::Arc;

use context_bench_error::Position;

/// One value of a YAML document.
///
/// Nodes are shared: an alias is the same `Arc` as its anchor, so a document takes
/// no more memory than its text asks for.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// What it is.
    pub value: Yaml,
    /// Where it starts.
    pub position: Position,
    /// A tag that YAML does not define, such as `!function`; the value is then kept
    /// as written (text for scalars).
    pub tag: Option<Arc<str>>,
    /// How it was written.
    pub style: Style,
}

/// How a value was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Style {
    /// A scalar without quotes, a collection by indentation.
    #[default]
    Plain,
    /// A scalar in quotes.
    Quoted,
    /// A literal or folded block scalar.
    Block,
    /// A collection in brackets.
    Flow,
}

/// What a YAML value can be.
#[derive(Debug, Clone, PartialEq)]
pub enum Yaml {
    /// `null`, `~` or nothing.
    Null,
    /// `true`, `yes`, `on` and their opposites.
    Bool(bool),
    /// An integer of 64 bits.
    Int(i64),
    /// An integer beyond 64 bits, in decimal digits.
    BigInt(Arc<str>),
    /// A number with a dot.
    Float(f64),
    /// Text.
    Text(Arc<str>),
    /// A date or a time, as Python prints it.
    Timestamp(Arc<str>),
    /// `!!binary`, decoded.
    Bytes(Arc<[u8]>),
    /// A sequence, `!!omap` or `!!pairs`.
    List(Vec<Arc<Node>>),
    /// A mapping.
    Map(Map),
    /// `!!set`.
    Set(Vec<Arc<Node>>),
}

impl Yaml {
    /// What kind of value this is, for messages.
    pub fn kind(&self) -> &'static str {
        match self {
            Yaml::Null => "null",
            Yaml::Bool(_) => "a boolean",
            Yaml::Int(_) | Yaml::BigInt(_) => "an integer",
            Yaml::Float(_) => "a number",
            Yaml::Text(_) => "text",
            Yaml::Timestamp(_) => "a date",
            Yaml::Bytes(_) => "binary data",
            Yaml::List(_) => "a list",
            Yaml::Map(_) => "a mapping",
            Yaml::Set(_) => "a set",
        }
    }
}

impl Node {
    /// A plain value that stands in no file.
    pub fn new(value: Yaml) -> Self {
        Self {
            value,
            position: Position::default(),
            tag: None,
            style: Style::default(),
        }
    }

    /// The text, unless the node is tagged or no text.
    pub fn as_str(&self) -> Option<&str> {
        match &self.value {
            Yaml::Text(text) if self.tag.is_none() => Some(text),
            _ => None,
        }
    }

    /// The text of a node tagged `tag`, for example `!function`.
    pub fn as_tagged(&self, tag: &str) -> Option<&str> {
        match &self.value {
            Yaml::Text(text) if self.tag.as_deref() == Some(tag) => Some(text),
            _ => None,
        }
    }

    /// The mapping, if it is one.
    pub fn as_map(&self) -> Option<&Map> {
        match &self.value {
            Yaml::Map(map) => Some(map),
            _ => None,
        }
    }

    /// The list, if it is one.
    pub fn as_list(&self) -> Option<&[Arc<Node>]> {
        match &self.value {
            Yaml::List(list) => Some(list),
            _ => None,
        }
    }

    /// The value of a text key, if this is a mapping that has it.
    pub fn get(&self, key: &str) -> Option<&Arc<Node>> {
        self.as_map()?.get(key)
    }
}

/// A mapping in the order it was written.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Map {
    /// The entries; no two keys are equal as Python compares them.
    pub entries: Vec<Entry>,
}

/// A key and its value.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// The key; never a list or a mapping.
    pub key: Arc<Node>,
    /// The value.
    pub value: Arc<Node>,
}

impl Map {
    /// The value of a text key.
    pub fn get(&self, key: &str) -> Option<&Arc<Node>> {
        self.entry(key).map(|entry| &entry.value)
    }

    /// The entry of a text key.
    pub fn entry(&self, key: &str) -> Option<&Entry> {
        self.entries
            .iter()
            .find(|entry| entry.key.as_str() == Some(key))
    }

    /// Key and value of all entries with a text key, in order.
    pub fn iter_text(&self) -> impl Iterator<Item = (&str, &Entry)> {
        self.entries
            .iter()
            .filter_map(|entry| Some((entry.key.as_str()?, entry)))
    }
}
