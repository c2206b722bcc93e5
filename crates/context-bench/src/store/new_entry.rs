//! What is put into the store.

use std::sync::Arc;
use std::time::Duration;

use context_bench_records::map_bytes;
use serde::{Serialize, Serializer, ser::SerializeMap as _};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::delta::OutputDelta;
use super::key::{Key, ResponseKey};
use super::queue::Urgency;
use super::run::Run;
use super::score_json::ScoreTexts;
use crate::model::{CallStats, Example, ExampleId, Failure, WIRE};

/// Where a stored response is. Comes from a look-up; its numbers mean nothing outside its store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoredResponseId {
    pub(super) key: ResponseKey,
    pub(super) response: i64,
    pub(super) example: i64,
}

impl StoredResponseId {
    /// The content address of the response.
    pub fn key(&self) -> ResponseKey {
        self.key
    }
}

/// A response: by its address when it was just put, by its place when it was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ResponseRef {
    /// A response that was put before, by this process.
    Put(ResponseKey),
    /// A response that was found in the store.
    Found(StoredResponseId),
}

impl ResponseRef {
    pub(super) fn key(&self) -> ResponseKey {
        match self {
            Self::Put(key) => *key,
            Self::Found(located) => located.key,
        }
    }
}

impl From<ResponseKey> for ResponseRef {
    fn from(key: ResponseKey) -> Self {
        Self::Put(key)
    }
}

impl From<StoredResponseId> for ResponseRef {
    fn from(located: StoredResponseId) -> Self {
        Self::Found(located)
    }
}

/// One thing to be stored.
#[derive(Debug, Clone)]
pub(crate) enum NewEntry {
    /// What a system answered.
    Response(Box<NewResponse>),
    /// What an evaluator said about a response.
    Scores(NewScores),
    /// A row of a run.
    Row(Box<RunRow>),
}

impl From<NewResponse> for NewEntry {
    fn from(response: NewResponse) -> Self {
        Self::Response(Box::new(response))
    }
}

impl From<NewScores> for NewEntry {
    fn from(scores: NewScores) -> Self {
        Self::Scores(scores)
    }
}

impl From<RunRow> for NewEntry {
    fn from(row: RunRow) -> Self {
        Self::Row(Box::new(row))
    }
}

/// What a system answered. The first one stored under a key stays.
#[derive(Debug, Clone)]
pub(crate) struct NewResponse {
    /// Its address; the system must be known to the store.
    pub key: ResponseKey,
    /// The example it answers.
    pub example: Arc<Example>,
    /// What the system changed in the example.
    pub output: OutputDelta,
    /// What a tap saw of the call, as JSON, where no scores have it: a member of the output, beside
    /// what the system changed.
    pub wire: Option<Arc<RawValue>>,
    /// What is counted of it and known of its call. It is stored with the answer or not at all:
    /// nobody can measure it again.
    pub counted: Option<NewScores>,
    /// Seconds inside the system, retry waiting included.
    pub latency: f64,
    /// What the call cost besides time, when the system knows.
    pub call: Option<CallStats>,
    /// From sending to the first byte of the reply, when known.
    pub first_byte: Option<Duration>,
    /// Usage as the endpoint reported it.
    pub usage: Option<Map<String, Value>>,
}

impl NewResponse {
    /// The members of the output that the example does not have, as they are stored.
    pub(super) fn output_set(&self) -> impl Serialize + '_ {
        OutputSet(self)
    }

    /// How long the texts beside the output are.
    fn bytes_beside(&self) -> usize {
        let wire = self.wire.as_deref().map_or(0, |wire| wire.get().len());
        let counted = self.counted.as_ref();
        wire + counted.map_or(0, |counted| counted.scores.bytes())
    }
}

struct OutputSet<'a>(&'a NewResponse);

impl Serialize for OutputSet<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let wire = self.0.wire.as_deref();
        let mut map = serializer.serialize_map(None)?;
        // A system may have a member of that name too, which is not what the tap saw.
        let set = self.0.output.set.iter();
        for (key, value) in set.filter(|(key, _)| wire.is_none() || *key != WIRE) {
            map.serialize_entry(key, value)?;
        }
        if let Some(wire) = wire {
            map.serialize_entry(WIRE, wire)?;
        }
        map.end()
    }
}

/// What an evaluator said about a response. The first scores stored for a
/// response and an evaluator stay.
#[derive(Debug, Clone)]
pub(crate) struct NewScores {
    /// The response.
    pub response: ResponseRef,
    /// The evaluator, from [`Key::scorer`]; it must be known to the store.
    pub scorer: Key,
    /// Its scores, unscored ones included.
    pub scores: ScoreTexts,
}

/// A row of a run: which example, and what happened.
#[derive(Debug, Clone)]
pub(crate) struct RunRow {
    /// The run, from [`Store::begin_run`](super::Store::begin_run).
    pub run: Run,
    /// Number of the system within the run, from 0.
    pub system: usize,
    /// Position of the example in the dataset.
    pub position: usize,
    /// Which repeat, from 0.
    pub repeat: u32,
    /// Id of the example.
    pub example_id: ExampleId,
    /// Dataset tag; empty when there is none.
    pub dataset: Arc<str>,
    /// Tokens of the example.
    pub input_tokens: u64,
    /// Tokens of the processed map; 0 for a failed row.
    pub output_tokens: u64,
    /// Whether the response came from an earlier run.
    pub cached: bool,
    /// What became of it.
    pub outcome: NewOutcome,
}

/// What became of a row.
#[derive(Debug, Clone)]
pub(crate) enum NewOutcome {
    /// The system answered.
    Response(ResponseRef),
    /// The system did not answer. Such rows are kept for the report only: the
    /// next run tries again.
    Failed {
        /// The example, which no response brings along.
        example: Arc<Example>,
        /// Its address.
        key: Key,
        /// What happened.
        failure: Failure,
        /// Seconds inside the system.
        latency: f64,
        /// What the call cost besides time, when known.
        call: Option<CallStats>,
        /// What a tap saw of it, as JSON.
        wire: Option<String>,
    },
}

impl NewEntry {
    /// A row of an answer that was stored before can be made again for nothing.
    pub(super) fn urgency(&self) -> Urgency {
        match self {
            Self::Row(row) if row.cached => Urgency::Sometime,
            _ => Urgency::Soon,
        }
    }

    /// Bytes that the entry keeps alive, roughly. The queue is bounded by it.
    pub(super) fn weight(&self) -> usize {
        const FIXED: usize = 512;
        FIXED
            + match self {
                Self::Response(new) => {
                    let output = map_bytes(&new.output.set) + new.bytes_beside();
                    map_bytes(new.example.fields()) + output
                }
                Self::Row(row) => match &row.outcome {
                    NewOutcome::Failed { example, .. } => map_bytes(example.fields()),
                    NewOutcome::Response(_) => 0,
                },
                Self::Scores(new) => new.scores.bytes(),
            }
    }
}
