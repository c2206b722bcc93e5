//! Replay: a stored run as a dataset, systems and evaluators, to be looked at
//! or scored again without calling anything.
//!
//! Replayed systems have the identity of those that answered, so the runner
//! finds their responses in the store; asked for anything else they fail.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use async_trait::async_trait;
use serde_json::Value;

use crate::dataset::{Dataset, DatasetError};
use crate::evaluator::{Evaluator, EvaluatorError};
use crate::model::{Example, Failure, FailureKind, Identity, Output, ScoreName, Scores};
use crate::store::{
    Key, ScorerEntry, Store, StoreError, StoredOutcome, StoredRow, StoredRun, SystemEntry,
};
use crate::system::{System, SystemError};

/// A stored run, ready to be run again from the store.
pub struct Replay {
    /// The run.
    pub run: StoredRun,
    store: Store,
    /// One row for each position, to find its example by.
    rows: BTreeMap<usize, StoredRow>,
    /// Per system: what failed, by example.
    failures: Vec<HashMap<Key, Failure>>,
}

impl Replay {
    /// Reads the rows of a run, named by its id or the beginning of it.
    ///
    /// # Errors
    ///
    /// When there is no such run, or the store cannot be read.
    pub fn open(store: &Store, id: &str) -> Result<Self, StoreError> {
        let run = store.run(id)?;
        let mut rows = BTreeMap::new();
        let mut failures = vec![HashMap::new(); run.systems.len()];
        for row in store.run_rows(&run) {
            let mut row = row?;
            if let StoredOutcome::Failed { failure, .. } = &row.outcome
                && let Some(example) = store.example(&row)?
                && let Some(failures) = failures.get_mut(row.system)
            {
                failures.insert(Key::example(&example), failure.clone());
            }
            // Kept for its example only; the runner looks the rest up itself.
            if let StoredOutcome::Response { scores, .. } = &mut row.outcome {
                *scores = Vec::new();
            }
            rows.entry(row.position).or_insert(row);
        }
        Ok(Self {
            run,
            store: store.clone(),
            rows,
            failures,
        })
    }

    /// The systems of the run.
    pub fn systems(&self) -> Vec<Arc<dyn System>> {
        let replayed = self.run.systems.iter().zip(&self.failures);
        replayed
            .map(|(entry, failures)| {
                Arc::new(Replayed {
                    entry: entry.clone(),
                    failures: failures.clone(),
                }) as _
            })
            .collect()
    }

    /// The evaluators of the run, which give the stored scores and no others.
    pub fn evaluators(&self) -> Vec<Arc<dyn Evaluator>> {
        // The last one stands for the token counts; see `runner/reuse.rs`.
        let scorers = self
            .run
            .scorers
            .split_last()
            .map_or(&[][..], |(_, rest)| rest);
        scorers
            .iter()
            .map(|entry| Arc::new(StoredScores(entry.clone())) as _)
            .collect()
    }

    /// The examples of the run in their order.
    pub fn into_dataset(self) -> Dataset {
        let len = self.rows.len();
        let store = self.store;
        let examples = self.rows.into_values().map(move |row| {
            let id = &row.example_id;
            match store.example(&row) {
                Ok(Some(example)) => Ok(example),
                Ok(None) => Err(DatasetError::Custom(format!(
                    "example `{id}` of the run is damaged or no longer stored"
                ))),
                Err(error) => Err(DatasetError::Custom(error.to_string())),
            }
        });
        Dataset::from_results(examples).with_len(len)
    }
}

/// A system whose answers are in the store.
struct Replayed {
    entry: SystemEntry,
    failures: HashMap<Key, Failure>,
}

#[async_trait]
impl System for Replayed {
    fn name(&self) -> &str {
        &self.entry.name
    }

    fn identity(&self) -> Option<Identity> {
        let version = self.entry.settings.get("version").and_then(Value::as_u64);
        let version = version.and_then(|version| u32::try_from(version).ok())?;
        let settings = self.entry.settings.get("settings").cloned()?;
        Some(Identity::new(self.entry.kind.clone(), version, settings))
    }

    async fn process(&self, example: &Example) -> Result<Output, SystemError> {
        let failure = match self.failures.get(&Key::example(example)) {
            Some(failure) => failure.clone(),
            None => Failure::new(FailureKind::Other, "no answer to this example is stored"),
        };
        Err(SystemError {
            failure,
            call: None,
        })
    }
}

/// An evaluator whose scores are in the store.
struct StoredScores(ScorerEntry);

#[async_trait]
impl Evaluator for StoredScores {
    fn name(&self) -> &str {
        &self.0.name
    }

    fn score_names(&self) -> &[ScoreName] {
        &[]
    }

    fn identity(&self) -> Option<Identity> {
        let ScorerEntry {
            name,
            version,
            settings,
        } = self.0.clone();
        Some(Identity::new(name, version, settings))
    }

    async fn score(&self, _: &Example, _: &Output) -> Result<Scores, EvaluatorError> {
        Err("gave no whole score in that run, or does not apply to the example".into())
    }
}
