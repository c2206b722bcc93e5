//! Examples made ahead: rows are read on a thread of their own, and examples are
//! made of them on several, in the order of the rows.

use std::num::NonZeroUsize;
use std::panic::resume_unwind;
use std::sync::mpsc::{self, Receiver, Sender, SyncSender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::row::{Row, RowBatch, Rows};
use crate::dataset::{DatasetError, Examples};
use crate::model::Example;

/// A batch goes on with this many rows …
const ROWS: usize = 256;
/// … or this many bytes …
const BYTES: usize = 1 << 20;
/// … or when reading it has taken this long.
const TIME: Duration = Duration::from_millis(20);
/// More threads would wait for the one that reads.
const MOST_MAKERS: usize = 4;

/// Adds the examples of a row, given its place among the rows.
pub(super) type Make = dyn Fn(Result<Row, DatasetError>, usize, &mut ExampleResults) + Send + Sync;

/// Rows that follow each other.
struct Batch {
    /// The place of the first of them.
    first: usize,
    rows: Vec<RowBatch>,
    made: SyncSender<ExampleResults>,
}

/// What rows become.
type ExampleResults = Vec<Result<Example, DatasetError>>;

/// The examples of the first `most` rows, made ahead. A few batches for each thread
/// are in memory at once.
pub(super) fn ahead(rows: Rows, most: usize, make: Arc<Make>) -> Examples {
    let n_makers = thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let n_makers = n_makers.min(MOST_MAKERS);
    let (give, given) = mpsc::sync_channel::<Rows>(1);
    let (to_make, batches) = mpsc::channel::<Batch>();
    // Its bound is that of all batches: one is there for every batch under way.
    let (in_order, made) = mpsc::sync_channel::<Receiver<ExampleResults>>(2 * n_makers);
    let batches = Arc::new(Mutex::new(batches));
    let mut threads = Vec::new();
    for _ in 0..n_makers {
        let (batches, make) = (Arc::clone(&batches), Arc::clone(&make));
        threads.extend(spawn("examples", move || make_all(&batches, most, &*make)));
    }
    let reader = match threads.is_empty() {
        true => None,
        false => spawn("records", move || {
            if let Ok(rows) = given.recv() {
                read_all(rows, most, &to_make, &in_order);
            }
        }),
    };
    let Some(reader) = reader else {
        // No thread can be started: then examples are made when they are asked for.
        return Box::new(rows.take(most).enumerate().flat_map(move |(at, row)| {
            let mut made = ExampleResults::new();
            make(row, at, &mut made);
            made
        }));
    };
    threads.push(reader);
    // The thread waits for them, so they are taken.
    let _ = give.send(rows);
    Box::new(InOrder {
        made,
        threads,
        ready: Vec::new().into_iter(),
    })
}

fn spawn(name: &str, run: impl FnOnce() + Send + 'static) -> Option<JoinHandle<()>> {
    thread::Builder::new().name(name.into()).spawn(run).ok()
}

fn read_all(
    rows: Rows,
    most: usize,
    to_make: &Sender<Batch>,
    in_order: &SyncSender<Receiver<ExampleResults>>,
) {
    let mut rows = rows.into_batches();
    let mut first = 0;
    let mut is_over = false;
    while !is_over && first < most {
        let mut batch = Vec::new();
        let (mut n_rows, mut n_bytes) = (0, 0);
        let began = Instant::now();
        while n_rows < ROWS && n_bytes < BYTES {
            let Some(next) = rows.next() else {
                is_over = true;
                break;
            };
            n_rows += next.n_rows();
            n_bytes += next.n_bytes();
            batch.push(next);
            if batch.len().is_multiple_of(16) && began.elapsed() > TIME {
                break;
            }
        }
        let (made, to_come) = mpsc::sync_channel(1);
        let batch = Batch {
            first,
            rows: batch,
            made,
        };
        // When nobody is left to take them, they are not needed.
        if in_order.send(to_come).is_err() || to_make.send(batch).is_err() {
            return;
        }
        first += n_rows;
    }
}

fn make_all(batches: &Mutex<Receiver<Batch>>, most: usize, make: &Make) {
    loop {
        let next = batches
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .recv();
        let Ok(batch) = next else { return };
        let n_rows = batch.rows.iter().map(RowBatch::n_rows).sum();
        let mut made = ExampleResults::with_capacity(n_rows);
        for (at, row) in (batch.first..most).zip(batch.rows.into_iter().flatten()) {
            make(row, at, &mut made);
        }
        let _ = batch.made.send(made);
    }
}

/// What was made, in the order of the rows.
struct InOrder {
    made: Receiver<Receiver<ExampleResults>>,
    threads: Vec<JoinHandle<()>>,
    ready: std::vec::IntoIter<Result<Example, DatasetError>>,
}

impl Iterator for InOrder {
    type Item = Result<Example, DatasetError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(example) = self.ready.next() {
                return Some(example);
            }
            let batch = self.made.recv().ok().and_then(|made| made.recv().ok());
            let Some(batch) = batch else {
                // A thread that failed must not look like the end of the rows.
                for thread in self.threads.drain(..) {
                    if let Err(panic) = thread.join() {
                        resume_unwind(panic);
                    }
                }
                return None;
            };
            self.ready = batch.into_iter();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use serde_json::{Map, json};

    use super::*;
    use crate::error::Place;

    fn row(i: usize) -> Row {
        Row {
            record: Map::from_iter([("i".to_owned(), json!(i))]).into(),
            at: Place::file("f").line(i + 1),
        }
    }

    /// An example with the number of the row and its place.
    fn make() -> Arc<Make> {
        Arc::new(|row, at, made| {
            let example = row.map(|row| Example::new().with("i", row.get("i").clone()));
            made.push(example.map(|example| example.with("at", at)));
        })
    }

    #[test]
    fn all_examples_arrive_in_order_and_errors_among_them() {
        let rows = (0..5000).map(|i| match i {
            700 => Err(row(i).misfit("odd")),
            i => Ok(row(i)),
        });
        let made: Vec<_> = ahead(Rows::new(rows), usize::MAX, make()).collect();
        assert_eq!(made.len(), 5000);
        for (i, found) in made.iter().enumerate() {
            match found {
                Ok(example) => {
                    let expected = (Some(&json!(i)), Some(&json!(i)));
                    assert_eq!((example.get("i"), example.get("at")), expected);
                }
                Err(error) => assert!(error.to_string().contains("odd"), "{i}"),
            }
        }
        assert!(made[700].is_err());
    }

    #[test]
    fn several_examples_of_a_row_stay_together() {
        let make: Arc<Make> = Arc::new(|row, _, made| {
            let i = row.expect("good").get("i").clone();
            let n = i.as_u64().unwrap_or_default() % 3;
            let of = |nth| Ok(Example::new().with("i", i.clone()).with("nth", nth));
            made.extend((0..n).map(of));
        });
        let made = ahead(Rows::new((0..3000).map(|i| Ok(row(i)))), usize::MAX, make);
        let found: Vec<_> = made.map(|example| example.expect("good")).collect();
        let of = |i: u64, nth: u64| Example::new().with("i", i).with("nth", nth);
        let expected = (0..3000).flat_map(|i| (0..i % 3).map(move |nth| of(i, nth)));
        assert_eq!(found, expected.collect::<Vec<_>>());
    }

    #[test]
    fn no_more_rows_are_used_than_wanted() {
        for most in [0, 1, 255, 256, 257, 1000] {
            let rows = Rows::new((0..600).map(|i| Ok(row(i))));
            assert_eq!(ahead(rows, most, make()).count(), most.min(600));
        }
    }

    #[test]
    fn it_reads_a_bounded_number_ahead() {
        let read = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&read);
        let endless = (0..).map(move |i| {
            count.fetch_add(1, Ordering::SeqCst);
            Ok(row(i))
        });
        let mut examples = ahead(Rows::new(endless), usize::MAX, make());
        assert!(examples.next().is_some());
        // Until nothing moves any more, or too much has been read.
        let most = (2 * MOST_MAKERS + 2) * ROWS;
        let mut before = 0;
        loop {
            thread::sleep(Duration::from_millis(100));
            let n = read.load(Ordering::SeqCst);
            assert!(n <= most, "{n}");
            if n == before {
                break;
            }
            before = n;
        }
    }

    #[test]
    fn a_panic_is_passed_on_and_not_taken_for_the_end() {
        for panics_while in ["reading", "making"] {
            let rows = (0..2000).map(move |i| {
                assert!(panics_while != "reading" || i < 1000, "no more");
                Ok(row(i))
            });
            let make: Arc<Make> = match panics_while {
                "making" => Arc::new(|_, at, _| assert!(at < 1000, "no more")),
                _ => make(),
            };
            let examples = ahead(Rows::new(rows), usize::MAX, make);
            let counted =
                std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| examples.count()));
            assert!(counted.is_err(), "{panics_while}");
        }
    }
}
