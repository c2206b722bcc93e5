//! Many arms over the same examples: quality against tokens, and who is on the Pareto front.

mod curve;
mod equal_compression;
mod examples;
mod pareto;
mod smallest_context;

pub use curve::{CurvePoint, SweepArea, SweepCurve};
pub use equal_compression::{EqualCompression, at_equal_compression};
pub use examples::SweepExamples;
pub use pareto::{Contender, front_probabilities};
pub use smallest_context::{ArmVerdict, smallest_context};
