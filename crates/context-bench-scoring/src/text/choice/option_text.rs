//! The texts of the options, and whether a response states one of them.

use super::rejection::rejected;
use super::token::tokens;

/// The options of a question in a form that can be compared.
#[derive(Debug, Clone, Default)]
pub(super) struct OptionTexts(Vec<String>);

impl OptionTexts {
    pub(super) fn new<S: AsRef<str>>(options: &[S]) -> Self {
        Self(options.iter().map(|text| plain(text.as_ref())).collect())
    }

    /// The option whose text this is, if exactly one is.
    pub(super) fn equal_to(&self, text: &str) -> Option<char> {
        let text = plain(text);
        if text.is_empty() {
            return None;
        }
        self.only(|option| *option == text)
    }

    /// Whether a text begins with what the option of this letter says.
    pub(super) fn begins(&self, letter: char, text: &str) -> bool {
        let option = u32::from(letter)
            .checked_sub(u32::from('A'))
            .and_then(|i| self.0.get(usize::try_from(i).ok()?));
        option.is_some_and(|option| {
            // What follows the option's words need not be read.
            let n_chars = 2 * option.chars().count() + 16;
            let end = text
                .char_indices()
                .nth(n_chars)
                .map_or(text.len(), |(at, _)| at);
            let text = plain(&text[..end]);
            let starts = !option.is_empty() && text.starts_with(option.as_str());
            starts && stands_alone(&text, 0, option.len())
        })
    }

    /// All options whose text occurs in `text` and is not rejected there; one that is
    /// part of a longer one that occurs counts only where it stands by itself.
    pub(super) fn within(&self, text: &str) -> Vec<char> {
        let whole = plain(text);
        let tokens = tokens(&whole);
        let mut text = whole.clone();
        let mut order: Vec<usize> = (0..self.0.len()).collect();
        order.sort_by_key(|i| std::cmp::Reverse(self.0[*i].len()));
        let mut found = Vec::new();
        for i in order {
            let option = &self.0[i];
            if option.is_empty() {
                continue;
            }
            let mut from = 0;
            while let Some(at) = text[from..].find(option.as_str()).map(|at| at + from) {
                let end = at + option.len();
                if stands_alone(&text, at, end) {
                    let first = tokens.partition_point(|token| token.start < at);
                    let next = tokens.partition_point(|token| token.start < end);
                    if !rejected(&whole, &tokens, first, next) {
                        found.extend(letter(i));
                    }
                    // Equal length keeps the other offsets right.
                    text.replace_range(at..end, &"\u{1}".repeat(end - at));
                }
                from = at + text[at..].chars().next().map_or(1, char::len_utf8);
            }
        }
        found.sort_unstable();
        found.dedup();
        found
    }

    fn only(&self, matches: impl Fn(&String) -> bool) -> Option<char> {
        let mut hits = (0..self.0.len()).filter(|i| matches(&self.0[*i]));
        match (hits.next(), hits.next()) {
            (Some(i), None) => letter(i),
            _ => None,
        }
    }
}

fn letter(i: usize) -> Option<char> {
    u8::try_from(i)
        .ok()
        .filter(|i| *i < 26)
        .map(|i| char::from(b'A' + i))
}

fn stands_alone(text: &str, start: usize, end: usize) -> bool {
    let joins = |c: char| c.is_alphanumeric() && !super::token::is_cjk(c);
    let first = text[start..end].chars().next();
    let last = text[start..end].chars().next_back();
    let before = text[..start].chars().next_back();
    let mut after = text[end..].chars();
    let next = after.next();
    let joined = |a: Option<char>, b: Option<char>| a.is_some_and(joins) && b.is_some_and(joins);
    // `3` is not part of `3.5` or of `-3`.
    let decimal = last.is_some_and(|c| c.is_ascii_digit())
        && matches!(next, Some('.' | ',' | '/' | ':' | '%'))
        && (next == Some('%') || after.next().is_some_and(|c| c.is_ascii_digit()));
    let signed = first.is_some_and(|c| c.is_ascii_digit())
        && matches!(before, Some('-' | '.' | '/' | '−' | ':'));
    !(joined(before, first) || joined(last, next) || decimal || signed)
}

/// Lower case, without markup, quotes, outer punctuation and a leading article.
fn plain(text: &str) -> String {
    let lower = text.to_lowercase();
    let markup = |c: char| "*$\"'`\\{}“”‘’_".contains(c);
    let kept: String = lower.chars().filter(|c| !markup(*c)).collect();
    let joined = kept.split_whitespace().collect::<Vec<_>>().join(" ");
    let trimmed = joined
        .trim_matches(|c: char| " .,;:!?。，；：！？()[]".contains(c))
        .trim();
    let without = ["the ", "an ", "a "]
        .iter()
        .find_map(|article| trimmed.strip_prefix(article));
    without.unwrap_or(trimmed).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_option_is_recognised_by_its_text() {
        let options = OptionTexts::new(&["3", "3.5", "The cat", "the cat and the dog", "猫"]);
        assert_eq!(options.equal_to("**3.5**."), Some('B'));
        assert_eq!(options.equal_to("A cat"), Some('C'));
        assert_eq!(options.equal_to("fish"), None);
        assert_eq!(options.within("It is 3.5"), ['B']);
        assert_eq!(options.within("the cat and the dog"), ['D']);
        assert_eq!(options.within("the cat, 3 times"), ['A', 'C']);
        assert_eq!(options.within("答えは猫です"), ['E']);
        assert_eq!(options.within("category 13 -3"), Vec::<char>::new());
        assert_eq!(options.within("not 3 but 3.5"), ['B']);
        assert_eq!(options.within("the cat is wrong"), Vec::<char>::new());
        assert_eq!(OptionTexts::new(&["x", "x"]).equal_to("x"), None);
    }
}
