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

/// A handle that ends a run early. Clones share their state.
#[derive(Debug, Clone)]
pub struct Stop {
    level: Arc<watch::Sender<Level>>,
}

impl Stop {
    /// A handle that has not been used yet.
    pub fn new() -> Self {
        Self {
            level: Arc::new(watch::Sender::new(Level::Run)),
        }
    }

    /// Starts nothing new, finishes what is in flight.
    pub fn drain(&self) {
        self.raise(Level::Drain);
    }

    /// Drops what is in flight.
    pub fn abort(&self) {
        self.raise(Level::Abort);
    }

    /// Whether the run was asked to end early.
    pub fn is_stopped(&self) -> bool {
        *self.level.borrow() != Level::Run
    }

    fn raise(&self, level: Level) {
        self.level.send_if_modified(|current| {
            let raised = level > *current;
            *current = level.max(*current);
            raised
        });
    }

    /// Waits until the run shall start nothing new.
    pub(super) async fn draining(&self) {
        self.reached(Level::Drain).await;
    }

    /// Waits until work in flight shall be dropped.
    pub(super) async fn aborted(&self) {
        self.reached(Level::Abort).await;
    }

    async fn reached(&self, level: Level) {
        // The sender lives in `self`, so the channel cannot close while we wait.
        let mut receiver = self.level.subscribe();
        let _ = receiver.wait_for(|current| *current >= level).await;
    }
}

impl Default for Stop {
    fn default() -> Self {
        Self::new()
    }
}
