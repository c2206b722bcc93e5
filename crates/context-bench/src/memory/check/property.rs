//! `Property`: what a memory has to hold, and `Stage`: how it is put to use meanwhile.

use std::fmt;

use serde::{Serialize, Serializer};

/// What a memory has to hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Property {
    /// No call fails.
    Works,
    /// It says what it was told.
    Remembers,
    /// It says nothing of a conversation that it was told to forget.
    ResetForgets,
    /// Of what was corrected it says what it was told last.
    LatestWins,
    /// It says nothing of the conversation of another instance.
    NoLeak,
    /// Asked twice, it says the same.
    Repeatable,
    /// It rests its answers on no more tokens than it may.
    BudgetRespected,
    /// It says the same after its state was saved and loaded.
    StateSurvives,
}

impl Property {
    /// All of them, in the order of reports.
    pub const ALL: [Self; 8] = [
        Self::Works,
        Self::Remembers,
        Self::ResetForgets,
        Self::LatestWins,
        Self::NoLeak,
        Self::Repeatable,
        Self::BudgetRespected,
        Self::StateSurvives,
    ];

    /// The name as written in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Works => "works",
            Self::Remembers => "remembers",
            Self::ResetForgets => "reset forgets",
            Self::LatestWins => "latest wins",
            Self::NoLeak => "no leak",
            Self::Repeatable => "repeatable",
            Self::BudgetRespected => "budget respected",
            Self::StateSurvives => "state survives",
        }
    }
}

impl fmt::Display for Property {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl Serialize for Property {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.as_str().replace(' ', "_"))
    }
}

/// A way of using a memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Stage {
    /// One instance takes in one conversation after the other.
    OneAfterTheOther,
    /// Several instances hold conversations and are asked in turn.
    Interleaved,
    /// Several instances are used at the same time.
    Parallel,
    /// What was taken in is saved and loaded by others.
    SavedAndLoaded,
}

impl Stage {
    /// All of them, in the order in which they are run.
    pub const ALL: [Self; 4] = [
        Self::OneAfterTheOther,
        Self::Interleaved,
        Self::Parallel,
        Self::SavedAndLoaded,
    ];

    /// The name as written in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::OneAfterTheOther => "one after the other",
            Self::Interleaved => "interleaved",
            Self::Parallel => "in parallel",
            Self::SavedAndLoaded => "saved and loaded",
        }
    }
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl Serialize for Stage {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.as_str().replace(' ', "_"))
    }
}
