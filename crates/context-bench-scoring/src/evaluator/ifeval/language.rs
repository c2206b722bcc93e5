//! The language of a text as `langdetect` sees it.
//!
//! A port of the Python package `langdetect` 1.0.9 (Nakatani Shuyo's
//! language-detection), which the official checks use: character n-grams, naive
//! Bayes over 55 languages, n-grams drawn at random. The official checks draw
//! with a new seed each time; here the draw is that of `random.seed(0)`, so the
//! same text always has the same language, the one that Python gives with
//! `DetectorFactory.seed = 0`.

mod model;
mod ngram;
mod twister;

use model::Model;
use twister::Twister;

/// At most so many characters are looked at.
const MAX_CHARS: usize = 10_000;
const TRIALS: usize = 7;
const ALPHA: f64 = 0.5;
const ALPHA_WIDTH: f64 = 0.05;
const ITERATIONS: usize = 1000;
const CONVERGED: f64 = 0.99999;
const BASE_FREQUENCY: f64 = 10_000.0;
/// Below this probability a language is not named.
const THRESHOLD: f64 = 0.1;

/// What was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Language {
    /// An ISO 639-1 code (`zh-cn` and `zh-tw` for Chinese).
    Code(&'static str),
    /// No language is likely enough.
    Unknown,
    /// Nothing in the text belongs to a language: only digits, say. The
    /// official checks count this as followed.
    NoFeatures,
}

/// The most probable language of a text.
pub(super) fn detect(text: &str) -> Language {
    let model = Model::get();
    let features = ngram::features(&prepared(text), model);
    if features.is_empty() {
        return Language::NoFeatures;
    }
    let languages = model.languages();
    let mut sums = vec![0.0; languages.len()];
    let mut random = Twister::seeded_with_0();
    for _ in 0..TRIALS {
        let alpha = ALPHA + random.gauss() * ALPHA_WIDTH;
        let probabilities = trial(&features, alpha, model, &mut random);
        for (sum, probability) in sums.iter_mut().zip(probabilities) {
            *sum += probability / TRIALS as f64;
        }
    }
    let best = sums
        .iter()
        .zip(languages)
        .max_by(|(a, _), (b, _)| a.total_cmp(b));
    match best {
        Some((&probability, &code)) if probability > THRESHOLD => Language::Code(code),
        _ => Language::Unknown,
    }
}

/// Draws features until one language is certain.
fn trial(features: &[u32], alpha: f64, model: &Model, random: &mut Twister) -> Vec<f64> {
    let n = model.languages().len();
    let mut probabilities = vec![1.0 / n as f64; n];
    let mut factors = vec![0.0; n];
    for i in 0.. {
        let feature = features[random.below(features.len())];
        factors.fill(alpha / BASE_FREQUENCY);
        for (language, probability) in model.probabilities(feature) {
            factors[language] += probability;
        }
        for (probability, factor) in probabilities.iter_mut().zip(&factors) {
            *probability *= factor;
        }
        if i % 5 == 0 {
            let sum: f64 = probabilities.iter().sum();
            let mut max = 0.0_f64;
            for probability in &mut probabilities {
                *probability /= sum;
                max = max.max(*probability);
            }
            if max > CONVERGED || i >= ITERATIONS {
                break;
            }
        }
    }
    probabilities
}

/// The text without addresses, repeated spaces and, when most of it is written
/// in another script, without Latin letters.
fn prepared(text: &str) -> Vec<char> {
    let chars: Vec<char> = text.chars().collect();
    let chars = ngram::without_mail(&ngram::without_urls(&chars));
    let mut kept = Vec::with_capacity(chars.len().min(MAX_CHARS));
    let mut last = '\0';
    for c in ngram::composed(&chars).into_iter().take(MAX_CHARS) {
        if c != ' ' || last != ' ' {
            kept.push(c);
        }
        last = c;
    }
    let is_latin = |c: &char| ('A'..='z').contains(c);
    let latin = kept.iter().filter(|&c| is_latin(c)).count();
    let other = kept.iter().filter(|&&c| c >= '\u{300}').count();
    if latin * 2 < other {
        kept.retain(|c| !is_latin(c));
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn languages_of_short_texts() {
        for (text, code) in [
            ("This is a sentence written in English.", "en"),
            ("Dies ist ein Satz in deutscher Sprache.", "de"),
            ("Ceci est une phrase en français.", "fr"),
            ("यह हिन्दी में लिखा एक वाक्य है।", "hi"),
            ("ಇದು ಕನ್ನಡ ವಾಕ್ಯ.", "kn"),
            ("これは日本語の文章です。", "ja"),
            ("Đây là một câu tiếng Việt.", "vi"),
        ] {
            assert_eq!(detect(text), Language::Code(code), "{text}");
        }
        for text in ["", "12 345", "https://example.com/abc", "a.b@example.com"] {
            assert_eq!(detect(text), Language::NoFeatures, "{text}");
        }
    }
}
