//! Drawing again from what was measured: seeded, on many threads, and the same to the bit
//! however many there are. Every resample has a random stream of its own ([`RandomStream`]) and
//! a place of its own in the outcome, so no order of threads can show.

mod binomial_draw;
mod bootstrap;
mod cells;
mod joint;
mod random_stream;
mod sign_flip;
mod threads;

use std::num::NonZeroUsize;

pub use bootstrap::BootstrapInterval;
pub(super) use bootstrap::{bca, quantile};
pub(super) use cells::Unit;
pub(super) use joint::JointResamples;
pub use random_stream::RandomStream;
pub use sign_flip::SignFlipTest;
pub(super) use sign_flip::sign_flip;

/// How often to draw, from which seed, and on how many threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Resampling {
    /// How many resamples, at least one.
    pub resamples: usize,
    /// The same seed gives the same resamples.
    pub seed: u64,
    /// How many threads; `None` for as many as the machine has cores. The outcome is the same.
    pub threads: Option<NonZeroUsize>,
}

impl Default for Resampling {
    fn default() -> Self {
        Self {
            resamples: 10_000,
            seed: 0,
            threads: None,
        }
    }
}

impl Resampling {
    /// The default number of resamples from a seed.
    pub fn seeded(seed: u64) -> Self {
        Self {
            seed,
            ..Self::default()
        }
    }

    /// `draw` for each resample, with the stream that belongs to it.
    fn each<T: Send + Default + Clone>(
        &self,
        draw: impl Fn(&mut RandomStream) -> T + Sync,
    ) -> Vec<T> {
        threads::in_order(self.resamples.max(1), self.threads, |at| {
            draw(&mut RandomStream::new(self.seed, at as u64))
        })
    }
}
