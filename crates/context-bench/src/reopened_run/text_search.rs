//! `TextSearch`: words that are looked for in the texts of rows. Most rows are told from the bytes that
//! lie in the store; only those that may have all words are taken apart.

use memchr::{memchr2, memmem};

use crate::store::RawTexts;

/// Words that a row must all have, in whatever text of it and whatever case.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TextSearch {
    words: Vec<Word>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Word {
    /// In lower case.
    whole: String,
    needle: Needle,
}

/// A part of a word that is in the stored bytes wherever the word is in a text made of them.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Needle {
    /// ASCII letters and digits, in either case.
    Ascii(Vec<u8>),
    /// Characters that have no case and are stored as they are.
    Caseless(Vec<u8>),
    /// There is none: every row has to be taken apart.
    None,
}

/// What is no ASCII and becomes such in lower case: the signs of kelvin and of a dotted I.
const BECOME_ASCII: [&str; 2] = ["\u{212a}", "\u{130}"];

impl TextSearch {
    /// The words of a text, between spaces.
    pub fn new(text: &str) -> Self {
        let text = text.to_lowercase();
        let words = text.split_whitespace().map(|word| Word {
            whole: word.to_owned(),
            needle: Needle::of(word),
        });
        Self {
            words: words.collect(),
        }
    }

    /// Whether there is nothing to look for.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// Whether texts that lie together have all words.
    pub fn is_in(&self, texts: &str) -> bool {
        let texts = texts.to_lowercase();
        self.words.iter().all(|word| texts.contains(&word.whole))
    }

    /// Whether a row may have all words; a row that may not has not.
    pub(crate) fn may_be_in(&self, texts: &RawTexts<'_>) -> bool {
        let id = texts.example_id.to_string();
        let message = texts.failure_message.unwrap_or_default();
        let parts = [
            &*texts.example,
            &*texts.output,
            id.as_bytes(),
            message.as_bytes(),
        ];
        let mut words = self.words.iter();
        words.all(|word| parts.iter().any(|part| word.needle.may_be_in(part)))
    }
}

impl Needle {
    fn of(word: &str) -> Self {
        // Quotation marks, backslashes and other signs may be written otherwise in JSON.
        let ascii = word.split(|c: char| !c.is_ascii_alphanumeric());
        let ascii = ascii.max_by_key(|part| part.len()).unwrap_or_default();
        let has_case = |c: char| !c.to_lowercase().eq([c]) || !c.to_uppercase().eq([c]);
        let caseless = word.split(|c: char| c.is_ascii() || !c.is_alphanumeric() || has_case(c));
        let caseless = caseless.max_by_key(|part| part.len()).unwrap_or_default();
        match (caseless, ascii) {
            ("", "") => Self::None,
            ("", ascii) => Self::Ascii(ascii.into()),
            (caseless, _) => Self::Caseless(caseless.into()),
        }
    }

    fn may_be_in(&self, bytes: &[u8]) -> bool {
        match self {
            Self::None => true,
            Self::Caseless(needle) => memmem::find(bytes, needle).is_some(),
            Self::Ascii(needle) => {
                has_ascii(bytes, needle)
                    || !bytes.is_ascii()
                        && BECOME_ASCII
                            .iter()
                            .any(|odd| memmem::find(bytes, odd.as_bytes()).is_some())
            }
        }
    }
}

/// Whether bytes have a needle of ASCII, in either case.
fn has_ascii(bytes: &[u8], needle: &[u8]) -> bool {
    let Some(first) = needle.first() else {
        return true;
    };
    let (lower, upper) = (first.to_ascii_lowercase(), first.to_ascii_uppercase());
    let mut rest = bytes;
    while let Some(at) = memchr2(lower, upper, rest) {
        let Some(here) = rest.get(at..at + needle.len()) else {
            return false;
        };
        if here.eq_ignore_ascii_case(needle) {
            return true;
        }
        rest = &rest[at + 1..];
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_needle_is_what_stored_bytes_have() {
        let needle = |word: &str| TextSearch::new(word).words.remove(0).needle;
        let cases = [
            ("Square", Needle::Ascii(b"square".into())),
            ("77?", Needle::Ascii(b"77".into())),
            ("say\"hello\"", Needle::Ascii(b"hello".into())),
            ("灯塔", Needle::Caseless("灯塔".into())),
            ("item灯", Needle::Caseless("灯".into())),
            ("é", Needle::None),
            ("café", Needle::Ascii(b"caf".into())),
            ("\"?\"", Needle::None),
        ];
        for (word, expected) in cases {
            assert_eq!(needle(word), expected, "{word}");
        }
    }

    #[test]
    fn words_are_found_in_any_case_and_order() {
        let search = TextSearch::new("TOWER  light");
        assert!(search.is_in("The Lighthouse\nhas a tower"));
        assert!(!search.is_in("The Lighthouse has none"));
        assert!(TextSearch::new(" ").is_empty());
        assert!(TextSearch::new("k").is_in("273 \u{212a}"));
    }

    proptest! {
        /// What is left out by its bytes has not the words either.
        #[test]
        fn no_row_is_missed(text in "[a-cK\u{212a}\u{130}é灯\"\\\\\n ?]{0,12}", word in "[a-ck\u{212a}i\u{130}é灯\"\\\\?]{1,3}") {
            let search = TextSearch::new(&word);
            let stored = serde_json::to_string(&text).expect("valid");
            if search.is_in(&text) {
                prop_assert!(search.words.iter().all(|word| word.needle.may_be_in(stored.as_bytes())));
            }
        }
    }
}
