//! Chinese text cut into words, as the Python package `jieba` cuts it.
//!
//! Its dictionary and its model for words that are not in there, in accurate mode. They
//! are unpacked on first use: no run without Chinese text pays for them.

use std::sync::LazyLock;

use jieba_rs::Jieba;

static JIEBA: LazyLock<Jieba> = LazyLock::new(Jieba::new);

/// The words of a text in order, with punctuation and white space as words of their own.
pub fn words(text: &str) -> Vec<&str> {
    let tokens = JIEBA.cut(text, true);
    tokens.into_iter().map(|token| token.word).collect()
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
        ] {
            assert_eq!(words(text).join("|"), expected);
        }
    }
}
