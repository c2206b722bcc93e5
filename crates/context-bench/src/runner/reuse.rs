//! Reuse: stored answers and scores are taken instead of asking again, and new ones are stored.
//!
//! Keys cover content only: the example, the identity of the system, and for
//! scores the identity of the evaluator. Whatever has no identity gets a key of
//! this run alone: it is stored, so that people can look at it, but never reused.

use std::sync::Arc;

use serde_json::value::to_raw_value;
use serde_json::{Map, Value, json};

use super::asked_elsewhere::AskedElsewhere;
use super::attempt::Attempt;
use super::prepared::Prepared;
use super::store_read_failures::StoreReadFailures;
use super::token_scores;
use super::unanswered_rows::{StoredFailure, UnansweredRows};
use super::wiring::Wiring;
use crate::evaluator::Evaluator;
use crate::model::{
    CallStats, EvalRow, Example, Failure, Identity, Output, Scores, WIRE, WireFacts,
};
use crate::store::{
    EvaluatorEntry, FoundResponse, KEPT_APART, Key, NewOutcome, NewResponse, NewScores, Origin,
    OutputDelta, ResponseKey, ResponseQuery, ResponseRef, Run, RunRow, RunStart, ScoreTexts, Store,
    StoreError, StoredResponseId, SystemEntry,
};
use crate::system::System;
use crate::tokens::{TextFields, TokenCounter};

/// Raised whenever token counts change for the same text, or more is stored with them.
const TOKENS_VERSION: u32 = 2;
/// What stands for an evaluator in the store where tokens are counted.
const TOKENS: &str = "tokens";

/// What a run and its store must know about each other.
pub(crate) struct ReuseSettings<'a> {
    pub(crate) store: Store,
    pub(crate) systems: &'a [Arc<dyn System>],
    pub(crate) evaluators: &'a [Arc<dyn Evaluator>],
    pub(crate) counter: &'a dyn TokenCounter,
    pub(crate) text_fields: &'a TextFields,
    pub(crate) command: String,
    pub(crate) config: Map<String, Value>,
    /// How much is planned, and what the run is made of.
    pub(crate) origin: Origin,
    /// When a stored run is rescored: its rows without an answer.
    pub(crate) unanswered: Option<Arc<UnansweredRows>>,
    /// When systems were asked in other processes: what became of it.
    pub(crate) elsewhere: Option<Arc<AskedElsewhere>>,
}

/// The store's side of a run.
pub(crate) struct Reuse {
    store: Store,
    /// The run that rows are put under; none in a store that can only be read.
    run: Option<Run>,
    /// What the systems are called.
    names: Vec<String>,
    /// Per system: its key, and whether what is stored under it may be reused.
    systems: Vec<(Key, bool)>,
    /// Per evaluator the same; the token counts come last.
    scorers: Vec<(Key, bool)>,
    /// The keys of `scorers`, as look-ups take them.
    wanted: Vec<Key>,
    /// The repeat under which answers are stored that cannot be reused: no run looks there.
    apart: u32,
    unanswered: Option<Arc<UnansweredRows>>,
    elsewhere: Option<Arc<AskedElsewhere>>,
    unread: StoreReadFailures,
}

impl Reuse {
    /// The key of an example in the store.
    pub(super) fn key(&self, example: &Example, position: usize) -> Key {
        let unanswered = self.unanswered.as_ref();
        let known = unanswered.and_then(|unanswered| unanswered.key(position));
        known.unwrap_or_else(|| Key::example(example))
    }

    /// Begins a run in the store. Blocks for a moment.
    pub(crate) fn begin(settings: ReuseSettings<'_>) -> Result<Self, StoreError> {
        let ReuseSettings {
            store,
            systems,
            evaluators,
            counter,
            text_fields,
            command,
            config,
            origin,
            unanswered,
            elsewhere,
        } = settings;
        let nonce = nonce();
        // Two of them in one run are different things.
        let unknown =
            |name: &str| Identity::new("unidentified", 0, json!({"run": nonce, "name": name}));
        let system_entries: Vec<(SystemEntry, bool)> = systems
            .iter()
            .map(|system| {
                let identity = system.identity();
                let known = identity.is_some();
                let identity = identity.unwrap_or_else(|| unknown(system.name()));
                (SystemEntry::new(system.name(), identity), known)
            })
            .collect();
        let tokens = json!({
            "tokenizer": counter.name(),
            "fields": match text_fields {
                TextFields::All => Value::Null,
                TextFields::Only(fields) => json!(fields),
            },
        });
        let mut scorer_entries: Vec<(EvaluatorEntry, bool)> = evaluators
            .iter()
            .map(|evaluator| {
                let identity = evaluator.identity();
                let known = identity.is_some();
                let identity = identity.unwrap_or_else(|| unknown(evaluator.name()));
                (EvaluatorEntry::new(evaluator.name(), identity), known)
            })
            .collect();
        scorer_entries.push((
            EvaluatorEntry {
                name: TOKENS.into(),
                version: TOKENS_VERSION,
                settings: tokens,
            },
            true,
        ));
        let start = RunStart {
            command,
            config,
            systems: system_entries
                .iter()
                .map(|(entry, _)| entry.clone())
                .collect(),
            scorers: scorer_entries
                .iter()
                .map(|(entry, _)| entry.clone())
                .collect(),
            origin,
        };
        let run = match store.begin_run(start) {
            Ok(run) => Some(run),
            Err(StoreError::ReadOnly { .. }) => None,
            Err(error) => return Err(error),
        };
        let systems = system_entries
            .iter()
            .map(|(e, known)| (e.key(), *known))
            .collect();
        let scorers: Vec<(Key, bool)> = scorer_entries
            .iter()
            .map(|(e, known)| (e.key(), *known))
            .collect();
        Ok(Self {
            wanted: scorers.iter().map(|(key, _)| *key).collect(),
            apart: apart(&nonce),
            names: system_entries
                .iter()
                .map(|(entry, _)| entry.name.clone())
                .collect(),
            store,
            run,
            systems,
            scorers,
            unanswered,
            elsewhere,
            unread: StoreReadFailures::default(),
        })
    }

    pub(crate) fn run(&self) -> Option<&Run> {
        self.run.as_ref()
    }

    pub(crate) fn store(&self) -> &Store {
        &self.store
    }

    /// Whether something holds of the settings of an earlier run that had the same system; it is
    /// given the name that the system had there.
    pub(crate) fn any_earlier_run(
        &self,
        name: &str,
        holds: impl Fn(&Map<String, Value>, &str) -> bool,
    ) -> bool {
        let place = self.names.iter().position(|known| known == name);
        let Some((key, _)) = place.and_then(|place| self.systems.get(place)) else {
            return false;
        };
        // What cannot be read has nothing to say.
        let runs = self.store.runs().unwrap_or_default();
        let own = self.run.as_ref().map(Run::id);
        let earlier = runs.iter().filter(|run| Some(run.run.id()) != own);
        let mut entries = earlier.flat_map(|run| run.systems.iter().map(move |one| (run, one)));
        entries.any(|(run, one)| one.key() == *key && holds(&run.config, &one.name))
    }

    /// Examples of which something could not be read, and why the first could not.
    pub(crate) fn unread(&self) -> (u64, Option<String>) {
        self.unread.summary()
    }

    /// Looks up what is there for some examples and attaches it to them. Blocks;
    /// called from the feed's thread only.
    pub(super) fn look_up(&self, batch: &mut [Prepared], wiring: &Wiring) {
        self.find_answers(batch, wiring);
        if let Some(elsewhere) = &self.elsewhere {
            for prepared in batch {
                elsewhere.settle(prepared, &self.names);
            }
        }
    }

    fn find_answers(&self, batch: &mut [Prepared], wiring: &Wiring) {
        let mut wanted = Vec::new();
        let mut places = Vec::new();
        for (i, prepared) in batch.iter_mut().enumerate() {
            // The feed has given it one.
            let Some(example) = prepared.key else {
                continue;
            };
            prepared
                .lookups
                .resize_with(self.systems.len(), || StoreLookup::Nothing);
            for (system, (key, reusable)) in self.systems.iter().enumerate() {
                let unanswered = self.unanswered.as_ref();
                if let Some(lookup) =
                    unanswered.and_then(|rows| rows.lookup(system, prepared.position))
                {
                    prepared.lookups[system] = lookup;
                } else if *reusable && prepared.problem.is_none() {
                    wanted.push(ResponseQuery {
                        response: ResponseKey::new(example, *key, prepared.example.repeat()),
                        scorers: &self.wanted,
                    });
                    places.push((i, system));
                }
            }
        }
        if wanted.is_empty() {
            return;
        }
        let found = self.unread.read(|| self.store.find(&wanted));
        let mut found = found.map(Vec::into_iter);
        let mut unread = Vec::new();
        for (i, system) in places {
            let lookup = match &mut found {
                Ok(found) => match found.next().flatten() {
                    Some(found) => self.stored(found, &batch[i], wiring),
                    None => StoreLookup::Nothing,
                },
                Err(failure) => StoreLookup::Unread(Arc::clone(failure)),
            };
            // Several systems may miss one example.
            if matches!(lookup, StoreLookup::Unread(_)) && unread.last() != Some(&i) {
                unread.push(i);
            }
            batch[i].lookups[system] = lookup;
        }
        self.unread.count(unread.len() as u64);
    }

    /// What can be reused of a response: all of it, or the output to be scored again.
    fn stored(&self, found: FoundResponse, prepared: &Prepared, wiring: &Wiring) -> StoreLookup {
        let scores: Vec<Option<Scores>> = found
            .scores
            .into_iter()
            .zip(&self.scorers)
            .map(|(scores, (_, reusable))| scores.filter(|_| *reusable))
            .collect();
        let is_known = |index: usize| scores.get(index).is_some_and(Option::is_some);
        let complete = (0..wiring.evaluators.len())
            .all(|index| is_known(index) || !wiring.applies(index, &prepared.example))
            && scores.last().is_some_and(Option::is_some);
        let read = || self.store.output(&found.response.at, &prepared.example);
        let wants_output = wiring.holds_answers(&prepared.dataset) || wiring.keeps_text();
        let output = match complete && !wants_output {
            true => None,
            false => match self.unread.read(read) {
                Ok(Some(output)) => Some(output),
                // Damaged or gone: then the system is asked again.
                Ok(None) => return StoreLookup::Nothing,
                Err(failure) => return StoreLookup::Unread(failure),
            },
        };
        let (output, wire) = match output.map(|output| apart_from_wire(output, &prepared.example)) {
            Some((output, wire)) => (Some(output), wire),
            None => (None, None),
        };
        let response = found.response;
        let wire = match wire.is_none() && !scores.last().is_some_and(Option::is_some) {
            true => self.counted_elsewhere(&response.at),
            false => wire,
        };
        StoreLookup::Answer(Box::new(ReusedAnswer {
            at: response.at,
            latency: response.latency,
            call: response.call.map(|call| CallStats {
                first_byte: response.first_byte,
                ..call
            }),
            scores,
            complete,
            output,
            wire,
            is_fresh: false,
        }))
    }

    /// What a tap saw of a call, where its tokens were counted by another tokenizer.
    fn counted_elsewhere(&self, at: &StoredResponseId) -> Option<Box<WireFacts>> {
        let counted = self.unread.read(|| self.store.scores_by(TOKENS, at));
        // What cannot be read says nothing; the answer itself was read.
        let counted = counted.unwrap_or_default();
        counted.iter().find_map(token_scores::stored_facts)
    }

    /// Stores a fresh response, or the new scores of a stored one, and the row.
    pub(super) async fn keep(&self, system: usize, prepared: &Prepared, kept: RowToStore<'_>) {
        let Some(example) = prepared.key else {
            return;
        };
        let RowToStore {
            row,
            answer,
            scores,
            counts_tokens,
        } = kept;
        // Facts have a JSON form.
        let wire = || to_raw_value(row.wire.as_deref()?).ok();
        let reference: Option<ResponseRef> = match answer {
            AnswerToStore::Fresh(output) => {
                let repeat = match output.is_lossy() {
                    true => self.apart.wrapping_add(prepared.example.repeat()) | KEPT_APART,
                    false => prepared.example.repeat(),
                };
                let key = ResponseKey::new(example, self.systems[system].0, repeat);
                let call = row.call.as_deref().copied();
                let counted = counts_tokens.then(|| NewScores {
                    response: key.into(),
                    scorer: self.scorers[self.tokens_scorer()].0,
                    scores: token_scores::texts(row),
                });
                // Facts are stored once: with what is counted, or else with the answer.
                let wire = match counted.is_none() {
                    true => wire().map(Arc::from),
                    false => None,
                };
                self.store
                    .put(NewResponse {
                        key,
                        example: Arc::clone(&prepared.example),
                        output: OutputDelta::between(&prepared.example, output),
                        wire,
                        counted,
                        latency: row.latency,
                        call,
                        first_byte: call.and_then(|call| call.first_byte),
                        usage: output.api_usage().cloned(),
                    })
                    .await;
                Some(key.into())
            }
            AnswerToStore::Stored(at) => Some(at.into()),
            AnswerToStore::None => None,
        };
        if let Some(response) = reference {
            let scores = scores.iter();
            let mut texts: Vec<_> = scores
                .map(|(index, scores)| (*index, ScoreTexts::of(scores)))
                .collect();
            // A fresh answer has brought them along.
            if counts_tokens && matches!(response, ResponseRef::Found(_)) {
                texts.push((self.tokens_scorer(), token_scores::texts(row)));
            }
            for (index, scores) in texts {
                let scorer = self.scorers[index].0;
                self.store
                    .put(NewScores {
                        response,
                        scorer,
                        scores,
                    })
                    .await;
            }
        }
        let Some(run) = &self.run else {
            return;
        };
        let outcome = match (reference, row.failure.as_deref()) {
            (Some(response), _) => NewOutcome::Response(response),
            (None, Some(failure)) => NewOutcome::Failed {
                example: Arc::clone(&prepared.example),
                key: example,
                failure: failure.clone(),
                latency: row.latency,
                call: row.call.as_deref().copied(),
                wire: wire().map(|facts| facts.get().to_owned()),
            },
            (None, None) => return,
        };
        self.store
            .put(RunRow {
                run: run.clone(),
                system,
                position: prepared.position,
                repeat: prepared.example.repeat(),
                example_id: row.example_id.clone(),
                dataset: Arc::clone(&row.dataset),
                input_tokens: row.input_tokens,
                output_tokens: row.output_tokens,
                cached: row.cached,
                outcome,
            })
            .await;
    }

    /// The number under which token counts are stored.
    fn tokens_scorer(&self) -> usize {
        self.scorers.len() - 1
    }
}

/// What the store has for one example and system.
pub(super) enum StoreLookup {
    /// Nothing: the system is asked.
    Nothing,
    /// An answer.
    Answer(Box<ReusedAnswer>),
    /// A failure of the run that is rescored.
    Failure(Arc<StoredFailure>),
    /// It cannot be read, so the system is not asked.
    Unread(Arc<Failure>),
    /// The run that is rescored has no such row, so there will be none.
    NoRow,
}

/// A stored answer that is used instead of asking again.
#[derive(Clone)]
pub(super) struct ReusedAnswer {
    pub(super) at: StoredResponseId,
    latency: f64,
    call: Option<CallStats>,
    /// Per evaluator, then the token counts.
    pub(super) scores: Vec<Option<Scores>>,
    /// Whether nothing is left to compute.
    complete: bool,
    /// The output, when something must be scored again or the run needs its answers.
    pub(super) output: Option<Output>,
    /// What a tap saw of the call, as it is stored with the output.
    pub(super) wire: Option<Box<WireFacts>>,
    /// Whether it was made for this run, in another process.
    pub(super) is_fresh: bool,
}

impl ReusedAnswer {
    /// Whether nothing is left to compute.
    pub(super) fn is_complete(&self) -> bool {
        self.complete
    }

    /// Fills a row with what the call cost when it was made.
    pub(super) fn fill(&self, row: &mut EvalRow) {
        row.latency = self.latency;
        row.call = self.call.map(Box::new);
        row.cached = !self.is_fresh;
        if let Some(Some(scores)) = self.scores.last() {
            token_scores::read(row, scores);
        }
    }
}

/// An output as its system gave it, and what a tap saw of the call, which is stored as a member
/// of it.
fn apart_from_wire(output: Output, example: &Example) -> (Output, Option<Box<WireFacts>>) {
    let own = example.get(WIRE);
    let facts = match output.get(WIRE) == own {
        true => None,
        false => WireFacts::of(&output),
    };
    if facts.is_none() {
        return (output, None);
    }
    let mut fields = output.into_fields();
    match own {
        Some(own) => fields.insert(WIRE.to_owned(), own.clone()),
        None => fields.shift_remove(WIRE),
    };
    (Output::from(fields), facts)
}

/// What is stored of a finished row.
pub(super) struct RowToStore<'a> {
    pub(super) row: &'a EvalRow,
    pub(super) answer: AnswerToStore<'a>,
    /// Scores that are new, by the number of their evaluator.
    pub(super) scores: Vec<(usize, Scores)>,
    /// Whether its tokens were counted now.
    pub(super) counts_tokens: bool,
}

/// Where the answer of a row comes from.
pub(super) enum AnswerToStore<'a> {
    Fresh(&'a Output),
    Stored(StoredResponseId),
    None,
}

impl<'a> AnswerToStore<'a> {
    pub(super) fn of(attempt: Option<&'a Attempt>) -> Self {
        match attempt.map(|attempt| &attempt.result) {
            Some(Ok(output)) => Self::Fresh(output),
            _ => Self::None,
        }
    }
}

/// The number of a repeat that belongs to this run alone, above all that are counted.
fn apart(nonce: &str) -> u32 {
    let digest = crate::digest::hex(nonce.as_bytes());
    let part = digest.get(..7).unwrap_or_default();
    u32::from_str_radix(part, 16).unwrap_or_default() | KEPT_APART
}

/// A text that no other run has.
fn nonce() -> String {
    let now = std::time::SystemTime::now();
    let since = now
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap_or_default();
    format!("{}-{}", since.as_nanos(), std::process::id())
}
