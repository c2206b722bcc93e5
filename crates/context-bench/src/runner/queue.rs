//! A bounded queue from one blocking thread to async takers.
//!
//! Waking a thread costs more than reading an example, so the producer sleeps
//! until half of the room is free again instead of waking for each item taken.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard};

use tokio::sync::Notify;

/// A queue bounded in items and weight. One item always fits.
pub(super) struct Queue<T> {
    state: Mutex<State<T>>,
    room: Condvar,
    filled: Notify,
    max_items: usize,
    max_weight: usize,
}

struct State<T> {
    items: VecDeque<(T, usize)>,
    weight: usize,
    producer_waits: bool,
    /// No further item will come.
    ended: bool,
    /// Nobody takes any more.
    abandoned: bool,
}

/// What a look at the queue gave.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Taken<T> {
    Item(T),
    /// Nothing there yet.
    Empty,
    /// Nothing there, and nothing will come.
    CallEnd,
}

/// Nobody takes items any more.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Abandoned;

impl<T> Queue<T> {
    pub(super) fn new(max_items: usize, max_weight: usize) -> Self {
        Self {
            state: Mutex::new(State {
                items: VecDeque::new(),
                weight: 0,
                producer_waits: false,
                ended: false,
                abandoned: false,
            }),
            room: Condvar::new(),
            filled: Notify::new(),
            max_items,
            max_weight,
        }
    }

    fn lock(&self) -> MutexGuard<'_, State<T>> {
        // Nothing in here panics half-way; a poisoned lock changes nothing.
        self.state.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Adds an item; blocks the thread while the queue is full.
    pub(super) fn push(&self, item: T, weight: usize) -> Result<(), Abandoned> {
        self.push_all([(item, weight)])
    }

    /// Adds items together; blocks the thread until there is room for the first
    /// of them. The others are in memory already: waiting with them in hand
    /// would save nothing and keep the producer from making the next ones.
    pub(super) fn push_all(
        &self,
        items: impl IntoIterator<Item = (T, usize)>,
    ) -> Result<(), Abandoned> {
        let mut items = items.into_iter();
        let Some((item, weight)) = items.next() else {
            return Ok(());
        };
        let mut state = self.lock();
        let full = state.items.len() >= self.max_items
            || (state.weight + weight > self.max_weight && !state.items.is_empty());
        if full {
            state.producer_waits = true;
            state = self
                .room
                .wait_while(state, |state| state.producer_waits && !state.abandoned)
                .unwrap_or_else(|e| e.into_inner());
        }
        if state.abandoned {
            return Err(Abandoned);
        }
        let was_empty = state.items.is_empty();
        for (item, weight) in std::iter::once((item, weight)).chain(items) {
            state.items.push_back((item, weight));
            state.weight += weight;
        }
        drop(state);
        if was_empty {
            self.filled.notify_one();
        }
        Ok(())
    }

    /// Says that no further item will come.
    pub(super) fn end(&self) {
        self.lock().ended = true;
        self.filled.notify_one();
    }

    /// Takes nothing more: the producer is let go.
    pub(super) fn abandon(&self) {
        let mut state = self.lock();
        state.abandoned = true;
        state.items.clear();
        self.room.notify_one();
    }

    /// Takes the first item, if there is one.
    pub(super) fn take(&self) -> Taken<T> {
        let mut state = self.lock();
        let Some((item, weight)) = state.items.pop_front() else {
            return if state.ended {
                Taken::CallEnd
            } else {
                Taken::Empty
            };
        };
        state.weight -= weight;
        let half_free =
            state.items.len() <= self.max_items / 2 && state.weight <= self.max_weight / 2;
        if state.producer_waits && half_free {
            state.producer_waits = false;
            self.room.notify_one();
        }
        Taken::Item(item)
    }

    /// Waits until the queue was empty and is no longer. For one waiter at a time.
    pub(super) async fn filled(&self) {
        self.filled.notified().await;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::{Duration, Instant};

    use super::*;

    /// Until a producer has found the queue full.
    fn until_a_producer_waits<T>(queue: &Queue<T>) {
        let began = Instant::now();
        while !queue.lock().producer_waits {
            assert!(began.elapsed().as_secs() < 120, "nobody waits");
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    #[tokio::test]
    async fn everything_arrives_in_order_however_small_the_room() {
        for (max_items, max_weight) in [(1, 1), (2, 100), (64, 3), (64, 1000)] {
            let queue = Arc::new(Queue::new(max_items, max_weight));
            let producer = Arc::clone(&queue);
            let thread = std::thread::spawn(move || {
                for i in 0..1000_usize {
                    producer.push(i, i % 7).expect("somebody takes");
                }
                producer.end();
            });
            let mut taken = Vec::new();
            loop {
                match queue.take() {
                    Taken::Item(i) => taken.push(i),
                    Taken::Empty => queue.filled().await,
                    Taken::CallEnd => break,
                }
            }
            assert!(taken.iter().copied().eq(0..1000), "{max_items}");
            thread.join().expect("no panic");
        }
    }

    #[test]
    fn an_abandoned_queue_lets_the_producer_go() {
        let queue = Arc::new(Queue::new(1, 1));
        queue.push(1, 1).expect("room for one");
        let producer = Arc::clone(&queue);
        let thread = std::thread::spawn(move || producer.push(2, 1));
        until_a_producer_waits(&queue);
        queue.abandon();
        assert_eq!(thread.join().expect("no panic"), Err(Abandoned));
        assert_eq!(queue.push(3, 1), Err(Abandoned));
    }

    #[test]
    fn items_pushed_together_wait_for_room_once() {
        let queue = Arc::new(Queue::new(2, 100));
        queue.push_all((0..10).map(|i| (i, 1))).expect("empty");
        let producer = Arc::clone(&queue);
        let thread = std::thread::spawn(move || producer.push_all([(10, 1), (11, 1)]));
        until_a_producer_waits(&queue);
        assert!((0..10).all(|i| queue.take() == Taken::Item(i)));
        thread.join().expect("no panic").expect("somebody takes");
        assert_eq!(
            (queue.take(), queue.take()),
            (Taken::Item(10), Taken::Item(11))
        );
    }

    #[test]
    fn an_item_heavier_than_the_queue_fits_alone() {
        let queue = Queue::new(8, 10);
        queue.push("heavy", 1000).expect("empty");
        assert_eq!(queue.take(), Taken::Item("heavy"));
        assert_eq!(queue.take(), Taken::Empty);
    }
}
