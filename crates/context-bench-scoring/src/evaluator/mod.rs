//! `Evaluator`: compares an output with its example and gives named scores.
//!
//! Evaluators may wait (a model as judge), so `score` is async; those of this crate are
//! pure functions behind it, and [`score_now`] calls them without a runtime. An evaluator
//! that cannot score says so with an error or an unscored entry; it never invents a number.

mod answer_quality;
mod awaited;
mod function;
mod function_call;
mod ifeval;
mod math_equivalence;
mod multiple_choice;
mod nli_label_match;
mod official;
mod response_cut;
mod scifact;
mod summarization_quality;
mod swebench;

pub use answer_quality::{AnswerQuality, NormalOrder, OrderedAnswerQuality};
pub use awaited::AwaitedEvaluator;
pub use function::{FnEvaluator, from_fn};
pub use function_call::{CallFormat, FunctionCallMatch};
pub use ifeval::{IfEvalChecker, IfEvalError, IfEvalVerdicts};
pub use math_equivalence::MathEquivalence;
pub use multiple_choice::{ChoiceExtraction, MultipleChoiceAccuracy};
pub use nli_label_match::NliLabelMatch;
pub use official::{LongBenchRule, OfficialRule, OfficialScore};
pub use response_cut::ResponseCut;
pub use scifact::{SciFactEvidence, SciFactLabels};
pub use summarization_quality::SummarizationQuality;
pub use swebench::{PatchOverlap, SwebenchOutcome, SwebenchReport};

use std::pin::pin;
use std::task::{Context, Poll, Waker};

use async_trait::async_trait;
use serde_json::Value;

use crate::model::{Example, Identity, JudgeUsage, Output, ScoreName, Scores};

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

    /// Whether this evaluator applies to an example: unless overridden, whether it has the
    /// [required fields](Self::required_fields).
    fn applies_to(&self, example: &Example) -> bool {
        let mut required = self.required_fields().iter();
        required.all(|alternatives| alternatives.iter().any(|field| has_field(example, field)))
    }

    /// Whether this evaluator applies to what a system gave for an example to which it
    /// [applies](Self::applies_to). Unless overridden, it does; one that reads what only some
    /// systems tell says no to the others, whose rows are then *not applicable* too.
    fn applies_to_output(&self, output: &Output) -> bool {
        let _ = output;
        true
    }

    /// The URL of the endpoint that this evaluator asks, if it asks one, so that a
    /// program can check that something listens there before anything is paid for.
    fn endpoint(&self) -> Option<String> {
        None
    }

    /// What users should know before it scores anything, such as what it cannot keep in.
    fn caution(&self) -> Option<String> {
        None
    }

    /// Every setting that can change a score, so that stored scores can be
    /// reused. `None` (the default) means that they never are.
    fn identity(&self) -> Option<Identity> {
        None
    }

    /// Scores one output against the untouched example.
    async fn score(&self, example: &Example, output: &Output) -> Result<Scores, EvaluatorError>;

    /// Scores one output and reports what asking a model about it cost, which is
    /// counted apart from the cost of the system. Runs call this; an evaluator
    /// that asks nobody need not override it.
    async fn score_and_usage(
        &self,
        example: &Example,
        output: &Output,
    ) -> (Result<Scores, EvaluatorError>, JudgeUsage) {
        (self.score(example, output).await, JudgeUsage::default())
    }
}

/// Scores with an evaluator that never waits, as every evaluator in this crate: no runtime
/// is needed. `None` when the evaluator did wait.
///
/// ```
/// use context_bench_scoring::evaluator::{AnswerQuality, score_now};
/// use context_bench_scoring::model::{Example, Output};
///
/// let example = Example::new().with("answer", "France");
/// let output = Output::reply(&example, "It is France.");
/// let scores = score_now(&AnswerQuality, &example, &output).expect("never waits")?;
/// assert_eq!(scores.value("recall"), Some(1.0));
/// # Ok::<(), context_bench_scoring::evaluator::EvaluatorError>(())
/// ```
pub fn score_now(
    evaluator: &dyn Evaluator,
    example: &Example,
    output: &Output,
) -> Option<Result<Scores, EvaluatorError>> {
    let mut scoring = pin!(evaluator.score(example, output));
    match scoring
        .as_mut()
        .poll(&mut Context::from_waker(Waker::noop()))
    {
        Poll::Ready(scores) => Some(scores),
        Poll::Pending => None,
    }
}

/// Whether an example has a field with something in it.
pub fn has_field(example: &Example, field: &str) -> bool {
    match example.get(field) {
        None | Some(Value::Null) => false,
        Some(Value::String(text)) => !text.is_empty(),
        Some(Value::Array(list)) => !list.is_empty(),
        Some(_) => true,
    }
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
