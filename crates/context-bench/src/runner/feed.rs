//! The feed: reads the dataset on a thread of its own, a few examples ahead.
//!
//! The thread may block, so this is also where the store is asked what it
//! already holds for each example.

use std::sync::Arc;

use tokio::sync::mpsc;

use super::prepared::Prepared;
use super::reuse::Reuse;
use super::wiring::Wiring;
use crate::dataset::{Dataset, DatasetError, Used};

/// How many examples are read ahead of the systems.
const AHEAD: usize = 64;
/// How many examples are looked up in the store at once.
const LOOK_UP: usize = 128;

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
    /// Starts reading. The channel ends with the dataset, or after its first error.
    pub(super) fn start(self) -> std::io::Result<mpsc::Receiver<Fed>> {
        let (sender, receiver) = mpsc::channel(AHEAD);
        // A plain thread and not a blocking task: a dataset that waits forever (a
        // pipe, user code) must not keep the runtime from shutting down.
        std::thread::Builder::new()
            .name("dataset".into())
            .spawn(move || self.read(&sender))?;
        Ok(receiver)
    }

    fn read(self, sender: &mpsc::Sender<Fed>) {
        // Looking up many at once costs less; but from a dataset that may wait
        // (its length is unknown) each example goes on as soon as it is there.
        let at_once = match (&self.reuse, self.dataset.known_len()) {
            (Some(_), Some(_)) => LOOK_UP,
            _ => 1,
        };
        let mut tag: Arc<str> = "".into();
        let limit = self.max_examples.unwrap_or(usize::MAX);
        let mut examples = self.dataset.into_iter().take(limit).enumerate();
        loop {
            let mut batch = Vec::new();
            let mut broken = None;
            while batch.len() < at_once {
                match examples.next() {
                    None => break,
                    Some((_, Err(error))) => {
                        broken = Some(error);
                        break;
                    }
                    Some((position, Ok(example))) => {
                        self.used.note(&example);
                        batch.push(Prepared::new(example, position, &mut tag));
                    }
                }
            }
            let ended = batch.len() < at_once;
            if let Some(reuse) = &self.reuse {
                reuse.look_up(&mut batch, &self.wiring);
            }
            let items = batch.into_iter().map(|prepared| Ok(Arc::new(prepared)));
            for item in items.chain(broken.map(Err)) {
                if sender.blocking_send(item).is_err() {
                    return;
                }
            }
            if ended {
                return;
            }
        }
    }
}
