//! `Evaluator`: compares an output with its example and gives named scores.
//!
//! Evaluators may wait (a model as judge), so `score` is async; most of ours are
//! pure functions behind it. An evaluator that cannot score says so with an
//! error or an unscored entry; it never invents a number.

mod answer_quality;
pub mod code_execution;
mod function;
mod function_call;
mod ifeval;
mod llm_judge;
mod math_equivalence;
mod multiple_choice;
mod nli_label_match;
mod summarization_quality;

pub use answer_quality::AnswerQuality;
pub use code_execution::{CodeExecution, CodeExecutionSettings, pass_at_k};
pub use function::{FnEvaluator, from_fn};
pub use function_call::{CallFormat, FunctionCallMatch};
pub use ifeval::{IfEvalChecker, IfEvalError, IfEvalVerdicts};
pub use llm_judge::{LlmJudge, LlmJudgeError, LlmJudgeSettings, parse_rating};
pub use math_equivalence::MathEquivalence;
pub use multiple_choice::{ChoiceExtraction, MultipleChoiceAccuracy};
pub use nli_label_match::NliLabelMatch;
pub use summarization_quality::SummarizationQuality;

use async_trait::async_trait;
use serde_json::Value;

use crate::model::{Example, Identity, Output, ScoreName, Scores};

/// Scores what a system made of an example.
#[async_trait]
pub trait Evaluator: Send + Sync {
    /// The name that reports show.
    fn name(&self) -> &str;

    /// The scores that this evaluator yields. Empty means that they are not
    /// known in advance; checks of score fields then wait for the first rows.
    fn score_names(&self) -> &[ScoreName];

    /// The fields that an example must have for this evaluator to apply: for
    /// each entry at least one of the alternatives, neither `null` nor empty.
    /// Examples that lack one are *not applicable*: no score, and counted.
    fn required_fields(&self) -> &[&[&str]] {
        &[]
    }

    /// Every setting that can change a score, so that stored scores can be
    /// reused. `None` (the default) means that they never are.
    fn identity(&self) -> Option<Identity> {
        None
    }

    /// Scores one output against the untouched example.
    async fn score(&self, example: &Example, output: &Output) -> Result<Scores, EvaluatorError>;
}

/// Whether an evaluator applies to an example.
pub(crate) fn applies(evaluator: &dyn Evaluator, example: &Example) -> bool {
    let has = |field: &&str| match example.get(field) {
        None | Some(Value::Null) => false,
        Some(Value::String(text)) => !text.is_empty(),
        Some(Value::Array(list)) => !list.is_empty(),
        Some(_) => true,
    };
    let required = evaluator.required_fields().iter();
    required
        .clone()
        .all(|alternatives| alternatives.iter().any(has))
}

/// Why an evaluator gave no scores for a row: all its scores become unscored with this reason.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct EvaluatorError(pub String);

impl From<String> for EvaluatorError {
    fn from(message: String) -> Self {
        Self(message)
    }
}

impl From<&str> for EvaluatorError {
    fn from(message: &str) -> Self {
        Self(message.to_owned())
    }
}
