//! What can be wrong with a file of conversations, and where.

use std::io;

use context_bench_error::{Hint, Place};

use super::field::Fields;

/// Why conversations cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MemoryDataError {
    /// The file cannot be opened or is not UTF-8.
    #[error("cannot read `{place}`: {source}")]
    Unreadable {
        /// The file.
        place: Place,
        /// What the system said.
        source: io::Error,
    },
    /// The text is not JSON.
    #[error("not JSON: {problem}\n  at {place}")]
    NotJson {
        /// What the parser said.
        problem: String,
        /// Where it stopped.
        place: Place,
    },
    /// There is no record.
    #[error("no conversations in `{place}`")]
    Empty {
        /// The file.
        place: Place,
    },
    /// A record has the keys of no benchmark.
    #[error("not a record of LoCoMo or LongMemEval\n  at {place}")]
    UnknownLayout {
        /// The record.
        place: Place,
        /// The keys that it has.
        keys: Vec<String>,
    },
    /// Records of two benchmarks in one file.
    #[error("a record that is not of {expected}, as those before it are\n  at {place}")]
    Mixed {
        /// The record.
        place: Place,
        /// The benchmark of the first record.
        expected: &'static str,
    },
    /// A member of a record is missing or of the wrong type.
    #[error("{problem}\n  at {place}")]
    Wrong {
        /// Which member, and what is wrong with it.
        problem: String,
        /// The record.
        place: Place,
    },
}

impl MemoryDataError {
    /// What is wrong, without where.
    pub fn problem(&self) -> String {
        let text = self.to_string();
        let first = text.split("\n  at ").next();
        first.unwrap_or_default().to_owned()
    }

    pub(super) fn unknown_layout(fields: &Fields<'_>) -> Self {
        Self::UnknownLayout {
            place: fields.place().clone(),
            keys: fields.keys(),
        }
    }
}

impl Hint for MemoryDataError {
    fn hint(&self) -> Option<String> {
        match self {
            Self::Unreadable { source, .. } => (source.kind() == io::ErrorKind::InvalidData)
                .then(|| "the file must be UTF-8 text; decompress it first".into()),
            Self::NotJson { .. } | Self::Empty { .. } => {
                Some("a file is a JSON list of records, or JSON lines with a record each".into())
            }
            Self::UnknownLayout { keys, .. } => {
                let known = "LoCoMo's records have `conversation` and `qa`, LongMemEval's `haystack_sessions`";
                Some(match keys.as_slice() {
                    [] => known.into(),
                    keys => format!("{known}; this one has {}", quoted(keys)),
                })
            }
            Self::Mixed { .. } => Some("give each benchmark a file of its own".into()),
            Self::Wrong { .. } => None,
        }
    }
}

fn quoted(keys: &[String]) -> String {
    context_bench_error::suggest::quoted_list(keys, "and")
}
