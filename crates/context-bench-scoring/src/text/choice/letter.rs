//! Reading option letters at a place in the tokens.
//!
//! A letter counts only where it cannot be an article, pronoun, unit or variable:
//! what stands right before and after it decides.

use super::cue::{AFTER_LETTER, WRAPPERS};
use super::token::{Kind, Token};

/// Letters read at one place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Letters {
    /// Upper case, in the order written, each once.
    pub(super) letters: Vec<char>,
    /// Where each stands in the text.
    pub(super) places: Vec<usize>,
    /// Joined by `or` or a slash: no decision.
    pub(super) alternatives: bool,
    /// In brackets, quotes, bold or a box.
    pub(super) marked: bool,
    /// A closing sign follows the first letter: `(B)`, not `(B + C)`.
    pub(super) closed: bool,
    /// The first token after the letters and their closing signs.
    pub(super) next: usize,
}

const OPENERS: &str = "([{（［【「『〈《«»‹›“”„‚‛‘’\"'`*_$:：#<";
const CLOSERS: &str = ")]}）］】」』〉》»«›‹”“’‘\"'`*_$>";
const MARKS: &str = "([{（［【「『〈《«»‹›“”„‚‛‘’\"'`*_";
/// Signs that open here and close there, as languages have it: `„B“`, `“B”`, `»B«`.
const EITHER: &str = "“‘«‹";
/// What may open a letter that a single quote closes.
const SINGLE: &str = "'‘’‚‛‹`";

/// The option letter that a token is, whatever surrounds it.
fn letter_of(token: &Token<'_>) -> Option<(char, bool)> {
    let mut chars = token.text.chars();
    let (c, None) = (chars.next()?, chars.next()) else {
        return None;
    };
    let plain = match c {
        'A'..='Z' | 'a'..='z' => c,
        // Full-width letters, as Chinese and Japanese texts use them.
        'Ａ'..='Ｚ' | 'ａ'..='ｚ' => char::from_u32(u32::from(c) - 0xfee0)?,
        _ => return None,
    };
    Some((plain.to_ascii_uppercase(), plain.is_ascii_uppercase()))
}

/// The letter at `i` if nothing is glued to it that makes it part of a word,
/// an abbreviation or a formula; and whether it is a capital.
pub(super) fn lone_letter(tokens: &[Token<'_>], i: usize) -> Option<(char, bool)> {
    let token = tokens.get(i)?;
    let letter = letter_of(token)?;
    if let Some(before) = i.checked_sub(1).map(|j| &tokens[j])
        && before.end == token.start
        && before.kind == Kind::Sign
    {
        let glued = i >= 2 && tokens[i - 2].end == before.start && tokens[i - 2].is_word();
        let joins = before.is_any("-–_./’'") && glued;
        if joins || before.is_any("^=+~\\@&%/<") {
            return None;
        }
    }
    let Some(after) = tokens.get(i + 1).filter(|after| after.kind == Kind::Sign) else {
        return Some(letter);
    };
    // `'B'` is quoted, `B'` is another point than `B`.
    let opened = i
        .checked_sub(1)
        .map(|j| &tokens[j])
        .is_some_and(|before| before.is_any(SINGLE) && before.end == token.start);
    if opened && after.is_any("'’‘") && after.start == token.end {
        return Some(letter);
    }
    if after.end > after.start && after.start == token.end {
        let glued = tokens
            .get(i + 2)
            .is_some_and(|next| next.start == after.end && next.is_word());
        let joins = after.is_any("-–_.’'") && glued;
        if joins || after.is_any("^=+({[°′'’%") {
            return None;
        }
    }
    // `<answer>B</answer>`.
    if after.is('<') && tokens.get(i + 2).is_some_and(|next| next.is('/')) {
        return Some(letter);
    }
    // A formula with spaces: `C = 5`, `F + G`.
    (!after.is_any("=+×≥≤≈<⋅·∝^")).then_some(letter)
}

/// Skips what may open a marked letter. Gives the place of the letter and
/// whether anything marks it.
fn skip_openers(tokens: &[Token<'_>], mut i: usize) -> (usize, bool) {
    let mut marked = false;
    let limit = i + 16;
    while i < limit {
        match tokens.get(i) {
            Some(token) if token.is('\\') => match tokens.get(i + 1) {
                Some(command) if command.in_set(&WRAPPERS) => i += 2,
                // `\(`, `\[` and `\ `.
                Some(sign) if sign.is_any("([") => i += 2,
                _ => return (i, marked),
            },
            Some(token) if token.is_any(OPENERS) => {
                marked |= token.is_any(MARKS);
                i += 1;
            }
            _ => return (i, marked),
        }
    }
    (i, marked)
}

/// Skips what may close a marked letter.
pub(super) fn skip_closers(tokens: &[Token<'_>], mut i: usize) -> usize {
    loop {
        match tokens.get(i) {
            // A sign that may open as well closes only what it touches.
            Some(token) if token.is_any(EITHER) => {
                let touches = i > 0 && tokens[i - 1].end == token.start;
                if !touches {
                    return i;
                }
                i += 1;
            }
            Some(token) if token.is_any(CLOSERS) => i += 1,
            Some(token) if token.is('\\') && tokens.get(i + 1).is_some_and(|t| t.is_any(")]")) => {
                i += 2;
            }
            _ => return i,
        }
    }
}

/// One letter with the signs around it.
struct LetterMark {
    letter: char,
    place: usize,
    marked: bool,
    /// The first token after its closing signs.
    next: usize,
}

/// Reads one letter at `i`, with the signs around it.
fn one(tokens: &[Token<'_>], i: usize) -> Option<LetterMark> {
    let (at, marked) = skip_openers(tokens, i);
    let (letter, capital) = lone_letter(tokens, at)?;
    let next = skip_closers(tokens, at + 1);
    let marked = marked || next > at + 1 && tokens[at + 1].is_any(")）]】");
    let found = LetterMark {
        letter,
        place: tokens[at].start,
        marked,
        next,
    };
    if marked {
        return Some(found);
    }
    let follower = tokens.get(next).filter(|token| token.is_word());
    let article = matches!(letter, 'A' | 'I') || !capital;
    match follower {
        // `The answer is A because` but `Answer: A tale of two cities`.
        Some(word) if article && !word.in_set(&AFTER_LETTER) => None,
        Some(word) if is_roman(word.text) => None,
        _ => Some(found),
    }
}

fn is_roman(text: &str) -> bool {
    text.len() > 1 && text.bytes().all(|b| matches!(b, b'I' | b'V' | b'X'))
}

/// No list of options is longer. Lists are looked for at every place, so a text
/// that is one endless list (`e e e …`) would take time by the square of its length.
const MAX_LIST: usize = 32;

/// Reads a letter or a list of letters at `i`: `B`, `**(B)**`, `A, C and D`.
pub(super) fn letters_at(tokens: &[Token<'_>], i: usize) -> Option<Letters> {
    let LetterMark {
        letter: first,
        place,
        marked,
        mut next,
    } = one(tokens, i)?;
    let mut read = Letters {
        letters: vec![first],
        places: vec![place],
        alternatives: false,
        marked,
        closed: tokens[next - 1].is_any(CLOSERS),
        next,
    };
    for _ in 0..MAX_LIST {
        let (joiner, alternatives) = joiner(tokens, next);
        if joiner == next {
            return Some(read);
        }
        if tokens
            .get(joiner)
            .is_some_and(|token| is_roman(token.text) && token.is_word())
        {
            // `I and II only`, `I, II`: numerals, not letters.
            return (first != 'I' || marked).then_some(read);
        }
        let Some(also) = one(tokens, joiner) else {
            return Some(read);
        };
        // `The answer is B, C is wrong`: a new statement begins.
        let new_statement = tokens
            .get(also.next)
            .is_some_and(|token| token.in_list(&["is", "was", "would", "seems"]));
        if also.marked != marked || new_statement && !alternatives {
            return Some(read);
        }
        if !read.letters.contains(&also.letter) {
            read.letters.push(also.letter);
            read.places.push(also.place);
        }
        read.alternatives |= alternatives;
        next = also.next;
        read.next = next;
    }
    Some(read)
}

/// Skips a comma, `and`, `or` or slash; says where it ends and whether it offers alternatives.
fn joiner(tokens: &[Token<'_>], mut i: usize) -> (usize, bool) {
    let mut alternatives = false;
    if tokens.get(i).is_some_and(|token| token.is_any(",，、&")) {
        i += 1;
    }
    if let Some(token) = tokens.get(i) {
        if token.in_list(&["or", "oder", "ou", "o", "или", "或"]) || token.is('/') {
            alternatives = true;
            i += 1;
        } else if token.in_list(&["and", "und", "et", "y", "e", "и", "和", "と"]) {
            i += 1;
        }
    }
    (i, alternatives)
}

#[cfg(test)]
mod tests {
    use super::super::token::tokens;
    use super::*;

    #[test]
    fn letters_and_what_only_looks_like_one() {
        for (text, expected) in [
            ("B", "B"),
            ("**(b)**.", "B"),
            ("\\boxed{\\text{C}}", "C"),
            ("$D$", "D"),
            ("A, C and D", "ACD"),
            ("A because", "A"),
            ("（Ｂ）", "B"),
            ("B입니다", "B"),
            ("A good one", ""),
            ("I think", ""),
            ("I and II only", ""),
            ("e.g. this", ""),
            ("B-cells", ""),
            ("C = 5", ""),
            ("F(x)", ""),
            ("a\u{301}", ""),
            ("D'Artagnan", ""),
            ("Berlin", ""),
        ] {
            let found: String = letters_at(&tokens(text), 0)
                .map(|read| read.letters.into_iter().collect())
                .unwrap_or_default();
            assert_eq!(found, expected, "{text}");
        }
        let either = letters_at(&tokens("(a) or (b)"), 0).expect("letters");
        assert!(either.alternatives && either.marked);
    }
}
