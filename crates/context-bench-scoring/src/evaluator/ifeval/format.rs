//! `detectable_format:*` and `detectable_content:*`: bullets, highlights,
//! sections, titles, placeholders, postscripts.
//!
//! The official checks are regular expressions; these scanners find the same
//! matches in one pass over the text.

use unicode_properties::{GeneralCategory, UnicodeGeneralCategory};

use crate::text::words::{is_space, trim};

/// The answers that `constrained_response` allows unless the record names others.
pub(super) const CONSTRAINED_RESPONSES: [&str; 3] = [
    "My answer is yes.",
    "My answer is no.",
    "My answer is maybe.",
];

pub(super) fn is_digit(c: char) -> bool {
    c.is_ascii_digit() || c.general_category() == GeneralCategory::DecimalNumber
}

/// Lines that begin with `*` (but not `**`) or `-`.
pub(super) fn bullets(text: &str) -> usize {
    count_bullets(text, '*') + count_bullets(text, '-')
}

/// Matches of `^\s*\*[^\*].*$` or `^\s*-.*$`. White space may span lines, and so
/// may the one character after the star.
fn count_bullets(text: &str, mark: char) -> usize {
    let mut count = 0;
    let mut line = Some(0);
    while let Some(start) = line {
        let blank = text[start..].find(|c| !is_space(c));
        let at = start + blank.unwrap_or(text.len() - start);
        let mut from = at;
        if let Some(rest) = text[at..].strip_prefix(mark) {
            let next = rest.chars().next();
            let second = match (mark, next) {
                ('*', None | Some('*')) => None,
                ('*', Some(c)) => Some(c.len_utf8()),
                _ => Some(0),
            };
            if let Some(second) = second {
                count += 1;
                from = at + mark.len_utf8() + second;
                let length = text[from..].find('\n');
                from += length.unwrap_or(text.len() - from);
                if text[..from].ends_with('\n') && from < text.len() {
                    // The character after the star was the line's end, and an
                    // empty line follows: it is a line start of its own.
                    line = Some(from);
                    continue;
                }
            }
        }
        line = text[from..].find('\n').map(|end| from + end + 1);
    }
    count
}

/// Texts between `*` and `*`, and between `**` and `**`, that are not blank.
pub(super) fn highlights(text: &str) -> usize {
    let single = runs_between(text, "*");
    let double = runs_between(text, "**");
    let filled = |run: &&str| !trim(run).is_empty();
    single.filter(filled).count() + double.filter(filled).count()
}

/// What stands between two `mark`s without a star or a new line in between.
fn runs_between<'a>(text: &'a str, mark: &'static str) -> impl Iterator<Item = &'a str> {
    let mut at = 0;
    std::iter::from_fn(move || {
        loop {
            at += text[at..].find(mark)?;
            let inner = at + mark.len();
            let length = text[inner..].find(['*', '\n'])?;
            let end = inner + length;
            if text[end..].starts_with(mark) {
                at = end + mark.len();
                return Some(&text[inner..end]);
            }
            at += 1;
        }
    })
}

/// Sections marked by the splitter and a number, such as `SECTION 1`.
pub(super) fn sections(splitter: &str, text: &str) -> usize {
    let mut count = 0;
    let mut rest = text;
    while let Some(found) = rest.find(splitter) {
        let after = &rest[found + splitter.len()..];
        let number = after.strip_prefix(is_space).unwrap_or(after);
        let tail = number.trim_start_matches(is_digit);
        if tail.len() < number.len() {
            count += 1;
            rest = tail;
        } else {
            let step = splitter.chars().next().map_or(1, char::len_utf8);
            rest = &rest[found + step..];
        }
    }
    count
}

/// Whether a line has `<<`, a title and `>>`.
pub(super) fn has_title(text: &str) -> bool {
    text.split('\n').any(|line| {
        let Some(start) = line.find("<<") else {
            return false;
        };
        let Some(end) = line.rfind(">>") else {
            return false;
        };
        let title = line.get(start..end + 2).unwrap_or_default();
        let title = title.trim_start_matches('<').trim_end_matches('>');
        !trim(title).is_empty()
    })
}

/// Square brackets that open and close on one line.
pub(super) fn placeholders(text: &str) -> usize {
    let line = |line: &str| {
        let mut count = 0;
        let mut rest = line;
        while let Some((_, inner)) = rest.split_once('[') {
            let Some((_, after)) = inner.split_once(']') else {
                break;
            };
            count += 1;
            rest = after;
        }
        count
    };
    text.split('\n').map(line).sum()
}

/// A postscript; for the usual markers white space between the letters is allowed.
pub(super) fn has_postscript(marker: &str, text: &str) -> bool {
    let text = text.to_lowercase();
    match marker {
        "P.P.S" => has_spaced(&text, &["p.", "p.", "s"]),
        "P.S." => has_spaced(&text, &["p.", "s."]),
        other => text.contains(&other.to_lowercase()),
    }
}

/// Whether the parts follow each other with at most one white-space character in between.
fn has_spaced(text: &str, parts: &[&str]) -> bool {
    let Some((first, others)) = parts.split_first() else {
        return true;
    };
    text.match_indices(first).any(|(at, _)| {
        let mut rest = Some(&text[at + first.len()..]);
        for part in others {
            rest = rest.and_then(|rest| {
                let spaced = rest.strip_prefix(is_space);
                rest.strip_prefix(part)
                    .or_else(|| spaced?.strip_prefix(part))
            });
        }
        rest.is_some()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bullets_are_counted_like_the_official_patterns() {
        for (text, count) in [
            ("* a\n- b\n  * c", 3),
            ("**bold** start", 0),
            ("*\n\n* a", 2),
            ("*", 0),
            ("*\n", 1),
            ("-", 1),
            ("\n\n  - a\n--- \nx - y", 2),
            ("*\n* a", 1),
            ("", 0),
            ("\u{a0}* é", 1),
        ] {
            assert_eq!(bullets(text), count, "{text:?}");
        }
    }

    #[test]
    fn highlights_single_and_double() {
        for (text, count) in [
            ("*a* and **b**", 2),
            ("***x***", 2),
            ("** ** * *", 0),
            ("*a\nb*", 0),
            ("*a*b*", 1),
            ("", 0),
        ] {
            assert_eq!(highlights(text), count, "{text:?}");
        }
    }

    #[test]
    fn sections_titles_placeholders_postscripts() {
        assert_eq!(sections("SECTION", "SECTION 1\na\nSECTION2 SECTION x"), 2);
        assert_eq!(sections("Day", "Day  1 day 2 Day ３"), 1);
        assert!(has_title("x\n<<a>> b"));
        assert!(!has_title("<<>>") && !has_title(">> <<a") && !has_title("<<a\n>>"));
        assert_eq!(placeholders("[a] [b]] [c\n] []"), 3);
        assert!(has_postscript("P.S.", "p. s. x") && !has_postscript("P.S.", "p.s"));
        assert!(has_postscript("P.P.S", "P.P. S x") && !has_postscript("P.P.S", "P.S."));
        assert!(has_postscript("Note:", "a NOTE: b"));
    }
}
