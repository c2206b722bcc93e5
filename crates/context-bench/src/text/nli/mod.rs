//! The relation between a claim and a text that a response states.
//!
//! Whatever the words of the dataset (entailment, SUPPORTS, true, yes), a label
//! means one of three things: the text confirms the claim, contradicts it, or
//! leaves it open. A negated label excludes its meaning: `not entailed` leaves
//! two, `neither supported nor refuted` leaves one. Labels are compared by
//! meaning, so `true` matches SUPPORTS.

mod lexicon;

use std::fmt;
use std::ops::BitAnd;

use self::lexicon::{
    CONCLUDING, CONFIRMING, CONTRASTS, DENYING, GROUNDS, LABEL_WORDS, LEAVING_OPEN, NEGATIONS,
    TELLING,
};
use crate::text::words::{is_space, is_word_char};

/// The meanings that a label allows: one for a plain label, two for a negated one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Stance(u8);

impl Stance {
    /// The text confirms the claim: entailment, supports, true, yes.
    pub const CONFIRMS: Self = Self(1);
    /// The text contradicts the claim: contradiction, refutes, false, no.
    pub const DENIES: Self = Self(2);
    /// The text leaves the claim open: neutral, not mentioned, not enough info.
    pub const OPEN: Self = Self(4);

    /// Everything else than this.
    #[must_use]
    fn excluded(self) -> Self {
        Self(7 & !self.0)
    }

    /// Whether one meaning is left.
    fn is_decided(self) -> bool {
        self.0.is_power_of_two()
    }

    /// Whether every meaning this allows is allowed by `other`: `contradiction`
    /// is within `not entailed`, not the other way round.
    pub fn within(self, other: Self) -> bool {
        self.0 & !other.0 == 0
    }
}

impl BitAnd for Stance {
    type Output = Self;

    fn bitand(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }
}

impl fmt::Display for Stance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            1 => "entailment",
            2 => "contradiction",
            4 => "not mentioned",
            3 => "entailment or contradiction",
            5 => "not contradicted",
            6 => "not entailed",
            _ => "undecided",
        })
    }
}

/// How a stance was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum StanceRule {
    /// The response is a label and nothing else.
    Whole,
    /// `label: X`, `the answer is X`.
    Labelled,
    /// A sentence that concludes: `therefore`, `overall`.
    Concluded,
    /// The last or first line or sentence is a label and nothing else.
    OwnSentence,
    /// The last sentence that says something about it.
    Mentioned,
}

impl fmt::Display for StanceRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Whole => "the whole response",
            Self::Labelled => "given as the label",
            Self::Concluded => "concluded",
            Self::OwnSentence => "a sentence of its own",
            Self::Mentioned => "last mention",
        })
    }
}

/// The meaning of a bare label such as a dataset's gold: `None` when unknown.
/// Case, underscores, hyphens and outer punctuation do not matter.
pub fn label(text: &str) -> Option<Stance> {
    let words = words(text);
    let spelt: Vec<&str> = words.iter().map(|word| word.lower.as_str()).collect();
    match spelt.as_slice() {
        [] => None,
        ["no" | "n" | "incorrect" | "denies"] => Some(Stance::DENIES),
        ["y" | "correct"] => Some(Stance::CONFIRMS),
        ["neither" | "na" | "none" | "unk" | "baseless"] => Some(Stance::OPEN),
        [word] => single(word),
        // `not enough info`, `not_entailment`, `no contradiction`, `cannot be determined`.
        several if several.len() <= 4 => {
            let all: Vec<usize> = (0..words.len()).collect();
            let known = |word: &&str| {
                single(word).is_some()
                    || NEGATIONS.contains(word)
                    || TELLING.contains(word)
                    || GROUNDS.contains(word)
                    || ["be", "is", "can", "does", "do", "to", "too", "it"].contains(word)
            };
            let only_labels = several.iter().all(known);
            only_labels.then(|| stance_of(&words, &all)).flatten()
        }
        _ => None,
    }
}

/// The stance that a response states, and how it was found; `None` when it states none.
///
/// An explicit label or a conclusion comes first (the last of them), then a
/// last or first sentence that is only a label, then the last mention.
pub fn stance(response: &str) -> Option<(Stance, StanceRule)> {
    if let Some(whole) = label(response) {
        return Some((whole, StanceRule::Whole));
    }
    let words = words(response);
    if let Some(found) = labelled(&words) {
        return Some((found, StanceRule::Labelled));
    }
    let sentences = sentences(&words);
    let concluded = sentences.iter().rev().find_map(|sentence| {
        let opens = sentence
            .iter()
            .position(|i| CONCLUDING.contains(words[*i].lower.as_str()))?;
        stance_of(&words, &sentence[opens..])
    });
    if let Some(found) = concluded {
        return Some((found, StanceRule::Concluded));
    }
    for own in [sentences.last(), sentences.first()].into_iter().flatten() {
        let text: Vec<&str> = own.iter().map(|i| words[*i].lower.as_str()).collect();
        if let Some(found) = label(&text.join(" ")) {
            return Some((found, StanceRule::OwnSentence));
        }
    }
    let mentioned: Vec<Stance> = sentences
        .iter()
        .filter_map(|sentence| stance_of(&words, sentence))
        .collect();
    // `Yes, it is; it does not mention exceptions.`
    let opening = words.first().filter(|_| {
        let next = words.get(1);
        next.is_some_and(|next| next.comma_before || next.stop_before)
    });
    let last = mentioned.last().copied()?;
    let found = if opening.is_some_and(|word| word.lower == "yes") && last == Stance::OPEN {
        Stance::CONFIRMS
    } else {
        // A sentence that only excludes something does not take back a decision it allows.
        let decided = mentioned.iter().rfind(|stance| stance.is_decided());
        decided
            .copied()
            .filter(|stance| stance.within(last))
            .unwrap_or(last)
    };
    Some((found, StanceRule::Mentioned))
}

/// How far behind `label:` its clause is read. Sentences are shorter; a text that
/// repeats the word endlessly would take time by the square of its length.
const MAX_CLAUSE: usize = 200;

/// The last `label: X` or `answer is X` whose words say something.
fn labelled(words: &[Word]) -> Option<Stance> {
    // Looked up once: clauses of neighbouring label words overlap.
    let says: Vec<bool> = (0..words.len())
        .map(|i| {
            let word = words[i].lower.as_str();
            single(word).is_some() || TELLING.contains(word) || is_bare_no(words, i)
        })
        .collect();
    (0..words.len()).rev().find_map(|i| {
        if !LABEL_WORDS.contains(words[i].lower.as_str()) {
            return None;
        }
        let next = words.get(i + 1)?;
        let linked = words[i].colon_after || next.lower == "is" || next.lower == "would";
        if !linked {
            return None;
        }
        let mut clause = Vec::new();
        for j in (i + 1..words.len()).take(MAX_CLAUSE) {
            let first = j == i + 1 || j == i + 2 && words[i + 1].lower == "is";
            if !first && words[j].stop_before {
                break;
            }
            clause.push(j);
        }
        // What comes first after the colon is the label; the rest explains it.
        let upto = clause.iter().position(|j| says[*j])?;
        let nor = clause
            .get(upto + 1)
            .is_some_and(|j| matches!(words[*j].lower.as_str(), "nor" | "or"));
        let end = if nor { clause.len() } else { upto + 1 };
        stance_of(words, &clause[..end]).or_else(|| stance_of(words, &clause))
    })
}

/// What the words of one sentence say: the last plain label, else what all
/// negated ones together leave.
fn stance_of(words: &[Word], sentence: &[usize]) -> Option<Stance> {
    let mut plain = None;
    let mut left: Option<Stance> = None;
    let mut subordinate = false;
    for (place, &i) in sentence.iter().enumerate() {
        let word = words[i].lower.as_str();
        // `contradicts the claim that it supports growth`, `not enough
        // information to support it`: what is said about the label ends here.
        if CONTRASTS.contains(word) {
            subordinate = false;
        } else if plain.is_some() && matches!(word, "that" | "which" | "to") {
            subordinate = true;
        }
        if subordinate {
            continue;
        }
        let stance = single(word);
        let telling = TELLING.contains(word) || GROUNDS.contains(word);
        // Looking back is dear, and most words say nothing.
        let negation = (stance.is_some() || telling) && negated(words, sentence, place);
        let found = match stance {
            Some(stance) if !negation => stance,
            // `not true` is false, `not false` is true; there is no third.
            Some(_) if word == "true" => Stance::DENIES,
            Some(_) if matches!(word, "false" | "untrue") => Stance::CONFIRMS,
            // `entailment rather than contradiction`
            Some(stance) if plain.is_some_and(|plain: Stance| plain.within(stance.excluded())) => {
                continue;
            }
            Some(stance) => {
                let open = left.unwrap_or(Stance(7)) & stance.excluded();
                left = (open.0 != 0).then_some(open);
                plain = None;
                continue;
            }
            None if telling && negation => Stance::OPEN,
            None if is_bare_no(words, i) => Stance::DENIES,
            None if word == "neither" && sentence.len() <= place + 2 => Stance::OPEN,
            None => continue,
        };
        plain = Some(found);
        left = None;
    }
    plain.or(left)
}

fn single(word: &str) -> Option<Stance> {
    if CONFIRMING.contains(word) {
        Some(Stance::CONFIRMS)
    } else if DENYING.contains(word) {
        Some(Stance::DENIES)
    } else if LEAVING_OPEN.contains(word) {
        Some(Stance::OPEN)
    } else {
        None
    }
}

/// `No.` and `No, …` answer; `no evidence` does not.
fn is_bare_no(words: &[Word], i: usize) -> bool {
    words[i].lower == "no"
        && words
            .get(i + 1)
            .is_none_or(|next| next.stop_before || next.comma_before)
}

/// Whether a negation stands up to five words before, in the same clause.
fn negated(words: &[Word], sentence: &[usize], place: usize) -> bool {
    let mut j = place;
    for _ in 0..6 {
        let here = &words[sentence[j]];
        // `neither supported, nor refuted`: the negation reaches over the comma.
        if j == 0 || here.stop_before || here.comma_before && j != place {
            return false;
        }
        if here.comma_before {
            return false;
        }
        j -= 1;
        let word = words[sentence[j]].lower.as_str();
        if matches!(
            word,
            "but" | "however" | "yet" | "only" | "because" | "doubt" | "question"
        ) {
            return false;
        }
        let no = word == "no" && is_bare_no(words, sentence[j]);
        if NEGATIONS.contains(word) && !no || word.ends_with("n't") {
            return true;
        }
        // Another label in between takes the negation, unless both are listed.
        let listed = sentence
            .get(j + 1)
            .is_some_and(|k| matches!(words[*k].lower.as_str(), "or" | "nor"));
        if single(word).is_some() && !listed {
            return false;
        }
    }
    false
}

/// A word and what stands between it and its neighbours.
#[derive(Debug)]
struct Word {
    lower: String,
    /// A sentence ended before it.
    stop_before: bool,
    comma_before: bool,
    colon_after: bool,
}

fn words(text: &str) -> Vec<Word> {
    let mut words: Vec<Word> = Vec::new();
    let (mut stop, mut comma) = (false, false);
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        if !is_word_char(c) || c == '_' {
            match c {
                '.' | '!' | '?' | ';' | '\n' | '\r' | '。' => stop = true,
                ',' | '(' | ')' | '—' | '–' => comma = true,
                ':' | '：' => {
                    if let Some(last) = words.last_mut() {
                        last.colon_after = true;
                    }
                    comma = true;
                }
                _ => {}
            }
            rest = &rest[c.len_utf8()..];
            continue;
        }
        let end = word_end(rest);
        let (word, tail) = rest.split_at(end);
        rest = tail;
        words.push(Word {
            lower: word.to_lowercase().replace('’', "'"),
            stop_before: stop,
            comma_before: comma,
            colon_after: false,
        });
        (stop, comma) = (false, false);
    }
    words
}

/// Where a word ends; apostrophes inside belong to it, underscores separate.
fn word_end(text: &str) -> usize {
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let inner = matches!(c, '\'' | '’')
            && chars
                .peek()
                .is_some_and(|(_, next)| is_word_char(*next) && !is_space(*next));
        if !(is_word_char(c) && c != '_' || inner) {
            return at;
        }
    }
    text.len()
}

/// Word numbers by sentence.
fn sentences(words: &[Word]) -> Vec<Vec<usize>> {
    let mut sentences: Vec<Vec<usize>> = Vec::new();
    for (i, word) in words.iter().enumerate() {
        match sentences.last_mut() {
            Some(last) if !word.stop_before => last.push(i),
            _ => sentences.push(vec![i]),
        }
    }
    sentences
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const YES: Option<Stance> = Some(Stance::CONFIRMS);
    const NO: Option<Stance> = Some(Stance::DENIES);
    const OPEN: Option<Stance> = Some(Stance::OPEN);
    const NOT_YES: Option<Stance> = Some(Stance(6));
    const NOT_NO: Option<Stance> = Some(Stance(5));

    #[test]
    fn labels_of_every_family() {
        for (text, expected) in [
            ("Entailment", YES),
            ("SUPPORTS", YES),
            ("supported", YES),
            ("Yes", YES),
            ("**True**", YES),
            ("CONTRADICTION", NO),
            ("REFUTES", NO),
            ("CONTRADICT", NO),
            ("no", NO),
            ("False.", NO),
            ("Not mentioned", OPEN),
            ("not_mentioned", OPEN),
            ("NOT ENOUGH INFO", OPEN),
            ("NOT_ENOUGH_INFO", OPEN),
            ("not-enough-information", OPEN),
            ("NEI", OPEN),
            ("neutral", OPEN),
            ("neither", OPEN),
            ("Unknown", OPEN),
            ("maybe", OPEN),
            ("insufficient evidence", OPEN),
            ("cannot be determined", OPEN),
            ("not_entailment", NOT_YES),
            ("non-entailment", NOT_YES),
            ("no contradiction", NOT_NO),
            ("sports", None),
            ("", None),
        ] {
            assert_eq!(label(text), expected, "{text}");
        }
    }

    #[test]
    fn sentences_and_their_negations() {
        for (text, expected) in [
            ("The hypothesis is entailed by the contract.", YES),
            ("The hypothesis is not entailed by the contract.", NOT_YES),
            ("The text does not contradict the claim.", NOT_NO),
            ("The claim isn't supported by the abstract.", NOT_YES),
            ("It cannot be determined from the text.", OPEN),
            ("The contract does not mention this.", OPEN),
            ("There is no evidence for the claim.", OPEN),
            ("There is not enough information to decide.", OPEN),
            ("The claim is neither supported nor refuted.", OPEN),
            ("It neither entails nor contradicts the hypothesis.", OPEN),
            ("The text does not support or refute the claim.", OPEN),
            ("The claim is not true.", NO),
            ("That is not false.", YES),
            ("No, the agreement says the opposite.", NO),
            ("No, the agreement does not mention it.", OPEN),
            ("Yes, this is true.", YES),
            (
                "I would say it supports, but overall it refutes the claim.",
                NO,
            ),
            ("Label: contradiction. Although yes", NO),
            ("Label: entailment, because nothing contradicts it.", YES),
            ("The answer is not mentioned in the text", OPEN),
            (
                "At first it looks contradictory. Therefore, the label is entailment.",
                YES,
            ),
            ("Contradiction. The text says it is true that he left.", NO),
            ("It might be neutral.\n\nEntailment", YES),
            ("verdict: 'refute'", NO),
            ("classification is\nfalse", NO),
            ("so no", NO),
            ("also yes", YES),
            ("The answer is neither entailment nor contradiction.", OPEN),
            ("truey", None),
            ("nothing here", None),
            ("", None),
        ] {
            let found = stance(text).map(|(stance, _)| stance);
            assert_eq!(found, expected, "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_without_panic(text in "(\\PC|not |no |supports |label: |\n|, ){0,40}") {
            let found = stance(&text);
            prop_assert_eq!(found, stance(&text));
            if let Some((stance, _)) = found {
                prop_assert!(stance.0 > 0 && stance.0 < 7);
            }
        }
    }
}
