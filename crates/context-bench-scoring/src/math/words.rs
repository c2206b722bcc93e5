//! Which words of an answer matter: units and filler do not, months do.

use super::expr::Function;
use super::token::{Kind, Separator};

/// The kind of a run of ASCII letters; `text` inside `\text{}` and the like.
/// `None` when the letters are variables, one each, multiplied.
pub(super) fn run(letters: &str, text: bool) -> Option<Kind> {
    if letters.len() == 1 {
        // A single letter keeps its case: it names a choice or a variable.
        let word = letters.into();
        return text.then_some(Kind::Word { word, text });
    }
    let lower = letters.to_ascii_lowercase();
    let lower = lower.as_str();
    if let Some(function) = function(lower) {
        return Some(Kind::Function(function));
    }
    Some(match lower {
        "and" | "or" | "und" | "oder" | "ou" | "et" => Kind::Separator(Separator::Word),
        "sqrt" => Kind::Root,
        "cbrt" => Kind::CubeRoot,
        "log" => Kind::Log,
        "pi" => Kind::Pi,
        "inf" | "infty" | "infinity" | "oo" => Kind::Infinity,
        "theta" if !text => Kind::symbol("θ"),
        "alpha" if !text => Kind::symbol("α"),
        "beta" if !text => Kind::symbol("β"),
        "gamma" if !text => Kind::symbol("γ"),
        "lambda" if !text => Kind::symbol("λ"),
        "phi" if !text => Kind::symbol("φ"),
        _ if !text && is_product(letters) => return None,
        _ => Kind::word(lower, text),
    })
}

/// A function by its name in lower case.
pub(super) fn function(name: &str) -> Option<Function> {
    Some(match name {
        "sin" => Function::Sin,
        "cos" => Function::Cos,
        "tan" | "tg" => Function::Tan,
        "cot" | "ctg" => Function::Cot,
        "sec" => Function::Sec,
        "csc" => Function::Csc,
        "arcsin" | "asin" => Function::Arcsin,
        "arccos" | "acos" => Function::Arccos,
        "arctan" | "atan" => Function::Arctan,
        "sinh" => Function::Sinh,
        "cosh" => Function::Cosh,
        "tanh" => Function::Tanh,
        "exp" => Function::Exp,
        "ln" => Function::Ln,
        "lg" => Function::Log10,
        "abs" => Function::Absolute,
        "floor" => Function::Floor,
        "ceil" => Function::Ceiling,
        _ => return None,
    })
}

/// Whether a run of two or more bare letters is a product such as `xy`, not a
/// word such as `cm`. No rule is right in general: two and three small
/// letters are variables unless they are a known unit or read like a word.
fn is_product(letters: &str) -> bool {
    const SHORT: &[&str] = &[
        "cm", "mm", "km", "dm", "nm", "kg", "mg", "lb", "oz", "ft", "in", "yd", "mi", "hr", "ml",
        "dl", "cl", "sq", "cu", "am", "pm", "no", "is", "of", "to", "at", "by", "he", "it", "on",
        "we", "as", "if", "so", "be", "an", "my", "up", "hz", "kw", "mw", "pa", "ms", "ns", "us",
    ];
    let bytes = letters.as_bytes();
    if !bytes.iter().all(u8::is_ascii_lowercase) {
        return false;
    }
    let ascending = bytes.windows(2).all(|pair| pair[0] + 1 == pair[1]);
    match bytes.len() {
        2 => !SHORT.contains(&letters),
        3 => {
            ascending
                || !(has_vowel(bytes)
                    || matches!(letters, "mph" | "kph" | "lbs" | "hrs" | "yds" | "sqm"))
        }
        _ => ascending,
    }
}

fn has_vowel(letters: &[u8]) -> bool {
    letters.iter().any(|letter| b"aeiou".contains(letter))
}

/// Words that are part of the answer wherever they stand: the month of a date,
/// the half of a day.
pub(super) fn is_significant(word: &str) -> bool {
    matches!(
        word,
        "january"
            | "february"
            | "march"
            | "april"
            | "may"
            | "june"
            | "july"
            | "august"
            | "september"
            | "october"
            | "november"
            | "december"
            | "jan"
            | "feb"
            | "mar"
            | "apr"
            | "jun"
            | "jul"
            | "aug"
            | "sep"
            | "oct"
            | "nov"
            | "dec"
            | "monday"
            | "tuesday"
            | "wednesday"
            | "thursday"
            | "friday"
            | "saturday"
            | "sunday"
            | "am"
            | "pm"
            | "bc"
            | "bce"
            | "not"
            | "except"
            | "mod"
            | "million"
            | "billion"
            | "thousand"
            | "trillion"
            | "hundred"
            | "dozen"
    )
}

/// Words before an answer that say nothing.
pub(super) fn is_filler(word: &str) -> bool {
    matches!(
        word,
        "the"
            | "a"
            | "an"
            | "is"
            | "are"
            | "was"
            | "be"
            | "about"
            | "approximately"
            | "approx"
            | "roughly"
            | "around"
            | "nearly"
            | "exactly"
            | "only"
            | "just"
            | "answer"
            | "final"
            | "total"
            | "of"
            | "equals"
            | "option"
            | "choice"
            | "value"
            | "result"
            | "therefore"
            | "thus"
            | "so"
            | "hence"
            | "that"
            | "there"
            | "it"
            | "to"
            | "usd"
            | "eur"
            | "rs"
    )
}

/// A small number that was written out.
pub(super) fn number_word(word: &str) -> Option<i64> {
    const NAMES: &[&str] = &[
        "zero",
        "one",
        "two",
        "three",
        "four",
        "five",
        "six",
        "seven",
        "eight",
        "nine",
        "ten",
        "eleven",
        "twelve",
        "thirteen",
        "fourteen",
        "fifteen",
        "sixteen",
        "seventeen",
        "eighteen",
        "nineteen",
        "twenty",
    ];
    let position = NAMES.iter().position(|name| *name == word)?;
    i64::try_from(position).ok()
}
