//! What was seen while a memory was used; what it means is judged elsewhere.

use super::Stage;

/// Everything that was seen.
#[derive(Debug, Default)]
pub(super) struct Observations {
    pub(super) answers: Vec<Observation>,
    pub(super) troubles: Vec<Trouble>,
    /// Why stages were not run, or what cannot be seen in them.
    pub(super) skipped: Vec<(Stage, String)>,
    /// How many calls succeeded.
    pub(super) calls: usize,
    /// A state that was saved and that the memory did not take back: the story.
    pub(super) refused: Option<usize>,
}

impl Observations {
    /// Adds what was seen elsewhere.
    pub(super) fn extend(&mut self, other: Self) {
        self.answers.extend(other.answers);
        self.troubles.extend(other.troubles);
        self.skipped.extend(other.skipped);
        self.calls += other.calls;
        self.refused = self.refused.or(other.refused);
    }
}

/// A question and what the memory said.
#[derive(Debug, Clone)]
pub(super) struct Observation {
    pub(super) stage: Stage,
    /// The story that the instance has taken in.
    pub(super) story: usize,
    pub(super) asked: Asked,
    pub(super) purpose: Purpose,
    /// The stories that the same instance took in earlier.
    pub(super) earlier_stories: Vec<usize>,
    pub(super) answer: String,
    /// The text that the answer rests on, when the memory shows it.
    pub(super) context: Option<String>,
    /// Whether another system answered from that text, which then is all that is the
    /// memory's own.
    pub(super) is_answered_by_system: bool,
    pub(super) context_tokens: Option<u64>,
}

/// What was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Asked {
    /// A fact of the story, by its place.
    Fact(usize),
    /// Something that only this other story tells.
    FactOf(usize),
}

/// What for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Purpose {
    /// To see what it says.
    Plain,
    /// To see whether it says the same as before.
    Repeat { before: String },
    /// To see whether it keeps to a budget.
    Budget { tokens: u64 },
    /// To see whether it says the same as before it was saved.
    AfterLoad { before: String },
}

/// A call that failed.
#[derive(Debug, Clone)]
pub(super) struct Trouble {
    pub(super) stage: Stage,
    pub(super) story: Option<usize>,
    /// What was called.
    pub(super) call: &'static str,
    pub(super) question: Option<String>,
    pub(super) message: String,
}
