//! `DatasetRef`: what the user typed to name a dataset, taken apart.
//!
//! It only looks at the text: whether the file or the name exists is found out
//! by whoever opens it.

use std::path::{Path, PathBuf, is_separator};

use super::DatasetError;
use super::local::{STDIN, has_known_extension};

/// A dataset as typed on the command line: a file, or
/// `name[:config][@split][=path]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DatasetRef {
    typed: String,
    target: DatasetTarget,
}

/// What a dataset reference points at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DatasetTarget {
    /// A local file, or `-` for standard input.
    Local(PathBuf),
    /// A dataset known by name.
    Named(NamedDataset),
}

/// A dataset known by name, and which part of it is meant.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NamedDataset {
    /// The part before the first colon.
    pub name: String,
    /// The configs: one, a comma list, or `*`.
    pub config: Option<String>,
    /// The split, when it is not the usual one.
    pub split: Option<String>,
    /// A local copy of it.
    pub path: Option<PathBuf>,
}

impl DatasetRef {
    /// Takes apart what the user typed.
    ///
    /// A value with a path separator or the ending of a dataset file is a file,
    /// so that a colon in a path is harmless; unless a name and `=` come first.
    ///
    /// # Errors
    ///
    /// When the value or a part of it is empty.
    pub fn parse(typed: &str) -> Result<Self, DatasetError> {
        let bad = || DatasetError::BadReference {
            typed: typed.into(),
        };
        let is_file = |text: &str| {
            text == STDIN || text.contains(is_separator) || has_known_extension(Path::new(text))
        };
        let (name, path) = match typed.split_once('=') {
            Some((name, path)) if !is_file(name) => (name, Some(path)),
            _ => (typed, None),
        };
        if path.is_none() && is_file(typed) {
            return Ok(Self {
                typed: typed.into(),
                target: DatasetTarget::Local(typed.into()),
            });
        }
        let (name, split) = match name.rsplit_once('@') {
            Some((name, split)) => (name, Some(split)),
            None => (name, None),
        };
        let (name, config) = match name.split_once(':') {
            Some((name, config)) => (name, Some(config)),
            None => (name, None),
        };
        if name.is_empty() || [config, split, path].contains(&Some("")) {
            return Err(bad());
        }
        Ok(Self {
            typed: typed.into(),
            target: DatasetTarget::Named(NamedDataset {
                name: name.into(),
                config: config.map(Into::into),
                split: split.map(Into::into),
                path: path.map(Into::into),
            }),
        })
    }

    /// The value exactly as typed, which is the tag of its examples.
    pub fn as_typed(&self) -> &str {
        &self.typed
    }

    /// What it points at.
    pub fn target(&self) -> &DatasetTarget {
        &self.target
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn local(path: &str) -> DatasetTarget {
        DatasetTarget::Local(path.into())
    }

    fn named(name: &str, config: &str, split: &str, path: &str) -> DatasetTarget {
        let part = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        DatasetTarget::Named(NamedDataset {
            name: name.into(),
            config: part(config),
            split: part(split),
            path: part(path).map(Into::into),
        })
    }

    #[test]
    fn a_file_is_told_from_a_name() {
        for (typed, expected) in [
            ("demo", named("demo", "", "", "")),
            ("longbench:qasper", named("longbench", "qasper", "", "")),
            ("a:b:c", named("a", "b:c", "", "")),
            ("mmlu:*", named("mmlu", "*", "", "")),
            ("mgsm:en,de@train", named("mgsm", "en,de", "train", "")),
            ("drop@train", named("drop", "", "train", "")),
            ("gsm8k=x.jsonl", named("gsm8k", "", "", "x.jsonl")),
            ("gsm8k=a/b=c", named("gsm8k", "", "", "a/b=c")),
            (
                "gpqa:main@train=/d/*.csv",
                named("gpqa", "main", "train", "/d/*.csv"),
            ),
            ("jsonl", named("jsonl", "", "", "")),
            ("notes.txt", named("notes.txt", "", "", "")),
            ("data.jsonl", local("data.jsonl")),
            ("Data.JSONL.GZ", local("Data.JSONL.GZ")),
            ("a:b.csv", local("a:b.csv")),
            (".jsonl", local(".jsonl")),
            ("my data/ü:1.json.zst", local("my data/ü:1.json.zst")),
            ("./a=b.jsonl", local("./a=b.jsonl")),
            ("./demo", local("./demo")),
            ("-", local("-")),
        ] {
            let reference = DatasetRef::parse(typed).expect(typed);
            assert_eq!(reference.target(), &expected, "{typed}");
            assert_eq!(reference.as_typed(), typed);
        }
    }

    #[test]
    fn an_empty_part_is_an_error() {
        for typed in [
            "", ":", ":config", "name:", "name@", "name=", "=x.jsonl", "n:c@=x",
        ] {
            let error = DatasetRef::parse(typed).expect_err(typed);
            assert_eq!(
                error.to_string(),
                format!("`{typed}` does not name a dataset")
            );
        }
    }
}
