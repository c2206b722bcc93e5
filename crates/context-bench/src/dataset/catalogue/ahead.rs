//! Rows read ahead on a thread of their own, while examples are made of the
//! ones before them.

use std::sync::mpsc;
use std::time::{Duration, Instant};

use super::row::{Row, Rows};
use crate::dataset::DatasetError;
use crate::model::map_weight;

/// A batch goes on with this many rows …
const ROWS: usize = 256;
/// … or this many bytes …
const BYTES: usize = 1 << 20;
/// … or when reading it has taken this long.
const TIME: Duration = Duration::from_millis(20);
/// Batches that wait.
const WAITING: usize = 2;

type Batch = Vec<Result<Row, DatasetError>>;

/// The same rows, read ahead. Up to four batches are in memory at once.
pub(super) fn ahead(rows: Rows) -> Rows {
    let (give, given) = mpsc::sync_channel::<Rows>(1);
    let (sender, batches) = mpsc::sync_channel::<Batch>(WAITING);
    let thread = std::thread::Builder::new().name("records".into());
    let started = thread.spawn(move || {
        if let Ok(rows) = given.recv() {
            read(rows, &sender);
        }
    });
    if started.is_err() {
        // No thread to be had: then they are read when they are wanted.
        return rows;
    }
    match give.send(rows) {
        Ok(()) => Box::new(batches.into_iter().flatten()),
        // The thread cannot have gone without its rows; if so, they come back.
        Err(mpsc::SendError(rows)) => rows,
    }
}

fn read(mut rows: Rows, sender: &mpsc::SyncSender<Batch>) {
    loop {
        let mut batch = Batch::with_capacity(ROWS);
        let mut bytes = 0;
        let began = Instant::now();
        while batch.len() < ROWS && bytes < BYTES {
            let Some(row) = rows.next() else {
                // Nobody may be left to take it; then nobody misses it.
                let _ = sender.send(batch);
                return;
            };
            bytes += row.as_ref().map_or(0, |row| map_weight(&row.fields));
            batch.push(row);
            if batch.len().is_multiple_of(16) && began.elapsed() > TIME {
                break;
            }
        }
        if sender.send(batch).is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use serde_json::{Map, json};

    use super::*;
    use crate::error::Location;

    fn row(i: usize) -> Row {
        Row {
            fields: Map::from_iter([("i".to_owned(), json!(i))]),
            at: Location::line(Path::new("f"), i + 1),
        }
    }

    #[test]
    fn all_rows_arrive_in_order_and_errors_among_them() {
        let rows = (0..1000).map(|i| match i {
            700 => Err(row(i).misfit("odd")),
            i => Ok(row(i)),
        });
        let read: Vec<_> = ahead(Box::new(rows)).collect();
        assert_eq!(read.len(), 1000);
        for (i, found) in read.iter().enumerate() {
            match found {
                Ok(row) => assert_eq!(row.get("i"), &json!(i)),
                Err(error) => assert!(error.to_string().contains("odd"), "{i}"),
            }
        }
        assert!(read[700].is_err());
    }

    #[test]
    fn it_reads_a_bounded_number_ahead() {
        let made = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&made);
        let endless = (0..).map(move |i| {
            count.fetch_add(1, Ordering::SeqCst);
            Ok(row(i))
        });
        let mut rows = ahead(Box::new(endless));
        assert!(rows.next().is_some());
        std::thread::sleep(Duration::from_millis(100));
        let n = made.load(Ordering::SeqCst);
        assert!(n <= (WAITING + 2) * ROWS, "{n}");
    }
}
