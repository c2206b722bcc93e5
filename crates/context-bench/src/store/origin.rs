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
