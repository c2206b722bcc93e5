//! `AwaitedEvaluator`: stands for an evaluator of a dataset that needs what the run was not
//! given, such as a judge.
//!
//! The dataset keeps its main score, by name, and rows stay without it: a stand-in by
//! another rule would be a number that looks like the real one.

use async_trait::async_trait;

use super::{Evaluator, EvaluatorError};
use crate::model::{Example, Output, ScoreName, Scores};

/// An evaluator that applies to nothing yet.
pub struct AwaitedEvaluator {
    name: String,
    scores: Vec<ScoreName>,
}

impl AwaitedEvaluator {
    /// In the place of the evaluator of that name, which would give these scores.
    pub fn new(name: &str, scores: &[&'static str]) -> Self {
        Self {
            name: name.to_owned(),
            scores: scores.iter().map(|name| ScoreName::from(*name)).collect(),
        }
    }
}

#[async_trait]
impl Evaluator for AwaitedEvaluator {
    fn name(&self) -> &str {
        &self.name
    }

    fn score_names(&self) -> &[ScoreName] {
        &self.scores
    }

    fn applies_to(&self, _: &Example) -> bool {
        false
    }

    async fn score(&self, _: &Example, _: &Output) -> Result<Scores, EvaluatorError> {
        Err(EvaluatorError(format!(
            "`{}` was not given what it needs",
            self.name
        )))
    }
}
