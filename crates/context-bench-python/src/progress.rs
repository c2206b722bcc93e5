//! Progress of a run: counted by the run, shown by the calling thread.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use context_bench::{Progress, RunEvent};
use context_bench_scoring::text::visible::visible_line;
use pyo3::prelude::*;

/// How often the display is updated.
const EVERY: Duration = Duration::from_millis(100);

/// Finished and failed rows per system.
#[derive(Default)]
pub(crate) struct ProgressCounts(Mutex<State>);

#[derive(Default, Clone)]
struct State {
    systems: Vec<String>,
    done: Vec<usize>,
    failed: Vec<usize>,
    timeouts: Vec<usize>,
    /// Rows whose answer was reused from an earlier run.
    reused: usize,
    planned: Option<usize>,
}

impl Progress for ProgressCounts {
    fn on_event(&self, event: &RunEvent<'_>) {
        let mut state = self.0.lock().unwrap_or_else(|e| e.into_inner());
        match event {
            RunEvent::Started { systems, planned } => {
                let shown = |name: &std::sync::Arc<str>| visible_line(name).into_owned();
                state.systems = systems.iter().map(shown).collect();
                state.done = vec![0; systems.len()];
                state.failed = vec![0; systems.len()];
                state.timeouts = vec![0; systems.len()];
                state.planned = *planned;
            }
            RunEvent::RowFinished { system, row } => {
                if let Some(done) = state.done.get_mut(*system) {
                    *done += 1;
                }
                state.reused += usize::from(row.cached);
                if let Some(failed) = state.failed.get_mut(*system) {
                    *failed += usize::from(!row.is_completed());
                }
            }
            RunEvent::TimedOut { system } => {
                if let Some(timeouts) = state.timeouts.get_mut(*system) {
                    *timeouts += 1;
                }
            }
            _ => {}
        }
    }
}

/// Shows the counts through a `context_bench._progress.Display`.
pub(crate) struct ProgressDisplay<'py> {
    display: Option<Bound<'py, PyAny>>,
    last: Instant,
}

impl<'py> ProgressDisplay<'py> {
    pub(crate) fn new(display: Option<Bound<'py, PyAny>>) -> Self {
        Self {
            display,
            last: Instant::now(),
        }
    }

    /// Updates the display if that is due.
    pub(crate) fn update(&mut self, counts: &ProgressCounts) -> PyResult<()> {
        let Some(display) = &self.display else {
            return Ok(());
        };
        if self.last.elapsed() < EVERY {
            return Ok(());
        }
        self.last = Instant::now();
        let state = counts.0.lock().unwrap_or_else(|e| e.into_inner()).clone();
        let State {
            systems,
            done,
            failed,
            timeouts,
            reused,
            planned,
        } = state;
        display.call_method1("update", (systems, done, failed, planned, timeouts, reused))?;
        Ok(())
    }

    /// Removes the display.
    pub(crate) fn close(&self) -> PyResult<()> {
        match &self.display {
            Some(display) => display.call_method0("close").map(drop),
            None => Ok(()),
        }
    }
}
