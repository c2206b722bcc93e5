//! ROUGE-L, ROUGE-1 and ROUGE-2 as Google's rouge-score 0.1.2 computes them.
//!
//! Lin, "ROUGE: A Package for Automatic Evaluation of Summaries" (2004). Texts
//! are cut into tokens once, numbered, and compared; which tokens is the
//! caller's choice. Reported scores go to `SummarizationQuality`.

use std::collections::{BTreeSet, HashMap};

use super::lcs::{OnTie, lcs_length, lcs_places};
use super::porter::porter_stem;
use super::words::split_whitespace;

/// How a text is cut into tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RougeTokens {
    /// As rouge-score does: lower case, everything but `a`-`z` and `0`-`9`
    /// separates. Texts in other scripts have no tokens.
    Google {
        /// Whether words of more than three letters are stemmed (NLTK's Porter).
        stem: bool,
    },
    /// Lower case, cut at white space, punctuation kept.
    Whitespace,
}

impl Default for RougeTokens {
    fn default() -> Self {
        Self::Google { stem: false }
    }
}

impl RougeTokens {
    /// The tokens of a text, in order.
    pub fn of(self, text: &str) -> Vec<String> {
        let lower = text.to_lowercase();
        match self {
            Self::Whitespace => split_whitespace(&lower).map(str::to_owned).collect(),
            Self::Google { stem } => lower
                .split(|c: char| !(c.is_ascii_lowercase() || c.is_ascii_digit()))
                .filter(|word| !word.is_empty())
                .map(|word| match stem && word.len() > 3 {
                    true => porter_stem(word),
                    false => word.to_owned(),
                })
                .collect(),
        }
    }
}

/// Precision, recall and F1 of one kind of ROUGE; all in 0..=1.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[non_exhaustive]
pub struct RougeScore {
    /// Share of the prediction that the reference has.
    pub precision: f64,
    /// Share of the reference that the prediction has.
    pub recall: f64,
    /// Harmonic mean of both; 0 when both are 0.
    pub f1: f64,
}

impl RougeScore {
    fn of(common: usize, n_prediction: usize, n_reference: usize) -> Self {
        let precision = common as f64 / n_prediction.max(1) as f64;
        let recall = common as f64 / n_reference.max(1) as f64;
        let f1 = if precision + recall > 0.0 {
            2.0 * precision * recall / (precision + recall)
        } else {
            0.0
        };
        Self {
            precision,
            recall,
            f1,
        }
    }

    /// The one with the higher F1, the first of equals.
    #[must_use]
    fn best(self, other: Self) -> Self {
        if other.f1 > self.f1 { other } else { self }
    }
}

/// The three kinds of ROUGE for one prediction.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[non_exhaustive]
pub struct Rouge {
    /// Longest common subsequence.
    pub rouge_l: RougeScore,
    /// Single tokens.
    pub rouge_1: RougeScore,
    /// Pairs of neighbouring tokens.
    pub rouge_2: RougeScore,
}

impl Rouge {
    /// Compares a prediction with one reference. All 0 when either has no tokens.
    pub fn compare(prediction: &str, reference: &str, tokens: RougeTokens) -> Self {
        let mut numbers = HashMap::new();
        let prediction = numbered(tokens.of(prediction), &mut numbers);
        let reference = numbered(tokens.of(reference), &mut numbers);
        let pairs = |tokens: &[u32]| -> Vec<_> {
            tokens.windows(2).map(|pair| (pair[0], pair[1])).collect()
        };
        Self {
            rouge_l: RougeScore::of(
                lcs_length(&reference, &prediction),
                prediction.len(),
                reference.len(),
            ),
            rouge_1: overlap(&prediction, &reference),
            rouge_2: overlap(&pairs(&prediction), &pairs(&reference)),
        }
    }

    /// Compares a prediction with several references; each kind takes the
    /// reference with its best F1. All 0 without references.
    pub fn best<'a>(
        prediction: &str,
        references: impl IntoIterator<Item = &'a str>,
        tokens: RougeTokens,
    ) -> Self {
        let each = references
            .into_iter()
            .map(|reference| Self::compare(prediction, reference, tokens));
        each.reduce(|best, one| Self {
            rouge_l: best.rouge_l.best(one.rouge_l),
            rouge_1: best.rouge_1.best(one.rouge_1),
            rouge_2: best.rouge_2.best(one.rouge_2),
        })
        .unwrap_or_default()
    }
}

/// ROUGE-Lsum: ROUGE-L over sentences, which newlines end. Each sentence of the reference
/// counts what it has in common with any sentence of the prediction, and no token more
/// often than both texts have it.
pub fn rouge_lsum(prediction: &str, reference: &str, tokens: RougeTokens) -> RougeScore {
    let mut numbers = HashMap::new();
    let mut sentences = |text: &str| -> Vec<Vec<u32>> {
        let lines = text.split('\n').filter(|line| !line.is_empty());
        lines
            .map(|line| numbered(tokens.of(line), &mut numbers))
            .collect()
    };
    let (prediction, reference) = (sentences(prediction), sentences(reference));
    let count = |sentences: &[Vec<u32>]| {
        let mut counts: HashMap<u32, usize> = HashMap::new();
        for token in sentences.iter().flatten() {
            *counts.entry(*token).or_default() += 1;
        }
        counts
    };
    let (mut of_prediction, mut of_reference) = (count(&prediction), count(&reference));
    let mut hits = 0;
    for sentence in &reference {
        let each = prediction.iter();
        let places: BTreeSet<usize> = each
            .flat_map(|other| lcs_places(sentence, other, OnTie::LeaveFirst))
            .collect();
        for at in places {
            let left = (
                of_prediction.get_mut(&sentence[at]),
                of_reference.get_mut(&sentence[at]),
            );
            if let (Some(one @ 1..), Some(other @ 1..)) = left {
                *one -= 1;
                *other -= 1;
                hits += 1;
            }
        }
    }
    let n = |sentences: &[Vec<u32>]| sentences.iter().map(Vec::len).sum();
    RougeScore::of(hits, n(&prediction), n(&reference))
}

/// Tokens as numbers; equal tokens have equal numbers.
fn numbered(tokens: Vec<String>, numbers: &mut HashMap<String, u32>) -> Vec<u32> {
    let mut number = |token| {
        let next = u32::try_from(numbers.len()).unwrap_or(u32::MAX);
        *numbers.entry(token).or_insert(next)
    };
    tokens.into_iter().map(&mut number).collect()
}

/// Scores by the size of the multiset intersection.
fn overlap<T: Copy + Eq + std::hash::Hash>(prediction: &[T], reference: &[T]) -> RougeScore {
    let mut left: HashMap<T, usize> = HashMap::new();
    for item in reference {
        *left.entry(*item).or_default() += 1;
    }
    let mut common = 0;
    for item in prediction {
        if let Some(left) = left.get_mut(item).filter(|left| **left > 0) {
            *left -= 1;
            common += 1;
        }
    }
    RougeScore::of(common, prediction.len(), reference.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn google_tokens_are_ascii_words() {
        let google = RougeTokens::default();
        assert_eq!(google.of("It's A-1, ÉTÉ 日本"), ["it", "s", "a", "1", "t"]);
        let stemmed = RougeTokens::Google { stem: true };
        assert_eq!(stemmed.of("Runs running ran"), ["run", "run", "ran"]);
        assert_eq!(
            RougeTokens::Whitespace.of("Hello, World"),
            ["hello,", "world"]
        );
    }

    #[test]
    fn every_kind_takes_its_best_reference() {
        let references = ["b a c d", "a b x y z w"];
        let best = Rouge::best("a b", references, RougeTokens::default());
        assert_eq!(best.rouge_1.recall, 0.5);
        assert_eq!(best.rouge_2.precision, 1.0);
        assert_eq!(
            Rouge::best("a", [], RougeTokens::default()),
            Rouge::default()
        );
    }

    #[test]
    fn sentences_may_stand_in_another_order() {
        let (prediction, reference) = ("on the mat\nthe cat sat", "the cat sat\non the mat");
        let tokens = RougeTokens::default();
        assert_eq!(rouge_lsum(prediction, reference, tokens).f1, 1.0);
        assert_eq!(
            Rouge::compare(prediction, reference, tokens).rouge_l.f1,
            0.5
        );
        assert_eq!(rouge_lsum("", reference, tokens).f1, 0.0);
    }

    proptest! {
        #[test]
        fn bounded_and_mirrored(a in "\\PC{0,60}", b in "\\PC{0,60}", kind in 0..3) {
            let tokens = match kind {
                0 => RougeTokens::Whitespace,
                1 => RougeTokens::Google { stem: true },
                _ => RougeTokens::default(),
            };
            let (there, back) = (Rouge::compare(&a, &b, tokens), Rouge::compare(&b, &a, tokens));
            for (x, y) in [
                (there.rouge_l, back.rouge_l),
                (there.rouge_1, back.rouge_1),
                (there.rouge_2, back.rouge_2),
            ] {
                for value in [x.precision, x.recall, x.f1] {
                    prop_assert!((0.0..=1.0).contains(&value));
                }
                prop_assert_eq!(x.precision, y.recall);
                prop_assert!((x.f1 - y.f1).abs() < 1e-12);
            }
            let itself = Rouge::compare(&a, &a, tokens).rouge_l.f1;
            prop_assert_eq!(itself, if tokens.of(&a).is_empty() { 0.0 } else { 1.0 });
        }
    }
}
