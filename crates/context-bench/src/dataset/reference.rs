//! `DatasetRef`: what the user typed to name a dataset, taken apart.
//!
//! It only looks at the text: whether the file or the name exists is found out
//! by whoever opens it.

use std::path::{Path, PathBuf, is_separator};

use super::DatasetError;
use super::local::{STDIN, has_known_extension};

/// A dataset as typed on the command line: a file, `name` or `name:config`.
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
    Named {
        /// The part before the first colon.
        name: String,
        /// The part after it, if there is a colon.
        config: Option<String>,
    },
}

impl DatasetRef {
    /// Takes apart what the user typed.
    ///
    /// A value with a path separator or the ending of a dataset file is a file,
    /// which is checked first so that a colon in a path is harmless.
    ///
    /// # Errors
    ///
    /// When the value, its name or its config is empty.
    pub fn parse(typed: &str) -> Result<Self, DatasetError> {
        let is_local =
            typed == STDIN || typed.contains(is_separator) || has_known_extension(Path::new(typed));
        let target = if is_local {
            DatasetTarget::Local(PathBuf::from(typed))
        } else {
            let (name, config) = match typed.split_once(':') {
                Some((name, config)) => (name, Some(config)),
                None => (typed, None),
            };
            if name.is_empty() || config == Some("") {
                return Err(DatasetError::BadReference {
                    typed: typed.into(),
                });
            }
            DatasetTarget::Named {
                name: name.into(),
                config: config.map(Into::into),
            }
        };
        Ok(Self {
            typed: typed.into(),
            target,
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

    fn named(name: &str, config: Option<&str>) -> DatasetTarget {
        DatasetTarget::Named {
            name: name.into(),
            config: config.map(Into::into),
        }
    }

    #[test]
    fn a_file_is_told_from_a_name() {
        for (typed, expected) in [
            ("demo", named("demo", None)),
            ("longbench:qasper", named("longbench", Some("qasper"))),
            ("a:b:c", named("a", Some("b:c"))),
            ("jsonl", named("jsonl", None)),
            ("notes.txt", named("notes.txt", None)),
            ("data.jsonl", local("data.jsonl")),
            ("Data.JSONL.GZ", local("Data.JSONL.GZ")),
            ("a:b.csv", local("a:b.csv")),
            (".jsonl", local(".jsonl")),
            ("my data/ü:1.json.zst", local("my data/ü:1.json.zst")),
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
        for typed in ["", ":", ":config", "name:"] {
            let error = DatasetRef::parse(typed).expect_err(typed);
            assert_eq!(
                error.to_string(),
                format!("`{typed}` does not name a dataset")
            );
        }
    }
}
