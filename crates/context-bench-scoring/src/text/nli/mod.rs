//! The relation between a claim and a text that a response states.
//!
//! Whatever the words of the dataset (entailment, SUPPORTS, true, yes), a label
//! means one of three things: the text confirms the claim, contradicts it, or
//! leaves it open. A negated label excludes its meaning: `not entailed` leaves
//! two, `neither supported nor refuted` leaves one. Labels are compared by
//! meaning, so `true` matches SUPPORTS.

mod clause;
mod lexicon;
mod word;

use std::fmt;
use std::ops::{BitAnd, BitOr};

use self::clause::{is_bare_no, single, stance_of};
use self::lexicon::{CONCLUDING, GROUNDS, LABEL_WORDS, NEGATIONS, REASONS, TELLING};
use self::word::{Word, sentences, words};

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

    /// Whether no meaning is left out.
    fn is_anything(self) -> bool {
        self.0 == 7
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

impl BitOr for Stance {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
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
    /// The response opens with a label, and a reason follows.
    Announced,
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
            Self::Announced => "announced before a reason",
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
    let all: Vec<usize> = (0..words.len()).collect();
    label_of(&words, &all)
}

/// What words mean that are a label and nothing else.
fn label_of(words: &[Word], these: &[usize]) -> Option<Stance> {
    let spelt: Vec<&str> = these.iter().map(|i| words[*i].lower.as_str()).collect();
    // Two sentences are not one label.
    if these.iter().skip(1).any(|i| words[*i].stop_before) {
        return None;
    }
    match spelt.as_slice() {
        [] => None,
        ["no" | "n" | "incorrect" | "denies"] => Some(Stance::DENIES),
        ["y" | "correct"] => Some(Stance::CONFIRMS),
        ["neither" | "na" | "none" | "unk" | "baseless"] | ["n", "or", "a"] => Some(Stance::OPEN),
        [word] => single(word),
        // `not enough info`, `not_entailment`, `no contradiction`, `cannot be determined`.
        several if several.len() <= 5 => {
            let known = |word: &&str| {
                single(word).is_some()
                    || NEGATIONS.contains(word)
                    || TELLING.contains(word)
                    || GROUNDS.contains(word)
                    || FILLERS.contains(word)
            };
            let only_labels = several.iter().all(known);
            only_labels.then(|| stance_of(words, these)).flatten()
        }
        _ => None,
    }
}

/// Words that labels of several words have between the others.
const FILLERS: &[&str] = &[
    "be", "is", "can", "does", "do", "to", "too", "it", "or", "and", "both", "either",
];

/// The stance that a response states, and how it was found; `None` when it states none.
///
/// An explicit label comes first (the last of them), then a conclusion, unless it only
/// agrees with the label that the response opens with; then such an opening, a last or
/// first sentence that is only a label, and the last mention.
pub fn stance(response: &str) -> Option<(Stance, StanceRule)> {
    if let Some(whole) = label(response) {
        return Some((whole, StanceRule::Whole));
    }
    let words = words(response);
    if let Some(found) = listed(&words) {
        return Some((found, StanceRule::Labelled));
    }
    if let Some(found) = labelled(&words) {
        return Some((found, StanceRule::Labelled));
    }
    let sentences = sentences(&words);
    let opening = opening(&words);
    let concluded = sentences.iter().rev().find_map(|sentence| {
        let opens = sentence
            .iter()
            .position(|i| CONCLUDING.contains(words[*i].lower.as_str()) && !says_so(&words, *i))?;
        stance_of(&words, &sentence[opens..])
    });
    if let Some(found) = concluded {
        return match opening {
            Some(Opening::Label(label)) if label.within(found) => {
                Some((label, StanceRule::Announced))
            }
            _ => Some((found, StanceRule::Concluded)),
        };
    }
    // Behind a label that opens the response only a short last sentence is one too.
    let opens = matches!(opening, Some(Opening::Label(_)));
    let last = sentences.last().filter(|last| !opens || last.len() <= 3);
    let short = last.filter(|_| sentences.len() > 1);
    // What only excludes something, as `Nothing contradicts it`, does not decide.
    let decides = |found: &Stance| found.is_decided();
    if let Some(found) = short.and_then(|last| label_of(&words, last).filter(decides)) {
        let asked = asked_before(&words, &sentences);
        return Some((asked.unwrap_or(found), StanceRule::OwnSentence));
    }
    if let Some(Opening::Label(found)) = opening {
        return Some((found, StanceRule::Announced));
    }
    for own in [last, sentences.first()].into_iter().flatten() {
        let found = label_of(&words, own).filter(decides);
        if let Some(found) = found.filter(|_| !asks(&words, own)) {
            return Some((found, StanceRule::OwnSentence));
        }
    }
    mentioned(&words, &sentences, opening).map(|found| (found, StanceRule::Mentioned))
}

/// What a list of labels says, each with a yes or a no: `Entailment: no`, then
/// `Contradiction: yes`.
fn listed(words: &[Word]) -> Option<Stance> {
    let mut left = Stance(7);
    let mut n = 0;
    for pair in words.windows(2) {
        let [label, verdict] = pair else { continue };
        let stance = single(&label.lower).filter(|_| label.colon_after);
        left = match (stance, verdict.lower.as_str()) {
            (Some(stance), "yes" | "true") => left & stance,
            (Some(stance), "no" | "false") => left & stance.excluded(),
            _ => continue,
        };
        n += 1;
    }
    (n > 1 && left.is_decided()).then_some(left)
}

/// The last sentence that says something, with what came before it.
fn mentioned(words: &[Word], sentences: &[Vec<usize>], opening: Option<Opening>) -> Option<Stance> {
    let told = sentences.iter().filter(|sentence| !asks(words, sentence));
    let mentioned: Vec<Stance> = told
        .filter_map(|sentence| stance_of(words, sentence))
        .collect();
    let Some(last) = mentioned.last().copied() else {
        // Nothing but a question: what it asks is all there is.
        return sentences.last().and_then(|last| stance_of(words, last));
    };
    Some(match opening {
        // `Yes, it is; it does not mention exceptions.`
        Some(Opening::Yes) if last == Stance::OPEN => Stance::CONFIRMS,
        Some(Opening::Because(answer)) => {
            let reason = sentences.first().and_then(|first| first.get(1..));
            let reason = reason.and_then(|reason| stance_of(words, reason));
            // `No, since it is not mentioned.`
            let open = answer == Stance::DENIES && reason == Some(Stance::OPEN);
            if open { Stance::OPEN } else { answer }
        }
        _ => {
            // A sentence that only excludes something does not take back a decision it allows.
            let decided = mentioned.iter().rfind(|stance| stance.is_decided());
            let decided = decided.copied().filter(|stance| stance.within(last));
            decided.unwrap_or(last)
        }
    })
}

/// What a response opens with.
#[derive(Debug, Clone, Copy)]
enum Opening {
    /// A label, and then a reason: `Entailment: it says so`, `**False** It does not`.
    Label(Stance),
    /// `Yes, because …`, `No, since …`: an answer that may be to another question.
    Because(Stance),
    /// `Yes, …`, `Yes. …`
    Yes,
}

/// The label at the very beginning, if a sign or a reason ends it.
fn opening(words: &[Word]) -> Option<Opening> {
    let ends = |n: usize| {
        let next = words.get(n)?;
        let sign = next.stop_before || next.comma_before || next.mark_before;
        Some((
            sign && !next.asked_before,
            REASONS.contains(next.lower.as_str()),
        ))
    };
    // The longest one: `not mentioned`, not `not`.
    (1..=4.min(words.len())).rev().find_map(|n| {
        let (sign, reason) = ends(n)?;
        let broken = words[1..n]
            .iter()
            .any(|word| word.stop_before || word.comma_before);
        if broken || !(sign || reason) {
            return None;
        }
        let these: Vec<usize> = (0..n).collect();
        let found = label_of(words, &these)?;
        match (words[0].lower.as_str(), n) {
            ("yes" | "no", 1) if reason => Some(Opening::Because(found)),
            ("yes", 1) => Some(Opening::Yes),
            ("no", 1) => None,
            _ => Some(Opening::Label(found)),
        }
    })
}

/// `The text says so`: no conclusion.
fn says_so(words: &[Word], i: usize) -> bool {
    let before = i.checked_sub(1).map(|j| words[j].lower.as_str());
    words[i].lower == "so" && matches!(before, Some("say" | "says" | "said" | "not" | "think"))
}

/// Whether a sentence is a question.
fn asks(words: &[Word], sentence: &[usize]) -> bool {
    let next = sentence.last().and_then(|last| words.get(last + 1));
    next.is_some_and(|next| next.asked_before)
}

/// `Entailment? No.`: what the last sentence says to the question before it.
fn asked_before(words: &[Word], sentences: &[Vec<usize>]) -> Option<Stance> {
    let [.., question, answer] = sentences else {
        return None;
    };
    let [answer] = answer[..] else {
        return None;
    };
    let asked = asks(words, question).then(|| stance_of(words, question))??;
    match words[answer].lower.as_str() {
        "yes" => Some(asked),
        "no" => Some(asked.excluded()),
        _ => None,
    }
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
        let joined = clause
            .get(upto + 1)
            .is_some_and(|j| matches!(words[*j].lower.as_str(), "nor" | "or" | "and"));
        let end = if joined { clause.len() } else { upto + 1 };
        stance_of(words, &clause[..end]).or_else(|| stance_of(words, &clause))
    })
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
        fn any_text_is_read_without_panic(text in "(\\PC|not |no |yes|and |/|supports |entailment |is |impossible|because |label: |\n|, |\\? ){0,40}") {
            let found = stance(&text);
            prop_assert_eq!(found, stance(&text));
            if let Some((stance, _)) = found {
                prop_assert!(stance.0 > 0 && stance.0 < 7);
            }
        }
    }
}
