//! `ReopenedRun`: a stored run, to look at as it was (reopen) or to score again (rescore).
//! Neither calls anything.
//!
//! Reopening a run reads its rows as they were stored. Rescoring it is a run of its
//! own: the systems have the identity of those that answered, so the runner finds
//! their responses in the store; what failed stays failed.

mod row_place;
mod row_source;
mod text_search;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use async_trait::async_trait;
use serde::Deserialize as _;
use serde_json::Value;

use crate::comparison::ContentKey;
use crate::dataset::{Dataset, DatasetError, UsedDatasets};
use crate::evaluator::{Evaluator, EvaluatorError};
use crate::memory;
use crate::model::Answer;
use crate::model::{
    CallStats, Counts, DocumentMark, EvalRow, Example, ExampleId, Failure, FailureKind, Identity,
    Output, Reply, RowText, ScoreName, Scores, TokenUse, UsageShape,
};
use crate::result::Unfinished;
use crate::runner::{
    Outcome, StoredFailure, UnansweredRows, Wiring, is_inapplicable, read_token_scores, unscored,
    without_reasoning,
};
use crate::stopping::Stopping;
use crate::store::{
    EvaluatorEntry, Key, Origin, SourceRun, Store, StoreError, StoredOutcome, StoredRow, StoredRun,
    SystemEntry,
};
use crate::system::{System, SystemError};

pub use row_place::RowPlace;
pub(crate) use row_source::{FirstPass, StoredRows};
pub use text_search::TextSearch;

/// Most rows of a system that memory is reserved for; a damaged store may claim any number.
const MOST_RESERVED: usize = 1 << 24;
/// Why a row of a stored run has no answer any more.
const LOST: &str = "the stored answer is damaged, or was removed together with another run";
/// Why a row of a stored run has no score of one of its evaluators.
const NO_SCORE: &str = "gave no whole score in that run, or does not apply to the example";

/// A stored run; see [`Evaluate::reopen`](crate::Evaluate::reopen) and
/// [`Evaluate::rescore`](crate::Evaluate::rescore).
#[derive(Clone)]
pub struct ReopenedRun {
    /// The run.
    pub run: StoredRun,
    store: Store,
}

impl ReopenedRun {
    /// Finds a run by its id or the beginning of it.
    ///
    /// # Errors
    ///
    /// When there is no such run, or the store cannot be read.
    pub fn open(store: &Store, id: &str) -> Result<Self, StoreError> {
        Ok(Self {
            run: store.run(id)?,
            store: store.clone(),
        })
    }

    /// A run that was found already.
    pub(crate) fn of(store: &Store, run: StoredRun) -> Self {
        Self {
            run,
            store: store.clone(),
        }
    }

    /// The run that did not finish: this one, or the one whose answers it scored. `None`
    /// when both finished.
    pub fn unfinished(&self) -> Option<Unfinished> {
        if let Some(source) = self.run.origin().source
            && let Some(how) = source.unfinished
        {
            let run = source.run;
            return Some(Unfinished { run, how });
        }
        let origin = self.run.origin();
        let how = match (&origin.shard, &origin.merge) {
            (Some(shard), _) => shard.described(),
            (None, Some(merge)) if !merge.is_whole() => {
                format!("is merged from {}", merge.coverage())
            }
            _ => self.run.status.ending()?.to_owned(),
        };
        Some(Unfinished {
            run: self.run.run.id().to_string(),
            how,
        })
    }

    /// What the run showed while it went on, if it could end early.
    pub(crate) fn stopping(&self) -> Option<Stopping> {
        let stored = self.run.config.get(Stopping::MEMBER)?;
        Stopping::deserialize(stored).ok()
    }

    /// The origin of a run that rescores this one.
    pub(crate) fn as_origin(&self) -> Origin {
        let unfinished = self.unfinished();
        Origin {
            planned: self.run.origin().planned,
            source: Some(SourceRun {
                run: match &unfinished {
                    Some(unfinished) => unfinished.run.clone(),
                    None => self.run.run.id().to_string(),
                },
                unfinished: unfinished.map(|unfinished| unfinished.how),
            }),
            ..Origin::default()
        }
    }

    /// The store that holds the run.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// The systems of the run.
    pub(crate) fn systems(&self) -> Vec<Arc<dyn System>> {
        let entries = self.run.systems.iter();
        entries
            .map(|entry| Arc::new(StoredSystem(entry.clone())) as _)
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
            .map(|entry| Arc::new(StoredEvaluator(entry.clone())) as _)
            .collect()
    }

    /// The rows of the run as they are stored, and the datasets they are from.
    /// The evaluators of the wiring are those of the run, in their order.
    /// `planned` is how many rows each system should have, where that is known.
    pub(crate) fn read_rows(
        &self,
        wiring: &Wiring,
        planned: Option<usize>,
    ) -> Result<(Outcome, UsedDatasets), StoreError> {
        let n_systems = self.run.systems.len();
        let names: Vec<Arc<str>> = self.run.systems.iter().map(|s| (*s.name).into()).collect();
        // Growing step by step would take up to twice the memory.
        let expected = usize::try_from(self.run.n_rows).unwrap_or_default();
        let expected = expected.div_ceil(n_systems.max(1)).min(MOST_RESERVED);
        let mut rows: Vec<Vec<EvalRow>> = Vec::new();
        rows.resize_with(n_systems, || Vec::with_capacity(expected));
        let mut counts = vec![Counts::default(); n_systems];
        let mut answers = vec![HashMap::new(); n_systems];
        let mut examples = BTreeMap::new();
        let mut places: Vec<Vec<usize>> = vec![Vec::new(); n_systems];
        for stored in self.store.run_rows(&self.run) {
            let stored = stored?;
            // The store has checked the number of the system.
            let (Some(name), Some(rows)) = (names.get(stored.system), rows.get_mut(stored.system))
            else {
                continue;
            };
            let holds_answers = wiring.holds_answers(&stored.dataset);
            let (row, answer) = self.whole_row(name, &stored, wiring, holds_answers)?;
            counts[stored.system].add(&row);
            if let Some(mut answer) = answer.filter(|_| holds_answers) {
                answer.output = without_reasoning(&answer.output).into_owned();
                answers[stored.system].insert(rows.len(), answer);
            }
            rows.push(row);
            places[stored.system].push(stored.position);
            examples
                .entry(stored.position)
                .or_insert_with(|| stored.example_at());
        }
        let used = UsedDatasets::of(&Dataset::from(Vec::new()));
        let n_examples = examples.len();
        // In the order of positions, so that each can be found.
        let mut documents: Vec<(usize, DocumentMark)> = Vec::with_capacity(n_examples);
        for (position, at) in examples {
            if let Some(example) = self.store.example_of(&at)? {
                used.note(&example);
                documents.push((position, DocumentMark::of(&example)));
            }
        }
        for (rows, places) in rows.iter_mut().zip(&places) {
            for (row, place) in rows.iter_mut().zip(places) {
                let found = documents.binary_search_by_key(place, |(position, _)| *position);
                row.document = found.map_or_else(|_| DocumentMark::default(), |at| documents[at].1);
            }
        }
        let planned = self.planned(planned, n_examples);
        for counts in &mut counts {
            counts.planned = planned;
        }
        let outcome = Outcome {
            rows,
            answers,
            counts,
            // The store keeps when a run began and ended, not its systems.
            wall: vec![None; n_systems],
            gave_up: vec![None; n_systems],
            n_examples,
            dataset_error: None,
            decisions: Vec::new(),
        };
        Ok((outcome, used))
    }

    /// How many rows each system should have, of which so many examples are there.
    fn planned(&self, planned: Option<usize>, n_examples: usize) -> usize {
        // A damaged row cannot be read, but it was planned too.
        let n_rows = usize::try_from(self.run.n_rows).unwrap_or(usize::MAX);
        let n_systems = self.run.systems.len().max(1);
        let planned = planned.unwrap_or(0).max(n_examples);
        planned.max(n_rows.div_ceil(n_systems))
    }

    /// A row of the result, with its texts where the wiring keeps them, and its answer where that is
    /// wanted.
    fn whole_row(
        &self,
        system: &Arc<str>,
        stored: &StoredRow,
        wiring: &Wiring,
        wants_answer: bool,
    ) -> Result<(EvalRow, Option<Answer>), StoreError> {
        let mut row = result_row(Arc::clone(system), stored, wiring);
        // Rows with an answer have what they say of memories with it.
        if row.failure.is_some()
            && let Some(example) = self.store.example(stored)?
        {
            memory::row::describe(&mut row, &example, None);
        }
        if !wants_answer && !wiring.keeps_text() {
            return Ok((row, None));
        }
        let answer = self.answer(stored)?;
        if wiring.keeps_text() {
            row.text = self.text(stored, answer.as_ref(), wiring)?.map(Box::new);
        }
        Ok((row, answer))
    }

    /// Per system and row, in the order of [`read_rows`](Self::read_rows): which example it is about,
    /// with the prompt that it was asked with.
    pub(crate) fn example_keys(&self) -> Result<Vec<Vec<ContentKey>>, StoreError> {
        let mut keys = vec![Vec::new(); self.run.systems.len()];
        for row in self.store.run_rows(&self.run) {
            let row = row?;
            if let Some(keys) = keys.get_mut(row.system) {
                keys.push(of_attempt(*row.example_key.as_bytes(), row.repeat));
            }
        }
        Ok(keys)
    }

    /// The same by the content of examples alone, for runs that asked in other words: `key` says by
    /// what of it. An example that cannot be read keeps the key that it has.
    pub(crate) fn content_keys(
        &self,
        key: fn(&Example) -> Key,
    ) -> Result<Vec<Vec<ContentKey>>, StoreError> {
        let mut keys = vec![Vec::new(); self.run.systems.len()];
        let mut known: HashMap<ContentKey, ContentKey> = HashMap::new();
        for row in self.store.run_rows(&self.run) {
            let row = row?;
            let Some(keys) = keys.get_mut(row.system) else {
                continue;
            };
            let asked = *row.example_key.as_bytes();
            let content = match known.get(&asked) {
                Some(content) => *content,
                None => {
                    let example = self.store.example(&row)?;
                    let content = example.map(|one| *key(&one).as_bytes());
                    *known.entry(asked).or_insert(content.unwrap_or(asked))
                }
            };
            keys.push(of_attempt(content, row.repeat));
        }
        Ok(keys)
    }

    /// What was asked and answered in a row; `None` when it is gone.
    fn answer(&self, row: &StoredRow) -> Result<Option<Answer>, StoreError> {
        let StoredOutcome::Response { response, .. } = &row.outcome else {
            return Ok(None);
        };
        let Some(example) = self.store.example(row)? else {
            return Ok(None);
        };
        let output = self.store.output(&response.at, &example)?;
        Ok(output.map(|output| Answer {
            example: Arc::new(example),
            output,
        }))
    }

    /// The texts of a row: what was asked and answered; for a failed row only what was asked.
    fn text(
        &self,
        row: &StoredRow,
        answer: Option<&Answer>,
        wiring: &Wiring,
    ) -> Result<Option<RowText>, StoreError> {
        Ok(match answer {
            Some(answer) => Some(wiring.row_text(&answer.example, Some(&answer.output))),
            None => {
                let example = self.store.example(row)?;
                example.map(|example| wiring.row_text(&Arc::new(example), None))
            }
        })
    }

    /// The examples of the run in their order, and its rows without an answer.
    pub(crate) fn examples(&self) -> Result<(Dataset, Arc<UnansweredRows>), StoreError> {
        let mut examples: BTreeMap<usize, StoredRow> = BTreeMap::new();
        let mut seen: Vec<Vec<usize>> = vec![Vec::new(); self.run.systems.len()];
        let mut failed = Vec::new();
        for row in self.store.run_rows(&self.run) {
            let mut row = row?;
            // The store has checked the number of the system.
            let Some(seen) = seen.get_mut(row.system) else {
                continue;
            };
            seen.push(row.position);
            if let StoredOutcome::Failed {
                failure,
                latency,
                call,
                wire,
            } = &mut row.outcome
            {
                let stored = StoredFailure {
                    failure: failure.clone(),
                    latency: *latency,
                    call: *call,
                    wire: wire.take(),
                    is_fresh: false,
                };
                failed.push((row.system, row.position, stored));
            }
            let light = without_scores(row);
            examples.entry(light.position).or_insert(light);
        }
        // The runner numbers positions from 0: positions that the run does not have leave no gaps.
        let numbers: BTreeMap<usize, usize> = examples.keys().copied().zip(0..).collect();
        let mut unanswered = UnansweredRows::default();
        unanswered.found_by(examples.values().map(|row| row.example_key).collect());
        for (system, position, stored) in failed {
            unanswered.failed(system, numbers[&position], stored);
        }
        for (system, seen) in seen.iter().enumerate() {
            for (position, number) in &numbers {
                // The rows of a system come in the order of their positions.
                if seen.binary_search(position).is_err() {
                    unanswered.absent(system, *number);
                }
            }
        }
        let unanswered = Arc::new(unanswered);
        let (store, rows) = (self.store.clone(), Arc::clone(&unanswered));
        let len = examples.len();
        let examples = examples.into_values().zip(0..);
        let examples = examples.map(move |(row, number)| match store.example(&row) {
            Ok(Some(example)) => Ok(example),
            Ok(None) => {
                rows.damaged(number);
                Ok(stand_in(&row))
            }
            Err(error) => Err(DatasetError::Custom(error.to_string())),
        });
        Ok((Dataset::from_results(examples).with_len(len), unanswered))
    }
}

/// The key of an attempt at an example: each is paired with the same one of another run.
fn of_attempt(mut key: ContentKey, repeat: u32) -> ContentKey {
    for (byte, mark) in key.iter_mut().zip(repeat.to_le_bytes()) {
        *byte ^= mark;
    }
    key
}

/// A row of a result, from one of the store.
fn result_row(system: Arc<str>, stored: &StoredRow, wiring: &Wiring) -> EvalRow {
    let mut row = EvalRow::new(
        system,
        stored.example_id.clone(),
        Scores::new(),
        stored.input_tokens,
        stored.output_tokens,
    );
    row.dataset = Arc::clone(&stored.dataset);
    row.cached = stored.cached;
    let call = |call: Option<CallStats>| call.filter(CallStats::made_requests).map(Box::new);
    match &stored.outcome {
        StoredOutcome::Response { response, scores } => {
            row.latency = response.latency;
            row.call = call(response.call.map(|call| CallStats {
                first_byte: response.first_byte,
                ..call
            }));
            if let Some(Some(scores)) = scores.last() {
                read_token_scores(&mut row, scores);
            }
            if row.reply.is_none()
                && let Some(usage) = &response.usage
            {
                // A run of an earlier version.
                row.reply = Some(Box::new(Reply {
                    tokens: TokenUse::reported(UsageShape::Chat, usage),
                    ..Reply::default()
                }));
            }
            // Runs without a plan tell evaluators apart by name alone, and one name may have
            // had other settings for other datasets.
            let scored_by_namesake = |index: usize| {
                let name = wiring.evaluators[index].name();
                let mut others = wiring.evaluators.iter().zip(scores.iter());
                others.any(|(other, scores)| other.name() == name && scores.is_some())
            };
            for (index, evaluator) in wiring.evaluators.iter().enumerate() {
                if !wiring.is_wired(index, &stored.dataset) {
                    continue;
                }
                if let Some(Some(scores)) = scores.get(index) {
                    match is_inapplicable(scores) {
                        true => row.not_applicable += 1,
                        false => row.scores.merge(scores.clone()),
                    }
                } else if !scored_by_namesake(index) {
                    row.scores.merge(unscored(&**evaluator, NO_SCORE));
                }
            }
            wiring.complete(&stored.dataset, &mut row.scores);
            row.scores.shrink();
        }
        StoredOutcome::Failed {
            failure,
            latency,
            call: cost,
            wire,
        } => {
            row.latency = *latency;
            row.call = call(*cost);
            row.wire.clone_from(wire);
            row.failure = Some(Box::new(failure.clone()));
        }
        StoredOutcome::Lost => {
            row.failure = Some(Box::new(Failure::new(FailureKind::Other, LOST)));
        }
    }
    row
}

/// A row that is only needed to find its example.
fn without_scores(mut row: StoredRow) -> StoredRow {
    row.outcome = StoredOutcome::Lost;
    row
}

/// Takes the place of an example that cannot be read.
fn stand_in(row: &StoredRow) -> Example {
    let id: Value = match &row.example_id {
        ExampleId::Int(number) => (*number).into(),
        ExampleId::Text(text) => (**text).into(),
    };
    let example = Example::new().with("id", id);
    match &*row.dataset {
        "" => example,
        tag => example.with("dataset", tag),
    }
}

/// A system whose answers are in the store.
struct StoredSystem(SystemEntry);

#[async_trait]
impl System for StoredSystem {
    fn name(&self) -> &str {
        &self.0.name
    }

    fn identity(&self) -> Option<Identity> {
        let version = self.0.settings.get("version").and_then(Value::as_u64);
        let version = version.and_then(|version| u32::try_from(version).ok())?;
        let settings = self.0.settings.get("settings").cloned()?;
        Some(Identity::new(self.0.kind.clone(), version, settings))
    }

    async fn process(&self, _: &Example) -> Result<Output, SystemError> {
        // Only asked about what the runner did not find.
        Err(LOST.into())
    }
}

/// An evaluator whose scores are in the store.
struct StoredEvaluator(EvaluatorEntry);

#[async_trait]
impl Evaluator for StoredEvaluator {
    fn name(&self) -> &str {
        &self.0.name
    }

    fn score_names(&self) -> &[ScoreName] {
        &[]
    }

    fn identity(&self) -> Option<Identity> {
        let EvaluatorEntry {
            name,
            version,
            settings,
        } = self.0.clone();
        Some(Identity::new(name, version, settings))
    }

    async fn score(&self, _: &Example, _: &Output) -> Result<Scores, EvaluatorError> {
        Err(NO_SCORE.into())
    }
}
