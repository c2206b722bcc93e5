//! A closure as an evaluator.

use std::sync::Arc;

use async_trait::async_trait;

use super::{Evaluator, EvaluatorError};
use crate::model::{Example, Output, ScoreName, Scores};

/// An evaluator made of a name, its score names and a closure; see [`from_fn`].
pub struct FnEvaluator<F> {
    name: Arc<str>,
    score_names: Vec<ScoreName>,
    score: F,
}

/// Makes an evaluator of a closure.
///
/// ```
/// use context_bench_scoring::evaluator;
///
/// let kept = evaluator::from_fn("length", ["kept"], |example, output| {
///     let kept = output.stringified("context").len() as f64;
///     Ok([("kept", kept / example.context().len() as f64)].into_iter().collect())
/// });
/// ```
pub fn from_fn<F, N>(
    name: impl Into<Arc<str>>,
    score_names: impl IntoIterator<Item = N>,
    score: F,
) -> FnEvaluator<F>
where
    N: Into<ScoreName>,
    F: Fn(&Example, &Output) -> Result<Scores, EvaluatorError> + Send + Sync,
{
    FnEvaluator {
        name: name.into(),
        score_names: score_names.into_iter().map(Into::into).collect(),
        score,
    }
}

#[async_trait]
impl<F> Evaluator for FnEvaluator<F>
where
    F: Fn(&Example, &Output) -> Result<Scores, EvaluatorError> + Send + Sync,
{
    fn name(&self) -> &str {
        &self.name
    }

    fn score_names(&self) -> &[ScoreName] {
        &self.score_names
    }

    async fn score(&self, example: &Example, output: &Output) -> Result<Scores, EvaluatorError> {
        (self.score)(example, output)
    }
}
