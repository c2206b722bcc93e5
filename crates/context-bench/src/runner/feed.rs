//! The feed: reads the dataset on a thread of its own, a few examples ahead.

use std::sync::Arc;

use tokio::sync::mpsc;

use super::prepared::Prepared;
use crate::dataset::{Dataset, DatasetError};

/// How many examples are read ahead of the systems.
const AHEAD: usize = 64;

/// Starts reading. The channel ends with the dataset, or after its first error.
pub(super) fn start(
    dataset: Dataset,
    max_examples: Option<usize>,
) -> std::io::Result<mpsc::Receiver<Result<Arc<Prepared>, DatasetError>>> {
    let (sender, receiver) = mpsc::channel(AHEAD);
    // A plain thread and not a blocking task: a dataset that waits forever (a
    // pipe, user code) must not keep the runtime from shutting down.
    std::thread::Builder::new()
        .name("dataset".into())
        .spawn(move || {
            let mut tag: Arc<str> = "".into();
            let limit = max_examples.unwrap_or(usize::MAX);
            for (position, example) in dataset.into_iter().take(limit).enumerate() {
                let item =
                    example.map(|example| Arc::new(Prepared::new(example, position, &mut tag)));
                let failed = item.is_err();
                if sender.blocking_send(item).is_err() || failed {
                    break;
                }
            }
        })?;
    Ok(receiver)
}
