//! The check of memories: whether one keeps conversations apart, forgets when it is told
//! to, and says what it was told last.
//!
//! Conversations with conflicting facts are taken in one after the other, interleaved over
//! several instances, in parallel, and saved and loaded. Answers are judged by the values
//! in them, which nobody would say by chance, so that it makes no difference whether they
//! are cut out of the text or written by a model.

mod judge;
mod lane;
mod observation;
mod property;
mod report;
mod story;
mod usage;

pub use property::{Property, Stage};
pub use report::{CheckReport, Offence, PropertyReport, Verdict};

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use self::story::Stories;
use self::usage::Usage;
use super::MemoryProvider;

/// How a memory is checked.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct CheckSettings {
    /// How many conversations each stage has; 10 unless set, at least 2 and at most 24.
    pub conversations: usize,
    /// How many instances are used side by side; 4 unless set, at least 2.
    pub instances: usize,
    /// The budget under which questions are asked; 40 unless set, less than a conversation
    /// has.
    pub budget_tokens: u64,
    /// The share of questions, in every stage, to which it must say what it was told; 0.8
    /// unless set, because models miss one now and then.
    pub remembers: f64,
    /// Decides the values in the conversations.
    pub seed: u64,
}

impl Default for CheckSettings {
    fn default() -> Self {
        Self {
            conversations: 10,
            instances: 4,
            budget_tokens: 40,
            remembers: 0.8,
            seed: 0,
        }
    }
}

/// How far a check is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CheckProgress {
    /// What is being done.
    pub stage: Stage,
    /// Questions asked so far.
    pub asked: usize,
    /// Questions to ask, when no call fails and every stage can be run.
    pub planned: usize,
}

/// Is told of every question.
pub type OnCheckProgress = Arc<dyn Fn(CheckProgress) + Send + Sync>;

/// Checks a memory. Calls that fail are part of the report. Dropping the future ends what is
/// under way and closes the instances.
pub async fn check_memory(
    provider: Arc<dyn MemoryProvider>,
    settings: CheckSettings,
    on_progress: OnCheckProgress,
) -> CheckReport {
    let settings = CheckSettings {
        conversations: settings.conversations.clamp(2, story::MOST),
        instances: settings.instances.clamp(2, story::MOST),
        ..settings
    };
    let per_stage = |stage| match stage {
        // One that is saved and one that is in the way.
        Stage::SavedAndLoaded => 2,
        _ => settings.conversations,
    };
    let usage = Arc::new(Usage {
        stories: Stories::new(settings.seed, per_stage),
        provider,
        settings,
        on_progress,
        asked: AtomicUsize::new(0),
    });
    let seen = usage.observe().await;
    CheckReport {
        memory: usage.provider.name().to_owned(),
        seed: usage.settings.seed,
        conversations: usage.settings.conversations,
        questions: seen.answers.len(),
        properties: judge::judge(&usage.stories, &seen, usage.settings.remembers),
    }
}
