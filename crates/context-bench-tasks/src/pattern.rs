//! Shell-style patterns: `*`, `?`, `[abc]`, `[!abc]`, case-sensitive.
//!
//! Written by hand for parity with Python's `fnmatch`, by which the reference selects tasks;
//! `globset` treats `/`, `{` and `\` differently.

use std::path::{Path, PathBuf};

/// Whether a text has any of the marks of a pattern.
pub fn is_pattern(text: &str) -> bool {
    text.contains(['*', '?', '['])
}

/// Whether a name matches a pattern as a whole.
pub fn matches(pattern: &str, name: &str) -> bool {
    let pattern: Vec<char> = pattern.chars().collect();
    let name: Vec<char> = name.chars().collect();
    // Back to the last `*` when the rest does not fit; linear in practice.
    let (mut p, mut n) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    loop {
        if p == pattern.len() && n == name.len() {
            return true;
        }
        let step = match pattern.get(p) {
            Some('*') => {
                star = Some((p, n));
                p += 1;
                continue;
            }
            Some(_) if n < name.len() => one(&pattern[p..], name[n]),
            _ => None,
        };
        match (step, star) {
            (Some(width), _) => {
                p += width;
                n += 1;
            }
            (None, Some((at, from))) if from < name.len() => {
                star = Some((at, from + 1));
                p = at + 1;
                n = from + 1;
            }
            _ => return false,
        }
    }
}

/// How much of the pattern one character uses up, if it fits.
fn one(pattern: &[char], c: char) -> Option<usize> {
    match pattern[0] {
        '?' => Some(1),
        '[' => {
            let negated = matches!(pattern.get(1), Some('!' | '^'));
            let start = 1 + usize::from(negated);
            let end = pattern.iter().skip(start + 1).position(|c| *c == ']');
            let Some(end) = end.map(|end| end + start + 1) else {
                return (c == '[').then_some(1);
            };
            let mut members = &pattern[start..end];
            let mut found = false;
            while let Some((&first, rest)) = members.split_first() {
                if let (Some('-'), Some(&last)) = (rest.first(), rest.get(1)) {
                    found |= (first..=last).contains(&c);
                    members = &rest[2..];
                } else {
                    found |= first == c;
                    members = rest;
                }
            }
            (found != negated).then_some(end + 1)
        }
        literal => (literal == c).then_some(1),
    }
}

/// The files a path with patterns names, sorted. `**` stands for any folders.
pub fn glob(pattern: &Path) -> Vec<PathBuf> {
    let mut found = vec![PathBuf::new()];
    for part in pattern.components() {
        let text = part.as_os_str().to_string_lossy();
        found = if text == "**" {
            found.iter().flat_map(|base| below(base)).collect()
        } else if is_pattern(&text) {
            let children = found.iter().flat_map(|base| children(base));
            children
                .filter(|path| {
                    path.file_name()
                        .is_some_and(|name| matches(&text, &name.to_string_lossy()))
                })
                .collect()
        } else {
            found.iter().map(|base| base.join(part)).collect()
        };
    }
    found.retain(|path| path.exists());
    found.sort();
    found.dedup();
    found
}

fn children(base: &Path) -> Vec<PathBuf> {
    let folder = if base.as_os_str().is_empty() {
        Path::new(".")
    } else {
        base
    };
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| base.join(entry.file_name())).collect()
}

fn below(base: &Path) -> Vec<PathBuf> {
    let mut all = vec![base.to_owned()];
    let mut at = 0;
    while at < all.len() {
        let folders = children(&all[at]).into_iter();
        all.extend(folders.filter(|path| path.is_dir() && !path.is_symlink()));
        at += 1;
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_as_in_a_shell() {
        for (pattern, name, expected) in [
            ("mmlu_*", "mmlu_anatomy", true),
            ("mmlu_*", "Mmlu_anatomy", false),
            ("*_a*y", "mmlu_anatomy", true),
            ("m?lu", "mmlu", true),
            ("m?lu", "mlu", false),
            ("[a-c]x", "bx", true),
            ("[!a-c]x", "bx", false),
            ("[]]x", "]x", true),
            ("a[", "a[", true),
            ("*", "", true),
            ("", "a", false),
            ("a*b*c", "axxbyyc", true),
            ("a*b*c", "axxbyy", false),
        ] {
            assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
        }
        let hard = "a*".repeat(50) + "b";
        assert!(!matches(&hard, &"a".repeat(200)));
    }
}
