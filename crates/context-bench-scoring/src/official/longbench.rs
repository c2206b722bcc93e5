//! LongBench: nine rules over its tasks.
//!
//! Bai et al. (2023), the authors' `metrics.py` and `eval.py`. Of several right answers
//! the best counts.

use super::edit_ratio;
use super::infinitebench::chinese_normal;
use crate::text::overlap::shared;

/// What an output is cut to before some tasks score it: the first line with something
/// before its end.
pub fn first_line(output: &str) -> &str {
    let output = output.trim_start_matches('\n');
    output.split('\n').next().unwrap_or_default()
}

/// The share of numbers in an output that are the right one, compared as text.
pub fn count(output: &str, gold: &str) -> f64 {
    let numbers: Vec<&str> = digits(output).collect();
    let right = numbers.iter().filter(|number| **number == gold).count();
    match numbers.len() {
        0 => 0.0,
        n => right as f64 / n as f64,
    }
}

/// The same with the number of the right paragraph: `Paragraph 5`, `段落5`.
pub fn retrieval(output: &str, gold: &str) -> f64 {
    digits(gold)
        .next()
        .map_or(0.0, |number| count(output, number))
}

/// Runs of digits of any script.
fn digits(text: &str) -> impl Iterator<Item = &str> {
    let parts = text.split(|c: char| !is_decimal(c));
    parts.filter(|part| !part.is_empty())
}

fn is_decimal(c: char) -> bool {
    use unicode_properties::{GeneralCategory, UnicodeGeneralCategory as _};
    c.general_category() == GeneralCategory::DecimalNumber
}

/// 1 by the number of classes that an output names, when the right one is among them.
///
/// Classes that are part of the right one are taken out while the list is walked, so
/// that the one after each of them is not looked at: the figures were made so.
pub fn class(output: &str, gold: &str, classes: &[String]) -> f64 {
    let mut named: Vec<&str> = classes
        .iter()
        .map(String::as_str)
        .filter(|class| output.contains(class))
        .collect();
    let mut at = 0;
    while at < named.len() {
        if gold.contains(named[at]) && named[at] != gold {
            // The script takes out the first of that name.
            let class = named[at];
            if let Some(first) = named.iter().position(|other| *other == class) {
                named.remove(first);
            }
        }
        at += 1;
    }
    match named.contains(&gold) {
        true => 1.0 / named.len() as f64,
        false => 0.0,
    }
}

/// How alike the first line of code is, in hundredths.
pub fn code(output: &str, gold: &str) -> f64 {
    let lines = output.trim_start_matches('\n').split('\n');
    let is_code = |line: &&str| !line.contains('`') && !line.contains('#') && !line.contains("//");
    let line = lines.into_iter().find(is_code).unwrap_or_default();
    if line.is_empty() || gold.is_empty() {
        return 0.0;
    }
    (100.0 * edit_ratio::ratio(line, gold)).round_ties_even() / 100.0
}

/// F1 over Chinese words that somebody has cut the texts into.
pub fn chinese_f1<S: AsRef<str>>(output: &[S], gold: &[S]) -> f64 {
    let normal = |words: &[S]| -> Vec<String> {
        let words = words.iter().map(|word| chinese_normal(word.as_ref()));
        words.filter(|word| !word.is_empty()).collect()
    };
    let (output, gold) = (normal(output), normal(gold));
    shared(&output, &gold).1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers() {
        for (output, gold, expected) in [
            ("There are 7 unique of 30", "7", 0.5),
            ("7", "7", 1.0),
            ("seven", "7", 0.0),
        ] {
            assert_eq!(count(output, gold), expected, "{output}");
        }
        for (output, gold, expected) in [
            ("Paragraph 15", "Paragraph 5", 0.0),
            ("Paragraph 5 (not 6)", "Paragraph 5", 0.5),
            ("段落5。段落6：", "段落5", 0.5),
        ] {
            assert_eq!(retrieval(output, gold), expected, "{output}");
        }
    }

    #[test]
    fn classes() {
        let classes = ["Date", "Location", "City", "Other location"].map(str::to_owned);
        for (output, gold, expected) in [
            ("Type: City", "City", 1.0),
            ("City or Date", "City", 0.5),
            ("Location", "Other location", 0.0),
            ("other location", "Other location", 0.0),
        ] {
            assert_eq!(class(output, gold, &classes), expected, "{output}");
        }
        // What stands after a class that is taken out is not looked at.
        let nested = ["a", "ab", "abc"].map(str::to_owned);
        assert_eq!(class("abc", "abc", &nested), 0.5);
    }

    #[test]
    fn lines_of_code() {
        for (output, gold, expected) in [
            ("\n    return x + 1\n    y = 2", "    return x + 1", 1.0),
            ("```\nreturn x + 1\n```", "    return x + 1", 0.86),
            ("# next\nfoo(bar)", "foo(baz)", 0.88),
            ("# only", "foo", 0.0),
        ] {
            assert_eq!(code(output, gold), expected, "{output}");
        }
        assert_eq!(first_line("\n\nCity\nDate"), "City");
    }

    #[test]
    fn chinese_words() {
        for (output, gold, expected) in [
            (&["他", "叫", "李明", "。"][..], &["李明"][..], 0.5),
            (&["《", "红楼梦", "》"], &["红楼梦"], 2.0 / 3.0),
            (&[], &["红楼梦"], 0.0),
        ] {
            assert!((chinese_f1(output, gold) - expected).abs() < 1e-12);
        }
    }
}
