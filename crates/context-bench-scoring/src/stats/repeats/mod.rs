//! Repeats: how much of what differs is chance of the same system asked again.

mod noise_floor;
mod variance;

pub use noise_floor::{NoiseFloor, noise_floor};
pub use variance::{VarianceComponents, variance_components};
