//! Finding the final answer in what a model wrote.
//!
//! In this order: the last `\boxed{}`, `####`, a phrase that announces the
//! answer, the whole text when it is an answer, the last formula or number.
//! One pass each; the text may be megabytes long.

use super::answer::Answer;
use super::expr::Expr;
use super::glyph;
use super::phrase;

/// Texts up to this length may be an answer as a whole.
const MAX_WHOLE: usize = 400;
/// Prose of more words than this is not an answer as a whole.
const MAX_WORDS: usize = 6;

/// The final answer of a response or of a written-out solution; `None` when
/// there is nothing like one.
///
/// ```
/// use context_bench_scoring::math::extract_answer;
///
/// assert_eq!(extract_answer(r"So $x = \boxed{\frac{1}{2}}$."), Some(r"\frac{1}{2}"));
/// assert_eq!(extract_answer("5 + 13 = 18\n#### 18"), Some("18"));
/// assert_eq!(extract_answer("Hence the answer is 42."), Some("42"));
/// assert_eq!(extract_answer("She sells 9 eggs and makes 18 dollars every day."), Some("18"));
/// assert_eq!(extract_answer("I cannot help with that."), None);
/// ```
pub fn extract_answer(text: &str) -> Option<&str> {
    let text = text.trim();
    if is_bare_number(text) {
        return Some(text);
    }
    if let Some(content) = boxed(text) {
        return Some(content);
    }
    if let Some((_, rest)) = text.rsplit_once("####") {
        let line = rest.trim_start().lines().next().unwrap_or("");
        if let Some(answer) = clean(line) {
            return Some(answer);
        }
    }
    if let Some(answer) = phrase::announced(text).and_then(clean) {
        return Some(narrow(answer));
    }
    let whole = clean(text)?;
    if is_answer(whole) {
        return Some(whole);
    }
    last_mathematics(whole)
}

/// Most gold answers: no search is needed.
fn is_bare_number(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text).as_bytes();
    digits.len() <= 32
        && digits.iter().all(|c| c.is_ascii_digit() || *c == b'.')
        && digits.last().is_some_and(u8::is_ascii_digit)
}

/// The content of the last box that is not empty. An unclosed box runs to the end.
fn boxed(text: &str) -> Option<&str> {
    for (start, _) in text.rmatch_indices('\\') {
        let command = &text[start..];
        let Some(rest) = ["\\boxed", "\\fbox"]
            .iter()
            .find_map(|name| command.strip_prefix(name))
        else {
            continue;
        };
        let rest = rest.trim_start();
        let content = match rest.strip_prefix('{') {
            Some(inside) => group(inside),
            // `\boxed 5$`
            None => rest.split(['$', '\n', ' ']).next().unwrap_or(""),
        };
        let content = content.trim();
        if !content.is_empty() {
            return Some(content);
        }
    }
    None
}

/// Up to the brace that closes a group which is already open.
fn group(inside: &str) -> &str {
    let mut depth = 1_usize;
    let mut escaped = false;
    for (i, c) in inside.char_indices() {
        match c {
            '{' if !escaped => depth += 1,
            '}' if !escaped => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return &inside[..i];
        }
        escaped = c == '\\' && !escaped;
    }
    inside
}

/// Without the marks around an answer; `None` when nothing is left.
fn clean(text: &str) -> Option<&str> {
    let marks = |c: char| c.is_whitespace() || matches!(c, '*' | '`' | '"' | '“' | '”' | '。');
    let mut text = text.trim_matches(marks);
    while let Some(rest) = text.strip_suffix(['.', ',', ';', ':']) {
        text = rest.trim_end_matches(marks);
    }
    // A dollar sign that nothing closes is a currency sign, which stays.
    let is_formula = text.len() > 1 && text.starts_with('$') && text.ends_with('$');
    let inner = if is_formula {
        text.trim_matches('$')
    } else {
        text
    };
    let text = if inner.contains('$') { text } else { inner };
    text.chars()
        .any(|c| !marks(c) && !c.is_ascii_punctuation() || c == '\\')
        .then_some(text)
}

/// Whether a short text reads as an answer: mathematics with a few words
/// around it, or a few words alone.
fn is_answer(text: &str) -> bool {
    let several_lines = text.contains('\n') && !text.contains("\\begin");
    if text.len() > MAX_WHOLE || several_lines {
        return false;
    }
    if !text.contains(char::is_whitespace) {
        return true;
    }
    let n_words = text.split_whitespace().filter(|word| is_word(word)).count();
    match Answer::read(text).readings.first() {
        Some(reading) => match &reading.expr {
            Expr::Text(_) => n_words < MAX_WORDS,
            Expr::List(_) => reading.lead.is_empty(),
            _ => true,
        },
        // `June 20`, `5 feet 3 inches`, but no sentence about numbers.
        None if has_digit(text) => n_words <= 3 && !has_verb(text),
        None => n_words < MAX_WORDS && !has_verb(text),
    }
}

fn is_word(word: &str) -> bool {
    word.chars().filter(|c| c.is_alphabetic()).count() > 1 && !word.contains(['\\', '=', '^', '_'])
}

/// Words that make a sentence of a short text.
fn has_verb(text: &str) -> bool {
    const SENTENCE: &[&str] = &[
        "is",
        "are",
        "was",
        "be",
        "since",
        "because",
        "as",
        "not",
        "so",
        "per",
        "then",
        "if",
        "has",
        "have",
        "gives",
        "get",
        "therefore",
        "thus",
        "hence",
        "cannot",
        "can",
        "will",
        "would",
        "sorry",
        "don",
    ];
    let mut words = text.split(|c: char| !c.is_alphabetic());
    words.any(|word| SENTENCE.contains(&word.to_lowercase().as_str()))
}

fn has_digit(text: &str) -> bool {
    text.chars().any(|c| glyph::digit(c).is_some())
}

/// The answer inside an announced sentence.
fn narrow(announced: &str) -> &str {
    if is_answer(announced) {
        return announced;
    }
    let starts = announced.starts_with(|c: char| {
        glyph::digit(c).is_some() || matches!(c, '$' | '-' | '\\') || glyph::is_currency(c)
    });
    let found = if starts {
        first_mathematics(announced)
    } else {
        last_mathematics(announced)
    };
    found.unwrap_or(announced)
}

/// The formula or number at the start.
fn first_mathematics(text: &str) -> Option<&str> {
    if let Some((start, end)) = formulas(text).into_iter().next()
        && text[..start]
            .chars()
            .all(|c| matches!(c, '$' | '\\' | '(' | '['))
    {
        return clean(&text[start..end]);
    }
    let start = text
        .char_indices()
        .find(|(_, c)| glyph::digit(*c).is_some())?
        .0;
    let end = text[start..]
        .char_indices()
        .find(|(_, c)| !is_numeric(*c))
        .map_or(text.len(), |(i, _)| start + i);
    clean(&text[signed(text, start)..end])
}

/// The last formula or the last number, whichever ends later.
fn last_mathematics(text: &str) -> Option<&str> {
    // What decides stands at the end; earlier parts of a long text do not.
    const TAIL: usize = 1 << 16;
    let mut start = text.len().saturating_sub(TAIL);
    while !text.is_char_boundary(start) {
        start += 1;
    }
    let text = &text[start..];
    let formula = formulas(text)
        .into_iter()
        .rfind(|(start, end)| clean(&text[*start..*end]).is_some());
    let number = last_number(text);
    match (formula, number) {
        (Some((start, end)), Some((_, number_end))) if number_end <= end => {
            clean(&text[start..end])
        }
        (_, Some((start, end))) => clean(&text[start..end]),
        (Some((start, end)), None) => clean(&text[start..end]),
        (None, None) => None,
    }
}

/// Where formulas between dollars, `\(…\)` or `\[…\]` are.
fn formulas(text: &str) -> Vec<(usize, usize)> {
    const MAX_FORMULA: usize = 2000;
    let mut found = Vec::new();
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let (close, width) = match (bytes[at], bytes.get(at + 1)) {
            (b'\\', Some(b'(')) => ("\\)", 2),
            (b'\\', Some(b'[')) => ("\\]", 2),
            (b'\\', _) => {
                at += 2;
                continue;
            }
            (b'$', Some(b'$')) => ("$$", 2),
            (b'$', _) => ("$", 1),
            _ => {
                at += 1;
                continue;
            }
        };
        let start = at + width;
        let mut limit = (start + MAX_FORMULA).min(text.len());
        while !text.is_char_boundary(limit) {
            limit -= 1;
        }
        let Some(length) = text.get(start..limit).and_then(|rest| rest.find(close)) else {
            at = start;
            continue;
        };
        let content = &text[start..start + length];
        // `$5 and then $10` is money, not a formula.
        let n_words = content
            .split_whitespace()
            .filter(|word| is_word(word))
            .count();
        let is_money = close == "$" && (n_words > 1 || content.ends_with(' ') && n_words > 0);
        if is_money || content.contains("\n\n") {
            at = start;
        } else {
            found.push((start, start + length));
            at = start + length + close.len();
        }
    }
    found
}

fn is_numeric(c: char) -> bool {
    glyph::digit(c).is_some()
        || matches!(c, ',' | '.' | '/' | '%' | '，')
        || glyph::fraction(c).is_some()
}

/// The last number with its sign, separators, fraction and percent sign.
fn last_number(text: &str) -> Option<(usize, usize)> {
    let is_digit = |c: char| glyph::digit(c).is_some() || glyph::fraction(c).is_some();
    let (last, c) = text.char_indices().rfind(|(_, c)| is_digit(*c))?;
    let mut end = last + c.len_utf8();
    if text[end..].starts_with('%') || text[end..].starts_with("\\%") {
        end += text[end..].find('%')? + 1;
    }
    let before = text[..last].char_indices().rev();
    let run = before.take_while(|(_, c)| is_numeric(*c)).last();
    let mut start = run.map_or(last, |(i, _)| i);
    // A list such as `1, 2,3` ends in 3; `1,234` is a number.
    while let Some(first) = text[start..].chars().next()
        && !is_digit(first)
        && first != '.'
    {
        start += first.len_utf8();
    }
    Some((signed(text, start), end))
}

/// Includes a minus sign that is not an operator.
fn signed(text: &str, start: usize) -> usize {
    let before = text[..start].trim_end_matches(glyph::is_currency);
    let Some(minus) = before
        .chars()
        .next_back()
        .filter(|c| matches!(c, '-' | '−'))
    else {
        return start;
    };
    let at = before.len() - minus.len_utf8();
    let operand = text[..at].chars().next_back();
    let is_operator = operand.is_some_and(|c| c.is_alphanumeric() || matches!(c, ')' | ']' | '}'));
    if is_operator { start } else { at }
}
