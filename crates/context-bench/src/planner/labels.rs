//! What a run calls its datasets: a name, never the path that was typed. One file has one
//! name however its path is written, and two files have two.

use std::path::Path;

use crate::dataset::{DatasetRef, DatasetTarget, file_stem};

/// The tag of each dataset of a run, in the order in which they were typed.
pub(super) fn labels(typed: &[&str]) -> Vec<String> {
    let named: Vec<Named> = typed.iter().map(|typed| Named::of(typed)).collect();
    // What users called by a name has it; files make way.
    let mut taken: Vec<(&str, &str)> = named
        .iter()
        .filter(|one| one.names.len() == 1)
        .map(|one| (one.names[0].as_str(), one.place.as_str()))
        .collect();
    for one in &named {
        let is_free = |name: &&String| {
            let mut others = named.iter().filter(|other| other.place != one.place);
            !taken
                .iter()
                .any(|(other, place)| other == name && *place != one.place)
                && !others.any(|other| other.names.contains(name))
        };
        let name = one.names.iter().find(is_free).or(one.names.last());
        taken.extend(name.map(|name| (name.as_str(), one.place.as_str())));
    }
    let name_of = |one: &Named| {
        let mut names = taken.iter().rev();
        let name = names.find(|(_, place)| *place == one.place);
        name.map_or_else(|| one.place.clone(), |(name, _)| (*name).to_owned())
    };
    named.iter().map(name_of).collect()
}

/// What a dataset may be called.
struct Named {
    /// What distinguishes it from all others.
    place: String,
    /// The names that it could have, the best first.
    names: Vec<String>,
}

impl Named {
    fn of(typed: &str) -> Self {
        let target = DatasetRef::parse(typed);
        match target.as_ref().map(DatasetRef::target) {
            Ok(DatasetTarget::Local(path)) if typed != "-" => Self::file("", path),
            Ok(DatasetTarget::Named(named)) => match &named.path {
                Some(path) => {
                    let name = typed.split_once('=').map_or(typed, |(name, _)| name);
                    Self::file(name, path)
                }
                None => Self::only(typed),
            },
            _ => Self::only(typed),
        }
    }

    fn only(typed: &str) -> Self {
        Self {
            place: typed.to_owned(),
            names: vec![typed.to_owned()],
        }
    }

    /// A file; what it is a copy of is its first name.
    fn file(copy_of: &str, path: &Path) -> Self {
        let shown = path.to_string_lossy();
        let whole = match shown.contains("://") {
            true => shown.into_owned(),
            false => whole(path),
        };
        let parts: Vec<&str> = whole.split(['/', '\\', '#']).collect();
        let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        let prefix = match copy_of {
            "" => String::new(),
            name => format!("{name}="),
        };
        let mut names: Vec<String> = match copy_of {
            "" => Vec::new(),
            name => vec![name.to_owned()],
        };
        if let Some((file, folders)) = parts.split_last() {
            for depth in 0..=folders.len() {
                let before = folders[folders.len() - depth..].join("/");
                let before = match depth {
                    0 => prefix.clone(),
                    _ => format!("{prefix}{before}/"),
                };
                names.push(format!("{before}{}", file_stem(file)));
                names.push(format!("{before}{file}"));
            }
        }
        names.push(format!("{prefix}{whole}"));
        Self {
            place: format!("{prefix}{whole}"),
            names,
        }
    }
}

/// The path of a file from the root, the same however it was written.
fn whole(path: &Path) -> String {
    let shown = path.to_string_lossy();
    // A member of an archive is not a file of its own.
    let (file, member) = match shown.split_once('#') {
        Some((file, member)) if !path.exists() => (file, Some(member)),
        _ => (&*shown, None),
    };
    let found = std::fs::canonicalize(file).or_else(|_| std::path::absolute(file));
    let file = found.map_or_else(|_| file.to_owned(), |path| path.display().to_string());
    match member {
        Some(member) => format!("{file}#{member}"),
        None => file,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_called_by_the_least_that_tells_them_apart() {
        for (typed, expected) in [
            (&["q.jsonl"][..], &["q"][..]),
            (&["q.jsonl", "./q.jsonl"], &["q", "q"]),
            (&["a/q.jsonl", "b/q.jsonl"], &["a/q", "b/q"]),
            (&["x/a/q.csv", "x/b/q.jsonl"], &["q.csv", "q.jsonl"]),
            (
                &["q.jsonl", "q.csv.gz", "r.csv"],
                &["q.jsonl", "q.csv.gz", "r"],
            ),
            (&["gsm8k", "gsm8k.jsonl"], &["gsm8k", "gsm8k.jsonl"]),
            (&["gsm8k=d/x.jsonl"], &["gsm8k"]),
            (&["mmlu:anatomy@test=d/x.jsonl"], &["mmlu:anatomy@test"]),
            (
                &["gsm8k=a/x.jsonl", "gsm8k=a/y.jsonl"],
                &["gsm8k=x", "gsm8k=y"],
            ),
            (&["gsm8k", "gsm8k=a/x.jsonl"], &["gsm8k", "gsm8k=x"]),
            (&["d.zip#a/q.csv", "d.zip#b/q.csv"], &["a/q", "b/q"]),
            (&["-", "demo"], &["-", "demo"]),
        ] {
            assert_eq!(labels(typed), expected, "{typed:?}");
        }
    }
}
