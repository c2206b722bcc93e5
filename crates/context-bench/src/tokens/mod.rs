//! Token counting behind one trait.
//!
//! Vocabularies are embedded and parsed on first use, never at start-up.
//! Spellings of special tokens count as plain text.

mod bpe;
mod known_part;
mod whitespace;

pub(crate) use known_part::KnownPart;

use std::str::FromStr;
use std::sync::Arc;

use context_bench_error::suggest;
use serde_json::{Map, Value};

use crate::error::Hint;
use crate::model::QUESTION_IN_CONTEXT;

/// Counts the tokens of a text.
pub trait TokenCounter: Send + Sync {
    /// The name that reports show.
    fn name(&self) -> &str;

    /// How many tokens the text has.
    fn count(&self, text: &str) -> u64;

    /// The same for counters that may fail, as one of user code may: then the row
    /// fails, because a count that is missing would falsify every sum.
    ///
    /// # Errors
    ///
    /// What went wrong, in words.
    fn try_count(&self, text: &str) -> Result<u64, String> {
        Ok(self.count(text))
    }

    /// Whether no token reaches from a letter (of ASCII) into the space after it, so that a text
    /// has as many tokens as what comes before such a place and what comes after it together.
    /// Then a text that holds one whose tokens are known need not be counted as a whole.
    fn parts_at_words(&self) -> bool {
        false
    }

    /// Loads what counting needs. A run does so before its first call, so that
    /// no system that counts pays for it in its latency.
    fn load(&self) {}
}

/// The counters that come with the library.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Tokenizer {
    /// The encoding of GPT-4 and GPT-3.5; the default.
    #[default]
    Cl100kBase,
    /// The encoding of GPT-4o and later.
    O200kBase,
    /// Words between white space: no vocabulary, for quick looks.
    Whitespace,
}

impl Tokenizer {
    /// All of them, the default first.
    pub const ALL: [Self; 3] = [Self::Cl100kBase, Self::O200kBase, Self::Whitespace];

    /// Where the tokens of a text end, in bytes. An end may be inside a character.
    pub fn ends(self, text: &str) -> Vec<usize> {
        match self {
            Self::Cl100kBase | Self::O200kBase => bpe::ends(self.name(), text),
            Self::Whitespace => whitespace::ends(text),
        }
    }

    /// This counter as a shared object.
    pub fn counter(self) -> Arc<dyn TokenCounter> {
        Arc::new(self)
    }
}

impl TokenCounter for Tokenizer {
    fn name(&self) -> &str {
        match self {
            Self::Cl100kBase => "cl100k_base",
            Self::O200kBase => "o200k_base",
            Self::Whitespace => "whitespace",
        }
    }

    fn count(&self, text: &str) -> u64 {
        match self {
            Self::Cl100kBase | Self::O200kBase => bpe::count(self.name(), text),
            Self::Whitespace => whitespace::count(text),
        }
    }

    fn parts_at_words(&self) -> bool {
        match self {
            Self::Cl100kBase | Self::O200kBase | Self::Whitespace => true,
        }
    }

    fn load(&self) {
        self.count("");
    }
}

impl FromStr for Tokenizer {
    type Err = UnknownTokenizer;

    fn from_str(name: &str) -> Result<Self, UnknownTokenizer> {
        Self::ALL
            .into_iter()
            .find(|tokenizer| tokenizer.name() == name)
            .ok_or_else(|| UnknownTokenizer {
                name: name.to_owned(),
            })
    }
}

/// No tokenizer has that name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown tokenizer `{name}`")]
pub struct UnknownTokenizer {
    /// The name as typed.
    pub name: String,
}

impl Hint for UnknownTokenizer {
    fn hint(&self) -> Option<String> {
        let names = Tokenizer::ALL.map(|tokenizer| tokenizer.name().to_owned());
        Some(format!("use {}", suggest::quoted_list(&names, "or")))
    }
}

/// Which top-level text fields count. Nested values, numbers and `null` never do.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum TextFields {
    /// Every top-level text.
    #[default]
    All,
    /// Only these keys; an empty list counts nothing.
    Only(Vec<String>),
}

impl TextFields {
    /// Whether a field of that name counts.
    pub fn includes(&self, key: &str) -> bool {
        match self {
            Self::All => true,
            Self::Only(keys) => keys.iter().any(|known| known == key),
        }
    }
}

/// How many tokens a text has with the default tokenizer.
pub fn count_tokens(text: &str) -> u64 {
    Tokenizer::default().count(text)
}

/// How many tokens the counted text fields of a map have together.
pub fn count_tokens_dict(
    fields: &Map<String, Value>,
    text_fields: &TextFields,
    counter: &dyn TokenCounter,
) -> u64 {
    counted_texts(fields, text_fields)
        .map(|(_, text)| counter.count(text))
        .sum()
}

/// The texts of a map that a system is given or hands on: its turns, else its messages
/// if it has no context, else context and question; never answers, ids and tags. Fields
/// that were named take their place. Each comes with its key when it is a field itself.
pub(crate) fn given_texts<'a>(
    fields: &'a Map<String, Value>,
    text_fields: &TextFields,
) -> Vec<(Option<&'a str>, &'a str)> {
    if let TextFields::Only(_) = text_fields {
        let named = counted_texts(fields, text_fields);
        return named.map(|(key, text)| (Some(key), text)).collect();
    }
    let list = |key: &str| fields.get(key).and_then(Value::as_array);
    let question_in_context = fields
        .get(QUESTION_IN_CONTEXT)
        .is_some_and(|said| *said == Value::Bool(true));
    let context = fields.get("context").filter(|value| !value.is_null());
    let messages = list("turns").or_else(|| match context {
        None => list("messages"),
        Some(_) => None,
    });
    match messages {
        Some(messages) => messages.iter().flat_map(message_texts).collect(),
        None => counted_texts(fields, &TextFields::All)
            .filter(|(key, _)| match *key {
                "context" => true,
                // Where the context holds it, it is sent once.
                "question" => !question_in_context,
                _ => false,
            })
            .map(|(key, text)| (Some(key), text))
            .collect(),
    }
}

/// The texts of one message: its content, or the text parts of it.
fn message_texts(message: &Value) -> Vec<(Option<&str>, &str)> {
    match message.get("content") {
        Some(Value::String(text)) => vec![(None, text)],
        Some(Value::Array(parts)) => {
            let texts = parts.iter().filter_map(|part| part.get("text")?.as_str());
            texts.map(|text| (None, text)).collect()
        }
        _ => Vec::new(),
    }
}

/// The texts that count, with their keys.
pub(crate) fn counted_texts<'a>(
    fields: &'a Map<String, Value>,
    text_fields: &TextFields,
) -> impl Iterator<Item = (&'a str, &'a str)> {
    fields
        .iter()
        .filter(|(key, _)| text_fields.includes(key))
        .filter_map(|(key, value)| Some((key.as_str(), value.as_str()?)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn special_tokens_count_as_plain_text() {
        for tokenizer in [Tokenizer::Cl100kBase, Tokenizer::O200kBase] {
            assert!(tokenizer.count("<|endoftext|>") > 1, "{tokenizer:?}");
            assert_eq!(tokenizer.count(""), 0);
        }
    }

    #[test]
    fn only_top_level_text_counts() {
        let fields = json!({"a": "hello world", "n": 5, "list": ["hello"], "b": "x"});
        let fields = fields.as_object().expect("a map");
        let count = |text_fields| count_tokens_dict(fields, &text_fields, &Tokenizer::Cl100kBase);
        assert_eq!(count(TextFields::All), 3);
        assert_eq!(count(TextFields::Only(vec!["a".into()])), 2);
        assert_eq!(count(TextFields::Only(vec![])), 0);
    }

    #[test]
    fn what_is_given_holds_no_answer_id_or_tag() {
        let given = |fields: Value, text_fields: TextFields| {
            let fields = fields.as_object().cloned().unwrap_or_default();
            let texts = given_texts(&fields, &text_fields);
            let texts: Vec<&str> = texts.iter().map(|(_, text)| *text).collect();
            texts.join("|")
        };
        let all = || TextFields::All;
        let list = json!([{"content": "A"}, {"content": [{"text": "B"}, {"url": "x"}]}]);
        let plain = json!({"id": "i", "dataset": "d", "context": "C", "question": "Q",
            "answer": "no", "response": "no", "messages": list});
        assert_eq!(given(plain.clone(), all()), "C|Q");
        assert_eq!(given(plain, TextFields::Only(vec!["id".into()])), "i");
        assert_eq!(
            given(json!({"messages": list, "answer": "no"}), all()),
            "A|B"
        );
        assert_eq!(given(json!({"turns": list, "context": "C"}), all()), "A|B");
    }

    #[test]
    fn names_parse_and_unknown_ones_say_which_exist() {
        for tokenizer in Tokenizer::ALL {
            assert_eq!(tokenizer.name().parse(), Ok(tokenizer));
        }
        let error = "cl100k".parse::<Tokenizer>().expect_err("unknown");
        assert!(
            error
                .hint()
                .is_some_and(|hint| hint.contains("cl100k_base"))
        );
    }
}
