//! How a text is cut into words before they are cut into tokens.

use serde_json::Value;
use unicode_properties::{GeneralCategoryGroup, UnicodeGeneralCategory as _};

use super::Problem;

/// How a text is cut into words.
pub(super) enum PreTokenizer {
    /// Not at all.
    Whole,
    /// At white space, and each punctuation mark alone.
    Bert,
    /// At white space.
    Whitespace,
    /// Before each word, with a mark in place of the blank.
    Metaspace { mark: char, prepend: bool },
}

impl PreTokenizer {
    pub(super) fn of(value: &Value) -> Result<Self, Problem> {
        if value.is_null() {
            return Ok(Self::Whole);
        }
        Ok(match value["type"].as_str() {
            Some("BertPreTokenizer") => Self::Bert,
            Some("WhitespaceSplit") => Self::Whitespace,
            Some("Metaspace") if value["split"] != false => {
                let mark = value["replacement"].as_str();
                let mark = mark.and_then(|text| text.chars().next()).unwrap_or('▁');
                let prepend = match value["prepend_scheme"].as_str() {
                    Some(scheme) => scheme != "never",
                    None => value["add_prefix_space"].as_bool().unwrap_or(true),
                };
                Self::Metaspace { mark, prepend }
            }
            _ => return Err(Problem::unsupported("pre-tokenizer", value)),
        })
    }

    pub(super) fn split(&self, text: &str) -> Vec<String> {
        match self {
            Self::Whole => [text].map(str::to_owned).into(),
            Self::Whitespace => text.split_whitespace().map(str::to_owned).collect(),
            Self::Bert => {
                let mut words = Vec::new();
                for part in text.split_whitespace() {
                    let mut word = String::new();
                    for c in part.chars() {
                        if is_punctuation(c) {
                            words.push(std::mem::take(&mut word));
                            words.push(c.into());
                        } else {
                            word.push(c);
                        }
                    }
                    words.push(word);
                }
                words.retain(|word| !word.is_empty());
                words
            }
            Self::Metaspace { mark, prepend } => {
                let mut text = text.replace(' ', mark.encode_utf8(&mut [0; 4]));
                if *prepend && !text.is_empty() && !text.starts_with(*mark) {
                    text.insert(0, *mark);
                }
                let mut words: Vec<String> = Vec::new();
                for c in text.chars() {
                    match words.last_mut() {
                        Some(word) if c != *mark => word.push(c),
                        _ => words.push(c.into()),
                    }
                }
                words
            }
        }
    }
}

fn is_punctuation(c: char) -> bool {
    c.is_ascii_punctuation() || c.general_category_group() == GeneralCategoryGroup::Punctuation
}
