//! What the words of one sentence say: labels, what negates them, what is said of them.

use super::Stance;
use super::lexicon::{
    CLAIMS, CONFIRMING, CONTRASTS, DENYING, EXCLUDING, GROUNDS, IN_FORCE, LEAVING_OPEN, NAMES,
    NEGATIONS, OUT, PREDICATES, REASONS, TELLING,
};
use super::word::Word;

/// How a word is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sense {
    Plain,
    Negated,
    /// `We cannot rule out entailment` says nothing about it.
    Void,
}

/// What the words of one sentence say: the last plain label, else what all
/// negated ones together leave.
pub(super) fn stance_of(words: &[Word], sentence: &[usize]) -> Option<Stance> {
    let mut plain: Option<Stance> = None;
    let mut left: Option<Stance> = None;
    let mut subordinate = false;
    for (place, &i) in sentence.iter().enumerate() {
        let word = words[i].lower.as_str();
        // `contradicts the claim that it supports growth`, `not enough
        // information to support it`, `entailment because nothing contradicts it`:
        // what is said about the label ends here.
        let said = plain.is_some() || left.is_some();
        let reason = REASONS.contains(word) && said;
        if CONTRASTS.contains(word) && !super::says_so(words, i) {
            subordinate = false;
        } else if reason
            || plain.is_some() && matches!(word, "that" | "which" | "to" | "whether" | "if")
        {
            subordinate = true;
        }
        if subordinate {
            continue;
        }
        let stance = single(word);
        let telling = TELLING.contains(word) || GROUNDS.contains(word);
        // Looking back is dear, and most words say nothing.
        let of_claim = stance.is_none() && verdict_on_claim(words, sentence, place);
        let sense = match stance.is_some() || telling || of_claim {
            true => sense(words, sentence, place),
            false => Sense::Plain,
        };
        let negation = sense == Sense::Negated;
        let found = match stance {
            _ if sense == Sense::Void => continue,
            None if of_claim => verdict(word, negation),
            Some(stance) if !negation => stance,
            // `not true` is false, `not false` is true; there is no third.
            Some(_) if word == "true" => Stance::DENIES,
            Some(_) if matches!(word, "false" | "untrue") => Stance::CONFIRMS,
            // `entailment rather than contradiction`
            Some(stance) if plain.is_some_and(|plain| plain.within(stance.excluded())) => {
                continue;
            }
            Some(stance) => {
                let open = left.unwrap_or(Stance(7)) & stance.excluded();
                left = (open.0 != 0).then_some(open);
                plain = None;
                continue;
            }
            None if telling && (negation || says_nothing(words, sentence, place)) => Stance::OPEN,
            None if is_bare_no(words, i) || ends_a_pair(words, sentence, place) => Stance::DENIES,
            None if word == "neither" && sentence.len() <= place + 2 => Stance::OPEN,
            None => continue,
        };
        // `yes and no`, `entailment or neutral`: both are left.
        let both = plain.filter(|_| joined(words, sentence, place));
        plain = Some(both.map_or(found, |before| before | found));
        left = None;
    }
    plain.or(left).filter(|stance| !stance.is_anything())
}

/// The meaning of a word that is a label.
pub(super) fn single(word: &str) -> Option<Stance> {
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
pub(super) fn is_bare_no(words: &[Word], i: usize) -> bool {
    words[i].lower == "no"
        && words
            .get(i + 1)
            .is_none_or(|next| next.stop_before || next.comma_before)
}

/// The `no` of `yes and no`.
fn ends_a_pair(words: &[Word], sentence: &[usize], place: usize) -> bool {
    let word = |back: usize| {
        let at = place.checked_sub(back)?;
        Some(words[sentence[at]].lower.as_str())
    };
    word(0) == Some("no") && matches!(word(1), Some("and" | "or")) && word(2) == Some("yes")
}

/// Whether the word at `place` and a label before it are joined as equals.
fn joined(words: &[Word], sentence: &[usize], place: usize) -> bool {
    let mut joins = false;
    for at in (place.saturating_sub(4)..place).rev() {
        let here = &words[sentence[at + 1]];
        if here.comma_before || here.stop_before {
            return false;
        }
        match words[sentence[at]].lower.as_str() {
            "and" | "or" => joins = true,
            "partly" | "partially" | "also" | "not" | "a" | "an" | "is" | "it" => {}
            word => {
                let label = single(word).is_some() || TELLING.contains(word);
                return joins && label;
            }
        }
    }
    false
}

/// `It says nothing about that.`
fn says_nothing(words: &[Word], sentence: &[usize], place: usize) -> bool {
    let next = sentence.get(place + 1).map(|i| words[*i].lower.as_str());
    next == Some("nothing")
}

/// Whether the word at `place` judges a claim: `the hypothesis does not hold`.
fn verdict_on_claim(words: &[Word], sentence: &[usize], place: usize) -> bool {
    let word = words[sentence[place]].lower.as_str();
    let follows = matches!(word, "follow" | "follows");
    let holds = matches!(word, "hold" | "holds" | "held");
    let is = matches!(word, "correct" | "right" | "accurate");
    let is_not = matches!(word, "wrong" | "incorrect" | "inaccurate" | "impossible");
    // `Entailment is wrong` is said of a label.
    if !(follows || holds || is || is_not) {
        return false;
    }
    let mut linked = follows || holds;
    for at in (place.saturating_sub(5)..place).rev() {
        let here = &words[sentence[at + 1]];
        if here.comma_before || here.stop_before {
            return false;
        }
        let before = words[sentence[at]].lower.as_str();
        if CLAIMS.contains(before) {
            return linked;
        }
        linked |= PREDICATES.contains(before);
        let between = PREDICATES.contains(before)
            || NEGATIONS.contains(before)
            || matches!(
                before,
                "be" | "therefore" | "also" | "thus" | "clearly" | "simply"
            );
        if !between {
            return false;
        }
    }
    false
}

fn verdict(word: &str, negated: bool) -> Stance {
    match word {
        // What does not follow need not be false.
        "follow" | "follows" if negated => Stance::CONFIRMS.excluded(),
        "wrong" | "incorrect" | "inaccurate" | "impossible" if !negated => Stance::DENIES,
        "wrong" | "incorrect" | "inaccurate" | "impossible" => Stance::CONFIRMS,
        _ if negated => Stance::DENIES,
        _ => Stance::CONFIRMS,
    }
}

/// How the word at `place` is meant: whether a negation stands up to five words before,
/// in the same clause, or what is said of it denies it.
fn sense(words: &[Word], sentence: &[usize], place: usize) -> Sense {
    if denied_after(words, sentence, place) {
        return Sense::Negated;
    }
    let mut excluded = false;
    let mut j = place;
    for _ in 0..6 {
        let here = &words[sentence[j]];
        // `neither supported, nor refuted`: the negation reaches over the comma.
        if j == 0 || here.stop_before || here.comma_before {
            break;
        }
        j -= 1;
        let word = words[sentence[j]].lower.as_str();
        if matches!(
            word,
            "but" | "however" | "yet" | "only" | "because" | "since" | "doubt" | "question"
        ) {
            break;
        }
        let before = j.checked_sub(1).map(|k| words[sentence[k]].lower.as_str());
        let next = words[sentence[j + 1]].lower.as_str();
        let out = word == "out" && before.is_some_and(|word| word.starts_with("rul"));
        if out || EXCLUDING.contains(word) {
            excluded = true;
            continue;
        }
        let no = word == "no" && is_bare_no(words, sentence[j]);
        let impossible = word == "impossible" && matches!(next, "that" | "to" | "for");
        if NEGATIONS.contains(word) && !no || impossible || word.ends_with("n't") {
            return if excluded {
                Sense::Void
            } else {
                Sense::Negated
            };
        }
        let listed = matches!(next, "or" | "nor");
        // `not mentioned or unknown`: what leaves the question open is not denied along with what is stated.
        let own = words[sentence[place]].lower.as_str();
        if listed && next == "or" && LEAVING_OPEN.contains(own) {
            break;
        }
        // Another label in between takes the negation, unless both are listed.
        if single(word).is_some() && !listed {
            break;
        }
    }
    if excluded {
        Sense::Negated
    } else {
        Sense::Plain
    }
}

/// `Entailment is impossible`, `contradiction does not hold`, `neutral can be ruled out`.
fn denied_after(words: &[Word], sentence: &[usize], place: usize) -> bool {
    if !NAMES.contains(words[sentence[place]].lower.as_str()) {
        return false;
    }
    let mut begun = false;
    let mut negated = false;
    for at in place + 1..place + 10 {
        let Some(&i) = sentence.get(at) else {
            return negated;
        };
        let word = words[i].lower.as_str();
        if words[i].comma_before || words[i].stop_before {
            return negated;
        }
        if !begun {
            begun = PREDICATES.contains(word);
            let between = NAMES.contains(word)
                || matches!(
                    word,
                    "relation" | "relationship" | "label" | "and" | "or" | "here"
                );
            if !begun && !between {
                return false;
            }
        }
        // `Entailment is the label that …` says something else from here on.
        if matches!(
            word,
            "that" | "which" | "because" | "since" | "but" | "so" | "and"
        ) && begun
        {
            return negated;
        }
        if OUT.contains(word) {
            return !negated;
        }
        if NEGATIONS.contains(word) || word.ends_with("n't") {
            negated = true;
        } else if begun && (IN_FORCE.contains(word) || single(word).is_some()) {
            // `Holds` begins and ends what is said.
            return negated && single(word).is_none();
        }
    }
    negated
}
