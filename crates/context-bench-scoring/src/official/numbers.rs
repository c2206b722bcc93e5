//! Numbers as the authors of benchmarks of arithmetic read them.

use std::sync::LazyLock;

use regex::Regex;

use crate::text::words::trim;

static MARKED: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"#### (-?[0-9.,]+)").ok());
static NUMBER: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"\d+\.?\d*").ok());

/// GSM8K (Cobbe et al. 2021): the number after the first `####`, without commas.
pub(crate) fn gsm8k(text: &str) -> Option<String> {
    let found = MARKED.as_ref()?.captures(text)?;
    Some(trim(found.get(1)?.as_str()).replace(',', ""))
}

/// What the word for an answer is, by language.
const ANSWER_WORDS: [(&str, &str); 11] = [
    ("en", "Answer"),
    ("bn", "উত্তর"),
    ("de", "Antwort"),
    ("es", "Respuesta"),
    ("fr", "Réponse"),
    ("ja", "答え"),
    ("ru", "Ответ"),
    ("sw", "Jibu"),
    ("te", "సమాధానం"),
    ("th", "คำตอบ"),
    ("zh", "答案"),
];

/// MGSM, as simple-evals reads it: the last number after the last word for an answer.
pub(crate) fn mgsm(output: &str, language: &str) -> Option<String> {
    let (_, word) = ANSWER_WORDS.iter().find(|(known, _)| *known == language)?;
    let at = output.rfind(word)?;
    let after = output[at + word.len()..].replace(',', "");
    let number = NUMBER.as_ref()?.find_iter(&after).last()?.as_str();
    Some(without_zeros(number).to_owned())
}

/// Without the zeros after a point, and the point.
fn without_zeros(number: &str) -> &str {
    match number.contains('.') {
        true => number.trim_end_matches('0').trim_end_matches('.'),
        false => number,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_gsm8k() {
        for (text, expected) in [
            ("#### 1,234", Some("1234")),
            ("#### $18", None),
            ("The answer is 18.", None),
            ("#### 18.", Some("18.")),
            ("#### 8\n#### 9", Some("8")),
            ("#### -3", Some("-3")),
        ] {
            assert_eq!(gsm8k(text).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn of_mgsm() {
        for (text, language, expected) in [
            ("Answer: 18.00", "en", Some("18")),
            ("Antwort: 1.234", "de", Some("1.234")),
            ("It is 18", "en", None),
            ("答案：3，共 7 个", "zh", Some("7")),
        ] {
            assert_eq!(mgsm(text, language).as_deref(), expected, "{text}");
        }
    }
}
