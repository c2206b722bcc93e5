//! What a run reports while it works. The runner never prints; sinks do.

use std::sync::Arc;

use crate::model::EvalRow;

/// Something that happened in a run.
#[derive(Debug)]
#[non_exhaustive]
pub enum RunEvent<'a> {
    /// The run begins.
    Started {
        /// Names of the systems, in order.
        systems: &'a [Arc<str>],
        /// Rows planned per system, when known in advance.
        planned: Option<usize>,
    },
    /// A row is done: scored, unscored or failed.
    RowFinished {
        /// Index of the system.
        system: usize,
        /// The row.
        row: &'a EvalRow,
    },
    /// An attempt took too long; it may be tried again.
    TimedOut {
        /// Index of the system.
        system: usize,
    },
    /// The time of the run is over; what is in flight is finished.
    TimeIsOver,
    /// No further row will come.
    Finished,
}

/// Receives the events of a run, one at a time, in the order in which they happen.
pub trait Progress: Send + Sync {
    /// Takes note of an event. Must be quick: the run waits for it.
    fn on_event(&self, event: &RunEvent<'_>);
}

/// Ignores all events.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoProgress;

impl Progress for NoProgress {
    fn on_event(&self, _: &RunEvent<'_>) {}
}

impl<F: Fn(&RunEvent<'_>) + Send + Sync> Progress for F {
    fn on_event(&self, event: &RunEvent<'_>) {
        self(event);
    }
}

impl Progress for Box<dyn Progress> {
    fn on_event(&self, event: &RunEvent<'_>) {
        (**self).on_event(event);
    }
}
