//! DROP: spans as sets of words, numbers as numbers, the best assignment of both sides.
//!
//! Dua et al. (2019), the rule of its evaluation script as two harnesses carry it. What
//! was generated is one span.

use std::collections::BTreeSet;

use crate::text::normalize::without_articles;
use crate::text::words::{split_whitespace, trim};

/// Exact match and F1 of spans against those of one annotator.
pub fn score<S: AsRef<str>>(predicted: &[S], gold: &[S]) -> (f64, f64) {
    let bags = |spans: &[S]| -> (BTreeSet<String>, Vec<BTreeSet<String>>) {
        let normal: Vec<Vec<String>> = spans.iter().map(|span| tokens(span.as_ref())).collect();
        let texts = normal.iter().map(|span| span.join(" ")).collect();
        (texts, normal.into_iter().map(BTreeSet::from_iter).collect())
    };
    let (predicted_texts, predicted) = bags(predicted);
    let (gold_texts, gold) = bags(gold);
    let exact = predicted_texts == gold_texts && predicted.len() == gold.len();
    let values: Vec<Vec<f64>> = gold
        .iter()
        .map(|gold| predicted.iter().map(|span| overlap(span, gold)).collect())
        .collect();
    let most = predicted.len().max(gold.len()).max(1);
    let f1 = assigned(&values) / most as f64;
    (super::one(exact), (f1 * 100.0).round_ties_even() / 100.0)
}

/// The best annotator: exact match and F1. One whose first span is blank said nothing.
pub fn best<S: AsRef<str>>(predicted: &[S], annotators: &[Vec<S>]) -> (f64, f64) {
    let said = |gold: &&Vec<S>| {
        gold.first()
            .is_some_and(|span| !trim(span.as_ref()).is_empty())
    };
    let scores = annotators
        .iter()
        .filter(said)
        .map(|gold| score(predicted, gold));
    scores.fold((0.0, 0.0), |best, one| {
        (best.0.max(one.0), best.1.max(one.1))
    })
}

/// The words of a span as they are compared.
fn tokens(span: &str) -> Vec<String> {
    let mut found = Vec::new();
    for token in span.split([' ', '-']) {
        let lower = token.to_lowercase();
        let plain = match number(&lower) {
            Some(_) => lower,
            None => lower
                .chars()
                .filter(|c| !c.is_ascii_punctuation())
                .collect(),
        };
        let plain = match number(&plain) {
            Some(number) => python_float(number),
            None => plain,
        };
        let plain = without_articles(&plain);
        let plain: Vec<&str> = split_whitespace(&plain).collect();
        if !plain.is_empty() {
            found.push(plain.join(" "));
        }
    }
    found
}

/// A number as Python's `float` reads one, without the words it knows.
fn number(text: &str) -> Option<f64> {
    let digits = text.bytes().any(|byte| byte.is_ascii_digit());
    digits.then(|| trim(text).parse().ok()).flatten()
}

/// A number as Python writes it: `4.0`.
fn python_float(number: f64) -> String {
    context_bench_template::python::str(&serde_json::json!(number))
}

/// F1 of two sets of words; 0 when the right one has numbers and none of them is there.
fn overlap(predicted: &BTreeSet<String>, gold: &BTreeSet<String>) -> f64 {
    let numbers = |bag: &BTreeSet<String>| -> BTreeSet<String> {
        bag.iter()
            .filter(|word| number(word).is_some())
            .cloned()
            .collect()
    };
    let (right, said) = (numbers(gold), numbers(predicted));
    if !right.is_empty() && right.is_disjoint(&said) {
        return 0.0;
    }
    let common = predicted.intersection(gold).count() as f64;
    // Nothing said is all of what was said.
    let precision = if predicted.is_empty() {
        1.0
    } else {
        common / predicted.len() as f64
    };
    let recall = if gold.is_empty() {
        1.0
    } else {
        common / gold.len() as f64
    };
    match precision == 0.0 && recall == 0.0 {
        true => 0.0,
        false => 2.0 * precision * recall / (precision + recall),
    }
}

/// The largest sum over pairs of which no row and no column is in two (Kuhn and Munkres).
fn assigned(values: &[Vec<f64>]) -> f64 {
    let columns = values.first().map_or(0, Vec::len);
    let n = values.len().max(columns);
    // The cost of a pair, as large as its value is small; what is not there costs most.
    let cost = |row: usize, column: usize| {
        let value = values.get(row).and_then(|row| row.get(column));
        1.0 - value.copied().unwrap_or(0.0)
    };
    let (mut of_rows, mut of_columns) = (vec![0.0; n + 1], vec![0.0; n + 1]);
    // The row that each column is given, from 1; 0 for none.
    let mut row_of = vec![0_usize; n + 1];
    for row in 1..=n {
        row_of[0] = row;
        let mut least = vec![f64::INFINITY; n + 1];
        let mut from = vec![0_usize; n + 1];
        let mut used = vec![false; n + 1];
        let mut column = 0;
        while row_of[column] != 0 {
            used[column] = true;
            let current = row_of[column];
            let (mut delta, mut next) = (f64::INFINITY, 0);
            for other in 1..=n {
                if used[other] {
                    continue;
                }
                let reduced = cost(current - 1, other - 1) - of_rows[current] - of_columns[other];
                if reduced < least[other] {
                    least[other] = reduced;
                    from[other] = column;
                }
                if least[other] < delta {
                    delta = least[other];
                    next = other;
                }
            }
            for other in 0..=n {
                if used[other] {
                    of_rows[row_of[other]] += delta;
                    of_columns[other] -= delta;
                } else {
                    least[other] -= delta;
                }
            }
            column = next;
        }
        while column != 0 {
            let before = from[column];
            row_of[column] = row_of[before];
            column = before;
        }
    }
    let pairs = (1..=n).map(|column| (row_of[column] - 1, column - 1));
    pairs
        .filter_map(|(row, column)| values.get(row)?.get(column))
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn worked_cases() {
        for (output, gold, exact, f1) in [
            ("4 yards", &["4"][..], 0.0, 0.67),
            ("four", &["4"], 0.0, 0.0),
            ("4.0", &["4"], 1.0, 1.0),
            ("28-yard", &["28 yard"], 1.0, 1.0),
            ("1,200", &["1200"], 1.0, 1.0),
            ("Smith and Jones", &["Smith", "Jones"], 0.0, 0.25),
            ("Smith", &["Smith", "Jones"], 0.0, 0.5),
            ("5 yards", &["4 yards"], 0.0, 0.0),
            ("", &["4"], 0.0, 0.0),
        ] {
            assert_eq!(score(&[output], gold), (exact, f1), "{output}");
        }
        assert_eq!(score(&["Jones", "Smith"], &["Smith", "Jones"]), (1.0, 1.0));
    }

    #[test]
    fn the_best_annotator_counts_and_blank_ones_do_not() {
        let annotators = [vec![""], vec!["5"], vec!["4"]];
        assert_eq!(best(&["4"], &annotators), (1.0, 1.0));
        assert_eq!(best(&[""], &annotators), (0.0, 0.0));
    }

    #[test]
    fn assignments_are_the_best_ones() {
        assert_eq!(assigned(&[vec![0.9, 1.0], vec![0.1, 0.9]]), 1.8);
        assert_eq!(assigned(&[vec![0.5], vec![0.75], vec![0.25]]), 0.75);
        assert_eq!(assigned(&[]), 0.0);
    }
}
