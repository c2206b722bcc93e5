//! `SuiteEvaluator`: lets benchmarks that score their documents themselves do so.
//!
//! One evaluator for all of them, however many tasks a run has: the store then
//! looks for one score per row and not for one per row and task.

use std::collections::HashMap;
use std::sync::Arc;

use async_trait::async_trait;
use serde_json::{Map, Value, json};

use super::Benchmark;
use crate::digest;
use crate::evaluator::{Evaluator, EvaluatorError};
use crate::model::{Example, Identity, Output, ScoreName, Scores};

/// Raised when the same answer to the same document may be scored differently.
const VERSION: u32 = 1;

/// Scores documents as their benchmark does.
pub struct SuiteEvaluator {
    benchmarks: HashMap<String, Arc<dyn Benchmark>>,
    identity: Option<Identity>,
    /// What it yields, where that is known: of datasets only what figures go by.
    names: Vec<ScoreName>,
}

impl SuiteEvaluator {
    /// Its name in runs.
    pub const NAME: &str = "task";

    /// For those of some benchmarks that score themselves; `None` when there are none.
    pub(super) fn of<'a>(benchmarks: impl Iterator<Item = &'a Arc<dyn Benchmark>>) -> Option<Self> {
        let own: HashMap<String, Arc<dyn Benchmark>> = benchmarks
            .filter(|benchmark| benchmark.scores_itself())
            .map(|benchmark| (benchmark.tag().to_owned(), Arc::clone(benchmark)))
            .collect();
        let mut tags: Vec<&String> = own.keys().collect();
        tags.sort_unstable();
        // A digest each: settings of hundreds of tasks are kept with the plan.
        let scoring = |tag: &&String| {
            let settings = own[*tag].scoring()?.to_string();
            Some(((*tag).clone(), json!(digest::hex(settings.as_bytes()))))
        };
        let settings: Option<Map<String, Value>> = tags.iter().map(scoring).collect();
        let identity = settings.map(|settings| Identity::new(Self::NAME, VERSION, settings));
        let names = match own.values().any(|one| one.makes_prompts()) {
            true => Vec::new(),
            false => vec![ScoreName::from(Scores::FIELDS)],
        };
        (!own.is_empty()).then_some(Self {
            names,
            benchmarks: own,
            identity,
        })
    }
}

#[async_trait]
impl Evaluator for SuiteEvaluator {
    fn name(&self) -> &str {
        Self::NAME
    }

    fn score_names(&self) -> &[ScoreName] {
        &self.names
    }

    fn applies_to(&self, example: &Example) -> bool {
        self.benchmarks.contains_key(example.dataset())
    }

    fn identity(&self) -> Option<Identity> {
        self.identity.clone()
    }

    async fn score(&self, example: &Example, output: &Output) -> Result<Scores, EvaluatorError> {
        match self.benchmarks.get(example.dataset()) {
            Some(benchmark) => benchmark.score(example, output).await,
            None => Err("the task is not planned".into()),
        }
    }
}
