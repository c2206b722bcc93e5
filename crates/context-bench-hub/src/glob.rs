//! Patterns over the paths of a repo, by the rules of the datasets library.
//!
//! `*` stays within a folder, `**` is any number of folders, `?` and `[…]` are
//! one character. Files and folders that begin with a dot, and folders that
//! begin with two underscores, match only a pattern that names them.
//!
//! Written by hand for parity: `globset` does not know the rules for hidden names.

use regex::Regex;

/// Files that describe a dataset and are never its data, unless asked by name.
const NO_DATA: [&str; 6] = [
    "README.md",
    "config.json",
    "dataset_info.json",
    "dataset_infos.json",
    "dummy_data.zip",
    "dataset_dict.json",
];

/// A compiled pattern.
#[derive(Debug)]
pub(crate) struct Glob {
    text: String,
    regex: Option<Regex>,
}

impl Glob {
    /// Reads a pattern. One that makes no sense matches nothing but itself.
    pub(crate) fn new(pattern: &str) -> Self {
        let text = pattern.trim_start_matches("./").to_owned();
        let regex = has_wildcards(&text).then(|| Regex::new(&translate(&text)).ok());
        Self {
            text,
            regex: regex.flatten(),
        }
    }

    /// Whether a file is meant by this pattern.
    pub(crate) fn matches(&self, path: &str) -> bool {
        let Some(regex) = &self.regex else {
            return path == self.text;
        };
        let name = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
        regex.is_match(path)
            && !(NO_DATA.contains(&name(path).as_str()) && name(path) != name(&self.text))
            && special(folders(path)) == special(folders(&self.text))
            && hidden(path) == hidden(&self.text)
    }
}

/// Whether a text is a pattern and not just a path.
pub(crate) fn has_wildcards(text: &str) -> bool {
    text.contains(['*', '?', '['])
}

fn folders(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folders, _)| folders)
}

fn special(folders: &str) -> usize {
    let is_special = |part: &&str| part.starts_with("__");
    folders.split('/').filter(is_special).count()
}

fn hidden(path: &str) -> usize {
    let is_hidden = |part: &&str| part.starts_with('.') && !part.bytes().all(|b| b == b'.');
    path.split('/').filter(is_hidden).count()
}

fn translate(pattern: &str) -> String {
    let parts: Vec<&str> = pattern.split('/').collect();
    let mut out = String::from("(?s)^");
    for (idx, part) in parts.iter().enumerate() {
        let last = idx + 1 == parts.len();
        match (*part, last) {
            ("**", true) => out.push_str(".*"),
            ("**", false) => out.push_str("(?:.+/)?"),
            ("*", true) => out.push_str("[^/]+"),
            ("*", false) => out.push_str("[^/]+/"),
            (part, _) => {
                segment(part, &mut out);
                if !last {
                    out.push('/');
                }
            }
        }
    }
    out.push('$');
    out
}

/// One part of a pattern between slashes.
fn segment(part: &str, out: &mut String) {
    let chars: Vec<char> = part.chars().collect();
    let mut at = 0;
    while at < chars.len() {
        let c = chars[at];
        at += 1;
        match c {
            '*' if chars.get(at) == Some(&'*') => {
                // `**.csv` is an error to fsspec; old cards have it and mean this.
                at += 1;
                out.push_str(".*");
            }
            '*' => out.push_str("[^/]*"),
            '?' => out.push_str("[^/]"),
            '[' => match class(&chars[at..]) {
                Some((class, used)) => {
                    out.push_str(&class);
                    at += used;
                }
                None => out.push_str("\\["),
            },
            c => out.push_str(&regex::escape(c.encode_utf8(&mut [0; 4]))),
        }
    }
}

/// `a-z]…` as `[a-z]`, and how many characters that took.
fn class(rest: &[char]) -> Option<(String, usize)> {
    let negated = rest.first() == Some(&'!');
    let start = usize::from(negated);
    // A bracket right at the beginning stands for itself.
    let from = start + usize::from(rest.get(start) == Some(&']'));
    let end = from + rest.get(from..)?.iter().position(|c| *c == ']')?;
    let mut out = String::from(if negated { "[^/" } else { "[" });
    for (at, c) in rest[start..end].iter().enumerate() {
        let inner = at > 0 && start + at + 1 < end;
        match c {
            '-' if inner => out.push('-'),
            c if c.is_alphanumeric() => out.push(*c),
            c => out.push_str(&format!("\\x{{{:x}}}", u32::from(*c))),
        }
    }
    out.push(']');
    Some((out, end + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_as_in_the_datasets_library() {
        for (pattern, path, expected) in [
            ("data/*.parquet", "data/a.parquet", true),
            ("data/*.parquet", "data/x/a.parquet", false),
            ("data/**", "data/x/a.parquet", true),
            ("**", "a/b.csv", true),
            ("**/train/**", "train/a.csv", true),
            ("**/train/**", "x/train/y/a.csv", true),
            ("**/train[-._ 0-9]*", "train-0.csv", true),
            ("**/train[-._ 0-9]*", "x/train.csv", true),
            ("**/train[-._ 0-9]*", "training.csv", false),
            ("**/*[-._ 0-9]train[-._ 0-9]*", "my_train.csv", true),
            ("a?c", "abc", true),
            ("a?c", "a/c", false),
            ("[!a]b", "cb", true),
            ("[!a]b", "ab", false),
            ("[]x]", "]", true),
            ("[", "[", true),
            ("**.csv", "x/a.csv", true),
            ("./a.csv", "a.csv", true),
            ("a.csv", "aXcsv", false),
            ("a+b*", "a+bc", true),
            ("**", "README.md", false),
            ("*.md", "README.md", false),
            ("README.md", "README.md", true),
            ("**", ".gitattributes", false),
            ("**", ".hidden/a.csv", false),
            (".hidden/*", ".hidden/a.csv", true),
            ("**", "__pycache__/a.csv", false),
            ("__*/*", "__pycache__/a.csv", true),
            ("データ/*.jsonl", "データ/é 1.jsonl", true),
        ] {
            assert_eq!(
                Glob::new(pattern).matches(path),
                expected,
                "{pattern} {path}"
            );
        }
    }
}
