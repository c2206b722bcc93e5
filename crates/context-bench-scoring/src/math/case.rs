//! Upper and lower case of letters that are written together.
//!
//! `abc` is a product of variables, `ABC` is read as a word: a triangle, or how coins
//! fell, where the order matters. Between the two spellings case does not count, unless
//! an answer has a letter in both cases.

/// A text with its runs of letters in lower case, if one of them has a capital and there
/// is not a letter in both cases. LaTeX commands stay as they are.
pub(super) fn folded(text: &str) -> Option<String> {
    if mixes_cases(text) {
        return None;
    }
    let mut out = String::with_capacity(text.len());
    let mut changed = false;
    for run in runs(text) {
        let letters = run.len() > 1 && !run.starts_with('\\');
        let capitals = letters && run.bytes().any(|b| b.is_ascii_uppercase());
        changed |= capitals;
        match capitals {
            true => out.push_str(&run.to_ascii_lowercase()),
            false => out.push_str(run),
        }
    }
    changed.then_some(out)
}

/// Whether a letter stands in both cases, commands not counted.
pub(super) fn mixes_cases(text: &str) -> bool {
    let mut seen = [[false; 26]; 2];
    for byte in runs(text)
        .filter(|run| !run.starts_with('\\'))
        .flat_map(str::bytes)
    {
        if byte.is_ascii_alphabetic() {
            let letter = usize::from(byte.to_ascii_lowercase() - b'a');
            seen[usize::from(byte.is_ascii_uppercase())][letter] = true;
        }
    }
    (0..26).any(|letter| seen[0][letter] && seen[1][letter])
}

/// The text in pieces: runs of ASCII letters, with a backslash before them if there is
/// one, and what is between.
fn runs(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let first = rest.chars().next()?;
        let from = usize::from(first == '\\');
        let letters = |text: &str| {
            let end = text.find(|c: char| !c.is_ascii_alphabetic());
            end.unwrap_or(text.len())
        };
        let end = match from + letters(&rest[from..]) {
            end if end > from || from == 1 => end,
            _ => {
                let next = rest.find(|c: char| c.is_ascii_alphabetic() || c == '\\');
                next.unwrap_or(rest.len())
            }
        };
        let (run, after) = rest.split_at(end);
        rest = after;
        Some(run)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_of_capitals_are_folded() {
        for (text, expected) in [
            ("ABC", Some("abc")),
            ("Abc", Some("abc")),
            ("\\triangle ABC", Some("\\triangle abc")),
            ("2AB + C", Some("2ab + C")),
            ("(XY, \\Gamma)", Some("(xy, \\Gamma)")),
            ("aABC", None),
            ("AB + a", None),
            ("x + A", None),
            ("abc", None),
            ("\\\\é\\", None),
            ("", None),
        ] {
            assert_eq!(folded(text).as_deref(), expected, "{text}");
        }
        assert!(mixes_cases("aA") && mixes_cases("x + X"));
        assert!(!mixes_cases("\\delta D") && !mixes_cases("Ab"));
    }
}
