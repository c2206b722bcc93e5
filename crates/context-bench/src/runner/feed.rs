//! The feed: reads the dataset on a thread of its own, a few examples ahead.
//!
//! The thread may block, so this is also where the store is asked what it
//! already holds for each example.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::prepared::Prepared;
use super::queue::{Abandoned, Queue};
use super::reuse::Reuse;
use super::wiring::Wiring;
use crate::dataset::{Dataset, DatasetError, Used};

/// How many examples are read ahead of the systems.
const AHEAD: usize = 256;
/// How many bytes of examples are read ahead; one example always is.
const AHEAD_BYTES: usize = 32 << 20;
/// How many examples are looked up in the store at once, in the beginning …
const LOOK_UP: usize = 64;
/// … and once everything is found. Between two look-ups others may write to the
/// store, and a reader then forgets all that it had read.
const MAX_LOOK_UP: usize = 4096;
/// Examples of this size together are looked up without waiting for more.
const LOOK_UP_BYTES: usize = 8 << 20;
/// So are those that took this long to read.
const LOOK_UP_TIME: Duration = Duration::from_millis(50);

/// What the feed reads and asks.
pub(super) struct Feed {
    pub(super) dataset: Dataset,
    pub(super) max_examples: Option<usize>,
    pub(super) reuse: Option<Arc<Reuse>>,
    pub(super) wiring: Arc<Wiring>,
    pub(super) used: Used,
}

pub(super) type Fed = Result<Arc<Prepared>, DatasetError>;

impl Feed {
    /// Starts reading. The queue ends with the dataset, or after its first error.
    pub(super) fn start(self) -> std::io::Result<Arc<Queue<Fed>>> {
        let queue = Arc::new(Queue::new(AHEAD, AHEAD_BYTES));
        let end = End(Arc::clone(&queue));
        // A plain thread and not a blocking task: a dataset that waits forever (a
        // pipe, user code) must not keep the runtime from shutting down.
        std::thread::Builder::new()
            .name("dataset".into())
            .spawn(move || {
                // An error means that the run is over; then nobody misses the rest.
                let _ = self.read(&end.0);
                drop(end);
            })?;
        Ok(queue)
    }

    fn read(self, queue: &Queue<Fed>) -> Result<(), Abandoned> {
        // Looking up many at once costs less; but from a dataset that may wait
        // (its length is unknown) each example goes on as soon as it is there.
        let (first, most) = match (&self.reuse, self.dataset.known_len()) {
            (Some(_), Some(_)) => (LOOK_UP, MAX_LOOK_UP),
            _ => (1, 1),
        };
        let mut at_once = first;
        let mut tag: Arc<str> = "".into();
        let limit = self.max_examples.unwrap_or(usize::MAX);
        let mut examples = self.dataset.into_iter().take(limit).enumerate();
        let mut ended = false;
        while !ended {
            let mut batch = Vec::new();
            let mut sizes = Vec::new();
            let mut bytes = 0;
            let mut broken = None;
            let began = Instant::now();
            while batch.len() < at_once
                && bytes < LOOK_UP_BYTES
                && (batch.is_empty() || began.elapsed() < LOOK_UP_TIME)
            {
                match examples.next() {
                    None => ended = true,
                    Some((_, Err(error))) => {
                        broken = Some(error);
                        ended = true;
                    }
                    Some((position, Ok(example))) => {
                        self.used.note(&example);
                        sizes.push(example.fields().values().map(size).sum());
                        bytes += sizes.last().unwrap_or(&0);
                        batch.push(Prepared::new(example, position, &mut tag));
                    }
                }
                if ended {
                    break;
                }
            }
            if let Some(reuse) = &self.reuse {
                reuse.look_up(&mut batch, &self.wiring);
                let nothing_to_do = batch.iter().all(Prepared::is_stored_whole);
                at_once = if nothing_to_do {
                    (2 * at_once).min(most)
                } else {
                    first
                };
            }
            for (prepared, size) in batch.into_iter().zip(sizes) {
                queue.push(Ok(Arc::new(prepared)), size)?;
            }
            if let Some(error) = broken {
                queue.push(Err(error), 0)?;
            }
        }
        Ok(())
    }
}

/// Ends the queue when the thread ends, also by a panic of the dataset.
struct End(Arc<Queue<Fed>>);

impl Drop for End {
    fn drop(&mut self) {
        self.0.end();
    }
}

/// About how many bytes of memory a value takes.
fn size(value: &Value) -> usize {
    size_of::<Value>()
        + match value {
            Value::String(text) => text.len(),
            Value::Array(items) => items.iter().map(size).sum(),
            Value::Object(fields) => fields.values().map(size).sum(),
            _ => 0,
        }
}
