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
use serde_json::Value;

use crate::call::Desk;
use crate::convert;
use crate::error::{Raised, ends_program};
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
    failed: Option<String>,
}

/// What one look at the iterator gave.
#[derive(Default)]
struct Portion {
    examples: Vec<Example>,
    ended: bool,
    /// It raised an exception.
    failed: Option<String>,
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
        failed: None,
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
            self.failed = portion.failed;
            self.ready.extend(portion.examples);
        }
        let next = self.ready.pop_front().map(Ok);
        next.or_else(|| {
            self.failed
                .take()
                .map(|what| Err(DatasetError::Custom(what)))
        })
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
            let (mut portion, error) = take(iterator.bind(py), most, position);
            if let Some(error) = error {
                if ends_program(py, &error) {
                    return desk.fail(error);
                }
                // What came before it is still asked and scored: it may have been
                // paid for.
                portion.ended = true;
                portion.failed = Some(Raised::new(py, &error).message);
                desk.end_dataset(error);
            }
            drop(sender.send(portion));
        }));
        receiver.recv().ok()
    }
}

fn take(
    iterator: &Bound<'_, PyIterator>,
    most: usize,
    position: usize,
) -> (Portion, Option<PyErr>) {
    let began = Instant::now();
    let mut portion = Portion::default();
    let mut iterator = iterator.clone();
    let examples = &mut portion.examples;
    while examples.len() < most && (examples.is_empty() || began.elapsed() < PATIENCE) {
        let Some(item) = iterator.next() else {
            portion.ended = true;
            break;
        };
        match item.and_then(|item| example(&item, position + examples.len())) {
            Ok(example) => examples.push(example),
            Err(error) => return (portion, Some(error)),
        }
    }
    (portion, None)
}

fn example(item: &Bound<'_, PyAny>, at: usize) -> PyResult<Example> {
    let Some(mut taken) = convert::taken_in(item)? else {
        let found = returned_as(item);
        return Err(PyTypeError::new_err(format!(
            "example {at} of the dataset must be a dict, found {found}\n\
             hint: give dicts such as `{{\"id\": 1, \"context\": …, \"question\": …}}`"
        )));
    };
    // Ids of other types, such as `UUID`, are known by their text.
    let is_opaque = taken.fields.get("id").is_some_and(Value::is_object);
    if is_opaque && let Ok(id) = item.get_item("id") {
        let id = id.str()?.to_string_lossy().into_owned();
        taken.fields.insert("id".into(), id.into());
    }
    Ok(Example::from(taken.fields).with_source(taken.source))
}
