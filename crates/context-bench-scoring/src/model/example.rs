//! `Example`: one record of a dataset, as an ordered JSON map.
//!
//! The map is kept exactly as it was read: unknown keys survive untouched and in
//! order, because systems and evaluators we do not know may need them. Typed
//! accessors read the keys that the built-ins know.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::Prompt;
use crate::text::stringify;

/// The field of an example whose context holds the question already, so that only the
/// context is sent. The catalog sets it; the name is one that records of users do not
/// have by chance.
pub const QUESTION_IN_CONTEXT: &str = "question_in_context";

/// The field of an example whose options stand neither in its context nor in its question,
/// so that whoever asks without a prompt shows them beside the question. The catalog sets
/// it.
pub const OPTIONS_APART: &str = "options_apart";

/// The field that tells attempts at one example apart, from the second on.
pub const REPEAT: &str = "repeat";

/// The object of another language that a map was made from; see [`Example::with_source`].
pub type Source = Arc<dyn Any + Send + Sync>;

/// One record of a dataset: an ordered map of JSON values.
#[derive(Clone, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Example {
    fields: Map<String, Value>,
    #[serde(skip)]
    source: Option<Source>,
    /// Whether `dataset` is only what a run calls the file that the example is from.
    #[serde(skip)]
    is_labelled: bool,
    /// How a model is asked about it: no field, so that fields mean the same however it is
    /// asked.
    #[serde(skip)]
    prompt: Option<Arc<Prompt>>,
    /// What several examples share and none holds as a field, such as a conversation.
    #[serde(skip)]
    shared: Option<Source>,
    /// How many places further on the example belongs than it comes.
    #[serde(skip)]
    displacement: i64,
    /// Which of several attempts at one example this is; from 1 on the field `repeat` says so.
    #[serde(skip)]
    repeat: u32,
}

impl fmt::Debug for Example {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Example")
            .field("fields", &self.fields)
            .finish_non_exhaustive()
    }
}

/// Equal fields are equal examples, wherever they come from.
impl PartialEq for Example {
    fn eq(&self, other: &Self) -> bool {
        self.fields == other.fields
    }
}

impl Example {
    /// An example without any field.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets one field and returns the example, for building examples in code.
    #[must_use]
    pub fn with(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.fields_mut().insert(key.into(), value.into());
        self
    }

    /// Remembers the object that the example was made from, so that a binding
    /// can hand it to code of its own language without making it again.
    #[must_use]
    pub fn with_source(mut self, source: Source) -> Self {
        self.source = Some(source);
        self
    }

    /// The object that the example was made from, while the fields are as they
    /// were then.
    pub fn source(&self) -> Option<&Source> {
        self.source.as_ref()
    }

    /// Has models asked about it with this prompt, whatever becomes of its fields.
    #[must_use]
    pub fn with_prompt(mut self, prompt: Option<Arc<Prompt>>) -> Self {
        self.prompt = prompt;
        self
    }

    /// How a model is asked about it; `None` for the usual layout.
    pub fn prompt(&self) -> Option<&Arc<Prompt>> {
        self.prompt.as_ref()
    }

    /// Hands something along that several examples share and that is too large to be a field
    /// of each, such as the conversation that they are about. It is neither written nor part
    /// of what makes examples equal: a field must say what it is.
    #[must_use]
    pub fn with_shared(mut self, shared: Source) -> Self {
        self.shared = Some(shared);
        self
    }

    /// What was handed along, whatever became of the fields.
    pub fn shared(&self) -> Option<&Source> {
        self.shared.as_ref()
    }

    /// Says that rows have the example so many places further on (or back, below 0) than it
    /// comes, because a dataset takes turns between conversations.
    #[must_use]
    pub fn displaced(mut self, places: i64) -> Self {
        self.displacement = places;
        self
    }

    /// How many places further on the example belongs than it comes.
    pub fn displacement(&self) -> i64 {
        self.displacement
    }

    /// The example as it is asked about once more: the `repeat`-th time, counted from 0. From 1 on
    /// systems and evaluators see the number as the field `repeat`, which is no content: keys of
    /// the store have it apart.
    #[must_use]
    pub fn repeated(mut self, repeat: u32) -> Self {
        if repeat > 0 {
            self.fields_mut().insert(REPEAT.into(), repeat.into());
        }
        self.repeat = repeat;
        self
    }

    /// Which of several attempts at one example this is, from 0.
    pub fn repeat(&self) -> u32 {
        self.repeat
    }

    /// An example of other fields that is asked about in the same way.
    #[must_use]
    pub fn with_fields(&self, fields: Map<String, Value>) -> Self {
        Self {
            fields,
            prompt: self.prompt.clone(),
            shared: self.shared.clone(),
            displacement: self.displacement,
            repeat: self.repeat,
            ..Self::default()
        }
    }

    /// Sets the `dataset` of an example that has none to what a run calls the file it
    /// is from: that is a name and no content, so keys of the store leave it out.
    #[must_use]
    pub fn labelled(mut self, label: &str) -> Self {
        if !self.fields.contains_key("dataset") {
            self.fields_mut().insert("dataset".into(), label.into());
            self.is_labelled = true;
        }
        self
    }

    /// Whether its `dataset` is only a [label](Self::labelled).
    pub fn is_labelled(&self) -> bool {
        self.is_labelled
    }

    /// Says that its `dataset` is only a [label](Self::labelled): of an example that was written
    /// down with its fields and is made again.
    #[must_use]
    pub fn with_label(mut self, is_labelled: bool) -> Self {
        self.is_labelled = is_labelled;
        self
    }

    /// The fields that are content: all but a [label](Self::labelled) and the number of a
    /// [repeat](Self::repeated).
    pub fn content(&self) -> impl Iterator<Item = (&String, &Value)> {
        let fields = self.fields.iter();
        fields.filter(|(key, _)| {
            let is_label = self.is_labelled && *key == "dataset";
            let is_repeat = self.repeat > 0 && *key == REPEAT;
            !is_label && !is_repeat
        })
    }

    /// All fields in their original order.
    pub fn fields(&self) -> &Map<String, Value> {
        &self.fields
    }

    /// All fields, for changing them in place.
    pub fn fields_mut(&mut self) -> &mut Map<String, Value> {
        self.source = None;
        &mut self.fields
    }

    /// Gives up the map.
    pub fn into_fields(self) -> Map<String, Value> {
        self.fields
    }

    /// The value of a field, if the key is there (it may be `null`).
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.fields.get(key)
    }

    /// The value of a field when it is text.
    pub fn text(&self, key: &str) -> Option<&str> {
        self.fields.get(key).and_then(Value::as_str)
    }

    /// A field as text for scoring: empty when missing, otherwise as Python's `str()` writes it.
    pub fn stringified(&self, key: &str) -> std::borrow::Cow<'_, str> {
        stringify::field(&self.fields, key)
    }

    /// The identifier, or `position` when the example has none (or a `null` one).
    ///
    /// # Errors
    ///
    /// When `id` is neither text nor an integer that fits 64 bits: such ids do
    /// not survive a round trip through JSON, so rows could not be matched again.
    pub fn id(&self, position: usize) -> Result<ExampleId, ExampleError> {
        match self.fields.get("id") {
            None | Some(Value::Null) => Ok(ExampleId::from(position)),
            Some(Value::String(text)) => Ok(ExampleId::Text(text.as_str().into())),
            Some(Value::Number(number)) if number.as_i64().is_some() => {
                Ok(ExampleId::Int(number.as_i64().unwrap_or_default()))
            }
            Some(other) => Err(ExampleError::BadId {
                found: stringify::python_repr(other),
            }),
        }
    }

    /// The context; empty when missing or not text.
    pub fn context(&self) -> &str {
        self.text("context").unwrap_or_default()
    }

    /// The question, if there is one and it is text.
    pub fn question(&self) -> Option<&str> {
        self.text("question")
    }

    /// The dataset tag; empty when missing.
    pub fn dataset(&self) -> &str {
        self.text("dataset").unwrap_or_default()
    }

    /// The turns of a conversation to be held turn by turn: only for examples
    /// whose `multi_turn` is truthy and which have the key `turns`.
    ///
    /// # Errors
    ///
    /// When `turns` is not a list of `{role, content}` maps.
    pub fn conversation(&self) -> Result<Option<Vec<Turn>>, ExampleError> {
        if !self.get("multi_turn").is_some_and(stringify::is_truthy) {
            return Ok(None);
        }
        let Some(turns) = self.get("turns") else {
            return Ok(None);
        };
        let bad = |found: &Value| ExampleError::BadTurns {
            found: stringify::kind(found),
        };
        let list = turns.as_array().ok_or_else(|| bad(turns))?;
        list.iter()
            .map(|turn| serde_json::from_value(turn.clone()).map_err(|_| bad(turn)))
            .collect::<Result<Vec<Turn>, _>>()
            .map(Some)
    }
}

impl From<Map<String, Value>> for Example {
    fn from(fields: Map<String, Value>) -> Self {
        Self {
            fields,
            ..Self::default()
        }
    }
}

impl<K: Into<String>, V: Into<Value>> FromIterator<(K, V)> for Example {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(iter: I) -> Self {
        let fields = iter
            .into_iter()
            .map(|(key, value)| (key.into(), value.into()));
        Self::from(fields.collect::<Map<String, Value>>())
    }
}

impl TryFrom<Value> for Example {
    type Error = ExampleError;

    fn try_from(value: Value) -> Result<Self, ExampleError> {
        match value {
            Value::Object(fields) => Ok(Self::from(fields)),
            other => Err(ExampleError::NotAMap {
                found: stringify::kind(&other),
            }),
        }
    }
}

/// One message of a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Turn {
    /// `user`, `assistant` or `system`.
    pub role: String,
    /// The text of the message; a `null` content is empty text.
    #[serde(deserialize_with = "null_is_empty")]
    pub content: String,
}

fn null_is_empty<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    Ok(Option::<String>::deserialize(deserializer)?.unwrap_or_default())
}

impl Turn {
    /// A message of the user.
    pub fn user(content: impl Into<String>) -> Self {
        Self {
            role: "user".into(),
            content: content.into(),
        }
    }

    /// A message of the assistant.
    pub fn assistant(content: impl Into<String>) -> Self {
        Self {
            role: "assistant".into(),
            content: content.into(),
        }
    }
}

/// Identifies an example inside its dataset. `1` and `"1"` are different.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(untagged)]
pub enum ExampleId {
    /// A number, also the position of examples without an id.
    Int(i64),
    /// Any text.
    Text(Arc<str>),
}

impl fmt::Display for ExampleId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Int(number) => number.fmt(f),
            Self::Text(text) => text.fmt(f),
        }
    }
}

impl From<usize> for ExampleId {
    fn from(position: usize) -> Self {
        Self::Int(i64::try_from(position).unwrap_or(i64::MAX))
    }
}

impl From<&str> for ExampleId {
    fn from(text: &str) -> Self {
        Self::Text(text.into())
    }
}

/// Why a record cannot be used as an example.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ExampleError {
    /// The `id` has a type that cannot identify a row.
    #[error("`id` must be text or a 64-bit integer, found {found}")]
    BadId {
        /// The value as Python would print it.
        found: String,
    },
    /// A field that is sent to a model is not text.
    #[error(
        "`{field}` must be text, a list of texts, or chunks with `text`, `content` or \
         `page_content`; found {found}"
    )]
    NotText {
        /// The field.
        field: &'static str,
        /// What was found instead.
        found: &'static str,
    },
    /// `turns` does not hold messages.
    #[error("`turns` must be a list of {{role, content}} maps with text, found {found}")]
    BadTurns {
        /// What was found instead.
        found: &'static str,
    },
    /// The record is not a map.
    #[error("an example must be a JSON object, found {found}")]
    NotAMap {
        /// What was found instead.
        found: &'static str,
    },
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn example(value: Value) -> Example {
        Example::try_from(value).expect("a map")
    }

    #[test]
    fn id_is_text_or_integer_or_the_position() {
        let cases = [
            (json!({"id": "q1"}), Some(ExampleId::from("q1"))),
            (json!({"id": ""}), Some(ExampleId::from(""))),
            (json!({"id": -3}), Some(ExampleId::Int(-3))),
            (json!({"id": null}), Some(ExampleId::Int(7))),
            (json!({}), Some(ExampleId::Int(7))),
            (json!({"id": 1.5}), None),
            (json!({"id": true}), None),
            (json!({"id": [1]}), None),
            (json!({"id": u64::MAX}), None),
        ];
        for (fields, expected) in cases {
            assert_eq!(example(fields.clone()).id(7).ok(), expected, "{fields}");
        }
    }

    #[test]
    fn unknown_keys_survive_in_order() {
        let text = r#"{"z":1,"context":"c","a":{"deep":[null,1.0]}}"#;
        let example: Example = serde_json::from_str(text).expect("valid");
        assert_eq!(serde_json::to_string(&example).expect("valid"), text);
    }

    #[test]
    fn the_source_is_forgotten_when_the_fields_change() {
        let made = || Example::new().with("a", 1).with_source(Arc::new("a dict"));
        let source = |example: &Example| {
            let source = example.source()?;
            source.downcast_ref::<&str>().copied()
        };
        let one = made();
        let copy = one.clone();
        assert_eq!(
            (source(&one), source(&copy)),
            (Some("a dict"), Some("a dict"))
        );
        assert_eq!(source(&made().with("b", 2)), None);
        let mut changed = made();
        changed.fields_mut().insert("a".into(), json!(2));
        assert_eq!(source(&changed), None);
        assert_eq!(made(), Example::new().with("a", 1));
    }

    #[test]
    fn a_conversation_needs_the_flag_and_the_turns() {
        let turns = json!([{"role": "user", "content": "hi"}]);
        let held = example(json!({"multi_turn": true, "turns": turns})).conversation();
        assert_eq!(held, Ok(Some(vec![Turn::user("hi")])));
        for fields in [
            json!({"multi_turn": false, "turns": turns}),
            json!({"turns": turns}),
            json!({"multi_turn": 1}),
        ] {
            assert_eq!(example(fields).conversation(), Ok(None));
        }
        let bad = example(json!({"multi_turn": true, "turns": ["hi"]})).conversation();
        assert_eq!(bad, Err(ExampleError::BadTurns { found: "text" }));
    }
}
