//! Statistics: means with standard errors, 95 % confidence intervals, percentiles, pass@k,
//! AlpacaEval's length-controlled win rates, and paired comparisons of systems
//! (`docs/reference/statistics.md`).
//!
//! Pure functions over slices; nothing here knows rows or metrics. Distributions come from
//! `statrs`, whose types appear in no signature.

mod distribution;
mod error;
mod interval;
mod length_control;
mod mean;
mod paired;
mod pass_at_k;
mod quantile;
mod repeats;
mod resampling;
mod sequential;
mod sweep;
mod verdict;

pub use error::StatsError;
pub use interval::{mean_interval, share_interval, wilson_interval};
pub use length_control::{JudgedPair, length_controlled};
pub use mean::{Mean, clustered_mean, mean};
pub use paired::{Discordance, McNemarTest, PairedDifferences, PairedScores, holm};
pub use pass_at_k::pass_at_k;
pub use quantile::{median, percentile};
pub use repeats::{NoiseFloor, VarianceComponents, noise_floor, variance_components};
pub use resampling::{BootstrapInterval, RandomStream, Resampling, SignFlipTest};
pub use sequential::{ConfidenceSequence, DifferenceMonitor};
pub use sweep::{
    ArmVerdict, Contender, CurvePoint, EqualCompression, SweepArea, SweepCurve, SweepExamples,
    at_equal_compression, front_probabilities, smallest_context,
};
pub use verdict::{
    EquivalenceTest, NonInferiority, NonInferiorityTest, SampleSize, Verdict, equivalence,
};
