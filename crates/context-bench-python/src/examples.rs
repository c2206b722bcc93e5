//! A Python iterable as a dataset.
//!
//! The calling thread takes a small batch whenever the run needs more, so that generators stream
//! and whatever they use stays on their thread.

use std::collections::VecDeque;
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use context_bench::dataset::{DatasetError, Examples};
use context_bench::{Dataset, Example};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyIterator;
use serde_json::Value;

use crate::error::{PythonException, ends_program};
use crate::example_dict::read_dict;
use crate::executor::PythonExecutor;
use crate::python_object::describe_type;

/// The largest batch, and how long collecting one may take: a slow generator must not hold back
/// examples that it has already yielded.
const BATCH: usize = 64;
const BATCH_TIME: Duration = Duration::from_millis(2);

/// The examples of an iterable.
struct PythonExamples {
    executor: Arc<PythonExecutor>,
    iterator: Arc<Py<PyIterator>>,
    ready: VecDeque<Example>,
    /// How many examples may still be taken.
    left: usize,
    position: usize,
    ended: bool,
    failed: Option<String>,
}

/// Examples taken from the iterator at once.
#[derive(Default)]
struct Batch {
    examples: Vec<Example>,
    ended: bool,
    /// The exception that the iterator raised.
    failed: Option<String>,
}

/// A dataset of an iterable, of which never more than `max` examples are taken.
pub(crate) fn dataset(
    object: &Bound<'_, PyAny>,
    max: Option<usize>,
    executor: &Arc<PythonExecutor>,
) -> PyResult<Dataset> {
    let iterator = iterator(object)?;
    let len = object.len().ok();
    let examples: Examples = Box::new(PythonExamples {
        executor: Arc::clone(executor),
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

fn iterator<'py>(object: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyIterator>> {
    object.try_iter().map_err(|_| {
        let found = describe_type(object);
        PyTypeError::new_err(format!(
            "the dataset must be an iterable of dicts, found {found}\n\
             hint: pass a list, a generator, or the name of a dataset"
        ))
    })
}

/// A dataset of examples that are all there, at most `max`.
pub(crate) fn all(object: &Bound<'_, PyAny>, max: Option<usize>) -> PyResult<Dataset> {
    let items = iterator(object)?
        .enumerate()
        .take(max.unwrap_or(usize::MAX));
    let examples = items
        .map(|(at, item)| example(&item?, at))
        .collect::<PyResult<Vec<_>>>()?;
    Ok(Dataset::from(examples))
}

impl Iterator for PythonExamples {
    type Item = Result<Example, DatasetError>;

    fn next(&mut self) -> Option<Self::Item> {
        while self.ready.is_empty() && !self.ended && self.left > 0 {
            let Some(batch) = self.batch() else {
                // The run is over; the calling thread knows why.
                self.ended = true;
                break;
            };
            self.left = self.left.saturating_sub(batch.examples.len());
            self.position += batch.examples.len();
            self.ended = batch.ended;
            self.failed = batch.failed;
            self.ready.extend(batch.examples);
        }
        let next = self.ready.pop_front().map(Ok);
        next.or_else(|| {
            self.failed
                .take()
                .map(|what| Err(DatasetError::Custom(what)))
        })
    }
}

impl PythonExamples {
    /// Lets the calling thread take a few examples.
    fn batch(&self) -> Option<Batch> {
        let (sender, receiver) = mpsc::sync_channel(1);
        let executor = Arc::clone(&self.executor);
        let iterator = Arc::clone(&self.iterator);
        let (most, position) = (self.left.min(BATCH), self.position);
        self.executor.calling_thread.submit(Box::new(move |py| {
            let (mut batch, error) = take(iterator.bind(py), most, position);
            if let Some(error) = error {
                if ends_program(py, &error) {
                    return executor.fail(error);
                }
                // Earlier examples are still asked and scored: they may be paid for already.
                batch.ended = true;
                batch.failed = Some(PythonException::new(py, &error).message);
                executor.end_dataset(error);
            }
            drop(sender.send(batch));
        }));
        receiver.recv().ok()
    }
}

fn take(iterator: &Bound<'_, PyIterator>, most: usize, position: usize) -> (Batch, Option<PyErr>) {
    let began = Instant::now();
    let mut batch = Batch::default();
    let mut iterator = iterator.clone();
    let examples = &mut batch.examples;
    while examples.len() < most && (examples.is_empty() || began.elapsed() < BATCH_TIME) {
        let Some(item) = iterator.next() else {
            batch.ended = true;
            break;
        };
        match item.and_then(|item| example(&item, position + examples.len())) {
            Ok(example) => examples.push(example),
            Err(error) => return (batch, Some(error)),
        }
    }
    (batch, None)
}

/// One example of a dataset, in its place.
pub(crate) fn example(item: &Bound<'_, PyAny>, at: usize) -> PyResult<Example> {
    let Some(mut dict) = read_dict(item)? else {
        let found = describe_type(item);
        return Err(PyTypeError::new_err(format!(
            "example {at} of the dataset must be a dict, found {found}\n\
             hint: use dicts such as `{{\"id\": 1, \"context\": …, \"question\": …}}`"
        )));
    };
    // Ids of other types, such as `UUID`, are used as text.
    let is_opaque = dict.fields.get("id").is_some_and(Value::is_object);
    if is_opaque && let Ok(id) = item.get_item("id") {
        let id = id.str()?.to_string_lossy().into_owned();
        dict.fields.insert("id".into(), id.into());
    }
    Ok(Example::from(dict.fields).with_source(dict.source))
}
