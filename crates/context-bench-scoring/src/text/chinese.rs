//! Chinese text cut into words, as the Python package `jieba` cuts it.
//!
//! Its dictionary and its model for words that are not in there, in accurate mode. They
//! are unpacked on first use: no run without Chinese text pays for them.

use std::sync::LazyLock;

use jieba_rs::Jieba;

static JIEBA: LazyLock<Jieba> = LazyLock::new(Jieba::new);

/// The words of a text in order, with punctuation and white space as words of their own.
pub(crate) fn words(text: &str) -> Vec<&str> {
    let mut words = Vec::new();
    for token in JIEBA.cut(text, true) {
        // Here addresses and dates stay whole, in Python they do not.
        match token.word.contains(CONNECTORS) && !JIEBA.has_word(token.word) {
            true => words.extend(latin(token.word)),
            false => words.push(token.word),
        }
    }
    words
}

/// What joins letters and digits to one word in `jieba-rs`, and not in Python's `jieba`.
const CONNECTORS: [char; 3] = ['.', '_', '-'];

/// A word of letters, digits and connectors in the parts that Python's `jieba` sees in it:
/// letters and digits, with decimals and a per cent sign, and what stands between them.
fn latin(word: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut rest = word;
    while !rest.is_empty() {
        let run = |text: &str, is_in: fn(char) -> bool| {
            let end = text.find(|c: char| !is_in(c));
            end.unwrap_or(text.len())
        };
        let mut end = run(rest, |c| c.is_ascii_alphanumeric());
        if end == 0 {
            end = run(rest, |c| !c.is_ascii_alphanumeric());
        } else {
            if let Some(decimals) = rest[end..].strip_prefix('.') {
                match run(decimals, |c| c.is_ascii_digit()) {
                    0 => {}
                    n => end += 1 + n,
                }
            }
            end += usize::from(rest[end..].starts_with('%'));
        }
        let (part, after) = rest.split_at(end);
        parts.push(part);
        rest = after;
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_jieba_cuts() {
        // From jieba 0.42.1.
        for (text, expected) in [
            ("他叫李明。", "他|叫|李明|。"),
            ("《红楼梦》", "《|红楼梦|》"),
            ("会议讨论了预算", "会议|讨论|了|预算"),
            ("", ""),
            (
                "磨坊在1911年烧毁了，A.B. 公司 3.5% hello-world",
                "磨坊|在|1911|年|烧毁|了|，|A|.|B|.| |公司| |3.5%| |hello|-|world",
            ),
            ("于2017-03-13", "于|2017|-|03|-|13"),
            ("见www.mill.com", "见|www|.|mill|.|com"),
            ("版本1.2.3%", "版本|1.2|.|3%"),
            ("C++和C#", "C++|和|C#"),
        ] {
            assert_eq!(words(text).join("|"), expected);
        }
    }
}
