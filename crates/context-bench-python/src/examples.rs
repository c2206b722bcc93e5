//! A Python iterable as a dataset.
//!
//! The calling thread iterates, a small portion at a time, whenever the run
//! wants more: generators stream, and what they use stays on its thread.

use std::collections::VecDeque;
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use context_bench::dataset::{DatasetError, Examples};
use context_bench::{Dataset, Example};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyIterator;

use crate::call::Desk;
use crate::convert;
use crate::system::returned_as;

/// Examples that are taken at a time, and for how long: a slow generator must
/// not keep back what it already gave.
const PORTION: usize = 64;
const PATIENCE: Duration = Duration::from_millis(2);

/// The examples of an iterable.
struct Iterated {
    desk: Arc<Desk>,
    iterator: Arc<Py<PyIterator>>,
    ready: VecDeque<Example>,
    /// How many may still be asked for.
    left: usize,
    position: usize,
    ended: bool,
}

/// What one look at the iterator gave.
struct Portion {
    examples: Vec<Example>,
    ended: bool,
}

/// A dataset of an iterable; `max` is never exceeded, not even to look ahead.
pub(crate) fn dataset(
    object: &Bound<'_, PyAny>,
    max: Option<usize>,
    desk: &Arc<Desk>,
) -> PyResult<Dataset> {
    let iterator = object.try_iter().map_err(|_| {
        let found = returned_as(object);
        PyTypeError::new_err(format!(
            "the dataset must be an iterable of dicts, found {found}\n\
             hint: pass a list, a generator, or the name of a dataset"
        ))
    })?;
    let len = object.len().ok();
    let examples: Examples = Box::new(Iterated {
        desk: Arc::clone(desk),
        iterator: Arc::new(iterator.unbind()),
        ready: VecDeque::new(),
        left: max.unwrap_or(usize::MAX),
        position: 0,
        ended: false,
    });
    let dataset = Dataset::from_results(examples);
    Ok(match len {
        Some(len) => dataset.with_len(len.min(max.unwrap_or(len))),
        None => dataset,
    })
}

impl Iterator for Iterated {
    type Item = Result<Example, DatasetError>;

    fn next(&mut self) -> Option<Self::Item> {
        while self.ready.is_empty() && !self.ended && self.left > 0 {
            let Some(portion) = self.portion() else {
                // The run is over; why, the calling thread knows.
                self.ended = true;
                break;
            };
            self.left = self.left.saturating_sub(portion.examples.len());
            self.position += portion.examples.len();
            self.ended = portion.ended;
            self.ready.extend(portion.examples);
        }
        self.ready.pop_front().map(Ok)
    }
}

impl Iterated {
    /// Lets the calling thread take a few examples.
    fn portion(&self) -> Option<Portion> {
        let (sender, receiver) = mpsc::sync_channel(1);
        let desk = Arc::clone(&self.desk);
        let iterator = Arc::clone(&self.iterator);
        let (most, position) = (self.left.min(PORTION), self.position);
        self.desk.home.submit(Box::new(move |py| {
            match take(iterator.bind(py), most, position) {
                Ok(portion) => drop(sender.send(portion)),
                // Ends the run: half a dataset is no result.
                Err(error) => desk.fail(error),
            }
        }));
        receiver.recv().ok()
    }
}

fn take(iterator: &Bound<'_, PyIterator>, most: usize, position: usize) -> PyResult<Portion> {
    let began = Instant::now();
    let mut examples = Vec::with_capacity(most);
    let mut iterator = iterator.clone();
    while examples.len() < most && (examples.is_empty() || began.elapsed() < PATIENCE) {
        let Some(item) = iterator.next() else {
            return Ok(Portion {
                examples,
                ended: true,
            });
        };
        let item = item?;
        let Some((fields, source)) = convert::taken_in(&item)? else {
            let at = position + examples.len();
            let found = returned_as(&item);
            return Err(PyTypeError::new_err(format!(
                "example {at} of the dataset must be a dict, found {found}"
            )));
        };
        examples.push(Example::from(fields).with_source(source));
    }
    Ok(Portion {
        examples,
        ended: false,
    })
}
