//! Tokens of a response: words, single characters of Chinese, Japanese and
//! Korean, signs, line ends.
//!
//! Cue phrases are short lists of such tokens, so one scan serves languages
//! with and without spaces, and `정답은B입니다` still has a lone `B`.

use std::borrow::Cow;

use unicode_properties::{GeneralCategoryGroup, UnicodeGeneralCategory};

use crate::text::lexicon::Lexicon;
use crate::text::words::is_word_char;

/// What a token is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Letters, digits and marks, with apostrophes inside: `isn't`, `E1`.
    Word,
    /// One character of a script without spaces between words, or of Hangul.
    Cjk,
    /// Any other visible character, underscores included.
    Sign,
    /// A line end.
    Newline,
}

/// A token and where it stands.
#[derive(Debug, Clone)]
pub(super) struct Token<'a> {
    pub(super) kind: Kind,
    /// Lower case for words, as written otherwise.
    pub(super) lower: Cow<'a, str>,
    pub(super) text: &'a str,
    pub(super) start: usize,
    pub(super) end: usize,
}

impl Token<'_> {
    pub(super) fn is(&self, sign: char) -> bool {
        self.kind == Kind::Sign && self.text.starts_with(sign)
    }

    pub(super) fn is_any(&self, signs: &str) -> bool {
        self.kind == Kind::Sign && signs.contains(self.text)
    }

    pub(super) fn is_word(&self) -> bool {
        self.kind == Kind::Word
    }

    pub(super) fn in_list(&self, list: &[&str]) -> bool {
        matches!(self.kind, Kind::Word | Kind::Cjk) && list.contains(&&*self.lower)
    }

    pub(super) fn in_set(&self, set: &Lexicon) -> bool {
        matches!(self.kind, Kind::Word | Kind::Cjk) && set.contains(&*self.lower)
    }

    /// Whether it ends a sentence; a full stop is judged by what follows it.
    pub(super) fn ends_sentence(&self) -> bool {
        self.kind == Kind::Newline || self.is_any(".!?。！？;；")
    }
}

/// Cuts a text into tokens. White space other than line ends is left out.
pub(super) fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    let mut chars = text.char_indices().peekable();
    while let Some((start, c)) = chars.next() {
        let mut end = start + c.len_utf8();
        let kind = match c {
            '\n' | '\r' | '\u{2028}' | '\u{2029}' => Kind::Newline,
            c if c.is_whitespace() || c.is_control() => continue,
            c if is_cjk(c) => Kind::Cjk,
            c if in_word(c) => {
                while let Some(&(at, next)) = chars.peek() {
                    let inner = in_word(next) && !is_cjk(next)
                        || is_apostrophe(next)
                            && text[at + next.len_utf8()..]
                                .starts_with(|after| in_word(after) && !is_cjk(after));
                    if !inner {
                        break;
                    }
                    end = at + next.len_utf8();
                    chars.next();
                }
                Kind::Word
            }
            _ => Kind::Sign,
        };
        let text = &text[start..end];
        let lower = match kind {
            Kind::Word => lower(text),
            _ => Cow::Borrowed(text),
        };
        tokens.push(Token {
            kind,
            lower,
            text,
            start,
            end,
        });
    }
    tokens
}

fn lower(text: &str) -> Cow<'_, str> {
    if text
        .bytes()
        .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
    {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.to_lowercase().replace('’', "'"))
}

fn is_apostrophe(c: char) -> bool {
    matches!(c, '\'' | '’')
}

/// Marks belong to the letter before them.
fn in_word(c: char) -> bool {
    c != '_' && is_word_char(c)
        || !c.is_ascii() && c.general_category_group() == GeneralCategoryGroup::Mark
}

/// Han, Kana and Hangul. Full-width Latin letters are ordinary words.
pub(super) fn is_cjk(c: char) -> bool {
    matches!(
        u32::from(c),
        0x1100..=0x11ff | 0x2e80..=0x2fdf | 0x3005..=0x3007 | 0x3040..=0x31ff
            | 0x3400..=0x4dbf | 0x4e00..=0x9fff | 0xac00..=0xd7ff | 0xf900..=0xfaff
            | 0x20000..=0x3ffff
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_cjk_and_signs_are_told_apart() {
        let all: Vec<_> = tokens("It isn’t _B_.\n答案是C").into_iter().collect();
        let lower: Vec<_> = all.iter().map(|token| &*token.lower).collect();
        let expected = [
            "it", "isn't", "_", "b", "_", ".", "\n", "答", "案", "是", "c",
        ];
        assert_eq!(lower, expected);
    }
}
