//! [`Fingerprint`]: what a text looks like, so that it is known again after a proxy has
//! changed parts of it.

use serde::{Deserialize, Serialize};

use crate::hex::hex;

/// How many values a fingerprint has.
const VALUES: usize = 64;
/// How many words stand together.
const WORDS: usize = 5;

/// The least hashes of all runs of five words, for 64 hash functions. The share of equal values
/// estimates the share of runs that two texts have in common.
///
/// In a log it is one word of hexadecimal digits: as numbers it would be longer than the rest
/// of a record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Fingerprint(Vec<u32>);

impl From<Fingerprint> for String {
    fn from(fingerprint: Fingerprint) -> Self {
        let values = fingerprint.0.into_iter();
        hex(values.flat_map(u32::to_be_bytes))
    }
}

impl TryFrom<String> for Fingerprint {
    type Error = String;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let wrong = || format!("`{text}` is no fingerprint");
        let is_whole = text.is_empty() || text.len() == 8 * VALUES;
        if !is_whole || !text.is_ascii() {
            return Err(wrong());
        }
        let values = text.as_bytes().chunks(8).map(|digits| {
            let digits = std::str::from_utf8(digits).map_err(|_| wrong())?;
            u32::from_str_radix(digits, 16).map_err(|_| wrong())
        });
        Ok(Self(values.collect::<Result<_, _>>()?))
    }
}

impl Fingerprint {
    /// Of a text. A text of fewer than five words is one run; one without words has none.
    pub fn of(text: &str) -> Self {
        let words: Vec<&str> = text.split_whitespace().collect();
        if words.is_empty() {
            return Self(Vec::new());
        }
        let mut least = vec![u32::MAX; VALUES];
        for run in words.windows(WORDS.min(words.len())) {
            let hash = hash(run);
            for (at, value) in least.iter_mut().enumerate() {
                // A cheap family of hash functions: one hash, mixed with the number of each.
                let one = mix(hash ^ (at as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
                *value = (*value).min((one >> 32) as u32);
            }
        }
        Self(least)
    }

    /// Whether it is that of no words.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a text that is so like one of two is clearly the like of that one. Where it has half
    /// of each, chance alone makes the one seem an eighth more like than the other: three times
    /// what chance makes is asked for.
    pub(super) fn is_clearly_more(one: f64, other: f64) -> bool {
        one - other >= 3.0 * ((one + other) / VALUES as f64).sqrt()
    }

    /// How alike two texts are, from 0 to 1; texts without words are like nothing.
    pub fn similarity(&self, other: &Self) -> f64 {
        if self.0.len() != VALUES || other.0.len() != VALUES {
            return 0.0;
        }
        let equal = self.0.iter().zip(&other.0).filter(|(one, two)| one == two);
        equal.count() as f64 / VALUES as f64
    }
}

/// FNV-1a over words with a space between them.
fn hash(words: &[&str]) -> u64 {
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    for word in words {
        for byte in word.bytes().chain([b' ']) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
    hash
}

/// The finisher of SplitMix64.
fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fingerprints_come_back_from_a_log() {
        for text in ["", "a b", "one two three four five six seven"] {
            let fingerprint = Fingerprint::of(text);
            let json = serde_json::to_string(&fingerprint).unwrap();
            assert_eq!(
                serde_json::from_str::<Fingerprint>(&json).unwrap(),
                fingerprint
            );
        }
        for wrong in ["ab", "é", &"x".repeat(512), &"é".repeat(256)] {
            let json = serde_json::to_string(wrong).unwrap();
            assert!(
                serde_json::from_str::<Fingerprint>(&json).is_err(),
                "{wrong}"
            );
        }
    }

    #[test]
    fn likeness_follows_shared_words() {
        let words: Vec<String> = (0..400).map(|n| format!("w{}", n * 7919 % 1000)).collect();
        let whole = Fingerprint::of(&words.join(" "));
        let most = Fingerprint::of(&words[..300].join(" "));
        let other = Fingerprint::of(
            &words
                .iter()
                .map(|w| format!("x{w}"))
                .collect::<Vec<_>>()
                .join("  "),
        );
        assert_eq!(whole.similarity(&Fingerprint::of(&words.join("\n"))), 1.0);
        let near = whole.similarity(&most);
        assert!((0.5..0.95).contains(&near), "{near}");
        assert!(whole.similarity(&other) < 0.1);
        assert_eq!(Fingerprint::of("").similarity(&Fingerprint::of("")), 0.0);
        assert_eq!(
            Fingerprint::of("a b").similarity(&Fingerprint::of("a  b")),
            1.0
        );
    }
}
