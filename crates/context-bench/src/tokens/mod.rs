//! Token counting behind one trait.
//!
//! Vocabularies are embedded and parsed on first use, never at start-up.
//! Spellings of special tokens count as plain text.

mod bpe;
mod whitespace;

use std::str::FromStr;
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::error::Hint;
use crate::text::suggest;

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

    /// Loads what counting needs. A run does so before its first call, so that
    /// no system that counts pays for it in its latency.
    fn load(&self) {}
}

/// The counters that come with the library.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
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
