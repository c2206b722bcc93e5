//! The phrases that announce an answer, in the languages of MGSM.

/// A word and what must follow it to announce an answer. Lower-case ASCII
/// letters match either case; the rest is as it is written.
const PHRASES: &[(&str, &[&str])] = &[
    (
        "answer",
        &[
            " is",
            ":",
            " to the question is",
            " would be",
            " should be",
            " equals",
            "**",
            "\n",
        ],
    ),
    // German
    ("antwort", &[" ist", " lautet", ":", " ist:"]),
    ("ergebnis", &[":", " ist"]),
    // French, whatever the case of its accents
    ("ponse", &[" est", " finale", " :", ":"]),
    // Spanish
    ("respuesta", &[" es", " final", ":"]),
    // Russian, whatever the case of its first letter
    ("твет", &[":", " —", " -", " –", " равен"]),
    // Chinese, Japanese
    ("答案", &["是", "为", "為", "：", ":"]),
    ("答え", &["は", "：", ":"]),
    // Thai, Swahili, Bengali, Telugu
    ("คำตอบ", &["คือ", ":"]),
    ("jibu", &[" ni", ":"]),
    ("উত্তর", &[" হল", " হলো", ":", " হচ্ছে"]),
    ("సమాధానం", &[":", ""]),
];

/// What may stand between a phrase and its answer.
const CONNECTIVES: &[&str] = &[
    "is",
    "are",
    "was",
    "be",
    "ist",
    "lautet",
    "est",
    "es",
    "equals",
    "simply",
    "just",
    "indeed",
    "therefore",
    "definitely",
    "clearly",
];

/// The text behind the last phrase that announces an answer, up to the end of
/// its sentence. A phrase with nothing behind it on its line announces the next.
pub(super) fn announced(text: &str) -> Option<&str> {
    let lower = text.to_ascii_lowercase();
    let mut end = text.len();
    // A phrase without anything behind it gives way to the one before.
    for _ in 0..8 {
        let phrases = PHRASES
            .iter()
            .filter_map(|phrase| last(&lower[..end], phrase));
        let (start, after) = phrases
            .chain(label(&text[..end]))
            .max_by_key(|(_, after)| *after)?;
        let answer = sentence(connected(&text[after..]));
        if answer.chars().any(char::is_alphanumeric) {
            return Some(answer);
        }
        end = start;
    }
    None
}

/// Start and end of the last place where a phrase announces an answer.
fn last(lower: &str, (word, followers): &(&str, &[&str])) -> Option<(usize, usize)> {
    lower.rmatch_indices(word).find_map(|(start, _)| {
        let after = start + word.len();
        let rest = &lower[after..];
        let longest = followers
            .iter()
            .filter(|follower| rest.starts_with(**follower));
        let width = longest.map(|follower| follower.len()).max();
        // "The final answer" needs nothing behind it.
        let is_final = || lower[..start].ends_with("final ").then_some(0);
        Some((start, after + width.or_else(is_final)?))
    })
}

/// `A:` at the beginning of a line.
fn label(text: &str) -> Option<(usize, usize)> {
    let at_start = text.starts_with("A:").then_some((0, 2));
    text.rfind("\nA:")
        .map(|start| (start, start + 3))
        .or(at_start)
}

/// Without connectives, colons, dashes and emphasis at the start.
fn connected(mut text: &str) -> &str {
    loop {
        let trimmed = text.trim_start_matches(|c: char| {
            c.is_whitespace() || matches!(c, ':' | '：' | '*' | '—' | '–' | '=' | '#' | '"' | '>')
        });
        let word_end = trimmed
            .find(|c: char| !c.is_ascii_alphabetic())
            .unwrap_or(trimmed.len());
        let word = trimmed[..word_end].to_ascii_lowercase();
        // `- 5` after a dash is not minus five, but `-5` is.
        let dash = trimmed.starts_with("- ");
        let is_word = CONNECTIVES.contains(&word.as_str()) && word_end < trimmed.len();
        if is_word {
            text = &trimmed[word_end..];
        } else if dash {
            text = &trimmed[2..];
        } else {
            return trimmed;
        }
    }
}

/// Up to the end of the sentence or line, not inside a formula.
pub(super) fn sentence(text: &str) -> &str {
    let (mut braces, mut dollars) = (0_usize, false);
    let mut display = false;
    let last_dollar = text.rfind('$').unwrap_or(0);
    let mut chars = text.char_indices().peekable();
    while let Some((i, c)) = chars.next() {
        let next = chars.peek().map(|(_, next)| *next);
        let in_formula = display || braces > 0 || dollars;
        match c {
            '{' => braces += 1,
            '}' => braces = braces.saturating_sub(1),
            // A dollar sign that nothing closes is a currency sign.
            '$' => dollars = !dollars && i < last_dollar,
            '\\' if matches!(next, Some('[' | '(')) => display = true,
            '\\' if matches!(next, Some(']' | ')')) => display = false,
            '\n' if !in_formula => return &text[..i],
            '.' | '?'
                if !in_formula
                    && next.is_none_or(char::is_whitespace)
                    && !abbreviated(&text[..i]) =>
            {
                return &text[..i];
            }
            '。' | '।' => return &text[..i],
            _ => {}
        }
    }
    text
}

/// Whether a full stop here ends an abbreviation such as `a.m.`
fn abbreviated(before: &str) -> bool {
    let mut chars = before.chars().rev();
    chars.next().is_some_and(char::is_alphabetic) && chars.next() == Some('.')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_phrase_counts_in_any_language() {
        let cases = [
            ("The answer is 42.", "42"),
            ("The answer is 41. No, the answer is **42**. Done", "42**"),
            ("**Final Answer**\n\n$x = 5$", "$x = 5$"),
            ("work\nA: 18", "18"),
            ("Die Antwort ist 5 Euro.", "5 Euro"),
            ("La réponse est -3.", "-3"),
            ("La respuesta es: 7", "7"),
            ("Ответ: 12.", "12"),
            ("所以答案是18美元。", "18美元"),
            ("答えは 3 です。", "3 です"),
            ("คำตอบคือ 18", "18"),
            ("Answer: 3.50", "3.50"),
            ("the answer is 3. the final answer is", "3"),
        ];
        for (text, answer) in cases {
            assert_eq!(announced(text), Some(answer), "{text}");
        }
        assert_eq!(announced("no such words"), None);
    }
}
