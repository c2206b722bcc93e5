//! Keys: what a stored answer, its example, its system and its evaluators are found by.
//!
//! A key is a content address: it follows from content and settings alone.
//!
//! A key is the first 128 bits of a SHA-256 over an unambiguous encoding: every
//! value begins with a type tag, everything of variable length with its length,
//! so two different values never encode alike. Changing the encoding means new
//! labels: old rows are then no longer found, never found wrongly.

use std::fmt;

use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

use crate::model::Example;

/// From here on a repeat is the number of a run, for answers that are kept and never reused.
pub(crate) const KEPT_APART: u32 = 1 << 31;

/// The content address of an example, a system or an evaluator.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key([u8; 16]);

impl Key {
    /// The address of an example's content, and of the prompt that it is asked with if it
    /// has one. The order of members is not content, nor is what a run calls the file of the
    /// example.
    pub fn example(example: &Example) -> Self {
        match example.prompt() {
            None => Self::of("context-bench/example/1", |encoder| {
                encoder.members(example.content());
            }),
            Some(prompt) => Self::of("context-bench/prompted-example/1", |encoder| {
                encoder.text(prompt.digest());
                encoder.members(example.content());
            }),
        }
    }

    /// The address of an example's content alone, however models are asked about it.
    pub fn content(example: &Example) -> Self {
        Self::of("context-bench/example/1", |encoder| {
            encoder.members(example.content());
        })
    }

    /// The same without an `id` that is a number: records without an id get their place in the
    /// file for one, which another order makes another. Where nothing else says what the example
    /// is about, the number does.
    pub(crate) fn content_without_number(example: &Example) -> Self {
        let is_number = |(key, value): &(&String, &Value)| *key == "id" && value.is_number();
        let says = |key: &str| !matches!(key, "id" | "dataset" | "repeat");
        if !example.content().any(|(key, _)| says(key)) {
            return Self::content(example);
        }
        Self::of("context-bench/example/1", |encoder| {
            encoder.members(example.content().filter(|member| !is_number(member)));
        })
    }

    /// The address of a system: its kind and every setting that can change an answer.
    pub fn system(kind: &str, settings: &Value) -> Self {
        Self::of("context-bench/system/1", |encoder| {
            encoder.text(kind);
            encoder.value(settings);
        })
    }

    /// The address of an evaluator with its version and settings.
    pub fn scorer(name: &str, version: u32, settings: &Value) -> Self {
        Self::of("context-bench/scorer/1", |encoder| {
            encoder.text(name);
            encoder.word(b'v', u64::from(version));
            encoder.value(settings);
        })
    }

    /// The address of what several examples belong to, such as a conversation, by its name.
    pub fn group(name: &Value) -> Self {
        Self::of("context-bench/group/1", |encoder| encoder.value(name))
    }

    /// The address of a plan: everything that decides which rows a run has.
    pub fn plan(parts: &Map<String, Value>) -> Self {
        Self::of("context-bench/plan/1", |encoder| encoder.map(parts))
    }

    fn of<'a>(label: &str, encode: impl FnOnce(&mut Encoder<'a>)) -> Self {
        let mut encoder = Encoder::default();
        encoder.text(label);
        encode(&mut encoder);
        let digest = encoder.sha.finalize();
        let mut key = [0; 16];
        key.copy_from_slice(&digest[..16]);
        Self(key)
    }

    /// The address as bytes, as the store keeps it.
    pub fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }

    pub(super) fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Key({self})")
    }
}

/// The address of a response: this example through this system, for the n-th time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ResponseKey {
    /// The example, from [`Key::example`].
    pub example: Key,
    /// The system, from [`Key::system`].
    pub system: Key,
    /// Which repeat, from 0.
    pub repeat: u32,
}

impl ResponseKey {
    /// The address of the response of that system to that example.
    pub fn new(example: Key, system: Key, repeat: u32) -> Self {
        Self {
            example,
            system,
            repeat,
        }
    }
}

/// Feeds values to the hash without building any text.
#[derive(Default)]
struct Encoder<'a> {
    sha: Sha256,
    /// Members of the maps that are open right now. One buffer for all of them,
    /// so that sorting costs no allocation per map.
    members: Vec<(&'a str, &'a Value)>,
}

impl<'a> Encoder<'a> {
    /// A tag and eight bytes: numbers, lengths.
    fn word(&mut self, tag: u8, word: u64) {
        let mut bytes = [tag; 9];
        bytes[1..].copy_from_slice(&word.to_le_bytes());
        self.sha.update(bytes);
    }

    fn text(&mut self, text: &str) {
        self.word(b's', text.len() as u64);
        self.sha.update(text.as_bytes());
    }

    fn value(&mut self, value: &'a Value) {
        match value {
            Value::Null => self.sha.update(b"n"),
            Value::Bool(true) => self.sha.update(b"t"),
            Value::Bool(false) => self.sha.update(b"f"),
            Value::Number(number) => {
                if let Some(integer) = number.as_i64() {
                    self.word(b'i', integer.cast_unsigned());
                } else if let Some(large) = number.as_u64() {
                    self.word(b'u', large);
                } else {
                    self.word(b'd', number.as_f64().unwrap_or(f64::NAN).to_bits());
                }
            }
            Value::String(text) => self.text(text),
            Value::Array(list) => {
                self.word(b'a', list.len() as u64);
                for item in list {
                    self.value(item);
                }
            }
            Value::Object(map) => self.map(map),
        }
    }

    fn map(&mut self, map: &'a Map<String, Value>) {
        self.members(map.iter());
    }

    fn members(&mut self, members: impl Iterator<Item = (&'a String, &'a Value)>) {
        let start = self.members.len();
        self.members
            .extend(members.map(|(key, value)| (key.as_str(), value)));
        self.word(b'o', (self.members.len() - start) as u64);
        self.members[start..].sort_unstable_by_key(|(key, _)| *key);
        for index in start..self.members.len() {
            let (key, value) = self.members[index];
            self.text(key);
            // Nested maps append behind ours and take their part off again.
            self.value(value);
        }
        self.members.truncate(start);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Prompt;
    use serde_json::json;
    use std::sync::Arc;

    fn of(value: &Value) -> Key {
        Key::system("kind", value)
    }

    #[test]
    fn values_that_differ_have_keys_that_differ() {
        let values = [
            json!(null),
            json!(true),
            json!(false),
            json!(0),
            json!(0.0),
            json!(1),
            json!(1.0),
            json!(-1),
            json!(u64::MAX),
            json!(i64::MAX),
            json!(i64::MIN),
            json!(1e300),
            json!(0.1),
            json!(0.100_000_000_000_000_02),
            json!(""),
            json!("1"),
            json!("n"),
            json!([]),
            json!([[]]),
            json!([[], []]),
            json!([1, 2]),
            json!([2, 1]),
            json!([[1], 2]),
            json!([1, [2]]),
            json!(["ab", "c"]),
            json!(["a", "bc"]),
            json!({}),
            json!({"a": null}),
            json!({"a": 1, "b": 2}),
            json!({"a": 2, "b": 1}),
            json!({"a": {"b": 1}}),
            json!({"a": {}, "b": 1}),
            json!({"ab": "c"}),
            json!({"a": "bc"}),
            json!([{"a": 1}]),
            json!("\u{e9}"),
            json!("e\u{301}"),
        ];
        for (i, one) in values.iter().enumerate() {
            for (j, other) in values.iter().enumerate() {
                assert_eq!(of(one) == of(other), i == j, "{one} and {other}");
            }
        }
    }

    #[test]
    fn the_order_of_members_is_no_content() {
        let one = json!({"b": [{"y": 1, "x": 2}], "a": {"d": 1, "c": {"f": 1, "e": 2}}, "c": 3});
        let other = json!({"c": 3, "a": {"c": {"e": 2, "f": 1}, "d": 1}, "b": [{"x": 2, "y": 1}]});
        assert_eq!(of(&one), of(&other));
    }

    #[test]
    fn a_change_of_any_part_is_another_key() {
        let scorer = Key::scorer("judge", 1, &json!({"model": "m"}));
        for other in [
            Key::scorer("judge2", 1, &json!({"model": "m"})),
            Key::scorer("judge", 2, &json!({"model": "m"})),
            Key::scorer("judge", 1, &json!({"model": "n"})),
            Key::scorer("judge", 1, &json!({"model": "m", "temperature": 0})),
        ] {
            assert_ne!(scorer, other);
        }
        let example = Example::new().with("context", "c").with("id", 1);
        let system = of(&json!({}));
        let key = ResponseKey::new(Key::example(&example), system, 0);
        for other in [
            ResponseKey::new(Key::example(&example.clone().with("id", 2)), system, 0),
            ResponseKey::new(Key::example(&example.clone().with("x", 1)), system, 0),
            ResponseKey::new(Key::example(&example), of(&json!({"a": 1})), 0),
            ResponseKey::new(Key::example(&example), Key::system("k", &json!({})), 0),
            ResponseKey::new(Key::example(&example), system, 1),
        ] {
            assert_ne!(key, other);
        }
        let same = Example::new().with("id", 1).with("context", "c");
        assert_eq!(key.example, Key::example(&same));
        assert_eq!(key.example, Key::example(&same.clone().labelled("q")));
        let own = same.with("dataset", "q");
        assert_ne!(key.example, Key::example(&own));
        assert_eq!(Key::example(&own), Key::example(&own.clone().labelled("r")));
    }

    #[test]
    fn another_prompt_is_another_example() {
        let prompted = |parts: Value| {
            let parts = serde_json::from_value(parts).expect("parts");
            let prompt = Prompt::new(parts).expect("templates");
            let example = Example::new().with("question", "Q");
            Key::example(&example.with_prompt(Some(Arc::new(prompt))))
        };
        let keys = [
            Key::example(&Example::new().with("question", "Q")),
            prompted(json!({"user": "{{ question }}"})),
            prompted(json!({"user": "{{ question }}", "max_tokens": 1})),
            prompted(json!({"user": "{{ question }}", "shots": [{"a": 1}], "count": 1})),
            prompted(json!({"user": "{{ question }}", "shots": [{"a": 2}], "count": 1})),
        ];
        for (i, one) in keys.iter().enumerate() {
            for (j, other) in keys.iter().enumerate() {
                assert_eq!(one == other, i == j, "{i} and {j}");
            }
        }
        let again = prompted(json!({"user": "{{ question }}"}));
        assert_eq!(again, keys[1]);
    }

    /// Stored runs depend on it: when this fails, the labels need a new number.
    #[test]
    fn keys_stay_what_they_are() {
        let example = Example::new()
            .with("id", "q1")
            .with("n", json!([1, 2.5, null]));
        assert_eq!(
            Key::example(&example).to_string(),
            "407ed94cc626eef9f148ea2713d9004c"
        );
    }
}
