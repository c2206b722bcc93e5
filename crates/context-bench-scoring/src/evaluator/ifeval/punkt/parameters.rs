//! The published parameters of the English model, embedded as text.
//!
//! `data/ifeval/make_data.py` writes the file: abbreviations, collocations,
//! sentence starters and orthographic contexts, one per line, an empty line
//! between the sections.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

static ENGLISH: &str = include_str!("../../../../data/ifeval/punkt_english.txt");

static PARAMETERS: LazyLock<Parameters> = LazyLock::new(|| Parameters::parse(ENGLISH));

/// Word types are in lower case, without their final period.
pub(super) struct Parameters {
    abbreviations: HashSet<&'static str>,
    collocations: HashSet<(&'static str, &'static str)>,
    starters: HashSet<&'static str>,
    contexts: HashMap<&'static str, Context>,
}

/// In which spellings and places a word type was seen.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Context(u8);

impl Context {
    pub(super) fn lower(self) -> bool {
        self.0 & 1 != 0
    }

    pub(super) fn upper_inside(self) -> bool {
        self.0 & 2 != 0
    }

    pub(super) fn upper(self) -> bool {
        self.0 & 4 != 0
    }

    pub(super) fn lower_at_start(self) -> bool {
        self.0 & 8 != 0
    }
}

impl Parameters {
    pub(super) fn get() -> &'static Self {
        &PARAMETERS
    }

    fn parse(text: &'static str) -> Self {
        let mut sections = text.trim_end_matches('\n').split("\n\n");
        let mut section = || sections.next().unwrap_or_default().split('\n');
        Self {
            abbreviations: section().collect(),
            collocations: section().filter_map(|line| line.split_once('\t')).collect(),
            starters: section().collect(),
            contexts: section().filter_map(context).collect(),
        }
    }

    pub(super) fn is_abbreviation(&self, word: &str) -> bool {
        self.abbreviations.contains(word)
    }

    pub(super) fn is_collocation(&self, first: &str, second: &str) -> bool {
        self.collocations.contains(&(first, second))
    }

    pub(super) fn is_starter(&self, word: &str) -> bool {
        self.starters.contains(word)
    }

    pub(super) fn context(&self, word: &str) -> Context {
        self.contexts.get(word).copied().unwrap_or_default()
    }
}

/// A letter from `a` (no flag) to `p` (all four), then the word type.
fn context(line: &'static str) -> Option<(&'static str, Context)> {
    let flags = line.bytes().next()?.checked_sub(b'a')?;
    Some((line.get(1..)?, Context(flags)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_parameters_are_complete() {
        let parameters = Parameters::get();
        assert_eq!(parameters.abbreviations.len(), 156);
        assert_eq!(parameters.collocations.len(), 37);
        assert_eq!(parameters.starters.len(), 39);
        assert_eq!(parameters.contexts.len(), CONTEXTS);
        // An ellipsis with spaces; editors like to strip its last one.
        assert!(parameters.is_abbreviation(". . "));
    }

    const CONTEXTS: usize = 20_366;
}
