//! Numbers about numbers: means, errors, intervals, quantiles.
//!
//! Pure functions over slices; nothing here knows rows or metrics.

mod interval;
mod length_control;
mod mean;
mod pass_at_k;
mod quantile;

pub use interval::share_interval;
pub use interval::{mean_interval, wilson_interval};
pub use length_control::{JudgedPair, length_controlled};
pub use mean::clustered_mean;
pub use mean::{Mean, mean};
pub use pass_at_k::pass_at_k;
pub use quantile::{median, percentile};
