//! Paired comparison: whether the difference between a system and its baseline is real.
//!
//! From rows, of one result or of several stored runs, to a [`RunComparison`]: examples are
//! matched, differences estimated and tested, and what they show is put into a sentence. The
//! statistics are those of `context-bench-scoring` (`docs/reference/statistics.md`); here is only
//! what they are fed with. Nothing here knows reports, stores or plans.

mod columns;
mod compare;
mod difference;
mod estimate;
mod flip;
mod group;
mod measure;
mod pairing;
mod run_comparison;
mod sentence;
mod settings;

pub use columns::{ScoreColumns, compare_columns};
pub use compare::{ComparedRows, compare, compare_pairs};
pub use difference::{
    Difference, Equivalence, Filled, FlipCounts, MeasureKind, MissingScores, PairedTest, Relative,
    Scope,
};
pub use flip::{Flip, FlipDirection};
pub use group::{GroupMember, GroupShape};
pub use pairing::ContentKey;
pub(crate) use pairing::{Pairing, by_key};
pub use run_comparison::{COMPARISON_FORMAT, Matched, RunComparison, SystemComparison};
pub(crate) use sentence::{bare_change, change, no_difference};

pub use settings::ComparisonSettings;
