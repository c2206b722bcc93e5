//! Letters as the authors of benchmarks with choices read them: by a cue, or not at all.

use std::sync::LazyLock;

use regex::Regex;

/// LongBench v2: `The correct answer is (B)`, with brackets first; case as written.
pub(crate) fn longbench_v2(output: &str) -> Option<char> {
    const CUE: &str = "The correct answer is ";
    let plain = output.replace('*', "");
    let letter = |text: &str| text.chars().next().filter(|c| ('A'..='D').contains(c));
    let bracketed = |(at, _): (usize, &str)| {
        let inside = plain[at + CUE.len()..].strip_prefix('(')?;
        letter(inside).filter(|_| inside[1..].starts_with(')'))
    };
    let bare = |(at, _): (usize, &str)| letter(&plain[at + CUE.len()..]);
    let mut found = plain.match_indices(CUE).filter_map(bracketed);
    found
        .next()
        .or_else(|| plain.match_indices(CUE).find_map(bare))
}

static GPQA: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    let patterns = [
        r"answer is \((.)\)",
        r"Answer: \((.)\)",
        r"answer: \((.)\)",
        r"answer \((.)\)",
        r"\((.)\)",
    ];
    patterns
        .iter()
        .filter_map(|pattern| Regex::new(pattern).ok())
        .collect()
});

/// GPQA: the first match of the first pattern that has one; no answer when that is no
/// letter of an option.
pub(crate) fn gpqa(output: &str) -> Option<char> {
    let found = GPQA.iter().find_map(|pattern| pattern.captures(output))?;
    let letter = found.get(1)?.as_str().chars().next()?;
    ('A'..='D').contains(&letter).then_some(letter)
}

static ANSWER_LINE: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"(?i)Answer\s*:\s*([^\n]+)").ok());
static ANSWER_LETTER: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"(?i)Answer[ \t]*:[ \t]*\$?([A-Z])\$?").ok());

/// simple-evals: what stands after the first `Answer:`, to the end of its line.
pub(crate) fn answer_line(output: &str) -> Option<&str> {
    let found = ANSWER_LINE.as_ref()?.captures(output)?;
    Some(found.get(1)?.as_str())
}

/// simple-evals: the letter after the first `Answer:` that has one of the options behind it.
pub(crate) fn answer_letter(output: &str, last: char) -> Option<char> {
    let mut found = ANSWER_LETTER.as_ref()?.captures_iter(output);
    found.find_map(|found| {
        let letter = found.get(1)?.as_str().chars().next()?.to_ascii_uppercase();
        (letter <= last).then_some(letter)
    })
}

/// NoLiMa: one of the right names is there, case as written.
pub(crate) fn contains<S: AsRef<str>>(output: &str, golds: &[S]) -> f64 {
    super::one(golds.iter().any(|gold| output.contains(gold.as_ref())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_longbench_v2() {
        for (output, expected) in [
            ("The correct answer is (B).", Some('B')),
            ("**The correct answer is B**", Some('B')),
            ("the correct answer is (B)", None),
            ("B", None),
            (
                "The correct answer is A, so The correct answer is (C)",
                Some('C'),
            ),
            ("The correct answer is Because… (C)", Some('B')),
        ] {
            assert_eq!(longbench_v2(output), expected, "{output}");
        }
    }

    #[test]
    fn of_gpqa() {
        for (output, expected) in [
            ("The correct answer is (C).", Some('C')),
            ("The answer is C", None),
            ("(A) is wrong, so the answer is (B)", Some('B')),
            ("Options (x) and (D)", None),
            ("answer (E), then (B)", None),
        ] {
            assert_eq!(gpqa(output), expected, "{output}");
        }
    }

    #[test]
    fn of_simple_evals() {
        for (output, line, letter) in [
            ("Answer: 12 yards\nDone.", Some("12 yards"), None),
            ("so\nanswer :\n  $B$", Some("$B$"), None),
            ("Answer: $B$", Some("$B$"), Some('B')),
            ("Answer: c", Some("c"), Some('C')),
            (
                "Answer: E, no, Answer: D",
                Some("E, no, Answer: D"),
                Some('D'),
            ),
            ("It is B.", None, None),
        ] {
            assert_eq!(answer_line(output), line, "{output}");
            assert_eq!(answer_letter(output, 'D'), letter, "{output}");
        }
    }

    #[test]
    fn of_nolima() {
        for (output, expected) in [
            ("Yuki", 1.0),
            ("The character is Yuki.", 1.0),
            ("yuki", 0.0),
            ("", 0.0),
            ("Either Yuki or Megan", 1.0),
        ] {
            assert_eq!(contains(output, &["Yuki"]), expected, "{output}");
        }
    }
}
