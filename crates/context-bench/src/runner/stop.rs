//! `Stop`: asks a run to end early, gently or at once.

use std::sync::Arc;

use tokio::sync::watch;

/// How far a run should go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    Run,
    Drain,
    Abort,
}

/// The state of a run's end.
#[derive(Debug, Clone, Copy)]
struct State {
    level: Level,
    /// Whether the first reason was that its time is over.
    out_of_time: bool,
}

/// A handle that ends a run early. Clones share their state.
#[derive(Debug, Clone)]
pub struct Stop {
    state: Arc<watch::Sender<State>>,
}

impl Stop {
    /// A handle that has not been used yet.
    pub fn new() -> Self {
        let state = State {
            level: Level::Run,
            out_of_time: false,
        };
        Self {
            state: Arc::new(watch::Sender::new(state)),
        }
    }

    /// Starts nothing new, finishes what is in flight.
    pub fn drain(&self) {
        self.raise(Level::Drain, false);
    }

    /// The same, because the time of the run is over.
    pub fn time_is_over(&self) {
        self.raise(Level::Drain, true);
    }

    /// Drops what is in flight.
    pub fn abort(&self) {
        self.raise(Level::Abort, false);
    }

    /// Whether the run was asked to end early.
    pub fn is_stopped(&self) -> bool {
        self.state.borrow().level != Level::Run
    }

    /// Whether it was asked to end because its time is over, and for no other reason
    /// before that.
    pub fn is_out_of_time(&self) -> bool {
        self.state.borrow().out_of_time
    }

    fn raise(&self, level: Level, out_of_time: bool) {
        self.state.send_if_modified(|current| {
            let raised = level > current.level;
            if current.level == Level::Run {
                current.out_of_time = out_of_time;
            }
            current.level = level.max(current.level);
            raised
        });
    }

    /// Waits until the run should start nothing new.
    pub(super) async fn draining(&self) {
        self.reached(Level::Drain).await;
    }

    /// Waits until work in flight should be dropped.
    pub(super) async fn aborted(&self) {
        self.reached(Level::Abort).await;
    }

    async fn reached(&self, level: Level) {
        // The sender lives in `self`, so the channel cannot close while we wait.
        let mut receiver = self.state.subscribe();
        let _ = receiver.wait_for(|current| current.level >= level).await;
    }
}

impl Default for Stop {
    fn default() -> Self {
        Self::new()
    }
}
