//! The runner: examples through systems and evaluators into rows.
//!
//! It knows traits, not implementations. Calls of systems run on the caller's
//! runtime; token counting and scoring run on a runtime of their own, so that
//! CPU work never delays a reply that is being timed.

mod asked_elsewhere;
mod attempt;
mod breaker;
mod collector;
mod decisions;
mod dispatch;
mod event;
mod feed;
mod prepared;
mod queue;
mod reuse;
mod scoring;
mod stop;
mod store_read_failures;
mod timed;
mod token_scores;
mod unanswered_rows;
mod wiring;
mod work;
mod workers;

pub use asked_elsewhere::AskedElsewhere;
pub use event::{NoProgress, Progress, RunEvent};
pub use stop::Stop;
pub use workers::MaxWorkers;

pub(crate) use decisions::{Decision, StopWhenDecided};
pub(crate) use dispatch::{Outcome, RunSettings, run};
pub(crate) use reuse::{Reuse, ReuseSettings};
pub(crate) use scoring::{is_inapplicable, unscored, without_reasoning};
pub(crate) use token_scores::read as read_token_scores;
pub(crate) use unanswered_rows::{StoredFailure, UnansweredRows};
pub(crate) use wiring::Wiring;
