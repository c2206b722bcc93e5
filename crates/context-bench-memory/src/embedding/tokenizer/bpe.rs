//! BPE in the way of Llama 2: characters, merged pair by pair in the order of the file;
//! characters that are not tokens as their bytes.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use serde_json::Value;

use super::{Problem, Vocabulary};

pub(super) struct Bpe {
    vocabulary: Vocabulary,
    /// Pairs of tokens, with their place in the order and what they become.
    merges: HashMap<(u32, u32), (u32, u32)>,
    /// The tokens of single bytes, where characters may be written as such.
    bytes: Option<Vec<u32>>,
}

/// A token and its neighbours that are still there.
struct Symbol {
    id: u32,
    before: Option<usize>,
    after: Option<usize>,
    merged: bool,
}

impl Bpe {
    pub(super) fn of(model: &Value, vocabulary: Vocabulary) -> Result<Self, Problem> {
        for key in ["continuing_subword_prefix", "end_of_word_suffix"] {
            if model[key].as_str().is_some_and(|text| !text.is_empty()) {
                return Err(Problem::Unsupported {
                    part: "option of BPE",
                    found: key.to_owned(),
                });
            }
        }
        if model["ignore_merges"] == true {
            return Err(Problem::Unsupported {
                part: "option of BPE",
                found: "ignore_merges".to_owned(),
            });
        }
        let list = model["merges"].as_array();
        let list = list.ok_or_else(|| Problem::Bad("`model.merges` is not a list".into()))?;
        let mut merges = HashMap::with_capacity(list.len());
        for (rank, merge) in (0_u32..).zip(list) {
            let pair = match merge {
                Value::String(text) => text.split_once(' '),
                other => other[0].as_str().zip(other[1].as_str()),
            };
            let bad = || Problem::Bad(format!("the merge {merge} is not a pair of tokens"));
            let (left, right) = pair.ok_or_else(bad)?;
            let id = |token: &str| vocabulary.get(token).copied().ok_or_else(bad);
            let merged = id(&format!("{left}{right}"))?;
            merges.insert((id(left)?, id(right)?), (rank, merged));
        }
        let bytes = match model["byte_fallback"] == true {
            true => (0..=255_u8)
                .map(|byte| vocabulary.get(&format!("<0x{byte:02X}>")).copied())
                .collect(),
            false => None,
        };
        Ok(Self {
            vocabulary,
            merges,
            bytes,
        })
    }

    /// Adds the tokens of a word.
    pub(super) fn encode(&self, word: &str, ids: &mut Vec<u32>) {
        let mut symbols: Vec<Symbol> = Vec::new();
        // A character that is not known keeps its neighbours apart.
        let mut joined = false;
        let mut buffer = [0; 4];
        for c in word.chars() {
            let text: &str = c.encode_utf8(&mut buffer);
            let known: Vec<u32> = match (self.vocabulary.get(text), &self.bytes) {
                (Some(id), _) => vec![*id],
                (None, Some(bytes)) => text.bytes().map(|byte| bytes[usize::from(byte)]).collect(),
                (None, None) => Vec::new(),
            };
            if known.is_empty() {
                joined = false;
            }
            for id in known {
                let at = symbols.len();
                let before = at.checked_sub(1).filter(|_| joined);
                if let Some(before) = before {
                    symbols[before].after = Some(at);
                }
                symbols.push(Symbol {
                    id,
                    before,
                    after: None,
                    merged: false,
                });
                joined = true;
            }
        }
        self.merge(&mut symbols);
        ids.extend(symbols.iter().filter(|one| !one.merged).map(|one| one.id));
    }

    /// Merges the pair that stands first in the file, the leftmost of equals, until none is left.
    fn merge(&self, symbols: &mut [Symbol]) {
        let mut queue = BinaryHeap::new();
        let pair = |symbols: &[Symbol], at: usize| {
            let after = symbols[at].after?;
            let key = (symbols[at].id, symbols[after].id);
            let (rank, id) = *self.merges.get(&key)?;
            Some(Reverse((rank, at, key, id)))
        };
        queue.extend((0..symbols.len()).filter_map(|at| pair(symbols, at)));
        while let Some(Reverse((_, at, key, id))) = queue.pop() {
            // One of the two may have been merged since.
            let after = symbols[at].after;
            let now = after.map(|after| (symbols[at].id, symbols[after].id));
            let (false, Some(after), true) = (symbols[at].merged, after, now == Some(key)) else {
                continue;
            };
            symbols[at].id = id;
            symbols[after].merged = true;
            symbols[at].after = symbols[after].after;
            if let Some(next) = symbols[at].after {
                symbols[next].before = Some(at);
            }
            queue.extend(pair(symbols, at));
            if let Some(before) = symbols[at].before {
                queue.extend(pair(symbols, before));
            }
        }
    }
}
