//! InfiniteBench: a rule for each of its tasks.
//!
//! Zhang et al. (2024), the authors' `compute_scores.py`: run over the outputs that they
//! published, these rules give the figures that they published.

use crate::text::overlap::{Overlap, shared};
use crate::text::rouge::{RougeTokens, rouge_lsum};
use crate::text::words::{is_space, split_whitespace, trim};

/// The rule of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rule {
    /// The first run of digits is the answer (passkey, number string).
    FirstInteger,
    /// One of the words is the answer (retrieval of values).
    Word,
    /// One of the words in capitals is the name (dialogues).
    Name,
    /// The last word is the number (running code).
    LastInteger,
    /// The first number is the answer (finding numbers).
    FirstNumber,
    /// The letter, or the text, of the option (books).
    Choice,
    /// The letter, or the function, after a cue (debugging).
    Debug,
    /// How far the list of numbers agrees (calculation).
    Calculation,
    /// SQuAD's overlap with the nearest answer (English books).
    Overlap,
    /// F1 over characters with the nearest answer (Chinese books).
    ChineseOverlap,
    /// ROUGE-L over sentences that newlines end (summaries).
    Summary,
}

/// Scores an output against what is right: of choices the text and the letter, else the
/// one right answer; a list of numbers for calculations.
pub fn score(rule: Rule, output: &str, gold: &[String]) -> f64 {
    let first = gold.first().map_or("", String::as_str);
    match rule {
        Rule::FirstInteger => super::one(first_digits(output) == Some(first)),
        Rule::Word => super::one(words(output).any(|word| word == first)),
        Rule::Name => super::one(words(trim(output)).any(|word| word.to_uppercase() == first)),
        Rule::LastInteger => super::one(last_integer(output, first)),
        Rule::FirstNumber => super::one(first_number(output, first)),
        Rule::Choice => super::one(choice(output, gold)),
        Rule::Debug => super::one(debug(output, gold)),
        Rule::Calculation => calculation(output, gold),
        Rule::Overlap => nearest(gold, |gold| Overlap::official(output, gold).f1),
        Rule::ChineseOverlap => nearest(gold, |gold| chinese_f1(output, gold)),
        Rule::Summary => {
            let tokens = RougeTokens::default();
            nearest(gold, |gold| rouge_lsum(output, gold, tokens).f1)
        }
    }
}

fn nearest(gold: &[String], score: impl Fn(&str) -> f64) -> f64 {
    super::best(gold.iter().map(|gold| score(gold)))
}

fn first_digits(text: &str) -> Option<&str> {
    let start = text.find(|c: char| c.is_ascii_digit())?;
    let rest = &text[start..];
    let end = rest
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(rest.len());
    Some(&rest[..end])
}

/// The words, with some punctuation as white space.
fn words(text: &str) -> impl Iterator<Item = String> {
    let separated = spaced(text, &['\n', ':', '"', '\'', '.', ',', '?', '!', '{', '}']);
    let words: Vec<String> = split_whitespace(&separated).map(str::to_owned).collect();
    words.into_iter()
}

fn spaced(text: &str, marks: &[char]) -> String {
    text.replace(marks, " ")
}

/// As long as there are two spaces together there is one too many.
fn squeezed(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if c != ' ' || !out.ends_with(' ') {
            out.push(c);
        }
    }
    out
}

fn last_integer(output: &str, gold: &str) -> bool {
    let separated = spaced(trim(output), &['\n', '.', '`', '\'', '"', ':']);
    let Some(last) = split_whitespace(&separated).last() else {
        return false;
    };
    integer(last).is_some_and(|found| integer(gold) == Some(found))
}

/// An integer as Python's `int` reads it: a sign, digits, single `_` between them.
fn integer(text: &str) -> Option<(bool, String)> {
    let text = trim(text);
    let (negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let parts: Vec<&str> = digits.split('_').collect();
    let whole = |part: &&str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    if !parts.iter().all(whole) {
        return None;
    }
    let digits = parts.concat();
    let digits = digits.trim_start_matches('0');
    Some((negative && !digits.is_empty(), digits.to_owned()))
}

/// The first `digits.digits` or `digits`, read as the right one is: no sign, and nothing
/// where a decimal stands for an integer.
fn first_number(output: &str, gold: &str) -> bool {
    let Some(start) = output.find(|c: char| c.is_ascii_digit()) else {
        return false;
    };
    let rest = &output[start..];
    let digits = |text: &str| {
        text.find(|c: char| !c.is_ascii_digit())
            .unwrap_or(text.len())
    };
    let whole = digits(rest);
    let decimals = rest[whole..].strip_prefix('.').map_or(0, digits);
    let end = if decimals > 0 {
        whole + 1 + decimals
    } else {
        whole
    };
    let found = &rest[..end];
    match integer(gold) {
        Some(gold) => integer(found) == Some(gold),
        None => match (found.parse::<f64>(), gold.parse::<f64>()) {
            (Ok(found), Ok(gold)) => found == gold,
            _ => false,
        },
    }
}

const LETTERS: &str = "ABCD";

fn choice(output: &str, gold: &[String]) -> bool {
    let output = trim(output);
    let (Some(text), Some(letter)) = (gold.first(), gold.get(1)) else {
        return false;
    };
    let is_gold = |text_: &str| text_ == text || text_ == letter;
    let Some(first) = output.chars().next() else {
        return false;
    };
    if LETTERS.contains(first) {
        return letter.as_str() == first.to_string();
    }
    if is_gold(output) {
        return true;
    }
    let marks = ['\n', '"', '\'', '.', ',', '?', '!', '{', '}'];
    let plain = squeezed(&spaced(output, &marks));
    for cue in ["answer is:", "answer:", "answer is", "option is"] {
        if let Some(after) = after_cue(&plain, cue) {
            return after.starts_with(text.as_str()) || after.starts_with(letter.as_str());
        }
    }
    let mut words = split_whitespace(&plain);
    let decides = words.find(|word| LETTERS.contains(word));
    decides.is_some_and(|word| word == letter)
}

/// What follows the first place of a cue and one character more; empty when nothing does.
fn after_cue<'t>(text: &'t str, cue: &str) -> Option<&'t str> {
    let at = text.find(cue)?;
    let mut after = text[at + cue.len()..].chars();
    after.next();
    match after.as_str() {
        // Nothing begins with a right answer.
        "" => Some(""),
        rest => Some(rest),
    }
}

fn debug(output: &str, gold: &[String]) -> bool {
    let output = trim(output);
    let (Some(name), Some(letter)) = (gold.first(), gold.get(1)) else {
        return false;
    };
    let begins = |mark: char| output.starts_with(&format!("{letter}{mark}"));
    if begins('.') || begins(':') {
        return true;
    }
    let plain = spaced(output, &['\n', '`', '\'', '"', '-', '*']);
    let plain = plain.replace("Option", " ").replace("option", " ");
    let plain = squeezed(&plain);
    for cue in ["answer is:", "is:", "answer:", "correct option is:"] {
        if let Some(after) = after_cue(&plain, cue) {
            return after.starts_with(letter.as_str()) || after.starts_with(name.as_str());
        }
    }
    false
}

/// The share of the right list that the first numbers agree with, up to the first that
/// does not. Signs are lost.
fn calculation(output: &str, gold: &[String]) -> f64 {
    if gold.is_empty() {
        return 0.0;
    }
    let numbers = output.split(|c: char| !c.is_ascii_digit());
    let numbers = numbers.filter(|digits| !digits.is_empty()).map(integer);
    let agree = numbers
        .zip(gold)
        .take_while(|(found, gold)| found.is_some() && *found == integer(gold))
        .count();
    agree as f64 / gold.len() as f64
}

/// Chinese answers: F1 over characters.
pub fn chinese_f1(output: &str, gold: &str) -> f64 {
    let (output, gold) = (chinese_normal(output), chinese_normal(gold));
    shared(output.chars(), gold.chars()).1
}

/// Punctuation that Chinese answers are stripped of, beside that of ASCII. `《` is not included.
const CHINESE: &str = "！？｡。＂＃＄％＆＇（）＊＋，－／：；＜＝＞＠［＼］＾＿｀｛｜｝～｟｠｢｣､、〃》「」『』【】〔〕〖〗〘〙〚〛〜〝〞〟〰〾〿–—‘’‛“”„‟…‧﹏.";

/// Without case, punctuation and white space.
pub(crate) fn chinese_normal(text: &str) -> String {
    let lower = text.to_lowercase();
    let kept = lower
        .chars()
        .filter(|c| !c.is_ascii_punctuation() && !CHINESE.contains(*c));
    kept.filter(|c| !is_space(*c)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(rule: Rule, output: &str, gold: &[&str], expected: f64) {
        let gold: Vec<String> = gold.iter().map(|&text| text.to_owned()).collect();
        assert_eq!(score(rule, output, &gold), expected, "{output:?} {gold:?}");
    }

    #[test]
    fn numbers_and_words() {
        check(
            Rule::FirstInteger,
            "The pass key is 71432.",
            &["71432"],
            1.0,
        );
        check(Rule::FirstInteger, "In line 3 it is 71432", &["71432"], 0.0);
        check(Rule::FirstInteger, "7 1432", &["71432"], 0.0);
        check(Rule::Word, "The value is \"ab-12\".", &["ab-12"], 1.0);
        check(Rule::Word, "AB-12", &["ab-12"], 0.0);
        check(Rule::Word, "xab-12x", &["ab-12"], 0.0);
        check(Rule::Name, "Probably Jacob.", &["JACOB"], 1.0);
        check(Rule::Name, "Jacobson", &["JACOB"], 0.0);
        check(Rule::Name, "DR. SMITH", &["DR. SMITH"], 0.0);
        check(Rule::LastInteger, "The return value is: -7.", &["-7"], 1.0);
        check(Rule::LastInteger, "It is 12 points", &["12"], 0.0);
        check(Rule::LastInteger, "**12**", &["12"], 0.0);
        check(Rule::LastInteger, "3.5", &["5"], 1.0);
        check(Rule::LastInteger, "1_000", &["1000"], 1.0);
        check(Rule::FirstNumber, "The largest number is 42.", &["42"], 1.0);
        check(Rule::FirstNumber, "Of 60 numbers it is 42", &["42"], 0.0);
        check(Rule::FirstNumber, "-5", &["-5"], 0.0);
        check(Rule::FirstNumber, "42.5", &["42.5"], 1.0);
        check(Rule::FirstNumber, "42.0", &["42"], 0.0);
    }

    #[test]
    fn choices() {
        for (output, expected) in [
            ("B", 1.0),
            ("The answer is B", 1.0),
            ("Option B, surely", 1.0),
            ("*B*", 0.0),
            ("the correct option is: B", 0.0),
            ("Paris", 1.0),
            ("", 0.0),
            ("The answer is", 0.0),
        ] {
            check(Rule::Choice, output, &["Paris", "B"], expected);
        }
        check(Rule::Choice, "But I think C", &["Paris", "C"], 0.0);
        check(Rule::Choice, "Definitely A", &["Paris", "A"], 0.0);
        for (output, expected) in [
            ("B. parse", 1.0),
            ("The function with the error is: B", 1.0),
            ("The answer is: parse", 1.0),
            ("The answer is B", 0.0),
            ("I choose B", 0.0),
            ("answer is: Option B", 1.0),
        ] {
            check(Rule::Debug, output, &["parse", "B"], expected);
        }
    }

    #[test]
    fn calculations_and_chinese() {
        check(Rule::Calculation, "[1, 4, 9]", &["1", "4", "8", "8"], 0.5);
        check(
            Rule::Calculation,
            "Values: 1 4 8 8 7",
            &["1", "4", "8", "8"],
            1.0,
        );
        check(Rule::Calculation, "[1, -4]", &["1", "-4"], 0.5);
        for (output, gold, expected) in [
            ("他叫李明。", "李明", 0.6667),
            ("《红楼梦》", "红楼梦", 0.8571),
            ("", "红楼梦", 0.0),
        ] {
            assert!(
                (chinese_f1(output, gold) - expected).abs() < 1e-4,
                "{output}"
            );
        }
    }
}
