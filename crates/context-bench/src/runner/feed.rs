//! The feed: reads the dataset on a thread of its own, a few examples ahead.
//!
//! The thread may block, so this is also where stored answers are looked up
//! for each example.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use super::prepared::Prepared;
use super::queue::{Abandoned, Queue};
use super::reuse::Reuse;
use super::wiring::Wiring;
use crate::dataset::{Dataset, DatasetError, UsedDatasets};
use crate::memory::History;
use crate::model::Example;
use context_bench_records::map_bytes;

/// How many examples are read ahead of the systems.
const AHEAD: usize = 256;
/// How many bytes of examples are read ahead; one example always is.
const AHEAD_BYTES: usize = 32 << 20;
/// How many examples are looked up in the store at once, in the beginning …
const LOOK_UP: usize = 64;
/// … and once everything is found. Between two look-ups others may write to the
/// store, and a reader then forgets everything that it had read.
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
    pub(super) used: UsedDatasets,
}

pub(super) type Fed = Result<Arc<Prepared>, DatasetError>;

impl Feed {
    /// Starts reading. The queue ends with the dataset, or after its first error.
    pub(super) fn start(self) -> std::io::Result<Arc<Queue<Fed>>> {
        let queue = Arc::new(Queue::new(AHEAD, AHEAD_BYTES));
        let delivery = Delivery {
            // From a dataset that may wait (its length is unknown) each example
            // goes on as soon as it is there.
            most: match (&self.reuse, self.dataset.known_len()) {
                (Some(_), Some(_)) => MAX_LOOK_UP,
                _ => 1,
            },
            at_once: AtomicUsize::new(1),
            reuse: self.reuse.clone(),
            wiring: Arc::clone(&self.wiring),
            queue: Arc::clone(&queue),
        };
        // A plain thread and not a blocking task: a dataset that waits forever (a
        // pipe, user code) must not keep the runtime from shutting down.
        std::thread::Builder::new()
            .name("dataset".into())
            .spawn(move || {
                // An error means that the run is over, and the rest is not needed.
                let _ = self.read(delivery);
            })?;
        Ok(queue)
    }

    fn read(self, delivery: Delivery) -> Result<(), Abandoned> {
        let delivery = Arc::new(delivery);
        // Where much is found, looking up takes as long as reading: side by side.
        let beside = (delivery.most > 1)
            .then(|| Delivery::beside(&delivery))
            .flatten();
        let mut tag: Arc<str> = "".into();
        let limit = self.max_examples.unwrap_or(usize::MAX);
        let mut examples = self.dataset.into_iter().take(limit).enumerate();
        let mut ended = false;
        while !ended {
            let mut batch = Batch::default();
            let mut bytes = 0;
            let began = Instant::now();
            while batch.prepared.len() < delivery.at_once.load(Ordering::Relaxed)
                && bytes < LOOK_UP_BYTES
                && (batch.prepared.is_empty() || began.elapsed() < LOOK_UP_TIME)
            {
                match examples.next() {
                    None => ended = true,
                    Some((_, Err(error))) => {
                        batch.broken = Some(error);
                        ended = true;
                    }
                    Some((comes, Ok(example))) => {
                        let displacement = isize::try_from(example.displacement());
                        let position = comes.saturating_add_signed(displacement.unwrap_or(0));
                        self.used.note(&example);
                        let size = map_bytes(example.fields()) + shared_bytes(&example);
                        bytes += size;
                        batch.sizes.push(size);
                        let mut prepared = Prepared::new(example, position, &mut tag);
                        prepared.turn = comes;
                        // Here and not where it is needed: that thread has enough to do.
                        if let Some(reuse) = &self.reuse {
                            prepared.key = Some(reuse.key(&prepared.example, position));
                        }
                        batch.prepared.push(prepared);
                    }
                }
                if ended {
                    break;
                }
            }
            match &beside {
                Some(beside) => beside.send(batch).map_err(|_| Abandoned)?,
                None => delivery.deliver(batch)?,
            }
        }
        Ok(())
    }
}

/// Examples that are looked up together.
#[derive(Default)]
struct Batch {
    prepared: Vec<Prepared>,
    /// Their sizes in bytes.
    sizes: Vec<usize>,
    /// What ended the dataset after them.
    broken: Option<DatasetError>,
}

/// Looks batches up in the store and hands them on. The queue ends with it, even
/// when the dataset panics.
struct Delivery {
    reuse: Option<Arc<Reuse>>,
    wiring: Arc<Wiring>,
    queue: Arc<Queue<Fed>>,
    /// How many examples make a batch now, and at the most.
    at_once: AtomicUsize,
    most: usize,
}

impl Delivery {
    /// Delivers on a thread of its own; `None` when no thread can be started.
    fn beside(this: &Arc<Self>) -> Option<mpsc::SyncSender<Batch>> {
        let (sender, batches) = mpsc::sync_channel(1);
        let this = Arc::clone(this);
        let thread = std::thread::Builder::new().name("look-up".into());
        let started = thread.spawn(move || {
            // An error means that the run is over, and the reader is told by the
            // closed channel.
            let _ = batches
                .into_iter()
                .try_for_each(|batch| this.deliver(batch));
        });
        started.is_ok().then_some(sender)
    }

    fn deliver(&self, mut batch: Batch) -> Result<(), Abandoned> {
        if let Some(reuse) = &self.reuse {
            reuse.look_up(&mut batch.prepared, &self.wiring);
            let nothing_to_do = batch.prepared.iter().all(Prepared::is_stored_whole);
            let at_once = if nothing_to_do {
                (2 * self.at_once.load(Ordering::Relaxed)).max(LOOK_UP)
            } else {
                LOOK_UP
            };
            self.at_once
                .store(at_once.min(self.most), Ordering::Relaxed);
        }
        let prepared = batch.prepared.into_iter().map(Arc::new).map(Ok);
        self.queue.push_all(prepared.zip(batch.sizes))?;
        match batch.broken {
            Some(error) => self.queue.push(Err(error), 0),
            None => Ok(()),
        }
    }
}

impl Drop for Delivery {
    fn drop(&mut self) {
        self.queue.end();
    }
}

/// The part of an example in what it shares with others.
fn shared_bytes(example: &Example) -> usize {
    let history = History::of(example);
    history.map_or(0, |history| history.n_bytes / history.n_questions.max(1))
}
