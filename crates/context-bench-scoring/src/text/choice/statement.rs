//! Sentences that state a choice: `the answer is most likely (B)`, `I choose B`,
//! `B is correct`, `\boxed{B}`, `答案：B`; and weaker ones that conclude: `So B.`
//!
//! One pass over the tokens with bounded look-ahead. Negated statements are
//! kept apart: they rule letters out.

use super::Rule;
use super::cue::{
    AFTER_CONFIRM, AFTER_LETTER, BLOCKS, CJK_KEYS, CONCLUSION_FILLERS, CONCLUSIONS, CONFIRMS,
    COPULAS, FILLERS, HYPOTHETICAL, KEYS, NEEDS_PARTICLE, NEGATIONS, PARTICLES, REJECTS, VERBS,
};
use super::letter::{Letters, letters_at, lone_letter, skip_closers};
use super::option_text::OptionTexts;
use super::rejection::Rejections;
use super::token::{Kind, Token};
use crate::text::lexicon::Lexicon;

/// A choice stated at a place of the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Statement {
    pub(super) at: usize,
    pub(super) letters: Vec<char>,
    /// Several letters of which one is meant.
    pub(super) alternatives: bool,
    pub(super) rule: Rule,
}

/// What the sentences of a response say.
#[derive(Debug, Default)]
pub(super) struct Statements {
    pub(super) stated: Vec<Statement>,
    pub(super) concluded: Vec<Statement>,
    pub(super) ruled_out: Vec<char>,
}

/// Nouns for what is right or wrong, not for what is asked about.
const ANSWERS: &[&str] = &[
    "answer",
    "answers",
    "antwort",
    "antworten",
    "réponse",
    "respuesta",
    "risposta",
    "resposta",
    "ответ",
    "antwoord",
];

/// What stands alone after an option that is right.
const VERDICTS: &[&str] = &[
    "correct",
    "right",
    "richtig",
    "korrekt",
    "juste",
    "correcte",
    "correcta",
    "corretta",
    "correta",
    "верно",
    "правильно",
];

/// Most tokens between an announcement and its copula, and between that and the letter.
const REACH: usize = 10;

pub(super) fn statements(
    text: &str,
    tokens: &[Token<'_>],
    options: &OptionTexts,
    rejections: &Rejections,
) -> Statements {
    let mut scan = Scan {
        text,
        tokens,
        options,
        rejections,
        found: Statements::default(),
    };
    for i in 0..tokens.len() {
        scan.announcement(i);
        scan.verb(i);
        scan.boxed(i);
        scan.confirmation(i);
        scan.conclusion(i);
    }
    scan.found
}

struct Scan<'a> {
    text: &'a str,
    tokens: &'a [Token<'a>],
    options: &'a OptionTexts,
    rejections: &'a Rejections,
    found: Statements,
}

impl Scan<'_> {
    fn token(&self, i: usize) -> Option<&Token<'_>> {
        self.tokens.get(i)
    }

    fn in_list(&self, i: usize, list: &[&str]) -> bool {
        self.token(i).is_some_and(|token| token.in_list(list))
    }

    fn in_set(&self, i: usize, set: &Lexicon) -> bool {
        self.token(i).is_some_and(|token| token.in_set(set))
    }

    /// How many tokens of an announcing noun start at `i`; 0 for none.
    fn key(&self, i: usize) -> usize {
        let Some(token) = self.token(i) else { return 0 };
        if token.is_word() {
            return usize::from(token.in_set(&KEYS));
        }
        let matches = |key: &&&str| {
            let mut chars = key.chars().enumerate();
            chars.all(|(k, c)| self.token(i + k).is_some_and(|t| t.text.starts_with(c)))
        };
        CJK_KEYS
            .iter()
            .find(matches)
            .map_or(0, |key| key.chars().count())
    }

    /// `answer … is … B`.
    fn announcement(&mut self, i: usize) {
        let n_key = self.key(i);
        if n_key == 0 || self.hypothetical(i) {
            return;
        }
        // `The wrong answer is B`; but an incorrect statement may be what is asked for.
        let wrong = i > 0 && self.in_set(i - 1, &REJECTS) || self.in_set(i + n_key, &REJECTS);
        let mut negated = wrong && self.in_list(i, ANSWERS);
        let mut j = i + n_key;
        if !self.in_list(i, &["answer's"]) {
            let Some((after, denied)) = self.copula(j) else {
                return self.bare_announcement(i, j);
            };
            (j, negated) = (after, negated || denied);
        }
        self.after_copula(i, j, negated, Rule::Stated);
    }

    /// The token after the copula that follows an announcement ending before `j`.
    fn copula(&self, mut j: usize) -> Option<(usize, bool)> {
        let limit = j + REACH;
        let mut denied = false;
        while j < limit {
            let token = self.token(j)?;
            if token.in_set(&COPULAS) || token.is_any(":：=→➡⇒—–-＝>") {
                // `->` and `=>` are arrows.
                let arrow = self.token(j + 1).is_some_and(|next| next.is('>'));
                return Some((j + 1 + usize::from(arrow), denied));
            }
            denied |= token.in_set(&NEGATIONS);
            if denied && token.lower.ends_with("n't") {
                return Some((j + 1, true));
            }
            if token.in_list(&["can't", "cannot"]) {
                return Some((j + 1, true));
            }
            if token.ends_sentence() || token.in_set(&BLOCKS) {
                return None;
            }
            j += 1;
        }
        None
    }

    /// `Answer B` at the end of a line, `答案B`, `Ответ B`.
    fn bare_announcement(&mut self, at: usize, j: usize) {
        let english = self.in_list(at, &["option", "choice", "alternative", "pick"]);
        if english {
            return;
        }
        if let Some(read) = letters_at(self.tokens, j)
            && self.ends_after(read.next)
        {
            self.state(at, read, Rule::Stated);
        }
    }

    /// Whether only a full stop stands between `i` and the end of the line.
    fn ends_after(&self, i: usize) -> bool {
        let i = i + usize::from(self.token(i).is_some_and(|token| token.is_any(".。!")));
        let next = self.token(skip_closers(self.tokens, i));
        next.is_none_or(|token| token.kind == Kind::Newline)
    }

    /// Reads what comes after `the answer is`.
    fn after_copula(&mut self, at: usize, from: usize, mut negated: bool, rule: Rule) {
        let mut j = from;
        let limit = from + 2 * REACH;
        let mut undecided = false;
        while j < limit {
            if let Some(mut read) = letters_at(self.tokens, j) {
                read.alternatives |= undecided && read.letters.len() > 1;
                return match negated {
                    true => self.rule_out(&read),
                    false if self.asks(read.next) => {}
                    false => self.state(at, read, rule),
                };
            }
            let Some(token) = self.token(j) else { break };
            if token.in_set(&NEGATIONS) {
                negated = true;
            } else if token.in_list(&["either", "between", "entweder", "soit", "или"]) {
                undecided = true;
            } else if !(token.in_set(&FILLERS)
                || token.in_set(&COPULAS)
                || token.is_any(":：=→>,，*_\"“'`(（[【{$\\-—–")
                || token.kind == Kind::Newline && self.only_signs(from, j))
            {
                break;
            }
            j += 1;
        }
        if !negated && let Some(start) = self.token(from).map(|token| token.start) {
            self.stated_otherwise(at, from, start);
        }
    }

    /// The answer is given as text: an option's own words, or with its letter in brackets.
    fn stated_otherwise(&mut self, at: usize, from: usize, start: usize) {
        let sentence = (from..self.tokens.len().min(from + 80))
            .take_while(|j| !self.sentence_ends(*j, from))
            .last()
            .unwrap_or(from);
        let rest = self.tokens.get(sentence).map_or("", |last| {
            self.text.get(start..last.end).unwrap_or_default()
        });
        if let Some(letter) = self.options.equal_to(rest) {
            return self.push(at, vec![letter], Rule::StatedText);
        }
        let mut letters: Vec<char> = Vec::new();
        let mut j = from;
        while j <= sentence {
            let spaced = self.tokens[j].is_any("(（*[【")
                && (j == from || self.tokens[j - 1].end < self.tokens[j].start);
            let named = j > from && self.in_list(j - 1, &["option", "choice", "letter"]);
            match letters_at(self.tokens, j) {
                Some(read) if spaced && read.closed || named => {
                    j = read.next;
                    let kept = self.rejections.without(read);
                    letters.extend(kept.into_iter().flat_map(|read| read.letters));
                }
                _ => j += 1,
            }
        }
        letters.sort_unstable();
        letters.dedup();
        if let [letter] = letters[..] {
            self.push(at, vec![letter], Rule::Stated);
        }
    }

    fn sentence_ends(&self, i: usize, from: usize) -> bool {
        let Some(token) = self.token(i) else {
            return true;
        };
        if token.is('.') {
            let next = self.token(i + 1);
            return next.is_none_or(|next| next.start > token.end);
        }
        token.ends_sentence() && (token.kind != Kind::Newline || !self.only_signs(from, i))
    }

    fn only_signs(&self, from: usize, to: usize) -> bool {
        self.tokens[from..to]
            .iter()
            .all(|token| matches!(token.kind, Kind::Sign | Kind::Newline))
    }

    /// `I choose B`, `going with (C)`.
    fn verb(&mut self, i: usize) {
        if !self.in_set(i, &VERBS) || self.hypothetical(i) {
            return;
        }
        let particle = self.in_set(i + 1, &PARTICLES);
        if self.in_set(i, &NEEDS_PARTICLE) && !particle {
            return;
        }
        let before = i.saturating_sub(3)..i;
        let negated = before.into_iter().any(|j| self.in_set(j, &NEGATIONS));
        let from = i + 1 + usize::from(particle);
        for j in from..from + 4 {
            if let Some(read) = letters_at(self.tokens, j) {
                return match negated {
                    true => self.rule_out(&read),
                    false => self.state(i, read, Rule::Stated),
                };
            }
            let skip = self.in_set(j, &FILLERS) || self.token(j).is_some_and(|t| t.is_any(":：*"));
            if !skip {
                return;
            }
        }
    }

    /// `\boxed{…}`.
    fn boxed(&mut self, i: usize) {
        if !self.in_list(i, &["boxed", "fbox"])
            || i == 0
            || !self.tokens[i - 1].is('\\')
            || !self.token(i + 1).is_some_and(|token| token.is('{'))
        {
            return;
        }
        let mut depth = 0;
        let mut end = i + 1;
        for (j, token) in self.tokens.iter().enumerate().skip(i + 1).take(200) {
            depth += i32::from(token.is('{')) - i32::from(token.is('}'));
            end = j;
            if depth == 0 {
                break;
            }
        }
        let inside = self.in_set(i + 2, &FILLERS);
        let read = letters_at(self.tokens, i + 1).or_else(|| {
            let option = inside && self.in_list(i + 2, &["option", "choice", "answer"]);
            option.then(|| letters_at(self.tokens, i + 3)).flatten()
        });
        match read {
            // The letter is all there is, or a label: `\boxed{B. Paris}`.
            Some(read) if read.next >= end || self.label_follows(read.next) => {
                self.state(i, read, Rule::Boxed);
            }
            _ => {
                let content = self
                    .text
                    .get(self.tokens[i + 1].end..self.tokens[end].start);
                if let Some(letter) = self.options.equal_to(content.unwrap_or_default()) {
                    self.push(i, vec![letter], Rule::Boxed);
                }
            }
        }
    }

    fn label_follows(&self, i: usize) -> bool {
        let closed = i.checked_sub(1).and_then(|j| self.token(j));
        closed.is_some_and(|token| token.is_any(")）]"))
            || self.token(i).is_some_and(|token| token.is_any(".:：、"))
    }

    /// `B is correct`, `Option C is the right answer`, `B选项正确`; also `A is wrong`.
    fn confirmation(&mut self, i: usize) {
        // Only at the first sign or letter of a choice, so that `A and B` is read once.
        let opener = i > 0 && self.tokens[i - 1].is_any("([{（【\"“'`*_$");
        let in_list = i >= 2
            && self.tokens[i - 1].is_any(",，/&")
            && lone_letter(self.tokens, i - 2).is_some();
        let joined =
            i >= 2 && self.in_list(i - 1, &["and", "or"]) && self.tokens[i - 2].text.len() == 1;
        if opener || in_list || joined {
            return;
        }
        let Some(read) = letters_at(self.tokens, i) else {
            return;
        };
        let lower_case =
            !read.marked && self.tokens[i].text.starts_with(|c: char| c.is_lowercase());
        if lower_case {
            return;
        }
        // `B: correct`, `(B) right`, in a list of all options.
        let delimited = self
            .token(read.next)
            .is_some_and(|token| token.is_any(":：-–—"));
        let at = read.next + usize::from(delimited);
        let ends = self.token(at + 1).is_none_or(|next| {
            matches!(next.kind, Kind::Newline | Kind::Sign) && !next.is_any("-=")
        });
        if (delimited || read.closed) && self.in_list(at, VERDICTS) && ends && !self.asks(at + 1) {
            return self.state(i, read, Rule::Confirmed);
        }
        let mut linked = false;
        let mut negated = false;
        for j in read.next..read.next + REACH {
            let Some(token) = self.token(j) else { return };
            if token.in_set(&REJECTS) && linked
                || token.in_set(&NEGATIONS) && j > read.next && token.kind == Kind::Cjk
            {
                return self.rule_out(&read);
            }
            // `B is the only option that fits`, but not `that is wrong`.
            let only = linked
                && token.in_list(&["only"])
                && self.in_list(j + 1, &["option", "choice", "answer", "one"]);
            if only && !negated {
                let denied = |j| self.in_set(j, &REJECTS) || self.in_set(j, &NEGATIONS);
                return match (j + 2..j + 6).any(denied) {
                    true => {}
                    false => self.state(i, read, Rule::Confirmed),
                };
            }
            if token.in_set(&CONFIRMS) && (linked || token.kind == Kind::Cjk) {
                let next = self.token(j + 1);
                let closes = next.is_none_or(|next| {
                    next.kind == Kind::Newline
                        || next.kind == Kind::Sign && !next.is_any("-(")
                        || next.in_set(&AFTER_CONFIRM)
                        || next.in_set(&CONFIRMS)
                });
                return match (closes, negated) {
                    (true, false) if !self.hypothetical(i) && !self.asks(j + 1) => {
                        self.state(i, read, Rule::Confirmed);
                    }
                    (true, true) => self.rule_out(&read),
                    _ => {}
                };
            }
            let link = [
                "is", "are", "was", "seems", "appears", "looks", "remains", "must", "would", "can",
                "could",
            ];
            if token.in_list(&link) || token.in_set(&COPULAS) {
                linked = true;
            } else if token.in_set(&NEGATIONS) {
                // `B is not only correct but short`
                negated = !self.in_list(j + 1, &["only", "just", "merely"]);
                linked = true;
            } else if !(token.in_set(&FILLERS)
                || token.in_list(&["only", "single", "option", "选", "项", "選", "項"])
                || token.is_any("*_"))
            {
                // `B is not supported`: says only that B is not it.
                if negated {
                    self.rule_out(&read);
                }
                return;
            }
        }
    }

    /// `So B.`, `it must be (C)`, `which is option D`.
    fn conclusion(&mut self, i: usize) {
        let named = self.in_list(i, &["option", "choice", "letter"])
            && i > 0
            && (self.in_set(i - 1, &COPULAS)
                || self.in_list(i - 1, &["to", "matches", "namely", "with", "as"])
                || self.tokens[i - 1].is_any("=→:("));
        if !named && !self.in_set(i, &CONCLUSIONS) {
            return;
        }
        for j in i + 1..i + 9 {
            if let Some(read) = letters_at(self.tokens, j) {
                let next = self.token(read.next);
                let closes = next.is_none_or(|next| {
                    matches!(next.kind, Kind::Newline | Kind::Cjk)
                        || next.is_any(".,;:!。，；：！—–")
                        || named && next.is_word()
                        || next.in_set(&AFTER_LETTER) && !next.in_list(&["is", "are", "was"])
                });
                let asks = self.asks(read.next);
                if closes
                    && !asks
                    && let Some(read) = self.rejections.without(read)
                {
                    let statement = Statement {
                        at: i,
                        letters: read.letters,
                        alternatives: read.alternatives,
                        rule: Rule::Concluded,
                    };
                    self.found.concluded.push(statement);
                }
                return;
            }
            let skip = self.in_set(j, &FILLERS)
                || self.in_set(j, &CONCLUSION_FILLERS)
                || self.token(j).is_some_and(|token| token.is_any(",，:："));
            if !skip || self.in_set(j, &NEGATIONS) {
                return;
            }
        }
    }

    /// Whether the clause before `i` only supposes something.
    fn hypothetical(&self, i: usize) -> bool {
        (i.saturating_sub(5)..i)
            .rev()
            .take_while(|j| !self.tokens[*j].ends_sentence() && !self.tokens[*j].is_any(",，:"))
            .any(|j| self.in_set(j, &HYPOTHETICAL))
    }

    /// Whether a question mark stands at `i`.
    fn asks(&self, i: usize) -> bool {
        let i = skip_closers(self.tokens, i);
        self.token(i).is_some_and(|token| token.is_any("?？"))
    }

    fn rule_out(&mut self, read: &Letters) {
        self.found.ruled_out.extend(&read.letters);
    }

    fn state(&mut self, at: usize, read: Letters, rule: Rule) {
        let Some(read) = self.rejections.without(read) else {
            return;
        };
        self.found.stated.push(Statement {
            at,
            letters: read.letters,
            alternatives: read.alternatives,
            rule,
        });
    }

    fn push(&mut self, at: usize, letters: Vec<char>, rule: Rule) {
        self.found.stated.push(Statement {
            at,
            letters,
            alternatives: false,
            rule,
        });
    }
}
