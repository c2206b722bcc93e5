//! BLEU over a corpus, equal to sacrebleu's default: 13a tokens, exponential smoothing.
//!
//! Written by hand for parity with sacrebleu, digit for digit.

use std::collections::HashMap;
use std::sync::OnceLock;

use context_bench_template::python::regex::Regex;
use context_bench_template::python::{split_whitespace, strip_end};

const ORDER: usize = 4;

/// What one sentence adds to the corpus.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct BleuStats {
    length: u64,
    reference: u64,
    correct: [u64; ORDER],
    total: [u64; ORDER],
}

impl BleuStats {
    /// Compares a prediction with its references.
    pub fn of(prediction: &str, references: &[&str]) -> Self {
        let prediction = tokens(prediction);
        let references: Vec<Vec<String>> = references.iter().map(|text| tokens(text)).collect();
        let mut allowed: HashMap<&[String], u64> = HashMap::new();
        for reference in &references {
            for (ngram, n) in ngrams(reference) {
                let most = allowed.entry(ngram).or_default();
                *most = (*most).max(n);
            }
        }
        let mut stats = Self {
            length: prediction.len() as u64,
            ..Self::default()
        };
        // The closest length, the shorter one of two that are as close.
        let distance = |n: usize| (n.abs_diff(prediction.len()), n);
        let closest = references.iter().map(Vec::len).min_by_key(|n| distance(*n));
        stats.reference = closest.unwrap_or(0) as u64;
        for (ngram, n) in ngrams(&prediction) {
            stats.total[ngram.len() - 1] += n;
            stats.correct[ngram.len() - 1] += n.min(allowed.get(ngram).copied().unwrap_or(0));
        }
        stats
    }

    /// The sum over a corpus.
    #[must_use]
    pub fn plus(mut self, other: &Self) -> Self {
        self.length += other.length;
        self.reference += other.reference;
        for n in 0..ORDER {
            self.correct[n] += other.correct[n];
            self.total[n] += other.total[n];
        }
        self
    }

    /// The score, from 0 to 100.
    pub fn score(&self) -> f64 {
        if self.correct.iter().all(|&n| n == 0) || self.length == 0 {
            return 0.0;
        }
        let mut brevity = 1.0;
        if self.length < self.reference {
            brevity = (1.0 - self.reference as f64 / self.length as f64).exp();
        }
        let mut smooth = 1.0;
        let mut logs = 0.0;
        for n in 0..ORDER {
            if self.total[n] == 0 {
                // Too short for this order: no score without a precision.
                return 0.0;
            }
            let total = self.total[n] as f64;
            let precision = if self.correct[n] == 0 {
                smooth *= 2.0;
                100.0 / (smooth * total)
            } else {
                100.0 * self.correct[n] as f64 / total
            };
            logs += precision.ln();
        }
        brevity * (logs / ORDER as f64).exp()
    }
}

/// All word sequences up to length four, counted.
fn ngrams(tokens: &[String]) -> HashMap<&[String], u64> {
    let mut counts = HashMap::new();
    for n in 1..=ORDER {
        for ngram in tokens.windows(n) {
            *counts.entry(ngram).or_default() += 1;
        }
    }
    counts
}

/// The tokeniser `13a` of mteval.
fn tokens(text: &str) -> Vec<String> {
    static RULES: OnceLock<Vec<(Regex, &str)>> = OnceLock::new();
    let rules = RULES.get_or_init(|| {
        [
            (r"([\{-\~\[-\` -\&\(-\+\:-\@\/])", r" \1 "),
            (r"([^0-9])([\.,])", r"\1 \2 "),
            (r"([\.,])([^0-9])", r" \1 \2"),
            (r"([0-9])(-)", r"\1 \2 "),
        ]
        .into_iter()
        .filter_map(|(pattern, replacement)| Some((Regex::new(pattern).ok()?, replacement)))
        .collect()
    });
    let mut line = strip_end(text)
        .replace("<skipped>", "")
        .replace("-\n", "")
        .replace('\n', " ");
    if line.contains('&') {
        line = line
            .replace("&quot;", "\"")
            .replace("&amp;", "&")
            .replace("&lt;", "<")
            .replace("&gt;", ">");
    }
    line = format!(" {line} ");
    for (rule, replacement) in rules {
        if let Ok(changed) = rule.sub(replacement, &line, 0) {
            line = changed;
        }
    }
    split_whitespace(&line).map(str::to_owned).collect()
}
