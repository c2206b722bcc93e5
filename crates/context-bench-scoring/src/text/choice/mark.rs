//! Letters that stand out without a sentence around them: the whole response,
//! the first or last line, bold and bracketed letters, a lone capital.

use super::cue::{AFTER_LETTER, FILLERS, NAMES, NEGATIONS};
use super::letter::{Letters, letters_at, lone_letter, skip_closers};
use super::rejection::Rejections;
use super::token::{Kind, Token};
use crate::text::lexicon::{Lexicon, words};

/// The lines of a response that have tokens.
pub(super) fn lines<'t, 'a>(tokens: &'t [Token<'a>]) -> Vec<&'t [Token<'a>]> {
    tokens
        .split(|token| token.kind == Kind::Newline)
        .filter(|line| !line.is_empty())
        .collect()
}

/// A line that begins with an option letter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mark {
    pub(super) letters: Vec<char>,
    pub(super) alternatives: bool,
    /// Nothing else is on the line.
    pub(super) alone: bool,
}

/// The letter that a line begins with: `B`, `(B) Paris`, `- **B.** Paris`, `Option B`.
pub(super) fn mark(line: &[Token<'_>], rejections: &Rejections) -> Option<Mark> {
    let mut i = 0;
    while line.get(i).is_some_and(|token| token.is_any("-•#>–—✅")) {
        i += 1;
    }
    let named = |i: usize| {
        line.get(i)
            .is_some_and(|token| token.in_list(&["option", "choice", "answer", "letter"]))
    };
    let mut at = i;
    while line.get(at).is_some_and(|token| token.is_any("*_")) {
        at += 1;
    }
    if named(at) {
        i = at + 1;
    }
    let read = letters_at(line, i)?;
    let end = end_of_mark(line, &read);
    let alone = end >= line.len();
    let reasoned = |at: usize| {
        line.get(at)
            .is_some_and(|token| token.in_list(&["because", "since", "as", "due"]))
    };
    let comma = line.get(end).is_some_and(|token| token.is(','));
    let delimited = read.marked || end > read.next || comma && reasoned(end + 1);
    if !alone && (!delimited || lists_options(line)) {
        return None;
    }
    // `a) We can use …`: the part of a question, not an option.
    let lower_case = line[i..end.min(line.len())]
        .iter()
        .any(|token| token.text.starts_with(|c: char| c.is_ascii_lowercase()));
    if lower_case && line.len() > 40 {
        return None;
    }
    let read = rejections.without(read)?;
    Some(Mark {
        letters: read.letters,
        alternatives: read.alternatives,
        alone,
    })
}

/// Skips a full stop, colon or bracket after the letters.
fn end_of_mark(line: &[Token<'_>], read: &Letters) -> usize {
    let delimiter = line
        .get(read.next)
        .is_some_and(|token| token.is_any(".:：、．。!)"));
    skip_closers(line, read.next + usize::from(delimiter))
}

/// Whether a line lists options: `A) 3 B) 4 C) 5`.
fn lists_options(line: &[Token<'_>]) -> bool {
    let labels = (0..line.len()).filter_map(|i| {
        let (letter, _) = lone_letter(line, i)?;
        let label = line.get(i + 1).is_some_and(|next| next.is_any(")."));
        label.then_some(letter)
    });
    let mut letters: Vec<char> = labels.collect();
    letters.sort_unstable();
    letters.dedup();
    letters.len() > 1
}

/// Bold and bracketed letters of a line, each once.
pub(super) fn highlighted(line: &[Token<'_>], rejections: &Rejections) -> Vec<char> {
    let mut found = Vec::new();
    let mut i = 0;
    while i < line.len() {
        let opens = line[i].is_any("(（[【*「")
            && (i == 0 || line[i - 1].end < line[i].start || !line[i - 1].is_word());
        match opens.then(|| letters_at(line, i)).flatten() {
            Some(read) if read.marked && read.closed => {
                i = read.next.max(i + 1);
                let kept = rejections.without(read);
                found.extend(kept.into_iter().flat_map(|read| read.letters));
            }
            _ => i += 1,
        }
    }
    found.sort_unstable();
    found.dedup();
    found
}

static SUBJECT_OF: Lexicon =
    Lexicon::new(|| words("is are was has would must should seems appears"));

/// Capital letters that stand alone in a short last line, each once. Articles,
/// pronouns, names (`vitamin C`) and formulas do not count.
pub(super) fn lone_capitals(line: &[Token<'_>], rejections: &Rejections) -> Vec<char> {
    let n_words = line.iter().filter(|token| token.is_word()).count();
    if n_words > 15 {
        return Vec::new();
    }
    let mut found: Vec<char> = (0..line.len())
        .filter_map(|i| {
            let (letter, capital) = lone_letter(line, i)?;
            if rejections.at(line[i].start) {
                return None;
            }
            let before = i.checked_sub(1).map(|j| &line[j]);
            let name = before.is_some_and(|token| {
                token.in_set(&NAMES) || token.in_set(&NEGATIONS) || token.is('$')
            });
            // `A good guess`, `I think`: an article or pronoun before a word.
            let word_follows = line
                .get(i + 1)
                .is_some_and(|token| token.is_word() && !token.in_set(&AFTER_LETTER));
            let article = matches!(letter, 'A' | 'I') && word_follows;
            // `C is consumed` says something about C, not that it is chosen.
            // Of `A and B are possible` both stay, as a tie.
            let joined = before.is_some_and(|token| token.in_list(&["and", "or"]));
            let subject = !joined
                && line
                    .get(i + 1)
                    .is_some_and(|token| token.in_set(&SUBJECT_OF));
            let math = line.get(i + 1).is_some_and(|token| token.is_any("$}/?？"));
            (capital && !name && !article && !subject && !math).then_some(letter)
        })
        .collect();
    found.sort_unstable();
    found.dedup();
    found
}

/// Letters written together or apart and nothing else: `AC`, `A C`, `a, c`.
pub(super) fn only_letters(tokens: &[Token<'_>]) -> Option<Vec<char>> {
    let mut letters = Vec::new();
    for token in tokens {
        if token.is_word() && !token.in_list(&["and"]) {
            if token.in_set(&FILLERS) && token.text.len() > 1 {
                return None;
            }
            let spread = token.text.chars().map(|c| c.to_ascii_uppercase());
            letters.extend(spread);
        } else if token.kind == Kind::Cjk {
            return None;
        }
    }
    let mut sorted = letters.clone();
    sorted.sort_unstable();
    sorted.dedup();
    let plain = letters.iter().all(char::is_ascii_uppercase) && sorted.len() == letters.len();
    (plain && !sorted.is_empty()).then_some(sorted)
}
