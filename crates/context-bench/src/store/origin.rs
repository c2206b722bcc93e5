//! `Origin`: what a run set out to do, and which run it was made of.
//!
//! Kept with the settings of the run, so that a part of it is never taken for the
//! whole: how many rows there should be is known however few there are.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::run::RunStatus;

/// The member of a run's settings.
const MEMBER: &str = "origin";

/// What a run set out to do, and which run it was made of.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Origin {
    /// Rows that each system should get; `None` when that was not known beforehand.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub planned: Option<usize>,
    /// The run whose answers were rescored.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<SourceRun>,
    /// Which part of a larger run this one is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shard: Option<ShardOrigin>,
    /// What a run that shards were merged into is made of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub merge: Option<MergeOrigin>,
}

/// Which part of a larger run a run is.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ShardOrigin {
    /// The number of the shard, from 0.
    pub index: u32,
    /// How many shards the run has.
    pub count: u32,
    /// The id of the plan that all shards share.
    pub plan: String,
    /// What the plan id is made of, by name, to say what differs.
    pub parts: Map<String, Value>,
    /// The data of the whole run; known once a shard has read all of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<WholeData>,
}

impl ShardOrigin {
    /// What a run is that has it, in words.
    pub fn described(&self) -> String {
        format!("is shard {}/{} of a larger run", self.index, self.count)
    }
}

/// The data of a whole run, of which shards are parts.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct WholeData {
    /// Examples, before they are repeated.
    pub examples: u64,
    /// Rows that every system should get.
    pub rows: u64,
    /// Digest of the keys of all examples, in their order.
    pub digest: String,
}

/// What a run that shards were merged into is made of.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct MergeOrigin {
    /// The id of the plan that all shards share.
    pub plan: String,
    /// What the plan id is made of, by name.
    pub parts: Map<String, Value>,
    /// The data of the whole run, once a shard has read all of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<WholeData>,
    /// How many shards the run has.
    pub shards: u32,
    /// The shards that are not there, or did not finish.
    pub missing: Vec<u32>,
    /// Rows that are there, over all systems.
    pub rows: u64,
    /// Rows among them that failed.
    pub failed: u64,
    /// Rows that should be there, over all systems, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rows_planned: Option<u64>,
}

impl MergeOrigin {
    /// Whether every row is there.
    pub fn is_whole(&self) -> bool {
        self.rows_planned == Some(self.rows)
    }

    /// How much is there, such as `61 of 64 shards, 93 % of rows`.
    pub fn coverage(&self) -> String {
        let done = u64::from(self.shards).saturating_sub(self.missing.len() as u64);
        let shards = format!("{done} of {} shards", self.shards);
        match self.rows_planned {
            // Rounded down: a part is never called the whole.
            Some(planned) if planned > 0 => {
                let share = u128::from(self.rows) * 100 / u128::from(planned);
                format!("{shards}, {share} % of rows")
            }
            _ => format!("{shards}, {} rows", self.rows),
        }
    }
}

/// A stored run that another one was made of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceRun {
    /// Its id.
    pub run: String,
    /// How it had ended by then, in words: [`RunStatus::ending`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unfinished: Option<String>,
}

impl Origin {
    /// Reads it from the settings of a run; earlier versions kept nothing.
    pub(super) fn of(config: &Map<String, Value>) -> Self {
        let known = config.get(MEMBER).map(Self::deserialize);
        known.and_then(Result::ok).unwrap_or_default()
    }

    /// Writes it into the settings of a run.
    pub(super) fn put(&self, config: &mut Map<String, Value>) {
        if *self != Self::default()
            && let Ok(value) = serde_json::to_value(self)
        {
            config.insert(MEMBER.into(), value);
        }
    }

    /// How it stands in the settings of a run, for those who change it later.
    pub(crate) fn note(&self) -> Option<(&'static str, Value)> {
        let value = serde_json::to_value(self).ok()?;
        Some((MEMBER, value))
    }

    /// Takes it out of settings that are to be shown.
    pub fn take(config: &mut Map<String, Value>) {
        config.shift_remove(MEMBER);
    }
}

impl RunStatus {
    /// How a run that did not finish ended, in words; `None` for one that did.
    pub fn ending(self) -> Option<&'static str> {
        Some(match self {
            Self::Finished => return None,
            Self::Running => "is still running",
            Self::Killed => "was killed",
            Self::Interrupted => "was interrupted",
            Self::Failed => "ended by an error",
        })
    }
}
