//! What happens to a text before it is cut.

use serde_json::Value;
use unicode_normalization::UnicodeNormalization as _;
use unicode_normalization::char::is_combining_mark;
use unicode_properties::{GeneralCategory, GeneralCategoryGroup, UnicodeGeneralCategory as _};

use super::Problem;

/// A step.
pub(super) enum Normalizer {
    /// That of BERT.
    Bert {
        clean: bool,
        chinese: bool,
        accents: bool,
        lower: bool,
    },
    Lowercase,
    StripAccents,
    Nfc,
    Nfd,
    Nfkc,
    Nfkd,
    Prepend(String),
    Replace {
        from: String,
        to: String,
    },
}

impl Normalizer {
    /// The steps of a file, in order.
    pub(super) fn all_of(value: &Value) -> Result<Vec<Self>, Problem> {
        if value.is_null() {
            return Ok(Vec::new());
        }
        if value["type"] == "Sequence" {
            let steps = value["normalizers"].as_array().into_iter().flatten();
            let steps: Result<Vec<Vec<Self>>, Problem> = steps.map(Self::all_of).collect();
            return Ok(steps?.into_iter().flatten().collect());
        }
        Ok(vec![Self::of(value)?])
    }

    fn of(value: &Value) -> Result<Self, Problem> {
        let flag = |key: &str, default: bool| value[key].as_bool().unwrap_or(default);
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let step = match value["type"].as_str() {
            Some("BertNormalizer") => {
                let lower = flag("lowercase", true);
                Some(Self::Bert {
                    clean: flag("clean_text", true),
                    chinese: flag("handle_chinese_chars", true),
                    accents: flag("strip_accents", lower),
                    lower,
                })
            }
            Some("Lowercase") => Some(Self::Lowercase),
            Some("StripAccents") => Some(Self::StripAccents),
            Some("NFC") => Some(Self::Nfc),
            Some("NFD") => Some(Self::Nfd),
            Some("NFKC") => Some(Self::Nfkc),
            Some("NFKD") => Some(Self::Nfkd),
            Some("Prepend") => text(&value["prepend"]).map(Self::Prepend),
            Some("Replace") => {
                let parts = text(&value["pattern"]["String"]).zip(text(&value["content"]));
                parts.map(|(from, to)| Self::Replace { from, to })
            }
            _ => None,
        };
        step.ok_or_else(|| Problem::unsupported("normalizer", value))
    }

    pub(super) fn apply(&self, text: &str) -> String {
        match self {
            Self::Bert {
                clean,
                chinese,
                accents,
                lower,
            } => {
                let mut text: String = match clean {
                    true => text.chars().filter_map(cleaned).collect(),
                    false => text.to_owned(),
                };
                if *chinese {
                    text = apart(&text);
                }
                if *accents {
                    let plain = text.nfd().filter(|c| !is_nonspacing(*c));
                    text = plain.collect();
                }
                match lower {
                    true => text.chars().flat_map(char::to_lowercase).collect(),
                    false => text,
                }
            }
            Self::Lowercase => text.chars().flat_map(char::to_lowercase).collect(),
            Self::StripAccents => text.chars().filter(|c| !is_combining_mark(*c)).collect(),
            Self::Nfc => text.nfc().collect(),
            Self::Nfd => text.nfd().collect(),
            Self::Nfkc => text.nfkc().collect(),
            Self::Nfkd => text.nfkd().collect(),
            Self::Prepend(_) if text.is_empty() => String::new(),
            Self::Prepend(prefix) => format!("{prefix}{text}"),
            Self::Replace { from, to } => text.replace(from.as_str(), to),
        }
    }
}

/// A character as BERT reads it: white space as a blank, control characters not at all.
fn cleaned(c: char) -> Option<char> {
    match c {
        '\t' | '\n' | '\r' => Some(' '),
        '\0' | '\u{fffd}' => None,
        c if c.general_category_group() == GeneralCategoryGroup::Other => None,
        c if c.is_whitespace() => Some(' '),
        c => Some(c),
    }
}

/// Blanks around each Chinese character.
fn apart(text: &str) -> String {
    let mut spaced = String::with_capacity(text.len());
    for c in text.chars() {
        if is_chinese(c) {
            spaced.extend([' ', c, ' ']);
        } else {
            spaced.push(c);
        }
    }
    spaced
}

fn is_nonspacing(c: char) -> bool {
    c.general_category() == GeneralCategory::NonspacingMark
}

/// The blocks of Chinese characters that BERT's authors list.
fn is_chinese(c: char) -> bool {
    matches!(c, '\u{4e00}'..='\u{9fff}' | '\u{3400}'..='\u{4dbf}' | '\u{20000}'..='\u{2a6df}'
        | '\u{2a700}'..='\u{2b73f}' | '\u{2b740}'..='\u{2b81f}' | '\u{2b920}'..='\u{2ceaf}'
        | '\u{f900}'..='\u{faff}' | '\u{2f800}'..='\u{2fa1f}')
}
