//! MATH: the last box, equal as text after some LaTeX was made alike.
//!
//! Hendrycks et al. (2021), the authors' `math_equivalence`. Knows no values: 0.25 is not
//! one quarter, and 1,000 is not 1000.

use crate::text::words::split_whitespace;

/// 1 when the last box of an output holds what the solution's holds.
pub fn score(output: &str, gold: &str) -> f64 {
    super::one(last_box(output).is_some_and(|found| is_same(found, gold)))
}

/// What the last `\boxed{…}` holds, else the last `\fbox{…}`, with balanced braces.
pub fn last_box(text: &str) -> Option<&str> {
    let start = text.rfind("\\boxed").or_else(|| text.rfind("\\fbox"))?;
    let open = start + text[start..].find('{')?;
    // Nothing else may stand before the brace.
    let name = &text[start..open];
    if name != "\\boxed" && name != "\\fbox" {
        return None;
    }
    let mut depth = 0_usize;
    for (at, c) in text[open..].char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(&text[open + 1..open + at]);
        }
    }
    None
}

/// Whether two answers are the same text once cleaned; as they are where that fails.
pub fn is_same(one: &str, other: &str) -> bool {
    match (cleaned(one), cleaned(other)) {
        (Some(one), Some(other)) => one == other,
        _ => one == other,
    }
}

/// A text as it is compared; `None` where the script gives up.
fn cleaned(text: &str) -> Option<String> {
    let mut text = text
        .replace('\n', "")
        .replace("\\!", "")
        .replace("\\\\", "\\");
    for (from, to) in [
        ("tfrac", "frac"),
        ("dfrac", "frac"),
        ("\\left", ""),
        ("\\right", ""),
        ("^{\\circ}", ""),
        ("^\\circ", ""),
        ("\\$", ""),
    ] {
        text = text.replace(from, to);
    }
    // A unit stands at the end; two of them are too many for the script.
    if text.contains("\\text{ ") {
        let mut parts = text.split("\\text{ ");
        let value = parts.next().unwrap_or_default().to_owned();
        parts.next();
        if parts.next().is_some() {
            return None;
        }
        text = value;
    }
    text = text
        .replace("\\%", "")
        .replace(" .", " 0.")
        .replace("{.", "{0.");
    if text.is_empty() {
        return Some(text);
    }
    if text.starts_with('.') {
        text.insert(0, '0');
    }
    if let [left, right] = text.split('=').collect::<Vec<_>>()[..]
        && left.chars().count() <= 2
    {
        text = right.to_owned();
    }
    text = with_braced_roots(&text).replace(' ', "");
    text = with_braced_fractions(&text);
    if text == "0.5" {
        text = "\\frac{1}{2}".to_owned();
    }
    Some(as_fraction(&text).unwrap_or(text))
}

/// `\sqrt3` is `\sqrt{3}`.
fn with_braced_roots(text: &str) -> String {
    let mut parts = text.split("\\sqrt");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        out.push_str("\\sqrt");
        let mut chars = part.chars();
        match chars.next() {
            Some(c) if c != '{' => {
                out.push_str(&format!("{{{c}}}"));
                out.push_str(chars.as_str());
            }
            _ => out.push_str(part),
        }
    }
    out
}

/// `\frac12` is `\frac{1}{2}`, `\frac1{72}` is `\frac{1}{72}`.
fn with_braced_fractions(text: &str) -> String {
    let mut parts = text.split("\\frac");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        out.push_str("\\frac");
        let mut chars = part.chars();
        let (first, second) = (chars.next(), chars.next());
        match (first, second) {
            (Some('{'), _) => out.push_str(part),
            (Some(first), Some('{')) => {
                out.push_str(&format!("{{{first}}}{{"));
                out.push_str(chars.as_str());
            }
            (Some(first), Some(second)) => {
                out.push_str(&format!("{{{first}}}{{{second}}}"));
                out.push_str(chars.as_str());
            }
            // A fraction without both parts ends the clean-up of all of them.
            _ => return text.to_owned(),
        }
    }
    out
}

/// `3/4` of two integers is `\frac{3}{4}`.
fn as_fraction(text: &str) -> Option<String> {
    let parts: Vec<&str> = text.split('/').collect();
    let [above, below] = parts[..] else {
        return None;
    };
    let (a, b): (i64, i64) = (integer(above)?, integer(below)?);
    (text == format!("{a}/{b}")).then(|| format!("\\frac{{{a}}}{{{b}}}"))
}

fn integer(text: &str) -> Option<i64> {
    split_whitespace(text).next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn worked_cases() {
        for (one, other, same) in [
            ("\\frac12", "\\frac{1}{2}", true),
            ("0.5", "\\frac{1}{2}", true),
            ("1/2", "\\frac{1}{2}", true),
            ("x=5", "5", true),
            ("10\\text{ cm}", "10", true),
            ("50\\%", "50", true),
            (".5", "\\frac{1}{2}", true),
            ("\\sqrt3", "\\sqrt{3}", true),
            ("\\dfrac{3}{4}", "\\frac{3}{4}", true),
            ("0.25", "\\frac{1}{4}", false),
            ("1,000", "1000", false),
            ("\\frac{2}{4}", "\\frac{1}{2}", false),
        ] {
            assert_eq!(is_same(one, other), same, "{one} {other}");
        }
    }

    #[test]
    fn the_last_box_counts() {
        for (text, expected) in [
            (
                "so \\boxed{1} or \\boxed{\\frac{1}{2}}.",
                Some("\\frac{1}{2}"),
            ),
            ("\\fbox{7}", Some("7")),
            ("the answer is 7", None),
            ("\\boxed{7", None),
        ] {
            assert_eq!(last_box(text), expected, "{text}");
        }
        assert_eq!(score("\\boxed{10\\text{ cm}}", "10"), 1.0);
        assert_eq!(score("10", "10"), 0.0);
    }
}
