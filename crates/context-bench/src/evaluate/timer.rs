//! `Timer`: ends a run when its time is over.

use std::sync::Arc;
use std::time::Duration;

use crate::runner::{Progress, RunEvent, Stop};

/// How long what is in flight may go on after the time of a run is over.
const GRACE: Duration = Duration::from_secs(30);

/// A task that ends with its owner.
pub(super) struct Timer(tokio::task::JoinHandle<()>);

impl Timer {
    /// Stops the run after `limit`, and what is in flight some time later.
    pub(super) fn start(limit: Duration, stop: Stop, progress: Arc<dyn Progress>) -> Self {
        Self(tokio::spawn(async move {
            tokio::time::sleep(limit).await;
            progress.on_event(&RunEvent::TimeIsOver);
            stop.time_is_over();
            tokio::time::sleep(GRACE).await;
            stop.abort();
        }))
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        self.0.abort();
    }
}
