//! Options that a response rejects in words: `not B`, `B is wrong`, `rule out C`,
//! `B rather than A`, `nicht B, sondern C`.
//!
//! A letter is rejected where it stands, so that `not A. The answer is A` still chooses:
//! what other rules read at a rejected place does not count. What stands right before
//! and right after a letter, within its clause, decides.

use std::collections::BTreeSet;

use super::cue::{
    BELIEFS, CJK_DENIALS, CONCLUSIONS, CONFIRMS, COPULAS, ELIMINATES, FAILS, FILLERS, KEYS,
    NEGATIONS, PREDICATES, REJECTS, VERBS,
};
use super::letter::{Letters, letters_at, lone_letter};
use super::option_text::OptionTexts;
use super::token::{Kind, Token};

/// How many words of a clause are looked at on either side of a letter.
const REACH: usize = 10;

/// The rejected letters of a response.
#[derive(Debug, Default)]
pub(super) struct Rejections {
    /// Where they stand, as offsets of their tokens.
    places: BTreeSet<usize>,
    letters: BTreeSet<char>,
}

impl Rejections {
    pub(super) fn of(text: &str, tokens: &[Token<'_>], options: &OptionTexts) -> Self {
        let mut found = Self::default();
        for i in 0..tokens.len() {
            // Signs before a letter belong to it; its own token is enough.
            if lone_letter(tokens, i).is_none() {
                continue;
            }
            let Some(read) = letters_at(tokens, i) else {
                continue;
            };
            let clause = Clause { text, tokens };
            // `(B) is not liable`, `B) Incorrect`: the text of the option itself.
            let says = |letter: &char| options.begins(*letter, clause.rest(read.next));
            let labels = read.letters.iter().any(says);
            if clause.denied_before(i) || !labels && clause.denied_after(read.next) {
                found.places.extend(&read.places);
                found.letters.extend(&read.letters);
            }
        }
        found
    }

    /// Whether a letter is rejected at one place at least.
    pub(super) fn has(&self, letter: char) -> bool {
        self.letters.contains(&letter)
    }

    /// Whether the letter at this offset of the text is rejected there.
    pub(super) fn at(&self, place: usize) -> bool {
        self.places.contains(&place)
    }

    /// Takes the letters away that are rejected where they were read; `None` if all are.
    pub(super) fn without(&self, mut read: Letters) -> Option<Letters> {
        let both = read.letters.iter().zip(&read.places);
        let kept = both.filter(|(_, place)| !self.at(**place));
        let (letters, places): (Vec<char>, Vec<usize>) = kept.unzip();
        (read.letters, read.places) = (letters, places);
        (!read.letters.is_empty()).then_some(read)
    }
}

/// Whether the tokens from `first` up to `next`, the text of an option, are rejected by
/// the words around them.
pub(super) fn rejected(text: &str, tokens: &[Token<'_>], first: usize, next: usize) -> bool {
    let clause = Clause { text, tokens };
    clause.denied_before(first) || clause.denied_after(next)
}

/// The words around a letter or the text of an option.
struct Clause<'a> {
    text: &'a str,
    tokens: &'a [Token<'a>],
}

impl Clause<'_> {
    fn token(&self, i: usize) -> Option<&Token<'_>> {
        self.tokens.get(i)
    }

    fn in_list(&self, i: usize, list: &[&str]) -> bool {
        self.token(i).is_some_and(|token| token.in_list(list))
    }

    fn preceded(&self, i: usize, list: &[&str]) -> bool {
        i.checked_sub(1).is_some_and(|j| self.in_list(j, list))
    }

    /// `not (option) B`, `it can't be B`, `I doubt that it is B`, `rule out B`,
    /// `rather than B`; the letter is the token at `at`.
    fn denied_before(&self, at: usize) -> bool {
        for j in (at.saturating_sub(REACH)..at).rev() {
            let token = &self.tokens[j];
            if token.kind == Kind::Sign {
                if token.is_any("([{（［【「『〈《«‹“„‚‘\"'`*_$\\") {
                    continue;
                }
                return false;
            }
            if let Some(denied) = self.denies_what_follows(j) {
                return denied;
            }
            // Another option, or a new conclusion: `not A so B`.
            let letter = token.text != "I" && lone_letter(self.tokens, j).is_some_and(|(_, c)| c);
            let goes_on = token.in_set(&FILLERS)
                || token.in_set(&COPULAS)
                || token.in_set(&VERBS)
                || token.in_set(&KEYS)
                || token.in_set(&BELIEFS);
            let concludes = token.in_set(&CONCLUSIONS) && !token.in_set(&BELIEFS);
            if letter || concludes || !goes_on {
                return false;
            }
        }
        false
    }

    /// What the word at `j` says about a letter after it; `None` when it says nothing.
    fn denies_what_follows(&self, j: usize) -> Option<bool> {
        let token = &self.tokens[j];
        if token.in_list(&["no"]) {
            // `No es B` denies; `No the answer is B` answers somebody.
            let verbs = ["es", "son", "sería", "puede", "option", "hay"];
            let next = self.token(j + 1);
            let denies = self.in_list(j + 1, &verbs) || next.is_none_or(|next| !next.is_word());
            return Some(denies || lone_letter(self.tokens, j + 1).is_some());
        }
        if token.in_list(&[
            "doubt",
            "doubts",
            "bezweifle",
            "doute",
            "dudo",
            "сомневаюсь",
        ]) {
            // `without a doubt`, `no doubt`: a noun.
            let own = [
                "i",
                "we",
                "i'd",
                "highly",
                "seriously",
                "strongly",
                "really",
            ];
            let noun = token.in_list(&["doubt", "doubts"]) && !self.preceded(j, &own);
            return (!noun).then_some(true);
        }
        if token.in_set(&NEGATIONS) {
            let more = [
                "only",
                "just",
                "merely",
                "simply",
                "nur",
                "solo",
                "seulement",
            ];
            return Some(!self.in_list(j + 1, &more) && !self.preceded(j, &["why", "warum"]));
        }
        if token.in_list(&["than"]) {
            let none = j >= 2 && self.in_list(j - 2, &["none"]);
            return Some(self.preceded(j, &["rather"]) || self.preceded(j, &["other"]) && !none);
        }
        if token.in_list(&["of", "to", "but", "de", "que"]) {
            let before = ["instead", "opposed", "anything", "lieu", "vez", "lugar"];
            let denies = self.preceded(j, &before);
            return (denies || token.in_list(&["but"])).then_some(denies);
        }
        let out =
            token.in_list(&["out"]) && self.preceded(j, &["rule", "rules", "ruled", "ruling"]);
        if out || token.in_set(&ELIMINATES) {
            // `We cannot rule out B` says nothing.
            let from = j.saturating_sub(4);
            let clause = (from..j).rev().take_while(|k| {
                let token = &self.tokens[*k];
                token.kind != Kind::Sign && token.kind != Kind::Newline
            });
            let kept = clause
                .into_iter()
                .any(|k| self.tokens[k].in_set(&NEGATIONS));
            return Some(!kept);
        }
        // `Ich schließe B aus.`
        if token.in_list(&["schließe", "schließen", "schliesse", "schließt"]) {
            return Some((j + 2..j + 6).any(|k| self.in_list(k, &["aus"])));
        }
        None
    }

    /// The text from the token at `next` on, without what divides a letter from its option.
    fn rest(&self, next: usize) -> &str {
        let end = next.checked_sub(1).and_then(|last| self.token(last));
        let rest = end.and_then(|last| self.text.get(last.end..));
        let signs = [' ', '.', ':', ')', '-', '–', '—'];
        rest.unwrap_or_default().trim_start_matches(signs)
    }

    /// `B is wrong`, `B: incorrect`, `B does not fit`, `B, but that is wrong`, `B不对`;
    /// the option ends before the token at `next`.
    fn denied_after(&self, next: usize) -> bool {
        if denies_in_cjk(self.rest(next)) {
            return true;
        }
        let mut j = next;
        let nouns = [
            "option",
            "choice",
            "answer",
            "alternative",
            "选",
            "项",
            "選",
            "項",
            "번",
        ];
        while self.in_list(j, &nouns) {
            j += 1;
        }
        let delimited = self.token(j).is_some_and(|token| token.is_any(":：-–—=)"));
        let at = j + usize::from(delimited);
        if self
            .token(at)
            .is_some_and(|token| token.in_set(&REJECTS) && !token.in_set(&FAILS))
        {
            return self.clause_ends(at + 1);
        }
        if self.taken_back(j) {
            return true;
        }
        let Some(first) = self.token(j) else {
            return false;
        };
        // `(C) No, he did not` and `(B) Not all of them` begin what an option says.
        let negates = first.in_list(&["n'est", "ne", "не", "não", "non"])
            || first.in_list(&["no"]) && self.in_list(j + 1, &["es", "son", "está", "puede"]);
        let begins_text = first.text.starts_with(char::is_uppercase);
        let predicate = first.in_set(&PREDICATES) || first.in_set(&COPULAS) || negates;
        !delimited && predicate && !begins_text && self.predicate_denies(j)
    }

    /// Whether a predicate that begins at `from` denies its subject.
    fn predicate_denies(&self, from: usize) -> bool {
        let mut negated = false;
        for j in from..from + REACH {
            let Some(token) = self.token(j) else {
                return negated;
            };
            let more = ["only", "just", "merely"];
            let out = token.in_list(&["out"]) && self.clause_ends(j + 1);
            if token.in_set(&FAILS) || token.in_set(&REJECTS) || out {
                return !negated;
            } else if token.in_set(&NEGATIONS) || token.lower.ends_with("n't") {
                negated |= !self.in_list(j + 1, &more);
            } else if token.in_set(&CONFIRMS) || self.clause_ends(j) {
                return negated;
            } else if lone_letter(self.tokens, j).is_some_and(|(_, capital)| capital) {
                return false;
            }
        }
        negated
    }

    /// `B, but that is wrong`, `B, which can't be right`.
    fn taken_back(&self, from: usize) -> bool {
        let comma = self.token(from).is_some_and(|token| token.is_any(",，"));
        let at = from + usize::from(comma);
        if !self.in_list(
            at,
            &["but", "which", "although", "though", "aber", "mais", "pero"],
        ) {
            return false;
        }
        let about = [
            "that", "this", "it", "which", "that's", "it's", "das", "c'est", "eso",
        ];
        let subject = at + usize::from(!self.in_list(at, &["which"]));
        if !self.in_list(subject, &about) {
            return false;
        }
        let mut negated = false;
        for j in subject + 1..subject + 5 {
            let Some(token) = self.token(j) else {
                return false;
            };
            if token.in_set(&REJECTS) {
                return !negated;
            }
            if token.in_set(&CONFIRMS) {
                return negated;
            }
            negated |= token.in_set(&NEGATIONS);
            if self.clause_ends(j) {
                return false;
            }
        }
        false
    }

    /// Whether the clause is over before the token at `i`.
    fn clause_ends(&self, i: usize) -> bool {
        let breaks = [
            "because",
            "since",
            "as",
            "but",
            "and",
            "or",
            "so",
            "which",
            "that",
            "while",
            "although",
            "though",
            "who",
            "where",
            "if",
            "weil",
            "da",
            "und",
            "aber",
            "denn",
            "car",
            "parce",
            "et",
            "mais",
            "qui",
            "porque",
            "y",
            "pero",
            "que",
            "perché",
            "ma",
            "mas",
            "потому",
            "и",
            "а",
            "но",
            "given",
            "due",
            "here",
            "too",
        ];
        self.token(i).is_none_or(|token| {
            token.ends_sentence() || token.is_any(",，、。:：()（）–—-") || token.in_list(&breaks)
        })
    }
}

/// Denials right after a letter in scripts without spaces, and in Korean.
fn denies_in_cjk(rest: &str) -> bool {
    let rest = rest.trim_start_matches([' ', '项', '選', '項', '选', '是', '번', '的']);
    CJK_DENIALS.iter().any(|denial| rest.starts_with(denial))
}
