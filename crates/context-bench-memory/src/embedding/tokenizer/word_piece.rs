//! WordPiece: the longest token that a word begins with, then of the rest.

use serde_json::Value;

use super::{Problem, Vocabulary};

pub(super) struct WordPiece {
    vocabulary: Vocabulary,
    /// What tokens inside a word begin with.
    prefix: String,
    longest_word: usize,
    /// What stands for words that are not known.
    unknown: Option<u32>,
}

impl WordPiece {
    pub(super) fn of(model: &Value, vocabulary: Vocabulary) -> Result<Self, Problem> {
        let prefix = model["continuing_subword_prefix"].as_str();
        let longest = model["max_input_chars_per_word"].as_u64().unwrap_or(100);
        let unknown = model["unk_token"].as_str().unwrap_or("[UNK]");
        Ok(Self {
            unknown: vocabulary.get(unknown).copied(),
            vocabulary,
            prefix: prefix.unwrap_or("##").to_owned(),
            longest_word: usize::try_from(longest).unwrap_or(usize::MAX),
        })
    }

    /// The token of words that are not known.
    pub(super) fn unknown(&self) -> Option<u32> {
        self.unknown
    }

    /// Adds the tokens of a word; `false`, and none, when a part of it is not known.
    pub(super) fn encode(&self, word: &str, ids: &mut Vec<u32>) -> bool {
        if word.chars().count() > self.longest_word {
            return false;
        }
        let before = ids.len();
        let mut rest = word;
        let mut piece = String::new();
        while !rest.is_empty() {
            let start = if rest.len() == word.len() {
                ""
            } else {
                &self.prefix
            };
            let ends = rest.char_indices().rev().map(|(at, c)| at + c.len_utf8());
            let found = ends.into_iter().find_map(|end| {
                piece.clear();
                piece.push_str(start);
                piece.push_str(&rest[..end]);
                Some((*self.vocabulary.get(&piece)?, end))
            });
            let Some((id, end)) = found else {
                ids.truncate(before);
                return false;
            };
            ids.push(id);
            rest = &rest[end..];
        }
        true
    }
}
