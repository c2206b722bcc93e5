//! Verdicts about a difference and a margin, and how many examples they take.

mod equivalence;
mod non_inferiority;
mod sample_size;
mod wording;

pub use equivalence::{EquivalenceTest, equivalence};
pub use non_inferiority::{NonInferiority, NonInferiorityTest};
pub use sample_size::SampleSize;
pub use wording::Verdict;
