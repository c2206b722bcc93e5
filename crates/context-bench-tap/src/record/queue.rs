//! [`RecorderQueue`]: the way of finished calls to the recorder, with a bound. A recorder that
//! cannot keep up (a slow disk, a burst) must cost neither calls nor memory without end: what
//! waits may take so many bytes, and beyond that new calls wait at the door. Calls that
//! are under way never do.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};

use tokio::sync::Notify;

use super::recorder::{FinishedCall, Keeper};

/// Where finished calls are handed over.
#[derive(Debug, Clone)]
pub(crate) struct RecorderQueue {
    sender: Sender<WaitingCall>,
    keeper: Arc<Keeper>,
    room: Arc<Room>,
}

/// A call that waits for the recorder.
#[derive(Debug)]
pub(crate) struct WaitingCall {
    pub(crate) call: Box<FinishedCall>,
    /// Gives its room back once it is dropped.
    pub(crate) share: Share,
}

#[derive(Debug)]
struct Room {
    taken: AtomicUsize,
    limit: usize,
    freed: Notify,
    held_back: AtomicU64,
}

/// The room that a waiting call takes.
#[derive(Debug)]
pub(crate) struct Share {
    room: Arc<Room>,
    bytes: usize,
}

impl Drop for Share {
    fn drop(&mut self) {
        let before = self.room.taken.fetch_sub(self.bytes, Ordering::SeqCst);
        if before > self.room.limit && before - self.bytes <= self.room.limit {
            self.room.freed.notify_waiters();
        }
    }
}

impl RecorderQueue {
    /// A queue in which so many bytes may wait, and its other end.
    pub(crate) fn new(limit: usize, keeper: Arc<Keeper>) -> (Self, Receiver<WaitingCall>) {
        let (sender, receiver) = mpsc::channel();
        let room = Arc::new(Room {
            taken: AtomicUsize::new(0),
            limit,
            freed: Notify::new(),
            held_back: AtomicU64::new(0),
        });
        let queue = Self {
            sender,
            keeper,
            room,
        };
        (queue, receiver)
    }

    /// Hands a call over. It never waits: the call has ended, and its end is not to be delayed.
    pub(crate) fn send(&self, call: Box<FinishedCall>) {
        let bytes = call.weight();
        if self.keeper.takes_at_once(bytes) {
            return self.keeper.keep(call, None);
        }
        self.room.taken.fetch_add(bytes, Ordering::SeqCst);
        let waiting = WaitingCall {
            call,
            share: Share {
                room: Arc::clone(&self.room),
                bytes,
            },
        };
        // The recorder outlives every call; without it the process is ending.
        let _ = self.sender.send(waiting);
    }

    fn has_room(&self) -> bool {
        self.room.taken.load(Ordering::SeqCst) <= self.room.limit
    }

    /// Waits until there is room for what a new call may bring.
    pub(crate) async fn wait_for_room(&self) {
        if self.has_room() {
            return;
        }
        self.room.held_back.fetch_add(1, Ordering::Relaxed);
        loop {
            let freed = self.room.freed.notified();
            tokio::pin!(freed);
            // Registered first, so that room made between the look and the wait is not missed.
            freed.as_mut().enable();
            if self.has_room() {
                return;
            }
            freed.await;
        }
    }

    /// How many calls have waited for room.
    pub(crate) fn held_back(&self) -> u64 {
        self.room.held_back.load(Ordering::Relaxed)
    }
}
