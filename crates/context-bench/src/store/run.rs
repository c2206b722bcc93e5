//! Runs: who asked for what, and which responses it got.
//!
//! A run owns no responses; its rows refer to them. Removing a run removes what
//! only it refers to. Summaries are not stored: they follow from the rows. How runs
//! lie in the file is in `run_table.rs`.

use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

use serde_json::{Map, Value, json};

use super::key::Key;
use super::origin::Origin;
use crate::model::Identity;

/// The name of a run, such as `20261115-204012-3f9a`: sorts by time.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RunId(pub(super) Arc<str>);

impl RunId {
    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A run that rows can be put under. Cheap to clone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    pub(super) number: i64,
    pub(super) id: RunId,
}

impl Run {
    /// The name of the run.
    pub fn id(&self) -> &RunId {
        &self.id
    }
}

/// A system as the store knows it: `kind` and `settings` make its key.
#[derive(Debug, Clone, PartialEq)]
pub struct SystemEntry {
    /// The name that reports show; not part of the key.
    pub name: String,
    /// The kind of system, such as `openai`.
    pub kind: String,
    /// Every setting that can change an answer. Never holds a key.
    pub settings: Value,
}

impl SystemEntry {
    /// The entry of a system with that name and identity.
    pub fn new(name: impl Into<String>, identity: Identity) -> Self {
        Self {
            name: name.into(),
            kind: identity.kind,
            settings: json!({
                "version": identity.version,
                "settings": identity.settings,
            }),
        }
    }

    /// The content address of the system.
    pub fn key(&self) -> Key {
        Key::system(&self.kind, &self.settings)
    }
}

/// An evaluator as the store knows it; all of it makes its key.
#[derive(Debug, Clone, PartialEq)]
pub struct EvaluatorEntry {
    /// The name of the evaluator.
    pub name: String,
    /// Its version: raised when it gives other scores for the same input.
    pub version: u32,
    /// Every setting that can change a score. Never holds a key.
    pub settings: Value,
}

impl EvaluatorEntry {
    /// The entry of an evaluator with that name and identity.
    pub fn new(name: impl Into<String>, identity: Identity) -> Self {
        Self {
            name: name.into(),
            version: identity.version,
            settings: identity.settings,
        }
    }

    /// The content address of the evaluator.
    pub fn key(&self) -> Key {
        Key::scorer(&self.name, self.version, &self.settings)
    }
}

/// What is stored when a run begins.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct RunStart {
    /// The command line, without keys.
    pub command: String,
    /// The resolved settings, enough to explain the run later.
    pub config: Map<String, Value>,
    /// The systems in their order.
    pub systems: Vec<SystemEntry>,
    /// The evaluators in their order.
    pub scorers: Vec<EvaluatorEntry>,
    /// How much is planned, and what the run is made of.
    pub origin: Origin,
}

/// How far a run got.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum RunStatus {
    /// Begun, and somebody works on it.
    Running,
    /// Begun, and whoever worked on it is gone. It is stored as `running`: nobody was
    /// left to say otherwise.
    Killed,
    /// Went through to its end.
    Finished,
    /// Stopped before its end.
    Interrupted,
    /// Ended by an error.
    Failed,
}

impl RunStatus {
    /// The status as it is stored.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Killed => "killed",
            Self::Finished => "finished",
            Self::Interrupted => "interrupted",
            Self::Failed => "failed",
        }
    }

    pub(super) fn parse(text: &str) -> Option<Self> {
        [
            Self::Running,
            Self::Finished,
            Self::Interrupted,
            Self::Failed,
        ]
        .into_iter()
        .find(|status| status.as_str() == text)
    }
}

/// A run in the store.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct StoredRun {
    /// The run, for putting and reading rows.
    pub run: Run,
    /// When it began.
    pub created_at: SystemTime,
    /// When it ended, if it did.
    pub finished_at: Option<SystemTime>,
    /// How far it got.
    pub status: RunStatus,
    /// The command line.
    pub command: String,
    /// The resolved settings.
    pub config: Map<String, Value>,
    /// The systems in their order.
    pub systems: Vec<SystemEntry>,
    /// The evaluators in their order.
    pub scorers: Vec<EvaluatorEntry>,
    /// Rows stored so far.
    pub n_rows: u64,
}

impl StoredRun {
    /// How much was planned, and what the run is made of.
    pub fn origin(&self) -> Origin {
        Origin::of(&self.config)
    }
}

/// What the removal of a run removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Removed {
    /// Rows of the run.
    pub rows: u64,
    /// Responses that no other run refers to.
    pub responses: u64,
    /// Examples that nothing refers to any more.
    pub examples: u64,
    /// Bytes inside the file that became free. Later runs use them again;
    /// [`Store::compact`](super::Store::compact) gives them back.
    pub bytes: u64,
}
