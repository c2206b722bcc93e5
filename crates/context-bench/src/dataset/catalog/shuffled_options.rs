//! Options of multiple-choice questions (GPQA and others): their letters, and the shuffled
//! order that keeps the place of the right one from giving it away.

use serde_json::Value;
use sha2::{Digest as _, Sha256};

/// Options with the place of the right one.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Options {
    pub(super) texts: Vec<Value>,
    /// From 0; `None` when it is not published.
    pub(super) correct: Option<usize>,
}

impl Options {
    /// Puts the options into an order that follows from the seed, the dataset
    /// and the options themselves, so that it is the same in every run and for
    /// every slice of the data.
    pub(super) fn shuffle(&mut self, seed: u64, dataset: &str) {
        let mut random = DigestRandom::of(seed, dataset, &self.texts);
        let mut order: Vec<usize> = (0..self.texts.len()).collect();
        for last in (1..order.len()).rev() {
            order.swap(last, random.below(last + 1));
        }
        self.texts = order.iter().map(|&at| self.texts[at].clone()).collect();
        self.correct = self
            .correct
            .and_then(|correct| order.iter().position(|&at| at == correct));
    }

    /// The letter of the right option; empty when it is not known.
    pub(super) fn letter(&self) -> String {
        let letter = self.correct.and_then(letter);
        letter.map(String::from).unwrap_or_default()
    }

    /// `A) text  B) text`, on one line, as in the original tool.
    pub(super) fn listed(&self) -> String {
        let mut listed = String::new();
        for (at, text) in self.texts.iter().enumerate() {
            let Some(letter) = letter(at) else { break };
            listed.push_str(if at > 0 { "  " } else { "" });
            listed.push(letter);
            listed.push_str(") ");
            listed.push_str(&crate::text::stringify::python_str(text));
        }
        listed
    }
}

/// How many options have a letter.
pub(super) const MOST: usize = 26;

fn letter(at: usize) -> Option<char> {
    (at < MOST).then(|| char::from(b'A' + at as u8))
}

/// Numbers drawn from a digest: the same on every machine and in every version.
pub(super) struct DigestRandom {
    digest: [u8; 32],
    draws: u64,
}

impl DigestRandom {
    pub(super) fn of(seed: u64, dataset: &str, texts: &[Value]) -> Self {
        let mut hasher = Sha256::new();
        hasher.update(seed.to_le_bytes());
        hasher.update(dataset.as_bytes());
        for text in texts {
            hasher.update([0]);
            hasher.update(text.to_string().as_bytes());
        }
        Self {
            digest: hasher.finalize().into(),
            draws: 0,
        }
    }

    /// A number below `limit`, each as likely as the others but for one part in
    /// 2^59 with up to 26 options.
    pub(super) fn below(&mut self, limit: usize) -> usize {
        let mut hasher = Sha256::new();
        hasher.update(self.digest);
        hasher.update(self.draws.to_le_bytes());
        self.draws += 1;
        let drawn: [u8; 32] = hasher.finalize().into();
        let number = drawn
            .iter()
            .take(8)
            .fold(0, |n, byte| n << 8 | u64::from(*byte));
        usize::try_from(number % limit.max(1) as u64).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(texts: &[&str]) -> Options {
        Options {
            texts: texts.iter().map(|text| (*text).into()).collect(),
            correct: Some(0),
        }
    }

    #[test]
    fn a_shuffle_keeps_the_options_and_what_is_right() {
        let mut places = [0; 4];
        for question in 0..400 {
            let right = format!("right {question}");
            let mut shuffled = options(&[&right, "b", "c", "d"]);
            shuffled.shuffle(7, "gpqa");
            let at = shuffled.correct.expect("known");
            assert_eq!(shuffled.texts[at], right.as_str());
            assert_eq!(shuffled.texts.len(), 4);
            places[at] += 1;
        }
        // Evenly: 100 each, give or take four standard deviations.
        assert!(places.iter().all(|n| (65..=135).contains(n)), "{places:?}");
    }

    #[test]
    fn the_order_depends_on_seed_and_options_only() {
        let shuffled = |seed, texts: &[&str]| {
            let mut options = options(texts);
            options.shuffle(seed, "gpqa");
            options
        };
        let first = shuffled(1, &["a", "b", "c", "d"]);
        assert_eq!(first, shuffled(1, &["a", "b", "c", "d"]));
        let others = (2..20).map(|seed| shuffled(seed, &["a", "b", "c", "d"]));
        assert!(others.into_iter().any(|other| other != first));
    }

    #[test]
    fn options_are_lettered_on_one_line() {
        assert_eq!(options(&["x", "y"]).listed(), "A) x  B) y");
        assert_eq!(options(&["x", "y"]).letter(), "A");
        let unknown = Options {
            texts: vec![1.into()],
            correct: None,
        };
        assert_eq!(
            (unknown.listed().as_str(), unknown.letter().as_str()),
            ("A) 1", "")
        );
    }
}
