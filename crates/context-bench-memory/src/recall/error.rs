//! Why a memory cannot be made, filled, asked or loaded.

use context_bench_error::{Hint, suggest};

use super::MemoryKind;
use crate::TurnId;

/// Why a memory cannot do what it was asked to.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MemoryError {
    /// Two turns have the same id.
    #[error("two turns have the id `{id}`")]
    DuplicateTurn {
        /// The id.
        id: TurnId,
    },
    /// The oracle was asked about a question without marks.
    #[error("`oracle` needs questions whose evidence is marked")]
    NoEvidence,
    /// A memory of vectors was asked for without something that makes them.
    #[error("`{kind}` needs an embedding model")]
    NoEmbedder {
        /// The kind of memory.
        kind: MemoryKind,
    },
    /// The bytes of a state are damaged.
    #[error("the saved state is damaged: {problem}")]
    DamagedState {
        /// What is wrong with it.
        problem: String,
    },
    /// The state belongs to another memory.
    #[error("the saved state is of `{found}`, not of `{expected}`")]
    StateOfAnother {
        /// Whose state it is.
        found: String,
        /// Which memory it was given to.
        expected: String,
    },
}

impl Hint for MemoryError {
    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::DuplicateTurn { .. } => {
                "call `reset` between conversations, and give each turn an id of its own".into()
            }
            Self::NoEvidence => {
                "ask about questions of LoCoMo or LongMemEval, or leave `oracle` out".into()
            }
            Self::NoEmbedder { .. } => "give the path of a folder with `model.safetensors` and \
                 `tokenizer.json` (model2vec), or use `bm25`"
                .into(),
            Self::DamagedState { .. } | Self::StateOfAnother { .. } => {
                "take the conversation in again".into()
            }
        })
    }
}

/// Why settings cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SettingsError {
    /// There is no memory of that name.
    #[error("no memory is called `{name}`")]
    UnknownMemory {
        /// The name as typed.
        name: String,
    },
    /// A memory has no such parameter.
    #[error("`{kind}` has no parameter `{key}`")]
    UnknownParameter {
        /// The kind of memory.
        kind: MemoryKind,
        /// The parameter as typed.
        key: String,
    },
    /// A parameter is given twice.
    #[error("the parameter `{key}` is given twice")]
    Repeated {
        /// The parameter.
        key: String,
    },
    /// A parameter has a value that it cannot have.
    #[error("`{key}` cannot be `{value}`: it is {expected}")]
    BadValue {
        /// The parameter.
        key: String,
        /// The value as typed.
        value: String,
        /// What it may be.
        expected: &'static str,
    },
}

impl Hint for SettingsError {
    fn hint(&self) -> Option<String> {
        match self {
            Self::UnknownMemory { name } => {
                let known = MemoryKind::ALL.map(MemoryKind::name);
                let near = suggest::did_you_mean(name, known);
                Some(near.unwrap_or_else(|| format!("there are {}", listed(&known))))
            }
            Self::UnknownParameter { kind, key } => {
                let known = kind.parameters();
                let near = suggest::did_you_mean(key, known.iter().copied());
                Some(near.unwrap_or_else(|| match known {
                    [] => "it takes no parameters".into(),
                    known => format!("it takes {}", listed(known)),
                }))
            }
            Self::Repeated { .. } | Self::BadValue { .. } => None,
        }
    }
}

fn listed(names: &[&str]) -> String {
    suggest::quoted_list(names, "and")
}
