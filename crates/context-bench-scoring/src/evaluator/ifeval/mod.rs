//! IfEvalChecker: verifiable instructions (Zhou et al., 2023), checked as the
//! official `instruction_following_eval` code does.
//!
//! Strict looks at the response as it is, loose at eight readings of it (see
//! `relaxed.rs`). Whatever cannot be judged — an unknown id, a missing bound —
//! leaves the whole prompt unscored with a reason: a share over the known
//! instructions would not be comparable with any published number.

mod arguments;
mod format;
mod instruction;
mod json;
mod keywords;
mod language;
mod length;
#[cfg(test)]
mod oracle;
mod punkt;
mod relaxed;
mod shape;
mod words;

use std::sync::LazyLock;

use async_trait::async_trait;
use serde_json::Value;

use self::arguments::Arguments;
use self::instruction::Instruction;
use super::{Evaluator, EvaluatorError};
use crate::model::{Example, Identity, Output, Score, ScoreName, Scores};
use crate::text::stringify::{kind, python_str};
use crate::text::words::trim;

static NAMES: LazyLock<[ScoreName; 4]> = LazyLock::new(|| {
    [
        "ifeval_strict",
        "ifeval_loose",
        "ifeval_inst_strict",
        "ifeval_inst_loose",
    ]
    .map(ScoreName::from)
});

/// Whether the response follows the instructions of its prompt.
///
/// `ifeval_strict` and `ifeval_loose` are 1 when all instructions are followed,
/// otherwise 0; `ifeval_inst_strict` and `ifeval_inst_loose` are the share of
/// them that is. An example needs `instruction_id_list`, and `kwargs` with one
/// map per instruction. A blank response follows nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct IfEvalChecker;

/// The verdict on each instruction of a prompt, in their order.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct IfEvalVerdicts {
    /// Whether the response as it is follows the instruction.
    pub strict: Vec<bool>,
    /// Whether one of its eight readings does.
    pub loose: Vec<bool>,
}

impl IfEvalChecker {
    /// Checks a response. `ids` is the `instruction_id_list` of a record and
    /// `kwargs` its `kwargs`.
    ///
    /// # Errors
    ///
    /// When there is no instruction, an id is unknown, or an argument is missing or invalid.
    pub fn check(
        ids: &Value,
        kwargs: Option<&Value>,
        response: &str,
    ) -> Result<IfEvalVerdicts, IfEvalError> {
        let ids = match ids {
            Value::Array(ids) if !ids.is_empty() => ids,
            Value::Array(_) => return Err(IfEvalError::NoInstruction),
            other => return Err(IfEvalError::OddList { found: kind(other) }),
        };
        let read = |(index, id)| {
            let id = python_str(id);
            Instruction::read(&id, Arguments::of(&id, kwargs, index)?)
        };
        let instructions = ids.iter().enumerate().map(read);
        let instructions = instructions.collect::<Result<Vec<_>, _>>()?;
        let is_blank = trim(response).is_empty();
        let strict: Vec<bool> = instructions
            .iter()
            .map(|instruction| !is_blank && instruction.is_followed(response))
            .collect();
        let mut variants = None;
        let loose = instructions
            .iter()
            .zip(&strict)
            .map(|(instruction, &strict)| {
                strict || {
                    // The first reading is the response itself.
                    let variants = variants.get_or_insert_with(|| relaxed::variants(response));
                    let mut others = variants.iter().skip(1);
                    others.any(|variant| instruction.is_followed(variant))
                }
            });
        let loose = loose.collect();
        Ok(IfEvalVerdicts { strict, loose })
    }
}

#[async_trait]
impl Evaluator for IfEvalChecker {
    fn name(&self) -> &str {
        "ifeval"
    }

    fn score_names(&self) -> &[ScoreName] {
        &*NAMES
    }

    fn identity(&self) -> Option<Identity> {
        Some(Identity::new(self.name(), 1, serde_json::Value::Null))
    }

    fn required_fields(&self) -> &[&[&str]] {
        &[&["instruction_id_list"]]
    }

    async fn score(&self, example: &Example, output: &Output) -> Result<Scores, EvaluatorError> {
        let ids = example.get("instruction_id_list").unwrap_or(&Value::Null);
        let verdicts = Self::check(ids, example.get("kwargs"), &output.response());
        let verdicts = verdicts.map_err(|error| EvaluatorError(error.to_string()))?;
        let scores = [
            all(&verdicts.strict, ids),
            all(&verdicts.loose, ids),
            share(&verdicts.strict),
            share(&verdicts.loose),
        ];
        Ok(NAMES.iter().cloned().zip(scores).collect())
    }
}

/// 1 when all are followed, otherwise 0 with those that are not.
fn all(verdicts: &[bool], ids: &Value) -> Score {
    let ids = ids.as_array().into_iter().flatten();
    let failed = ids.zip(verdicts).filter(|(_, followed)| !**followed);
    let failed: Vec<_> = failed.map(|(id, _)| python_str(id)).collect();
    if failed.is_empty() {
        return Score::value(1.0);
    }
    Score::value(0.0).because(format!("not followed: {}", failed.join(", ")))
}

fn share(verdicts: &[bool]) -> Score {
    let followed = verdicts.iter().filter(|&&followed| followed).count();
    Score::value(followed as f64 / verdicts.len() as f64)
}

/// Why a prompt cannot be judged.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum IfEvalError {
    /// The record has no instruction.
    #[error("`instruction_id_list` is empty")]
    NoInstruction,
    /// The instructions are not a list.
    #[error("`instruction_id_list` is not a list but {found}")]
    OddList {
        /// What it is instead.
        found: &'static str,
    },
    /// The id is not one of the 25 official ones.
    #[error("instruction `{id}` is unknown")]
    UnknownInstruction {
        /// The id as written.
        id: String,
    },
    /// `kwargs` or its entry for an instruction is not what it should be.
    #[error("instruction `{id}`: `kwargs` is not a list of maps but has {found}")]
    OddArguments {
        /// The instruction.
        id: String,
        /// What was found.
        found: &'static str,
    },
    /// An argument is not given, so there is nothing to check against.
    #[error("instruction `{id}`: `{key}` is missing")]
    MissingArgument {
        /// The instruction.
        id: String,
        /// The argument.
        key: &'static str,
    },
    /// An argument has a value that cannot be used.
    #[error("instruction `{id}`: `{key}` is not {wanted}")]
    OddArgument {
        /// The instruction.
        id: String,
        /// The argument.
        key: &'static str,
        /// What it should be.
        wanted: &'static str,
    },
}
