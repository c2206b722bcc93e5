//! Scoring: from what a system gave to a finished row.
//!
//! Runs on its own runtime, one thread per core: evaluators may burn CPU or wait
//! for a judge, and neither may delay a call that is being timed.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt as _;
use serde_json::{Map, Value};
use tokio::runtime::{Builder, Runtime};

use super::attempt::{Attempt, panic_message};
use super::prepared::Prepared;
use crate::evaluator::{self, Evaluator};
use crate::model::{EvalRow, FailureKind, Output, Score, Scores};
use crate::system::SystemError;
use crate::tokens::{TextFields, TokenCounter};

/// Everything needed to score any row of a run.
pub(super) struct Scorer {
    pub(super) evaluators: Vec<Arc<dyn Evaluator>>,
    pub(super) counter: Arc<dyn TokenCounter>,
    pub(super) text_fields: TextFields,
}

impl Scorer {
    /// The row of a finished call, or of an example that cannot be used (no call was made).
    pub(super) async fn row(
        &self,
        system: Arc<str>,
        prepared: &Prepared,
        called: Option<Attempt>,
    ) -> EvalRow {
        let mut row = self.blank_row(system, prepared);
        let result = match called {
            Some(called) => {
                row.latency = called.latency.as_secs_f64();
                called.result
            }
            None => Err(unusable(prepared)),
        };
        match result {
            Ok(output) => {
                row.output_tokens =
                    prepared.output_tokens(&output, &self.text_fields, &*self.counter);
                row.metadata = usage_metadata(&output).map(Box::new);
                row.call = output.call().map(Box::new);
                (row.scores, row.not_applicable) = self.score(prepared, &output).await;
            }
            Err(error) => {
                row.call = error.call.map(Box::new);
                row.failure = Some(Box::new(error.failure));
            }
        }
        row
    }

    fn blank_row(&self, system: Arc<str>, prepared: &Prepared) -> EvalRow {
        let tokens = prepared.input_tokens(&self.text_fields, &*self.counter);
        let mut row = EvalRow::new(system, prepared.id.clone(), Scores::new(), tokens, 0);
        row.dataset = Arc::clone(&prepared.dataset);
        row
    }

    /// All scores, and how many evaluators do not apply to this example.
    async fn score(&self, prepared: &Prepared, output: &Output) -> (Scores, u16) {
        let mut scores = Scores::new();
        let mut not_applicable = 0;
        for evaluator in &self.evaluators {
            if !evaluator::applies(&**evaluator, &prepared.example) {
                not_applicable += 1;
                continue;
            }
            let scored = AssertUnwindSafe(evaluator.score(&prepared.example, output))
                .catch_unwind()
                .await;
            match scored {
                Ok(Ok(given)) => scores.merge(checked(&**evaluator, given)),
                Ok(Err(error)) => scores.merge(unscored(&**evaluator, &error.0)),
                Err(panic) => {
                    let reason = format!("panicked: {}", panic_message(&*panic));
                    scores.merge(unscored(&**evaluator, &reason));
                }
            }
        }
        scores.shrink();
        (scores, not_applicable)
    }
}

fn unusable(prepared: &Prepared) -> SystemError {
    let problem = prepared.problem.as_ref().map(ToString::to_string);
    SystemError::new(FailureKind::BadExample, problem.unwrap_or_default())
}

/// Declared scores that did not come, or came as NaN, are unscored, not numbers.
fn checked(evaluator: &dyn Evaluator, mut scores: Scores) -> Scores {
    let not_numbers: Vec<_> = scores
        .iter()
        .filter(|(_, score)| score.get().is_some_and(f64::is_nan))
        .map(|(name, _)| name.clone())
        .collect();
    for name in not_numbers {
        let reason = format!("{} gave a value that is not a number", evaluator.name());
        scores.set(name, Score::unscored(reason));
    }
    for name in evaluator.score_names() {
        if scores.get(name.as_str()).is_none() {
            let reason = format!("{} gave no value", evaluator.name());
            scores.set(name.clone(), Score::unscored(reason));
        }
    }
    scores
}

/// All scores of an evaluator that failed. One whose names are not known in
/// advance leaves a mark under its own name, so that the row counts as unscored.
fn unscored(evaluator: &dyn Evaluator, reason: &str) -> Scores {
    let score = Score::unscored(format!("{}: {reason}", evaluator.name()));
    let names = evaluator.score_names();
    if names.is_empty() {
        return [(evaluator.name(), score)].into_iter().collect();
    }
    names
        .iter()
        .map(|name| (name.clone(), score.clone()))
        .collect()
}

/// The three usage members that users know; missing ones are 0, others are dropped.
fn usage_metadata(output: &Output) -> Option<Map<String, Value>> {
    let usage = output.api_usage()?;
    let keys = ["prompt_tokens", "completion_tokens", "total_tokens"];
    let member = |key: &str| usage.get(key).cloned().unwrap_or_else(|| 0.into());
    Some(
        keys.map(|key| (key.to_owned(), member(key)))
            .into_iter()
            .collect(),
    )
}

/// The runtime that scoring happens on. Dropping it never blocks.
pub(super) struct ScoringRuntime(Option<Runtime>);

impl ScoringRuntime {
    pub(super) fn start() -> std::io::Result<Self> {
        let threads = std::thread::available_parallelism().map_or(2, usize::from);
        let runtime = Builder::new_multi_thread()
            .worker_threads(threads)
            .thread_name("scoring")
            .enable_all()
            .build()?;
        Ok(Self(Some(runtime)))
    }

    pub(super) fn spawn(&self, future: impl Future<Output = ()> + Send + 'static) {
        if let Some(runtime) = &self.0 {
            runtime.spawn(future);
        }
    }
}

impl Drop for ScoringRuntime {
    fn drop(&mut self) {
        // A plain drop would block, which async contexts forbid.
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}
